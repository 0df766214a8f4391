// BatchNormalization.
#include "ops/normalization/batch_normalization.h"

#include <algorithm>
#include <cmath>

#include "kernel/lanes.h"
#include "kernel/rows/rows.h"
#include "ops/noise.h"
#include "ops/normalization/affine.h"
#include "ops/widened.h"

namespace sdx::ops {
namespace {

constexpr Version kHistory[] = {
    {1,
     "(X: T, scale: T, B: T, mean: T, var: T) -> (Y: T, mean?: T, var?: T, saved_mean?: T, "
     "saved_var?: T) "
     "{consumed_inputs!: ints, epsilon: float = 1e-05, is_test: int = 0, momentum: float = 0.9, "
     "spatial: int = 1} T in "
     "floats"},
    {6, "{-consumed_inputs}"},
    {7, "{-is_test}"},
    {9, "{-spatial}"},
    {14,
     "(X: T, scale: T, B: T, input_mean: U, input_var: U) -> (Y: T, running_mean?: U, "
     "running_var?: U) {training_mode: int "
     "= 0} T += bf16 U in floats bf16"},
    {15,
     "(X: T, scale: T1, B: T1, input_mean: T2, input_var: T2) -> (Y: T, running_mean?: T2, "
     "running_var?: T2) T1 in floats "
     "bf16 T2 in floats bf16 -U"},
};

Result<BatchNorm> read(const Node& node, const Facts&) {
  BatchNorm a{node.f("epsilon"), node.f("momentum"), false, node.i_or("spatial", 1) != 0,
              std::max<size_t>(1, node.wanted.size())};
  if (node.opset < 7) {
    a.training = node.i("is_test") == 0;
  } else if (node.opset < 14) {
    // Between is_test and training_mode, asking for the other outputs is asking for training.
    for (size_t i = 1; i < 5; ++i) a.training = a.training || node.wants(i);
  } else {
    a.training = node.i("training_mode") != 0;
    if (!a.training && (node.wants(1) || node.wants(2))) {
      return fail("SDX-T0352",
                  "running_mean and running_var are outputs of training_mode = 1 only");
    }
  }
  return a;
}

Result<Facts> infer(const BatchNorm& a, const Facts& in) {
  const Fact& x = in[0];
  constexpr std::string_view kNames[] = {"X", "scale", "B", "mean", "var"};
  if (x.has_rank()) {
    if (x.rank() == 0) return fail("SDX-T0353", "X is a scalar, expected rank 1 or more");
    const Dim channels = x.rank() == 1 ? Dim(1)
                         : a.spatial   ? x.dim(1)
                                       : product(std::span<const Dim>(*x.shape).subspan(1));
    for (size_t i = 1; i < 5; ++i) {
      if (a.spatial && in[i].has_rank() && in[i].rank() != 1) {
        return fail("SDX-T0353", "{} has rank {}, expected 1", kNames[i], in[i].rank());
      }
      SDX_TRY(check_channels(in[i], channels, kNames[i]));
    }
  }
  Facts facts{like(x)};
  while (facts.size() < a.outputs) facts.push_back(like(in[facts.size() % 2 == 1 ? 3 : 4]));
  return facts;
}

// X as [batches][channels][inner].
AxisSplit channels_of(const BatchNorm& a, const View& x) {
  if (x.rank() == 1) return {size_t(x.dims[0]), 1, 1};
  return split_at(x.dims, 1, a.spatial ? 1 : x.rank() - 1);
}

// s = scale / sqrt(var + epsilon), once per channel;  y = ((x - mean) * s) + B, every operation
// rounded on its own. Training takes mean = sum x / n and var = sum (x - mean)^2 / n over the batch
// and the spatial axes, by lanes, and gives running = input * momentum + current * (1 - momentum).
template <class T>
void normalize(const BatchNorm& a, Args& args) {
  // Statistics wider than X make the computation as wide.
  bool wide = std::is_same_v<T, double>;
  for (size_t i = 1; i < 5; ++i) wide = wide || args.in(i).type == DType::f64;
  const auto body = [&]<class C>() {
    const View& x = args.in(0);
    const AxisSplit at = channels_of(a, x);
    const size_t n = at.outer * at.inner;
    for (size_t c = 0; c < at.size; ++c) {
      const auto index = [&](size_t i) {
        return (i / at.inner * at.size + c) * at.inner + i % at.inner;
      };
      const auto get = [&](size_t i) { return C(load(x.data<T>()[index(i)])); };
      C mean = C(get_float(args.in(3), c)), var = C(get_float(args.in(4), c));
      if (a.training) {
        const C old_mean = mean, old_var = var, keep = C(a.momentum), take = C(1) - keep;
        mean = lane_sum<C>(n, get) / C(n);
        var = lane_sum<C>(n, [&](size_t i) { return (get(i) - mean) * (get(i) - mean); }) / C(n);
        if (args.wants(1)) set_float(args.out(1), c, double(C(old_mean * keep) + C(mean * take)));
        if (args.wants(2)) set_float(args.out(2), c, double(C(old_var * keep) + C(var * take)));
        if (args.wants(3)) set_float(args.out(3), c, double(mean));
        if (args.wants(4)) set_float(args.out(4), c, double(var));
      }
      const C s = C(get_float(args.in(1), c)) / std::sqrt(var + C(a.epsilon)),
              b = C(get_float(args.in(2), c));
      for (size_t i = 0; i < n; ++i) {
        args.out().data<T>()[index(i)] = store<T>(Compute<T>((get(i) - mean) * s + b));
      }
    }
  };
  wide ? body.template operator()<double>() : body.template operator()<float>();
}

Status reference(const BatchNorm& a, Args& args) {
  visit_floats(args.in(0).type, [&]<class T>() { normalize<T>(a, args); });
  return ok();
}

bool all_floats(const Call& call) {
  return std::all_of(call.in.begin(), call.in.begin() + 5,
                     [](const Fact& fact) { return fact.type == DType::f32; });
}
bool fits(const BatchNorm& a, const Call& call) { return !a.training && all_floats(call); }
// The factor of each channel.
size_t scratch(const BatchNorm&, const Call& call) {
  size_t count = 1;
  for (const int64_t d : call.in[1].dims()) count *= size_t(d);
  return count * sizeof(float);
}
Status run(const BatchNorm& a, Args& args) {
  const AxisSplit at = channels_of(a, args.in(0));
  const float *x = args.in(0).data<float>(), *scale = args.in(1).data<float>(),
              *bias = args.in(2).data<float>();
  const float *mean = args.in(3).data<float>(), *var = args.in(4).data<float>();
  float *y = args.out().data<float>(), *factor = reinterpret_cast<float*>(args.scratch.data());
  for (size_t c = 0; c < at.size; ++c) factor[c] = scale[c] / std::sqrt(var[c] + a.epsilon);
  if (at.inner == 1) {
    const auto row = SDX_PICK(shift_row, args.isa);
    args.pool->parallel(at.outer, 1 + 4096 / (at.size + 1), [&](size_t begin, size_t end, int) {
      for (size_t i = begin; i < end; ++i)
        row(x + i * at.size, y + i * at.size, at.size, mean, factor, bias);
    });
    return ok();
  }
  const auto plane = SDX_PICK(shift_plane, args.isa);
  args.pool->parallel(
      at.outer * at.size, 1 + 4096 / (at.inner + 1), [&](size_t begin, size_t end, int) {
        for (size_t i = begin; i < end; ++i) {
          const size_t c = i % at.size;
          plane(x + i * at.inner, y + i * at.inner, at.inner, mean[c], factor[c], bias[c]);
        }
      });
  return ok();
}
constexpr Kernel<BatchNorm> kPlain = {
    .name = "batch_normalization_f32", .fits = fits, .run = run, .scratch = scratch};

// Training, channel by channel: its planes are read for the mean, then moved by it for the
// variance, and then written.
bool fits_training(const BatchNorm& a, const Call& call) {
  constexpr size_t kLeast = 8;  // of fewer elements in a run, each would be a call
  if (!a.training || !all_floats(call) || call.in[0].rank() == 1) return false;
  const Dims dims = call.in[0].dims();
  return split_at(dims, 1, a.spatial ? 1 : dims.size() - 1).inner >= kLeast;
}
Status train(const BatchNorm& a, Args& args) {
  const AxisSplit at = channels_of(a, args.in(0));
  const float* x = args.in(0).data<float>();
  float* y = args.out().data<float>();
  const auto shift = SDX_PICK(shift_plane, args.isa);
  const size_t n = at.outer * at.inner;
  const auto mean_of = [&](Fold fold, const float* from, size_t c) {
    float lanes[kFoldLanes];
    SDX_PICK(fold_begin, args.isa)(fold, lanes);
    for (size_t i = 0; i < at.outer; ++i) SDX_PICK(fold_take, args.isa)
    (fold, lanes, i * at.inner, from + (i * at.size + c) * at.inner, at.inner);
    return SDX_PICK(fold_end, args.isa)(fold, lanes) / float(n);
  };
  const auto each_plane = [&](size_t c, float mean, float scale, float bias) {
    for (size_t i = 0; i < at.outer; ++i) {
      const size_t plane = (i * at.size + c) * at.inner;
      shift(x + plane, y + plane, at.inner, mean, scale, bias);
    }
  };
  args.pool->parallel(at.size, 1 + 4096 / (n + 1), [&](size_t begin, size_t end, int) {
    for (size_t c = begin; c < end; ++c) {
      const auto given = [&](size_t input) { return args.in(input).data<float>()[c]; };
      const float mean = mean_of(Fold::sum, x, c);
      each_plane(c, mean, 1, 0);
      const float var = mean_of(Fold::sum_square, y, c);
      each_plane(c, mean, given(1) / std::sqrt(var + a.epsilon), given(2));
      const float keep = a.momentum, take = 1 - keep;
      const float moments[] = {given(3) * keep + mean * take, given(4) * keep + var * take, mean,
                               var};
      for (size_t i = 0; i < 4; ++i) {
        if (args.wants(i + 1)) set_float(args.out(i + 1), c, double(moments[i]));
      }
    }
  });
  return ok();
}
constexpr Kernel<BatchNorm> kTraining = {
    .name = "batch_statistics_f32", .fits = fits_training, .run = train};
constexpr Kernel<BatchNorm> kKernels[] = {kPlain, widened<kPlain>("batch_normalization_f16"),
                                          kTraining};

std::vector<Case> cases() {
  const Tensor x = Tensor::of<float>({2, 2, 1}, {1, 2, 3, 4});
  const auto pair = [](float a, float b) { return Tensor::of<float>({2}, {a, b}); };
  const std::vector<Value> inputs{x, pair(1, 2), pair(0, 1), pair(1, 2), pair(1, 4)};
  const std::vector<int64_t> none;
  return {
      {.name = "opset1_in_test_mode",
       .opset = 1,
       .attrs = {{"consumed_inputs", none}, {"is_test", int64_t{1}}, {"epsilon", 0.f}},
       .inputs = inputs,
       .expected = {Tensor::of<float>({2, 2, 1}, {0, 1, 2, 3})}},
      {.name = "opset7_per_element",
       .opset = 7,
       .attrs = {{"spatial", int64_t{0}}, {"epsilon", 0.f}},
       .inputs = {Tensor::of<float>({1, 1, 2}, {3, 5}), pair(1, 1), pair(0, 0), pair(1, 1),
                  pair(1, 4)},
       .expected = {Tensor::of<float>({1, 1, 2}, {2, 2})}},
      {.name = "opset9_trains_if_statistics_are_asked_for",
       .opset = 9,
       .attrs = {{"epsilon", 0.f}, {"momentum", .5f}},
       .inputs = inputs,
       .expected = {Tensor::of<float>({2, 2, 1}, {-1, -1, 1, 3}), pair(1.5f, 2.5f), pair(1, 2.5f),
                    pair(2, 3), pair(1, 1)},
       .outputs = 5},
      {.name = "opset14_trains_by_attribute",
       .opset = 14,
       .attrs = {{"epsilon", 0.f}, {"momentum", .5f}, {"training_mode", int64_t{1}}},
       .inputs = inputs,
       .expected = {Tensor::of<float>({2, 2, 1}, {-1, -1, 1, 3}), pair(1.5f, 2.5f), pair(1, 2.5f)},
       .outputs = 3},
      {.name = "of_planes",
       .opset = 15,
       .attrs = {},
       .inputs = {noise({2, 5, 7, 9}), noise({5}, 2), noise({5}, 3), noise({5}, 4),
                  Tensor::of<float>({5}, {1, 2, 3, 4, 5})}},
      {.name = "of_vectors",
       .opset = 15,
       .attrs = {},
       .inputs = {noise({7, 5}), noise({5}, 2), noise({5}, 3), noise({5}, 4),
                  Tensor::of<float>({5}, {1, 2, 3, 4, 5})}},
      {.name = "trains_on_planes",
       .opset = 15,
       .attrs = {{"training_mode", int64_t{1}}},
       .inputs = {noise({3, 5, 7, 9}), noise({5}, 2), noise({5}, 3), noise({5}, 4),
                  Tensor::of<float>({5}, {1, 2, 3, 4, 5})},
       .outputs = 3},
      {.name = "of_bfloats_by_floats",
       .opset = 15,
       .attrs = {},
       .inputs = {noise(DType::bf16, {2, 3, 7}), noise({3}, 2), noise({3}, 3), noise({3}, 4),
                  Tensor::of<float>({3}, {1, 2, 3})}}};
}

constexpr OpOf<BatchNorm> kBatchNorm{
    .name = "BatchNormalization",
    .doc = "Each channel shifted and scaled by its mean and variance, then times scale plus B.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .kernels = kKernels,
    .cases = cases,
};

}  // namespace

extern const Op batch_normalization = erase<kBatchNorm>();

}  // namespace sdx::ops
