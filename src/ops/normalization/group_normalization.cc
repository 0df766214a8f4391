// InstanceNormalization and GroupNormalization.
#include "ops/normalization/group_normalization.h"

#include <cmath>

#include "kernel/lanes.h"
#include "kernel/rows/rows.h"
#include "ops/noise.h"
#include "ops/normalization/affine.h"
#include "ops/widened.h"

namespace sdx::ops {
namespace {

constexpr Version kInstanceHistory[] = {
    {1,
     "(input: T, scale: T, B: T) -> (output: T) {consumed_inputs: ints, epsilon: float = 1e-05} T "
     "in floats"},
    {6, "{-consumed_inputs}"},
    {22, "T += bf16"},
};
constexpr Version kGroupHistory[] = {
    {18,
     "(X: T, scale: T, bias: T) -> (Y: T) {epsilon: float = 1e-05, num_groups!: int} T in floats "
     "bf16 deprecated"},
    {21, "{stash_type: int = 1}"},
};

Result<GroupNorm> read_instance(const Node& node, const Facts&) {
  return GroupNorm{0, node.f("epsilon"), false};
}

Result<GroupNorm> read_group(const Node& node, const Facts&) {
  if (node.i("num_groups") < 1)
    return fail("SDX-T0354", "num_groups is {}, expected at least 1", node.i("num_groups"));
  return GroupNorm{node.i("num_groups"), node.f("epsilon"), node.opset < 21};
}

Result<Facts> infer(const GroupNorm& a, const Facts& in) {
  if (in[0].has_rank()) {
    if (in[0].rank() < 2)
      return fail("SDX-T0353", "the input has rank {}, expected at least 2", in[0].rank());
    const Dim& channels = in[0].dim(1);
    if (a.groups > 0 && channels.is_const() && channels.value() % a.groups != 0) {
      return fail("SDX-T0354", "{} channels do not divide into {} groups", channels.text(),
                  a.groups);
    }
    const Dim each = a.per_group ? Dim(a.groups) : channels;
    SDX_TRY(check_channels(in[1], each, "scale"));
    SDX_TRY(check_channels(in[2], each, "bias"));
  }
  return Facts{like(in[0])};
}

// Over each group of channels of each sample: mean = sum x / n;  d = x - mean;  var = sum (d * d) /
// n; inv = 1 / sqrt(var + epsilon);  y = ((d * inv) * scale) + bias. Sums by lanes, every operation
// rounded on its own.
template <class T>
void normalize(const GroupNorm& a, Args& args) {
  using C = Compute<T>;
  const View& x = args.in(0);
  const AxisSplit at = split_at(x.dims, 1);
  const size_t groups = a.groups == 0 ? at.size : size_t(a.groups);
  const size_t channels = groups == 0 ? 0 : at.size / groups, n = channels * at.inner;
  for (size_t g = 0; g < at.outer * groups; ++g) {
    const T* from = x.data<T>() + g * n;
    T* to = args.out().data<T>() + g * n;
    const C mean = lane_sum<C>(n, [&](size_t i) { return load(from[i]); }) / C(n);
    const auto d = [&](size_t i) { return load(from[i]) - mean; };
    const C inv = C(1) / std::sqrt(lane_sum<C>(n, [&](size_t i) { return d(i) * d(i); }) / C(n) +
                                   C(a.epsilon));
    for (size_t i = 0; i < n; ++i) {
      const size_t p = a.per_group ? g % groups : g % groups * channels + i / at.inner;
      to[i] =
          store<T>((d(i) * inv) * load(args.in(1).data<T>()[p]) + load(args.in(2).data<T>()[p]));
    }
  }
}

Status reference(const GroupNorm& a, Args& args) {
  visit_floats(args.in(0).type, [&]<class T>() { normalize<T>(a, args); });
  return ok();
}

bool fits(const GroupNorm&, const Call& call) { return call.in[0].type == DType::f32; }

Status run(const GroupNorm& a, Args& args) {
  const float *x = args.in(0).data<float>(), *scale = args.in(1).data<float>(),
              *bias = args.in(2).data<float>();
  float* y = args.out().data<float>();
  const AxisSplit at = split_at(args.in(0).dims, 1);
  const size_t groups = a.groups == 0 ? at.size : size_t(a.groups);
  const size_t channels = groups == 0 ? 0 : at.size / groups, n = channels * at.inner;
  const auto stats = SDX_PICK(moments, args.isa);
  const auto apply = SDX_PICK(normalize_plane, args.isa);
  args.pool->parallel(at.outer * groups, 1 + 4096 / (n + 1), [&](size_t begin, size_t end, int) {
    for (size_t g = begin; g < end; ++g) {
      float mean, inv;
      stats(x + g * n, n, a.epsilon, &mean, &inv);
      for (size_t c = 0; c < channels; ++c) {
        const size_t p = a.per_group ? g % groups : g % groups * channels + c,
                     to = g * n + c * at.inner;
        apply(x + to, y + to, at.inner, mean, inv, scale[p], bias[p]);
      }
    }
  });
  return ok();
}
constexpr Kernel<GroupNorm> kPlain = {.name = "group_normalization_f32", .fits = fits, .run = run};
constexpr Kernel<GroupNorm> kKernels[] = {kPlain, widened<kPlain>("group_normalization_f16")};

std::vector<Case> instance_cases() {
  return {{.name = "opset1_per_plane",
           .opset = 1,
           .attrs = {{"epsilon", 0.f}},
           .inputs = {Tensor::of<float>({1, 2, 2}, {1, 3, 10, 30}), Tensor::of<float>({2}, {1, 2}),
                      Tensor::of<float>({2}, {0, 1})},
           .expected = {Tensor::of<float>({1, 2, 2}, {-1, 1, -1, 3})},
           .rtol = 1e-6},
          {.name = "of_larger_planes",
           .opset = 22,
           .attrs = {},
           .inputs = {noise({2, 3, 5, 7}), noise({3}, 2), noise({3}, 3)}}};
}
std::vector<Case> group_cases() {
  const Tensor x = Tensor::of<float>({1, 2, 2}, {-1, 1, -1, 1});
  return {{.name = "opset18_scales_per_group",
           .opset = 18,
           .attrs = {{"epsilon", 0.f}, {"num_groups", int64_t{1}}},
           .inputs = {x, Tensor::of<float>({1}, {2}), Tensor::of<float>({1}, {1})},
           .expected = {Tensor::of<float>({1, 2, 2}, {-1, 3, -1, 3})}},
          {.name = "opset21_scales_per_channel",
           .opset = 21,
           .attrs = {{"epsilon", 0.f}, {"num_groups", int64_t{1}}},
           .inputs = {x, Tensor::of<float>({2}, {2, 3}), Tensor::of<float>({2}, {1, 0})},
           .expected = {Tensor::of<float>({1, 2, 2}, {-1, 3, -3, 3})}},
          {.name = "of_larger_planes",
           .opset = 21,
           .attrs = {{"num_groups", int64_t{2}}},
           .inputs = {noise({2, 6, 5, 7}), noise({6}, 2), noise({6}, 3)}}};
}

constexpr OpOf<GroupNorm> kInstance{
    .name = "InstanceNormalization",
    .doc =
        "Each channel of each sample shifted and scaled to mean 0 and variance 1, then times scale "
        "plus B.",
    .history = kInstanceHistory,
    .read = read_instance,
    .infer = infer,
    .reference = reference,
    .kernels = kKernels,
    .cases = instance_cases,
};
constexpr OpOf<GroupNorm> kGroup{
    .name = "GroupNormalization",
    .doc =
        "Groups of channels of each sample shifted and scaled to mean 0 and variance 1, then times "
        "scale plus bias.",
    .history = kGroupHistory,
    .read = read_group,
    .infer = infer,
    .reference = reference,
    .kernels = kKernels,
    .cases = group_cases,
};

}  // namespace

extern const Op instance_normalization = erase<kInstance>();
extern const Op group_normalization = erase<kGroup>();

}  // namespace sdx::ops
