// PRelu and SwiGLU: activations of two inputs.
#include "kernel/math/math.h"
#include "ops/elementwise/binary.h"
#include "ops/list.h"

namespace sdx::ops {
namespace {

constexpr Version kPReluHistory[] = {
    {1, "(X: T, slope: T) -> (Y: T) {consumed_inputs: ints} T in floats"},
    {6, "{-consumed_inputs}"},
    {7, ""},  // slope broadcasts from the last axis
    {9, "T += i32 i64 u32 u64"},
    {16, "T += bf16"},
};
constexpr Version kSwiGLUHistory[] = {
    {28, "(A: T, B: T) -> (Y: T) {alpha: float = 1} T in floats bf16"},
};

struct PRelu {
  static constexpr std::string_view name = "PRelu", doc = "x, or slope x below zero.";
  static constexpr std::span<const Version> history = kPReluHistory;
  static constexpr BinaryOp kCode = BinaryOp::prelu;
  static constexpr unsigned kSingles = 2;  // only the slope may be one element
  static Status read(const Node& node, const Facts& in, Binary& a) {
    if (node.opset >= 7) return ok();
    // One slope per channel, axis 1, or one for all.
    if (!in[0].has_rank() || !in[1].has_rank()) return ok();  // read again when they are known
    const bool per_channel = in[1].rank() == 1 && !in[1].dim(0).is_const(1) && in[0].rank() >= 2;
    if (per_channel) a.trail = in[0].rank() - 2;
    return ok();
  }
  static Status check(const Shape& x, const Shape& slope, const Shape& both) {
    if (both.size() == x.size()) {
      bool same = true;
      for (size_t i = 0; i < x.size(); ++i)
        same = same && !(x[i].is_const(1) && both[i].is_const() && !both[i].is_const(1));
      if (same) return ok();
    }
    return fail("SDX-T0204", "the slope's shape {} is larger than the input's shape {}",
                to_string(slope), to_string(x));
  }
  template <Number C>
  static C apply(C x, C slope, const Binary&) {
    if constexpr (std::integral<C>) return x < 0 ? wrap_mul(slope, x) : x;
    return x < 0 ? C(slope * x) : x;
  }
  static std::vector<Case> cases() {
    return {{.name = "opset6_has_one_slope_per_channel",
             .opset = 6,
             .attrs = {},
             .inputs = {Tensor::of<float>({1, 2, 3}, {-1, -2, 3, -1, -2, 3}),
                        Tensor::of<float>({2}, {.5f, 2})},
             .expected = {Tensor::of<float>({1, 2, 3}, {-.5f, -1, 3, -2, -4, 3})}}};
  }
};

struct SwiGLU {
  static constexpr std::string_view name = "SwiGLU",
                                    doc = "a sigmoid(alpha a) b; both inputs have one shape.";
  static constexpr std::span<const Version> history = kSwiGLUHistory;
  static constexpr unsigned kSingles = 0;
  static Status read(const Node& node, const Facts&, Binary& a) {
    a.alpha = node.f("alpha");
    return ok();
  }
  static Status check(const Shape& a, const Shape& b, const Shape&) {
    bool same = a.size() == b.size();
    for (size_t i = 0; same && i < a.size(); ++i)
      same = !a[i].is_const() || !b[i].is_const() || a[i] == b[i];
    if (same) return ok();
    return fail("SDX-T0205", "shapes {} and {} differ; SwiGLU does not broadcast", to_string(a),
                to_string(b));
  }
  template <std::floating_point C>
  static C apply(C a, C b, const Binary& attrs) {
    return (a * math::sigmoid(C(attrs.alpha) * a)) * b;
  }
};

}  // namespace

const Op prelu = binary<PRelu>();
const Op swiglu = binary<SwiGLU>();

}  // namespace sdx::ops
