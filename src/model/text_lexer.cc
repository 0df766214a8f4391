#include "model/text_lexer.h"

#include <algorithm>
#include <charconv>

#include "base/dtype.h"

namespace sdx::model {
namespace {

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

size_t identifier_end(std::string_view text, size_t at) {
  if (at < text.size() && is_letter(text[at])) {
    while (at < text.size() && (is_letter(text[at]) || is_digit(text[at]))) ++at;
  }
  return at;
}

}  // namespace

bool is_identifier(std::string_view text) {
  return !text.empty() && identifier_end(text, 0) == text.size();
}

bool is_type_word(std::string_view word) {
  return dtype_from_onnx(word).has_value() || word == "seq" || word == "map" ||
         word == "optional" || word == "sparse_tensor" || word == "opaque";
}

bool is_number_word(std::string_view word) {
  std::string lower(word);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return lower == "nan" || lower == "inf" || lower == "infinity";
}

void Lexer::skip() {
  while (at_ < text_.size()) {
    if (is_space(text_[at_])) {
      ++at_;
    } else if (text_[at_] == '#' && text_.substr(at_, 2) != "#!") {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else {
      return;
    }
  }
}

bool Lexer::take(std::string_view token) {
  skip();
  if (!text_.substr(at_).starts_with(token)) return false;
  at_ += token.size();
  return true;
}

Status Lexer::expect(std::string_view token) {
  return take(token) ? ok() : unexpected(fmt::format("\"{}\"", token));
}

std::string_view Lexer::peek_identifier() {
  skip();
  return text_.substr(at_, identifier_end(text_, at_) - at_);
}

std::string_view Lexer::identifier() {
  const std::string_view found = peek_identifier();
  at_ += found.size();
  return found;
}

Result<std::string_view> Lexer::need_identifier() {
  const std::string_view found = identifier();
  if (found.empty()) return unexpected("a name");
  return found;
}

Result<std::string> Lexer::name() {
  if (peek() == '"') {
    const size_t start = at_;
    SDX_ASSIGN(std::string quoted, string());
    if (quoted.size() > limits.name_bytes) {
      at_ = start;
      return fail("SDX-M0101", "a name of {} bytes; the limit is {}", quoted.size(),
                  limits.name_bytes);
    }
    return quoted;
  }
  SDX_ASSIGN(const std::string_view found, need_identifier());
  return std::string(found);
}

Result<std::string> Lexer::string() {
  const size_t start = (skip(), at_);
  if (!take("\"")) return unexpected("a quoted string");
  std::string value;
  while (at_ < text_.size() && text_[at_] != '"') {
    const size_t plain = std::min(text_.find_first_of("\"\\", at_), text_.size());
    value.append(text_.substr(at_, plain - at_));
    at_ = plain;
    if (at_ + 1 < text_.size() && text_[at_] == '\\') {
      value += text_[at_ + 1];
      at_ += 2;
    } else if (at_ < text_.size() && text_[at_] == '\\') {
      ++at_;
    }
  }
  if (at_ >= text_.size()) {
    at_ = start;
    return fail("SDX-M0101", "a string that does not end");
  }
  ++at_;
  return value;
}

Result<std::string_view> Lexer::number() {
  skip();
  size_t end = at_;
  const auto here = [&] { return end < text_.size() ? text_[end] : '\0'; };
  if (here() == '-') ++end;
  if (is_letter(here())) {
    const size_t word = end;
    end = identifier_end(text_, end);
    if (!is_number_word(text_.substr(word, end - word))) return unexpected("a number");
  } else {
    if (!is_digit(here())) return unexpected("a number");
    while (is_digit(here())) ++end;
    if (here() == '.') ++end;
    while (is_digit(here())) ++end;
    if (here() == 'e' || here() == 'E') {
      ++end;
      if (here() == '+' || here() == '-') ++end;
      while (is_digit(here())) ++end;
    }
  }
  const std::string_view found = text_.substr(at_, end - at_);
  at_ = end;
  return found;
}

template <class T>
Result<T> Lexer::real() {
  const size_t start = (skip(), at_);
  SDX_ASSIGN(const std::string_view digits, number());
  T value{};
  const auto [end, bad] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (bad == std::errc{} && end == digits.data() + digits.size()) return value;
  // What is too small for the type is zero; too large is an error.
  const bool negative = digits.starts_with('-');
  const bool small = digits.find("e-") != digits.npos || digits.find("E-") != digits.npos ||
                     digits.substr(negative ? 1 : 0).starts_with("0.");
  if (bad == std::errc::result_out_of_range && small) return negative ? -T{} : T{};
  at_ = start;
  return fail("SDX-M0101", "{} is no number of this type", digits);
}
template Result<float> Lexer::real<float>();
template Result<double> Lexer::real<double>();

namespace {

template <class T>
Result<T> whole(Lexer& in, std::string_view what) {
  in.skip();
  const size_t start = in.at();
  const std::string_view text = in.text();
  T value{};
  const auto [end, bad] = std::from_chars(text.data() + start, text.data() + text.size(), value);
  if (bad == std::errc::result_out_of_range) {
    return fail("SDX-M0101", "a number beyond 64 bits");
  }
  if (bad != std::errc{}) return in.unexpected(what);
  in.go_to(static_cast<size_t>(end - text.data()));
  if (in.at() < text.size() && (text[in.at()] == '.' || is_letter(text[in.at()]))) {
    in.go_to(start);
    return in.unexpected(what);
  }
  return value;
}

}  // namespace

Result<int64_t> Lexer::integer() { return whole<int64_t>(*this, "an integer"); }
Result<uint64_t> Lexer::unsigned_integer() {
  return whole<uint64_t>(*this, "an integer that is not negative");
}

bool Lexer::extension(std::string_view kind) {
  skip();
  const std::string_view rest = text_.substr(at_);
  if (!rest.starts_with("#!") || !rest.substr(2).starts_with(kind)) return false;
  const size_t end = 2 + kind.size();
  if (end < rest.size() && !is_space(rest[end])) return false;
  at_ += end;
  return true;
}

void Lexer::skip_blanks() {
  while (at_ < text_.size() && text_[at_] != '\n' && is_space(text_[at_])) ++at_;
}

bool Lexer::take_here(std::string_view token) {
  skip_blanks();
  if (!text_.substr(at_).starts_with(token)) return false;
  at_ += token.size();
  return true;
}

Result<std::string> Lexer::escaped_string() {
  const size_t start = (skip_blanks(), at_);
  if (!take_here("\"")) return unexpected("a quoted string");
  std::string value;
  while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\n') {
    const size_t plain = std::min(text_.find_first_of("\"\\\n", at_), text_.size());
    value.append(text_.substr(at_, plain - at_));
    at_ = plain;
    if (at_ + 1 >= text_.size() || text_[at_] != '\\') continue;
    const char c = text_[at_ + 1];
    if (c == 'x') {
      uint8_t byte = 0;
      const std::string_view digits = text_.substr(at_ + 2, 2);
      const auto [end, bad] =
          std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
      if (bad != std::errc{} || end != digits.data() + 2) {
        return unexpected("\\x and two hexadecimal digits");
      }
      value += static_cast<char>(byte);
      at_ += 4;
      continue;
    }
    value += c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c;
    at_ += 2;
  }
  if (at_ >= text_.size() || text_[at_] != '"') {
    at_ = start;
    return fail("SDX-M0101", "a string that does not end in its line");
  }
  ++at_;
  return value;
}

Status Lexer::end_of_extension() {
  return line_ended() ? ok() : unexpected("\",\" or the end of the line");
}

Error Lexer::unexpected(std::string_view wanted) {
  const std::string_view rest = text_.substr(std::min(at_, text_.size()));
  std::string_view found = rest.substr(0, std::min<size_t>(rest.find('\n'), 20));
  return fail("SDX-M0101", "expected {}, found {}", wanted,
              rest.empty()    ? "the end of the text"
              : found.empty() ? "the end of the line"
                              : fmt::format("\"{}\"", found));
}

Status Lexer::descend() {
  if (++depth_ <= limits.depth) return ok();
  return fail("SDX-M0101", "more than {} graphs, types or messages within each other",
              limits.depth);
}

}  // namespace sdx::model
