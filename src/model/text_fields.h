// Fields of any message by their protocol names: what "#!" comments hold.
//
//   doc_string: "a\nb", dims: [2, 3], tp: {tensor_type: {elem_type: 1}}, -type
//
// Numbers of a float may be bits (0x7fc00001: a NaN with its payload); packed numbers of a tensor
// are a list, or a string of their bytes; "-name" says that a field which the text before gives is
// not there; "unknown" are the bytes of fields that the protocol does not name.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>

#include "model/fields.h"
#include "model/text_lexer.h"

namespace sdx::model {

// Bits of a mask of fields: bits_of(&Node::name, &Node::op_type).
template <class... M, class... T>
constexpr uint32_t bits_of(T M::*... members) {
  return ((uint32_t{1} << number_of(members)) | ... | 0u);
}

// Whether a file would show the field: a value other than the default, or one marked as set.
template <class M, class T>
bool given(const M& message, T M::*member);

// "name: value, ..." for what is given and not in `carried`, and "-name" for what is in `cleared`.
template <class M>
std::string print_fields(const M& message, uint32_t carried, uint32_t cleared);
// Reads fields up to, not including, the end of the line or a closing brace.
template <class M>
Status parse_fields(Lexer& in, M& message);

// Whether the bytes are UTF-8 without control characters other than line ends and tabs.
bool is_readable(std::string_view text);
// The bytes of a string as escaped_string() reads them, quotes included.
void print_escaped(std::string_view text, std::string& out);
// The shortest digits that come back as the same number. False for a NaN that "nan" and "-nan" do
// not give back.
bool print_number(float value, std::string& out);
bool print_number(double value, std::string& out);

// Varints as protobuf packs them.
void pack(uint64_t value, std::string& out);
// Calls visit(value) for each; false if a number is not in the shortest form, so that packing gives
// other bytes.
template <class Visit>
bool unpack(const Payload& payload, Visit&& visit) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(payload.bytes.data());
  for (size_t at = 0; at < payload.size();) {
    uint64_t value = 0;
    int shift = 0;
    uint8_t byte = 0x80;
    for (; byte >= 0x80; shift += 7) {
      if (at == payload.size() || shift > 63) return false;
      byte = bytes[at++];
      if (shift == 63 && byte > 1) return false;
      value |= uint64_t{byte & 0x7fu} << shift;
    }
    if (byte == 0 && shift > 7) return false;
    visit(value);
  }
  return true;
}
// A payload that owns its bytes.
Payload owned(std::string bytes);

namespace text_detail {

template <class T>
bool says(const T& value, bool present, Rule rule) {
  if constexpr (std::is_same_v<T, float>) {
    return present || std::signbit(value) || value != 0;
  } else if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
    return present || value != T{};
  } else if constexpr (std::is_same_v<T, std::string>) {
    return present || !value.empty();
  } else if constexpr (std::is_same_v<T, Payload>) {
    return !value.empty() || (rule == Rule::plain && present);
  } else if constexpr (requires { value.has_value(); }) {
    return value.has_value();
  } else {
    return !value.empty();
  }
}

}  // namespace text_detail

template <class M, class T>
bool given(const M& message, T M::*member) {
  return text_detail::says(message.*member, has(message, member), Rule::plain);
}

}  // namespace sdx::model
