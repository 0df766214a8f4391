// Equal, Less, Greater, LessOrEqual and GreaterOrEqual. Comparisons with NaN are false.
#include "ops/elementwise/binary.h"
#include "ops/list.h"

namespace sdx::ops {
namespace {

constexpr Version kEqualHistory[] = {
    {1, "(A: T, B: T) -> (C: T1) {axis: int, broadcast: int = 0} T in bool i32 i64 T1 in bool"},
    {7, "{-axis, -broadcast}"},
    {11, "T += uints floats i16 i8"},
    {13, "T += bf16"},
    {19, "T += string"},
};
constexpr Version kStrictHistory[] = {
    {1, "(A: T, B: T) -> (C: T1) {axis: int, broadcast: int = 0} T in floats T1 in bool"},
    {7, "{-axis, -broadcast}"},
    {9, "T += ints uints"},
    {13, "T += bf16"},
};
constexpr Version kOrEqualHistory[] = {
    {12, "(A: T, B: T) -> (C: T1) T in num T1 in bool"},
    {16, "T += bf16"},
};

// Whether a < b, if that is the same whatever the symbols are.
std::optional<bool> known_less(const Dim& a, const Dim& b) {
  if (never_negative(b - a - 1)) return true;
  if (never_negative(a - b)) return false;
  return std::nullopt;
}
std::optional<bool> negated(std::optional<bool> known) {
  return known ? std::optional<bool>(!*known) : std::nullopt;
}
std::optional<Dim> truth(std::optional<bool> known) {
  return known ? std::optional<Dim>(*known ? 1 : 0) : std::nullopt;
}

struct Equal {
  static constexpr std::string_view name = "Equal", doc = "a == b, as bool.";
  static constexpr std::span<const Version> history = kEqualHistory;
  static constexpr Numbers kNumbers{NumberPair::equal};
  template <class C>
  static bool apply(const C& a, const C& b, const Binary&) {
    return a == b;
  }
  static std::optional<Dim> dim(const Dim& a, const Dim& b) {
    if (a == b) return Dim(1);
    return known_less(a, b) == true || known_less(b, a) == true ? std::optional<Dim>(0)
                                                                : std::nullopt;
  }
  static std::vector<Case> cases() {
    return {
        {.name = "strings",
         .opset = 19,
         .attrs = {},
         .inputs = {Tensor::of<std::string>({2}, {"a", "b"}), Tensor::of<std::string>({1}, {"b"})},
         .expected = {Tensor::of<bool>({2}, {false, true})}},
        {.name = "zeros_of_both_signs_are_equal_and_nan_is_not",
         .opset = 11,
         .attrs = {},
         .inputs = {Tensor::of<float>({2}, {-0.f, NAN}), Tensor::of<float>({2}, {0.f, NAN})},
         .expected = {Tensor::of<bool>({2}, {true, false})}}};
  }
};

struct Less {
  static constexpr std::string_view name = "Less", doc = "a < b, as bool.";
  static constexpr std::span<const Version> history = kStrictHistory;
  static constexpr Numbers kNumbers{NumberPair::less};
  template <Number C>
  static bool apply(C a, C b, const Binary&) {
    return a < b;
  }
  static std::optional<Dim> dim(const Dim& a, const Dim& b) { return truth(known_less(a, b)); }
};

struct Greater {
  static constexpr std::string_view name = "Greater", doc = "a > b, as bool.";
  static constexpr std::span<const Version> history = kStrictHistory;
  static constexpr Numbers kNumbers{NumberPair::less, true};
  template <Number C>
  static bool apply(C a, C b, const Binary&) {
    return a > b;
  }
  static std::optional<Dim> dim(const Dim& a, const Dim& b) { return truth(known_less(b, a)); }
  static std::vector<Case> cases() {
    return {{.name = "opset1_axis",
             .opset = 1,
             .attrs = {{"broadcast", int64_t{1}}, {"axis", int64_t{0}}},
             .inputs = {Tensor::of<float>({2, 2}, {1, 2, 3, 4}), Tensor::of<float>({2}, {1, 3})},
             .expected = {Tensor::of<bool>({2, 2}, {false, true, false, true})}}};
  }
};

struct LessOrEqual {
  static constexpr std::string_view name = "LessOrEqual", doc = "a <= b, as bool.";
  static constexpr std::span<const Version> history = kOrEqualHistory;
  static constexpr Numbers kNumbers{NumberPair::less_or_equal};
  template <Number C>
  static bool apply(C a, C b, const Binary&) {
    return a <= b;
  }
  static std::optional<Dim> dim(const Dim& a, const Dim& b) {
    return truth(negated(known_less(b, a)));
  }
};

struct GreaterOrEqual {
  static constexpr std::string_view name = "GreaterOrEqual", doc = "a >= b, as bool.";
  static constexpr std::span<const Version> history = kOrEqualHistory;
  static constexpr Numbers kNumbers{NumberPair::less_or_equal, true};
  template <Number C>
  static bool apply(C a, C b, const Binary&) {
    return a >= b;
  }
  static std::optional<Dim> dim(const Dim& a, const Dim& b) {
    return truth(negated(known_less(a, b)));
  }
};

}  // namespace

const Op equal_ = binary<Equal>();
const Op greater = binary<Greater>();
const Op greater_or_equal = binary<GreaterOrEqual>();
const Op less = binary<Less>();
const Op less_or_equal = binary<LessOrEqual>();

}  // namespace sdx::ops
