// TextParser: ONNX's grammar, part by part, each followed by the "#!" comments that complete it.
// Its parts stand in text_parse.cc (model, functions, graphs, nodes), text_parse_types.cc and
// text_parse_attributes.cc.
#ifndef SDX_MODEL_TEXT_PARSER_H_
#define SDX_MODEL_TEXT_PARSER_H_

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/text_fields.h"
#include "model/text_tensor.h"

namespace sdx::model {

class TextParser {
 public:
  TextParser(std::string_view text, const Limits& limits) : in_(text, limits) {}
  size_t at() const { return in_.at(); }

  Status model(Model& m);
  Status functions(std::vector<Function>& list);

 private:
  Error stray();
  Status imports(std::vector<OpsetId>& list);
  Status function(Function& f);
  // Names, each with a type if it has one.
  Status parameters(std::vector<std::string>& list, std::vector<ValueInfo>& infos);
  // Names between commas, any of them "" or left out before a comma.
  Status names(std::vector<std::string>& list);
  Status node(Node& n);
  Status nodes(std::vector<Node>& list);
  Status graph(std::string name, Graph& g);

  Result<DType> element_type();
  template <class T>
  Status tensor_type(T& out);
  Status type(Type& t);
  Status opaque(OpaqueType& out);
  Result<std::string> dotted();
  Status value(ValueInfo& info);
  Status typed_name(ValueInfo& info);
  Status values(std::vector<ValueInfo>& list);
  // A tensor whose type has been read, from its elements on.
  Status tensor(const std::optional<Type>& declared, size_t type_at, TensorData& t);
  // A value, or an initializer: "type name = elements". A graph's input may have both.
  Status value_or_initializer(std::vector<ValueInfo>& infos, std::vector<TensorData>& initializers,
                              bool keep_info);

  Status attribute(Attribute& a, std::string name);
  Status list(Attribute& a, AttributeType stated);
  // One value, of the kind that is expected if one is; the kind that it is.
  Result<AttributeType> single(Attribute& a, AttributeType expected);
  Status attributes(std::vector<Attribute>& list);

  template <class M>
  Status extension(std::string_view kind, M& message) {
    while (in_.extension(kind)) {
      if constexpr (std::is_same_v<M, TensorData>) {
        const size_t start = in_.at();
        if (in_.take_here("raw") && (in_.take_here(",") || in_.line_ended())) {
          SDX_TRY(make_raw(message));
        } else {
          in_.go_to(start);
        }
      }
      SDX_TRY(parse_fields(in_, message));
      SDX_TRY(in_.end_of_extension());
    }
    return ok();
  }

  template <class M>
  Status number(M& m, int64_t M::*member) {
    SDX_ASSIGN(const int64_t value, in_.integer());
    set(m, member, value);
    return ok();
  }

  template <class M>
  Status words(M& m, std::string M::*member) {
    SDX_ASSIGN(std::string value, in_.string());
    set(m, member, std::move(value));
    return ok();
  }

  // A name that is there only if it says something.
  template <class M>
  static void put_name(M& m, std::string M::*member, std::string name) {
    if (!name.empty()) set(m, member, std::move(name));
  }

  Lexer in_;
  size_t nodes_ = 0;
};

}  // namespace sdx::model

#endif  // SDX_MODEL_TEXT_PARSER_H_
