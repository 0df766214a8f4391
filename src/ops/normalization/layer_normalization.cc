// LayerNormalization and RMSNormalization.
#include "ops/normalization/layer_normalization.h"

#include <algorithm>
#include <cmath>

#include "kernel/lanes.h"
#include "kernel/rows/rows.h"
#include "ops/noise.h"
#include "ops/normalization/affine.h"
#include "ops/widened.h"

namespace sdx::ops {
namespace {

// onnxruntime had the operator in ai.onnx long before ONNX 17 did, and models carry it.
constexpr Version kHistory[] = {
    {1,
     "(X: T, Scale: V, B?: V) -> (Y: V, Mean?: U, InvStdDev?: U) {axis: int = -1, epsilon: float = "
     "1e-05, stash_type: int "
     "= 1} T in floats bf16 U in bf16 f32 V in floats bf16"},
    {17, "(X: T, Scale: T, B?: T) -> (Y: T, Mean?: U, InvStdDev?: U) -V"},
};
constexpr Version kRmsHistory[] = {
    {23,
     "(X: T, scale: V) -> (Y: V) {axis: int = -1, epsilon: float = 1e-05, stash_type: int = 1} T "
     "in floats bf16 V in "
     "floats bf16"},
};

Result<LayerNorm> read(const Node& node, const Facts& in) {
  size_t axis = 0;  // without a rank it is read again when that is known
  if (in[0].has_rank()) {
    SDX_ASSIGN(axis, resolve_axis(node.i("axis"), in[0].rank()));
  }
  const auto stash = node.i("stash_type") == int64_t(DType::bf16) ? DType::bf16 : DType::f32;
  return LayerNorm{axis, node.f("epsilon"), stash, std::max<size_t>(1, node.wanted.size())};
}

Result<Facts> infer(const LayerNorm& a, const Facts& in) {
  Facts facts{like(in[0], in[1].type)};
  if (!in[0].has_rank()) {
    while (facts.size() < a.outputs) facts.push_back(Fact::tensor(a.stash));
    return facts;
  }
  for (size_t i = 1; i < in.size(); ++i)
    SDX_TRY(check_affine(in[i], in[0], i == 1 ? "Scale" : "B"));
  Shape rest = *in[0].shape;
  for (size_t i = a.axis; i < rest.size(); ++i) rest[i] = Dim(1);
  while (facts.size() < a.outputs) facts.push_back(Fact::tensor(a.stash, rest));
  return facts;
}

Result<Facts> infer_rms(const LayerNorm&, const Facts& in) {
  if (in[0].has_rank()) SDX_TRY(check_affine(in[1], in[0], "scale"));
  return Facts{like(in[0], in[1].type)};
}

// mean = sum x / n;  d = x - mean;  var = sum (d * d) / n;  inv = 1 / sqrt(var + epsilon);
// y = ((d * inv) * scale) + b, rounded once to the type of scale. Sums by lanes, every operation
// rounded on its own; Mean and InvStdDev are mean and inv.
template <class T, class V>
void layer(const LayerNorm& a, Args& args) {
  using C = Compute<T>;
  using D = std::conditional_t<std::is_same_v<V, double>, double, C>;
  const View& x = args.in(0);
  const AxisSplit at = split_at(x.dims, a.axis, x.rank() - a.axis);
  const Affine scale(args.in(1), x.dims), bias(args.has(2) ? args.in(2) : View{}, x.dims);
  for (size_t row = 0; row < at.outer; ++row) {
    const T* from = x.data<T>() + row * at.size;
    V* to = args.out().data<V>() + row * at.size;
    const C mean = lane_sum<C>(at.size, [&](size_t i) { return load(from[i]); }) / C(at.size);
    const auto d = [&](size_t i) { return load(from[i]) - mean; };
    const C var = lane_sum<C>(at.size, [&](size_t i) { return d(i) * d(i); }) / C(at.size);
    const C inv = C(1) / std::sqrt(var + C(a.epsilon));
    for (size_t i = 0; i < at.size; ++i) {
      D y = D(d(i) * inv) * D(load(args.in(1).data<V>()[scale.at(row * at.size + i)]));
      if (args.has(2)) y = y + D(load(args.in(2).data<V>()[bias.at(row * at.size + i)]));
      to[i] = store<V>(Compute<V>(y));
    }
    if (args.wants(1)) set_float(args.out(1), row, mean);
    if (args.wants(2)) set_float(args.out(2), row, inv);
  }
}

Status reference(const LayerNorm& a, Args& args) {
  visit_floats(args.in(0).type, [&]<class T>() {
    visit_floats(args.in(1).type, [&]<class V>() { layer<T, V>(a, args); });
  });
  return ok();
}

// ms = sum (x * x) / n;  inv = 1 / sqrt(ms + epsilon);  y = (x * inv) * scale, rounded once to the
// type of scale.
template <class T>
void rms(const LayerNorm& a, Args& args) {
  using C = Compute<T>;
  const View &x = args.in(0), &s = args.in(1);
  const AxisSplit at = split_at(x.dims, a.axis, x.rank() - a.axis);
  const Affine scale(s, x.dims);
  for (size_t row = 0; row < at.outer; ++row) {
    const T* from = x.data<T>() + row * at.size;
    const auto square = [&](size_t i) { return load(from[i]) * load(from[i]); };
    const C inv = C(1) / std::sqrt(lane_sum<C>(at.size, square) / C(at.size) + C(a.epsilon));
    visit_floats(s.type, [&]<class V>() {
      using D = std::conditional_t<std::is_same_v<V, double>, double, C>;
      for (size_t i = 0; i < at.size; ++i) {
        const size_t to = row * at.size + i;
        args.out().data<V>()[to] =
            store<V>(Compute<V>(D(load(from[i]) * inv) * D(load(s.data<V>()[scale.at(to)]))));
      }
    });
  }
}

Status reference_rms(const LayerNorm& a, Args& args) {
  visit_floats(args.in(0).type, [&]<class T>() { rms<T>(a, args); });
  return ok();
}

// Scale and bias that have one element per normalised element: the common form.
bool per_element(const LayerNorm& a, const Call& call, size_t i) {
  if (i >= call.in.size() || !call.in[i].present()) return true;
  const Dims x = call.in[0].dims(), p = call.in[i].dims();
  size_t first = 0;
  while (first < p.size() && p[first] == 1 && p.size() - first > x.size() - a.axis) ++first;
  return call.in[i].type == DType::f32 &&
         std::equal(p.begin() + ptrdiff_t(first), p.end(), x.begin() + ptrdiff_t(a.axis), x.end());
}
bool fits(const LayerNorm& a, const Call& call) {
  return call.in[0].type == DType::f32 && a.stash == DType::f32 && per_element(a, call, 1) &&
         per_element(a, call, 2);
}

Status run(const LayerNorm& a, Args& args) {
  const View& x = args.in(0);
  const AxisSplit at = split_at(x.dims, a.axis, x.rank() - a.axis);
  const auto stats = SDX_PICK(moments, args.isa);
  const auto apply = SDX_PICK(normalize_row, args.isa);
  const float *scale = args.in(1).data<float>(),
              *bias = args.has(2) ? args.in(2).data<float>() : nullptr;
  args.pool->parallel(at.outer, 1 + 4096 / (at.size + 1), [&](size_t begin, size_t end, int) {
    for (size_t row = begin; row < end; ++row) {
      const float* from = x.data<float>() + row * at.size;
      float mean, inv;
      stats(from, at.size, a.epsilon, &mean, &inv);
      apply(from, args.out().data<float>() + row * at.size, at.size, mean, inv, scale, bias);
      if (args.wants(1)) args.out(1).data<float>()[row] = store<float>(mean);
      if (args.wants(2)) args.out(2).data<float>()[row] = store<float>(inv);
    }
  });
  return ok();
}
Status run_rms(const LayerNorm& a, Args& args) {
  const View& x = args.in(0);
  const AxisSplit at = split_at(x.dims, a.axis, x.rank() - a.axis);
  const auto stats = SDX_PICK(inverse_rms, args.isa);
  const auto apply = SDX_PICK(scale_row, args.isa);
  args.pool->parallel(at.outer, 1 + 4096 / (at.size + 1), [&](size_t begin, size_t end, int) {
    for (size_t row = begin; row < end; ++row) {
      const float* from = x.data<float>() + row * at.size;
      apply(from, args.out().data<float>() + row * at.size, at.size,
            stats(from, at.size, a.epsilon), args.in(1).data<float>());
    }
  });
  return ok();
}
constexpr Kernel<LayerNorm> kPlain = {.name = "layer_normalization_f32", .fits = fits, .run = run};
constexpr Kernel<LayerNorm> kKernels[] = {kPlain, widened<kPlain>("layer_normalization_f16")};
constexpr Kernel<LayerNorm> kPlainRms = {
    .name = "rms_normalization_f32", .fits = fits, .run = run_rms};
constexpr Kernel<LayerNorm> kRmsKernels[] = {kPlainRms,
                                             widened<kPlainRms>("rms_normalization_f16")};

std::vector<Case> cases() {
  return {{.name = "mean_and_deviation_come_out",
           .opset = 17,
           .attrs = {{"epsilon", 0.f}},
           .inputs = {Tensor::of<float>({1, 4}, {-1, 1, -1, 1}), Tensor::of<float>({1}, {2}),
                      Tensor::of<float>({4}, {0, 1, 2, 3})},
           .expected = {Tensor::of<float>({1, 4}, {-2, 3, 0, 5}), Tensor::of<float>({1, 1}, {0}),
                        Tensor::of<float>({1, 1}, {1})},
           .outputs = 3},
          {.name = "over_two_axes_of_doubles",
           .opset = 17,
           .attrs = {{"axis", int64_t{-2}}, {"epsilon", 0.f}},
           .inputs = {Tensor::of<double>({1, 2, 2}, {-3, 3, -3, 3}),
                      Tensor::of<double>({2, 1}, {1, 2})},
           .expected = {Tensor::of<double>({1, 2, 2}, {-1, 1, -2, 2})}},
          {.name = "long_rows",
           .opset = 17,
           .attrs = {},
           .inputs = {noise({3, 4, 77}), noise({77}, 2), noise({77}, 3)},
           .outputs = 3},
          {.name = "halves_with_a_scale_of_floats",
           .opset = 12,
           .attrs = {{"epsilon", 0.f}},
           .inputs = {Tensor::of<F16>({1, 4},
                                      {F16::from(-1), F16::from(1), F16::from(-1), F16::from(1)}),
                      Tensor::of<float>({4}, {1, 1 / 3.f, 2, 1})},
           .expected = {Tensor::of<float>({1, 4}, {-1, 1 / 3.f, -2, 1})}},
          {.name = "two_axes",
           .opset = 17,
           .attrs = {{"axis", int64_t{1}}},
           .inputs = {noise({3, 5, 7}), noise({1, 5, 7}, 2)}},
          {.name = "halves",
           .opset = 17,
           .attrs = {},
           .inputs = {noise(DType::f16, {3, 40}), noise(DType::f16, {40}, 2),
                      noise(DType::f16, {40}, 3)},
           .outputs = 3}};
}
std::vector<Case> rms_cases() {
  return {{.name = "divides_by_the_root_mean_square",
           .opset = 23,
           .attrs = {{"epsilon", 0.f}},
           .inputs = {Tensor::of<float>({1, 2}, {4, 4}), Tensor::of<float>({2}, {1, 3})},
           .expected = {Tensor::of<float>({1, 2}, {1, 3})}},
          {.name = "long_rows",
           .opset = 23,
           .attrs = {},
           .inputs = {noise({3, 4, 77}), noise({77}, 2)}}};
}

constexpr OpOf<LayerNorm> kLayer{
    .name = "LayerNormalization",
    .doc = "Rows shifted and scaled to mean 0 and variance 1, then times Scale plus B.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .kernels = kKernels,
    .cases = cases,
};
constexpr OpOf<LayerNorm> kRms{
    .name = "RMSNormalization",
    .doc = "Rows divided by the root of their mean square, then times scale.",
    .history = kRmsHistory,
    .read = read,
    .infer = infer_rms,
    .reference = reference_rms,
    .kernels = kRmsKernels,
    .cases = rms_cases,
};

}  // namespace

extern const Op layer_normalization = erase<kLayer>();
extern const Op rms_normalization = erase<kRms>();

}  // namespace sdx::ops
