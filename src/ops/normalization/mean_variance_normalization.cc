// MeanVarianceNormalization.
#include "ops/normalization/mean_variance_normalization.h"

#include <cmath>

#include "kernel/elementwise/arrays.h"
#include "kernel/lanes.h"
#include "kernel/rows/rows.h"
#include "ops/noise.h"
#include "ops/reduction/reduced.h"
#include "ops/widened.h"

namespace sdx::ops {
namespace {

constexpr Version kHistory[] = {
    {9, "(X: T) -> (Y: T) {axes: ints = [0, 2, 3]} T in floats"},
    {13, "T += bf16"},
};

Result<MeanVariance> read(const Node& node, const Facts& in) {
  // Read again when the rank is known.
  if (!in[0].has_rank()) return MeanVariance{};
  if (in[0].rank() > 64)
    return fail("SDX-T0340", "the input has rank {}, at most 64 is supported", in[0].rank());
  MeanVariance a{std::vector<bool>(in[0].rank(), node.ints("axes").empty())};
  for (const int64_t axis : node.ints("axes")) {
    SDX_ASSIGN(const size_t at, resolve_axis(axis, in[0].rank(), "axes"));
    a.reduced[at] = true;
  }
  return a;
}

Result<Facts> infer(const MeanVariance&, const Facts& in) { return Facts{like(in[0])}; }

// mean = sum x / n;  d = x - mean;  var = sum (d * d) / n;  y = d / (sqrt(var) + 1e-9). Sums by
// lanes.
template <class T>
void normalize(const MeanVariance& a, const View& x, const View& y) {
  using C = Compute<T>;
  const Reduced r = split_reduced(x.dims, [&](size_t i) { return a.reduced[i]; });
  std::vector<size_t> offset(r.empty ? 0 : r.count);
  for (size_t i = 0; i < offset.size(); ++i) offset[i] = r.offset(i);
  for (size_t o = 0; o < r.outputs && !r.empty; ++o) {
    const size_t base = r.base(o);
    const auto in = [&](size_t i) { return load(x.data<T>()[base + offset[i]]); };
    const C mean = lane_sum<C>(r.count, in) / C(r.count);
    const C var =
        lane_sum<C>(r.count, [&](size_t i) { return (in(i)-mean) * (in(i)-mean); }) / C(r.count);
    const C deviation = std::sqrt(var) + C(1e-9);
    for (size_t i = 0; i < r.count; ++i)
      y.data<T>()[base + offset[i]] = store<T>((in(i)-mean) / deviation);
  }
}

Status reference(const MeanVariance& a, Args& args) {
  visit_floats(args.in(0).type, [&]<class T>() { normalize<T>(a, args.in(0), args.out()); });
  return ok();
}

Reduced split(const MeanVariance& a, std::span<const int64_t> dims) {
  return split_reduced(dims, [&](size_t i) { return a.reduced[i]; });
}
// Elements that lie in runs.
bool fits(const MeanVariance& a, const Call& call) {
  if (call.in[0].type != DType::f32) return false;
  const Reduced r = split(a, call.in[0].dims());
  return !r.empty && r.gone_axes > 0 && r.gone[r.gone_axes - 1].step == 1;
}

Status run(const MeanVariance& a, Args& args) {
  const Reduced r = split(a, args.in(0).dims);
  const float* x = args.in(0).data<float>();
  float* y = args.out().data<float>();
  const auto start = SDX_PICK(fold_begin, args.isa);
  const auto take = SDX_PICK(fold_take, args.isa);
  const auto end_fold = SDX_PICK(fold_end, args.isa);
  const auto binary = SDX_PICK(array_binary, args.isa);
  const size_t run = r.gone[r.gone_axes - 1].size;
  args.pool->parallel(r.outputs, 1 + 4096 / r.count, [&](size_t begin, size_t end, int) {
    alignas(64) float lanes[kFoldLanes];
    for (size_t o = begin; o < end; ++o) {
      const size_t base = r.base(o);
      // What `fold` over the runs of `from` comes to, over n.
      const auto mean_of = [&](Fold fold, const float* from) {
        start(fold, lanes);
        for (size_t i = 0; i < r.count; i += run) take(fold, lanes, i, from + r.offset(i), run);
        return end_fold(fold, lanes) / float(r.count);
      };
      const auto each_run = [&](BinaryOp op, const float* from, float with) {
        for (size_t i = 0; i < r.count; i += run) {
          const size_t at = base + r.offset(i);
          binary(op, from + at, 1, &with, 0, y + at, run);
        }
      };
      each_run(BinaryOp::sub, x, mean_of(Fold::sum, x + base));
      const float var = mean_of(Fold::sum_square, y + base);
      each_run(BinaryOp::div, y, std::sqrt(var) + 1e-9f);
    }
  });
  return ok();
}

constexpr Kernel<MeanVariance> kPlain{.name = "mean_variance_f32", .fits = fits, .run = run};
constexpr Kernel<MeanVariance> kKernels[] = {kPlain, widened<kPlain>("mean_variance_f16")};

std::vector<Case> cases() {
  return {
      {.name = "per_channel",
       .opset = 9,
       .attrs = {},
       .inputs = {Tensor::of<float>({2, 2, 1, 1}, {1, 10, 3, 30})},
       .expected = {Tensor::of<float>({2, 2, 1, 1}, {-1, -1, 1, 1})},
       .rtol = 1e-6},
      {.name = "planes_of_every_image", .opset = 9, .attrs = {}, .inputs = {noise({3, 2, 5, 7})}},
      {.name = "each_plane_alone",
       .opset = 13,
       .attrs = {{"axes", std::vector<int64_t>{2, 3}}},
       .inputs = {noise({2, 3, 9, 11})}},
      {.name = "halves",
       .opset = 13,
       .attrs = {{"axes", std::vector<int64_t>{2, 3}}},
       .inputs = {noise(DType::f16, {2, 3, 9, 11})}}};
}

constexpr OpOf<MeanVariance> kMeanVariance{
    .name = "MeanVarianceNormalization",
    .doc = "Shifted and scaled to mean 0 and variance 1 over axes.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .kernels = kKernels,
    .cases = cases,
};

}  // namespace

extern const Op mean_variance_normalization = erase<kMeanVariance>();

}  // namespace sdx::ops
