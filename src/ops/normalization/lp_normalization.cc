// LpNormalization.
#include "ops/normalization/lp_normalization.h"

#include <cmath>

#include "kernel/lanes.h"
#include "ops/common.h"

namespace sdx::ops {
namespace {

constexpr Version kHistory[] = {
    {1, "(input: T) -> (output: T) {axis: int = -1, p: int = 2} T in floats"},
    {22, "T += bf16"},
};

Result<LpNorm> read(const Node& node, const Facts& in) {
  if (node.i("p") != 1 && node.i("p") != 2)
    return fail("SDX-T0355", "p is {}, expected 1 or 2", node.i("p"));
  // Without a rank it is read again when that is known.
  if (!in[0].has_rank() || in[0].rank() == 0) return LpNorm{0, node.i("p") == 2};
  SDX_ASSIGN(const size_t axis, resolve_axis(node.i("axis"), in[0].rank()));
  return LpNorm{axis, node.i("p") == 2};
}

Result<Facts> infer(const LpNorm&, const Facts& in) { return Facts{like(in[0])}; }

// norm = sum |x|, or sqrt(sum (x * x)), by lanes;  y = x / norm, or 0 where the norm is 0.
template <class T>
void normalize(const LpNorm& a, const View& x, const View& y) {
  using C = Compute<T>;
  const AxisSplit at = split_at(x.dims, a.axis);
  for (size_t outer = 0; outer < at.outer; ++outer) {
    for (size_t inner = 0; inner < at.inner; ++inner) {
      const size_t base = outer * at.size * at.inner + inner;
      const auto in = [&](size_t i) { return load(x.data<T>()[base + i * at.inner]); };
      const C sum =
          lane_sum<C>(at.size, [&](size_t i) { return a.euclid ? in(i)*in(i) : std::fabs(in(i)); });
      const C norm = a.euclid ? std::sqrt(sum) : sum;
      for (size_t i = 0; i < at.size; ++i) {
        y.data<T>()[base + i * at.inner] = store<T>(norm == 0 ? C(0) : in(i) / norm);
      }
    }
  }
}

Status reference(const LpNorm& a, Args& args) {
  visit_floats(args.in(0).type, [&]<class T>() { normalize<T>(a, args.in(0), args.out()); });
  return ok();
}

std::vector<Case> cases() {
  return {{.name = "zeros_stay_zero",
           .opset = 1,
           .attrs = {},
           .inputs = {Tensor::of<float>({2, 2}, {3, 4, 0, 0})},
           .expected = {Tensor::of<float>({2, 2}, {.6f, .8f, 0, 0})}},
          {.name = "by_the_sum_of_magnitudes",
           .opset = 22,
           .attrs = {{"axis", int64_t{0}}, {"p", int64_t{1}}},
           .inputs = {Tensor::of<float>({2}, {-1, 3})},
           .expected = {Tensor::of<float>({2}, {-.25f, .75f})}}};
}

constexpr OpOf<LpNorm> kLpNorm{
    .name = "LpNormalization",
    .doc = "Vectors along an axis divided by their 1- or 2-norm.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .cases = cases,
};

}  // namespace

extern const Op lp_normalization = erase<kLpNorm>();

}  // namespace sdx::ops
