// MeanVarianceNormalization.
#include "ops/normalization/mean_variance_normalization.h"

#include <cmath>

#include "kernel/lanes.h"
#include "ops/reduction/reduced.h"

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

std::vector<Case> cases() {
  return {{.name = "per_channel",
           .opset = 9,
           .attrs = {},
           .inputs = {Tensor::of<float>({2, 2, 1, 1}, {1, 10, 3, 30})},
           .expected = {Tensor::of<float>({2, 2, 1, 1}, {-1, -1, 1, 1})},
           .rtol = 1e-6}};
}

constexpr OpOf<MeanVariance> kMeanVariance{
    .name = "MeanVarianceNormalization",
    .doc = "Shifted and scaled to mean 0 and variance 1 over axes.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .cases = cases,
};

}  // namespace

extern const Op mean_variance_normalization = erase<kMeanVariance>();

}  // namespace sdx::ops
