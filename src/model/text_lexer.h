// Lexer: the words of the ONNX text syntax, and of the "#!" comments that extend it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/io.h"

namespace sdx::model {

// Letters, digits and '_', not beginning with a digit.
bool is_identifier(std::string_view text);
// An element type, or one of seq, map, optional, sparse_tensor and opaque: quoted where a name may
// stand beside a type.
bool is_type_word(std::string_view word);
// "nan", "inf" and "infinity" in any case: numbers where a value is expected.
bool is_number_word(std::string_view word);

// The words for kinds of attributes, by AttributeType.
inline constexpr std::string_view kAttributeWords[] = {
    "undefined",      "float",      "int",        "string",  "tensor", "graph",
    "floats",         "ints",       "strings",    "tensors", "graphs", "sparse_tensor",
    "sparse_tensors", "type_proto", "type_protos"};

class Lexer {
 public:
  Lexer(std::string_view text, const Limits& limits) : limits(limits), text_(text) {}

  size_t at() const { return at_; }
  void go_to(size_t at) { at_ = at; }
  std::string_view text() const { return text_; }

  // Spaces, line ends and comments; "#!" is no comment.
  void skip();
  bool at_end() { return skip(), at_ == text_.size(); }
  // The next character; '\0' at the end.
  char peek() { return skip(), at_ < text_.size() ? text_[at_] : '\0'; }
  bool take(std::string_view token);
  Status expect(std::string_view token);
  // "" if there is none.
  std::string_view identifier();
  std::string_view peek_identifier();
  Result<std::string_view> need_identifier();
  // An identifier or a quoted string.
  Result<std::string> name();
  bool name_ahead() { return peek() == '"' || !peek_identifier().empty(); }
  // "..." in which a backslash stands before a quote or backslash.
  Result<std::string> string();
  Result<int64_t> integer();
  Result<uint64_t> unsigned_integer();
  // One number as written, "nan" and "inf" included.
  Result<std::string_view> number();
  template <class T>
  Result<T> real();

  // Whether a "#!KIND" comment follows; its fields then stand up to the end of the line.
  bool extension(std::string_view kind);
  // Inside such a comment, line ends end it and \n, \t, \r and \xHH stand for bytes of a string.
  void skip_blanks();
  bool line_ended() { return skip_blanks(), at_ == text_.size() || text_[at_] == '\n'; }
  bool take_here(std::string_view token);
  Result<std::string> escaped_string();
  Status end_of_extension();

  Error unexpected(std::string_view wanted);
  // Depth of graphs, types and messages within each other.
  Status descend();
  void ascend() { --depth_; }

  const Limits& limits;

 private:
  std::string_view text_;
  size_t at_ = 0;
  size_t depth_ = 0;
};

}  // namespace sdx::model
