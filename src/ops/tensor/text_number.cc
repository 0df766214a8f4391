#include "ops/tensor/text_number.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/elem.h"

namespace sdx {
namespace {

template <class T>
std::string shortest(T x) {
  if (std::isnan(x)) return "NaN";
  if (std::isinf(x)) return x < 0 ? "-INF" : "INF";
  const T a = std::fabs(x);
  // Positional while it stays readable, as ONNX's own reference does.
  const bool plain = a == 0 || (a >= T(1e-4) && a < T(1e16));
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, x,
                                 plain ? std::chars_format::fixed : std::chars_format::scientific);
  std::string text(buffer, end.ptr);
  if (plain && text.find('.') == text.npos) text += ".0";
  return text;
}

std::string_view trim(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

Error not_a_number(std::string_view text) {
  return fail("SDX-R0102", "the string \"{}\" is not a number", text);
}

template <class T>
Result<T> parse_float(std::string_view text) {
  std::string_view rest = trim(text);
  if (rest == "True" || rest == "False") return T(rest == "True");  // as Cast writes booleans
  bool negative = false;
  if (!rest.empty() && (rest[0] == '+' || rest[0] == '-')) {
    negative = rest[0] == '-';
    rest.remove_prefix(1);
  }
  // from_chars would take a second sign.
  if (rest.empty() || rest[0] == '+' || rest[0] == '-') return not_a_number(text);
  T value = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  if (error == std::errc::result_out_of_range) {
    // Too large or too small: an exponent's sign or, without one, the length tells which.
    const size_t e = rest.find_first_of("eE");
    const bool small = e != rest.npos ? rest.substr(e + 1).starts_with("-")
                                      : rest.starts_with("0") || rest.starts_with(".");
    value = small ? T(0) : std::numeric_limits<T>::infinity();
  } else if (error != std::errc{} || end != rest.data() + rest.size()) {
    return not_a_number(text);
  }
  if (value != value) return std::numeric_limits<T>::quiet_NaN();
  return negative ? -value : value;
}

template <class T>
Result<T> parse_int(std::string_view text) {
  std::string_view rest = trim(text);
  if (rest.starts_with("+")) rest.remove_prefix(1);
  T value = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  if (error == std::errc{} && end == rest.data() + rest.size()) return value;
  SDX_ASSIGN(const double x, parse_float<double>(text));
  return to_integer<T>(x);
}

}  // namespace

std::string number_text(float x) { return shortest(x); }
std::string number_text(double x) { return shortest(x); }
Result<float> parse_f32(std::string_view text) { return parse_float<float>(text); }
Result<double> parse_f64(std::string_view text) { return parse_float<double>(text); }
Result<int64_t> parse_i64(std::string_view text) { return parse_int<int64_t>(text); }
Result<uint64_t> parse_u64(std::string_view text) { return parse_int<uint64_t>(text); }

}  // namespace sdx
