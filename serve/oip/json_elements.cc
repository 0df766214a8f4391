#include "serve/oip/json_elements.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "serve/oip/decimal.h"
#include "serve/oip/half.h"

namespace sardonyx::serve {
namespace {

using simdjson::ondemand::json_type;
using simdjson::ondemand::value;

// A number's characters; from_chars also takes "inf" and "nan", which JSON has not.
std::string_view number_token(std::string_view token) {  // with the blanks behind it
  while (!token.empty() && static_cast<unsigned char>(token.back()) <= ' ') token.remove_suffix(1);
  const size_t sign = !token.empty() && token.front() == '-' ? 1 : 0;
  return token.size() > sign && token[sign] >= '0' && token[sign] <= '9' ? token : "";
}

std::string_view number_token(value& element) { return number_token(element.raw_json_token()); }

template <class T>
bool parse_number(std::string_view token, T& to) {
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), to);
  if (end != token.data() + token.size() || token.empty()) return false;
  if (error == std::errc()) return true;
  if constexpr (std::is_floating_point_v<T>) {
    if (error != std::errc::result_out_of_range) return false;
    // Too small becomes a zero, too large an infinity, each with the number's sign. The exponent's
    // sign tells which, since a mantissa alone cannot leave the range in so few digits.
    const size_t e = token.find_first_of("eE");
    const bool small = e != std::string_view::npos
                           ? token.find('-', e) != std::string_view::npos
                           : token.find('.') != std::string_view::npos && token.find('.') < 40;
    to = small ? T(0) : std::numeric_limits<T>::infinity();
    if (token.front() == '-') to = -to;
    return true;
  }
  return false;
}

template <class T>
bool read_float(value& element, T& to) {
  std::string_view text;
  if (element.raw_json_token().front() != '"') return parse_number(number_token(element), to);
  if (element.get_string().get(text) != simdjson::SUCCESS) return false;
  if (text == "NaN") {
    to = std::numeric_limits<T>::quiet_NaN();
  } else if (text == "Infinity") {
    to = std::numeric_limits<T>::infinity();
  } else if (text == "-Infinity") {
    to = -std::numeric_limits<T>::infinity();
  } else {
    return false;
  }
  return true;
}

struct Elements {
  Type type;
  char* at;
  size_t left;

  bool put(value& element);
  template <class T>
  bool put_number(value& element) {
    T number{};
    if constexpr (std::is_floating_point_v<T>) {
      if (!read_float(element, number)) return false;
    } else if (!parse_number(number_token(element), number)) {
      return false;
    }
    std::memcpy(at, &number, sizeof number);
    at += sizeof number;
    return true;
  }
  bool put_half(value& element) {
    double number = 0;
    if (!read_float(element, number)) return false;
    const uint16_t bits = type == Type::f16 ? half_of(number) : bfloat_of(number);
    std::memcpy(at, &bits, 2);
    at += 2;
    return true;
  }
  bool put_boolean(value& element) {
    bool truth = false;
    if (element.type().value() == json_type::number) {
      const std::string_view token = number_token(element);
      if (token != "0" && token != "1") return false;
      truth = token == "1";
    } else if (element.get_bool().get(truth) != simdjson::SUCCESS) {
      return false;
    }
    *at++ = truth ? 1 : 0;
    return true;
  }
  bool put_string(value& element) {
    std::string_view text;
    if (element.get_string().get(text) != simdjson::SUCCESS) return false;
    reinterpret_cast<std::string*>(at)->assign(text);
    at += sizeof(std::string);
    return true;
  }
};

bool Elements::put(value& element) {
  if (left == 0) return false;
  --left;
  switch (type) {
    case Type::f32:
      return put_number<float>(element);
    case Type::f64:
      return put_number<double>(element);
    case Type::i8:
      return put_number<int8_t>(element);
    case Type::i16:
      return put_number<int16_t>(element);
    case Type::i32:
      return put_number<int32_t>(element);
    case Type::i64:
      return put_number<int64_t>(element);
    case Type::u8:
      return put_number<uint8_t>(element);
    case Type::u16:
      return put_number<uint16_t>(element);
    case Type::u32:
      return put_number<uint32_t>(element);
    case Type::u64:
      return put_number<uint64_t>(element);
    case Type::f16:
    case Type::bf16:
      return put_half(element);
    case Type::boolean:
      return put_boolean(element);
    case Type::string:
      return put_string(element);
    default:
      return false;
  }
}

// Rows within rows, as deep as the shape has dimensions; a row's length is that of its dimension.
bool put_nested(simdjson::ondemand::array array, const Dims& dims, size_t depth, Elements& to,
                bool& flat) {
  int64_t count = 0;
  for (auto entry : array) {
    value element;
    if (entry.get(element) != simdjson::SUCCESS) return false;
    ++count;
    if (element.raw_json_token().front() == '[') {
      simdjson::ondemand::array inner;
      if (depth + 1 >= dims.size() || (depth == 0 && count > 1 && flat)) return false;
      flat = false;
      if (element.get_array().get(inner) != simdjson::SUCCESS) return false;
      if (!put_nested(inner, dims, depth + 1, to, flat)) return false;
    } else {
      if (depth == 0 && count == 1) flat = true;
      if (!flat && depth + 1 != dims.size()) return false;
      if (!to.put(element)) return false;
    }
  }
  return flat || dims.empty() || count == dims[depth];
}

// Most tensors are a flat list of numbers, for which the text is enough. False: it is not one, and
// what was read is to be read again.
template <class T>
bool put_flat(std::string_view text, char* to, size_t count) {
  const char *at = text.data(), *const end = at + text.size();
  const auto skip_blanks = [&] {
    while (at != end && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t')) ++at;
  };
  for (size_t i = 0; i < count; ++i, to += sizeof(T)) {
    if (at == end || *at != (i == 0 ? '[' : ',')) return false;
    ++at;
    skip_blanks();
    T number{};
    const char* behind = read_plain_decimal(at, end, number);
    if (behind == nullptr) {
      behind = std::find_if(at, end, [](char c) { return c == ',' || c == ']'; });
      if (!parse_number(number_token(std::string_view(at, behind)), number)) return false;
    }
    at = behind;
    std::memcpy(to, &number, sizeof number);
    skip_blanks();
  }
  return count > 0 && std::string_view(at, end) == "]";
}

bool put_flat(simdjson::ondemand::array& array, const Tensor& tensor, char* to) {
  std::string_view text;
  if (tensor.type() != Type::f32 && tensor.type() != Type::f64) return false;
  if (array.raw_json().get(text) != simdjson::SUCCESS) return false;
  while (!text.empty() && text.back() != ']') text.remove_suffix(1);  // blanks behind it
  return tensor.type() == Type::f32 ? put_flat<float>(text, to, tensor.count())
                                    : put_flat<double>(text, to, tensor.count());
}

bool in_json(Type type) {
  return element_bytes(type) != 0 ? type != Type::c64 && type != Type::c128 && type < Type::f8e4m3fn
                                  : type == Type::string;
}

}  // namespace

Outcome<Tensor> read_json_elements(value data, Type type, const Dims& dims, std::string_view name,
                                   size_t most) {
  const auto wrong = [&](const std::string& what) {
    return Failure{Kind::bad_request, "SDX-V0310: input \"" + std::string(name) + "\" of " +
                                          std::string(datatype_of(type)) + text_of(dims) + ": " +
                                          what};
  };
  const std::optional<size_t> count = count_of(dims);
  if (!count || dims.size() > 64) return wrong("the shape is impossible");
  if (!in_json(type)) return wrong("elements of this type travel as binary tensors only");
  if (*count > most) return wrong("\"data\" is too short for the shape");
  simdjson::ondemand::array array;
  if (data.get_array().get(array) != simdjson::SUCCESS) return wrong("\"data\" is not an array");
  Tensor tensor(type, dims);
  if (put_flat(array, tensor, static_cast<char*>(tensor.data()))) return tensor;
  if (array.reset().error() != simdjson::SUCCESS) return wrong("\"data\" is malformed");
  Elements elements{type, static_cast<char*>(tensor.data()), *count};
  bool flat = dims.size() <= 1;
  if (!put_nested(array, dims, 0, elements, flat) || elements.left > 0) {
    const size_t at = *count - elements.left;
    return wrong("\"data\" does not hold " + std::to_string(*count) +
                 " such elements, flat or in rows of this shape; the reading ended at element " +
                 std::to_string(at));
  }
  return tensor;
}

}  // namespace sardonyx::serve
