// Add, Sub, Mul, Div and Mod.
#include <cmath>

#include "kernel/math/math.h"
#include "ops/elementwise/binary.h"
#include "ops/list.h"

namespace sdx::ops {
namespace {

constexpr Version kHistory[] = {
    {1,
     "(A: T, B: T) -> (C: T) {axis: int, broadcast: int = 0, consumed_inputs: ints} T in floats"},
    {6, "{-consumed_inputs} T += i32 i64 u32 u64"},
    {7, "{-axis, -broadcast}"},  // broadcasting in both directions
    {13, "T += bf16"},
    {14, "T += i16 i8 u16 u8"},
};
constexpr Version kModHistory[] = {
    {10, "(A: T, B: T) -> (C: T) {fmod: int = 0} T in num"},
    {13, "T += bf16"},
    {28, ""},
};

struct Add {
  static constexpr std::string_view name = "Add", doc = "a + b.";
  static constexpr std::span<const Version> history = kHistory;
  static constexpr BinaryOp kCode = BinaryOp::add;
  static constexpr Numbers kNumbers{NumberPair::add};
  template <Number C>
  static C apply(C a, C b, const Binary&) {
    if constexpr (std::integral<C>) return wrap_add(a, b);
    return a + b;
  }
  static std::optional<Dim> dim(const Dim& a, const Dim& b) { return a + b; }
  static std::vector<Case> cases() {
    const auto count = [](Dims dims, float first) {
      Tensor t = Tensor::make(DType::f32, dims);
      for (size_t i = 0; i < t.count(); ++i) t.data<float>()[i] = first + float(i);
      return t;
    };
    return {
        {.name = "opset1_axis_places_the_second_input",
         .opset = 1,
         .attrs = {{"broadcast", int64_t{1}}, {"axis", int64_t{0}}},
         .inputs = {Tensor::of<float>({2, 3}, {0, 1, 2, 3, 4, 5}),
                    Tensor::of<float>({2}, {10, 20})},
         .expected = {Tensor::of<float>({2, 3}, {10, 11, 12, 23, 24, 25})}},
        {.name = "opset6_suffix_matches",
         .opset = 6,
         .attrs = {{"broadcast", int64_t{1}}},
         .inputs = {Tensor::of<int64_t>({2, 2}, {1, 2, 3, 4}), Tensor::of<int64_t>({2}, {10, 20})},
         .expected = {Tensor::of<int64_t>({2, 2}, {11, 22, 13, 24})}},
        {.name = "both_inputs_broadcast",
         .opset = 14,
         .attrs = {},
         .inputs = {Tensor::of<int8_t>({2, 1}, {127, 1}), Tensor::of<int8_t>({1, 2}, {1, 2})},
         .expected = {Tensor::of<int8_t>({2, 2}, {-128, -127, 2, 3})}},
        {.name = "zero_elements",
         .opset = 14,
         .attrs = {},
         .inputs = {Tensor::make(DType::f32, {0, 3}), Tensor::of<float>({3}, {1, 2, 3})},
         .expected = {Tensor::make(DType::f32, {0, 3})}},
        {.name = "channels",
         .opset = 14,
         .attrs = {},
         .inputs = {count({2, 5, 7, 9}, -20), count({5, 1, 1}, .1f)}},
        {.name = "rows_and_columns",
         .opset = 14,
         .attrs = {},
         .inputs = {count({37, 1}, -3), count({1, 53}, .3f)}},
        {.name = "long_run",
         .opset = 14,
         .attrs = {},
         .inputs = {count({70001}, -3), count({70001}, .3f)}},
        {.name = "alternating_axes",
         .opset = 14,
         .attrs = {},
         .inputs = {count({3, 1, 2, 1, 5}, -3), count({4, 1, 3, 5}, .3f)}},
    };
  }
};

struct Sub {
  static constexpr std::string_view name = "Sub", doc = "a - b.";
  static constexpr std::span<const Version> history = kHistory;
  static constexpr BinaryOp kCode = BinaryOp::sub;
  static constexpr Numbers kNumbers{NumberPair::sub};
  template <Number C>
  static C apply(C a, C b, const Binary&) {
    if constexpr (std::integral<C>) return wrap_sub(a, b);
    return a - b;
  }
  static std::optional<Dim> dim(const Dim& a, const Dim& b) { return a - b; }
};

struct Mul {
  static constexpr std::string_view name = "Mul", doc = "a * b.";
  static constexpr std::span<const Version> history = kHistory;
  static constexpr BinaryOp kCode = BinaryOp::mul;
  static constexpr Numbers kNumbers{NumberPair::mul};
  template <Number C>
  static C apply(C a, C b, const Binary&) {
    if constexpr (std::integral<C>) return wrap_mul(a, b);
    return a * b;
  }
  static std::optional<Dim> dim(const Dim& a, const Dim& b) { return a * b; }
};

struct Div {
  static constexpr std::string_view name = "Div";
  static constexpr std::string_view doc = "a / b; integers round towards zero, and x / 0 is 0.";
  static constexpr std::span<const Version> history = kHistory;
  static constexpr BinaryOp kCode = BinaryOp::div;
  static constexpr Numbers kNumbers{NumberPair::div};
  template <Number C>
  static C apply(C a, C b, const Binary&) {
    if constexpr (std::integral<C>) {
      if (b == 0) return 0;
      if (std::is_signed_v<C> && b == C(-1)) return wrap_sub(C(0), a);
    }
    return C(a / b);
  }
  static std::optional<Dim> dim(const Dim& a, const Dim& b) {
    if (a.is_const() && b.is_const()) return Dim(apply(a.value(), b.value(), {}));
    // Rounding down is rounding towards zero only among the non-negative.
    if (never_negative(a) && b.is_const() && b.value() > 0) return floor_div(a, b);
    return std::nullopt;
  }
  static std::vector<Case> cases() {
    return {
        {.name = "integers_divide_towards_zero",
         .opset = 14,
         .attrs = {},
         .inputs = {Tensor::of<int32_t>({5}, {7, -7, 7, 5, INT32_MIN}),
                    Tensor::of<int32_t>({5}, {2, 2, -2, 0, -1})},
         .expected = {Tensor::of<int32_t>({5}, {3, -3, -3, 0, INT32_MIN})}},
        {.name = "bytes_of_both_signs",
         .opset = 14,
         .attrs = {},
         .inputs = {Tensor::of<int8_t>({3}, {-128, 100, 9}), Tensor::of<int8_t>({3}, {-1, -7, 0})},
         .expected = {Tensor::of<int8_t>({3}, {-128, -14, 0})}}};
  }
};

struct Mod {
  static constexpr std::string_view name = "Mod";
  static constexpr std::string_view doc =
      "The remainder of a / b with the sign of b, or with the sign of a if fmod is 1.";
  static constexpr std::span<const Version> history = kModHistory;
  static Status read(const Node& node, const Facts&, Binary& a) {
    a.flag = node.i("fmod") != 0;
    return ok();
  }
  static BinaryOp code(const Binary& a) { return a.flag ? BinaryOp::fmod : BinaryOp::floor_mod; }
  template <Number C>
  static C apply(C a, C b, const Binary& attrs) {
    if constexpr (std::integral<C>) {
      if (b == 0 || (std::is_signed_v<C> && b == C(-1))) return 0;
      const C rest = C(a % b);
      return !attrs.flag && rest != 0 && (rest < 0) != (b < 0) ? C(rest + b) : rest;
    } else {
      return attrs.flag ? math::fmod(a, b) : math::floor_mod(a, b);
    }
  }
  static std::optional<Dim> dim(const Dim& a, const Dim& b) {
    if (never_negative(a) && b.is_const() && b.value() > 0) return a - floor_div(a, b) * b;
    return std::nullopt;
  }
  static std::vector<Case> cases() {
    return {{.name = "zero_divisor_gives_zero",
             .opset = 13,
             .attrs = {},
             .inputs = {Tensor::of<int64_t>({4}, {5, -5, INT64_MIN, -7}),
                        Tensor::of<int64_t>({4}, {0, 0, -1, 3})},
             .expected = {Tensor::of<int64_t>({4}, {0, 0, 0, 2})}}};
  }
};

}  // namespace

const Op add = binary<Add>();
const Op div = binary<Div>();
const Op mod = binary<Mod>();
const Op mul = binary<Mul>();
const Op sub = binary<Sub>();

}  // namespace sdx::ops
