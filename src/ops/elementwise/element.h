// Elements as the element-wise operators see them: T in memory, Element<T>::Compute in the
// arithmetic.
#pragma once

#include <cmath>
#include <concepts>
#include <string>
#include <type_traits>

#include "ops/common.h"

namespace sdx {

// A bool in memory. Any byte but 0 is true: files may hold others than 1.
struct Bool {
  uint8_t byte;
};

template <class T>
struct Element {
  using Compute = sdx::Compute<T>;
  static Compute get(const T& x) { return load(x); }
  static T put(Compute x) { return store<T>(x); }
};
template <class T>
requires std::is_integral_v<T>
struct Element<T> {
  using Compute = T;
  static T get(T x) { return x; }
  static T put(T x) { return x; }
};
template <>
struct Element<Bool> {
  using Compute = bool;
  static bool get(Bool x) { return x.byte != 0; }
  static Bool put(bool x) { return {uint8_t(x)}; }
};
template <>
struct Element<std::string> {
  using Compute = std::string;
  static const std::string& get(const std::string& x) { return x; }
  static std::string put(std::string x) { return x; }
};

// Calls f with the T of `type`: floats of 16 bits and more, integers of 8 bits and more, Bool,
// std::string.
template <class F>
bool visit_elements(DType type, F&& f) {
  if (visit_floats(type, f) || visit_integers(type, f)) return true;
  if (type == DType::boolean) return f.template operator()<Bool>(), true;
  if (type == DType::string) return f.template operator()<std::string>(), true;
  return false;
}

// What kernel/elementwise works on: float, and 16-bit floats widened kChunk at a time.
inline bool is_array_type(DType type) {
  return type == DType::f32 || type == DType::f16 || type == DType::bf16;
}
inline constexpr size_t kChunk = 1024;

// The types of most operators' elements.
template <class C>
concept Number = std::is_arithmetic_v<C> && !std::is_same_v<C, bool>;
template <class C>
concept Integer = std::integral<C> && !std::is_same_v<C, bool>;

// Integer arithmetic modulo 2^n without the undefined overflow of signed types.
template <std::integral T>
T wrap_add(T a, T b) {
  return static_cast<T>(uint64_t(a) + uint64_t(b));
}
template <std::integral T>
T wrap_sub(T a, T b) {
  return static_cast<T>(uint64_t(a) - uint64_t(b));
}
template <std::integral T>
T wrap_mul(T a, T b) {
  return static_cast<T>(uint64_t(a) * uint64_t(b));
}

// NaN if one is NaN; -0 is less than +0.
template <std::floating_point T>
T max_of(T a, T b) {
  if (a != a) return a;
  if (b != b) return b;
  if (a == b) return std::signbit(a) ? b : a;
  return a > b ? a : b;
}
template <std::floating_point T>
T min_of(T a, T b) {
  if (a != a) return a;
  if (b != b) return b;
  if (a == b) return std::signbit(a) ? a : b;
  return a < b ? a : b;
}
template <std::integral T>
T max_of(T a, T b) {
  return a > b ? a : b;
}
template <std::integral T>
T min_of(T a, T b) {
  return a < b ? a : b;
}

}  // namespace sdx
