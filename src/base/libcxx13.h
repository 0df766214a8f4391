// What C++20 has and libc++ 13, emscripten's C++ library, has not, where the standard has it. Every
// file of that build starts with this one (cmake/wasm.cmake), so that none has to know.
#pragma once

#if defined(__cplusplus)
#include <algorithm>
#include <functional>
#include <iterator>
#include <version>

#include "real_chars.h"

namespace std {  // NOLINT

#if !defined(__cpp_lib_bit_cast)
template <class To, class From>
constexpr To bit_cast(const From& from) noexcept {
  static_assert(sizeof(To) == sizeof(From));
  return __builtin_bit_cast(To, from);
}
#endif

#if !defined(__cpp_lib_ranges)
namespace ranges {
template <class A, class B>
constexpr bool equal(const A& a, const B& b) {
  return std::equal(std::begin(a), std::end(a), std::begin(b), std::end(b));
}
template <class Range, class Projection>
constexpr void sort(Range& range, std::less<>, Projection projection) {
  std::sort(std::begin(range), std::end(range), [&](const auto& a, const auto& b) {
    return std::invoke(projection, a) < std::invoke(projection, b);
  });
}
}  // namespace ranges
#endif

#if !defined(__cpp_lib_to_chars)
inline from_chars_result from_chars(const char* first, const char* last, float& value) {
  return sdx::real_chars::read(first, last, value);
}
inline from_chars_result from_chars(const char* first, const char* last, double& value) {
  return sdx::real_chars::read(first, last, value);
}
inline to_chars_result to_chars(char* first, char* last, float value) {
  return sdx::real_chars::write(first, last, value);
}
inline to_chars_result to_chars(char* first, char* last, double value) {
  return sdx::real_chars::write(first, last, value);
}
inline to_chars_result to_chars(char* first, char* last, float value, chars_format form) {
  return sdx::real_chars::write(first, last, value, form);
}
inline to_chars_result to_chars(char* first, char* last, double value, chars_format form) {
  return sdx::real_chars::write(first, last, value, form);
}
#endif

}  // namespace std

#endif  // defined(__cplusplus)
