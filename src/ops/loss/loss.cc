// NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss.
#include "ops/loss/loss.h"

#include <cmath>

#include "kernel/lanes.h"
#include "kernel/math/math.h"
#include "ops/common.h"

namespace sdx::ops {
namespace {

constexpr Version kNllHistory[] = {
    {12,
     "(input: T, target: Tind, weight?: T) -> (loss: T) {ignore_index: int, reduction: string = "
     "\"mean\"} T in floats Tind in i32 i64"},
    {13, ""},
    {22, "T += bf16"},
};
constexpr Version kSceHistory[] = {
    {12,
     "(scores: T, labels: Tind, weights?: T) -> (output: T, log_prob?: T) {ignore_index: int, "
     "reduction: "
     "string = \"mean\"} T in floats Tind in i32 i64"},
    {13, "T += bf16"},
};

template <bool kSoftmax>
Result<Loss> read(const Node& node, const Facts&) {
  Loss a{Loss::Reduction::none, {}, kSoftmax};
  const std::string& reduction = node.s("reduction");
  if (reduction == "sum") {
    a.reduction = Loss::Reduction::sum;
  } else if (reduction == "mean") {
    a.reduction = Loss::Reduction::mean;
  } else if (reduction != "none") {
    return fail("SDX-T0611", "reduction \"{}\" is not none, sum or mean", reduction);
  }
  if (node.has("ignore_index")) a.ignored = node.i("ignore_index");
  return a;
}

Status check(std::span<const int64_t> x, std::span<const int64_t> target) {
  bool fits = x.size() >= 2 && target.size() + 1 == x.size() && target[0] == x[0];
  for (size_t i = 1; fits && i < target.size(); ++i) fits = target[i] == x[i + 1];
  if (fits) return ok();
  return fail("SDX-T0612",
              "classes of shape {} do not go with scores of shape {}: expected the scores' shape "
              "without axis 1",
              to_string(target), to_string(x));
}

Result<Facts> infer(const Loss& a, const Facts& in) {
  if (in[0].is_concrete() && in[1].is_concrete()) SDX_TRY(check(in[0].dims(), in[1].dims()));
  Fact loss = a.reduction == Loss::Reduction::none ? like(in[1], in[0].type)
                                                   : Fact::tensor(in[0].type, Shape{});
  if (!a.softmax) return Facts{loss};
  return Facts{loss, like(in[0])};
}

// y = x, or for SoftmaxCrossEntropyLoss y = (x - m) - log(sum exp(x - m)) over the classes (sum by
// lanes), m their maximum. A sample of class c has w = weight[c] (or 1) and loss w * -y[c]; of the
// ignored class w = 0 and loss 0. Reductions: sum of the losses by lanes; mean: that sum / sum of w
// by lanes.
template <class T>
Status losses(const Loss& a, Args& args) {
  using C = Compute<T>;
  const View &x = args.in(0), &target = args.in(1);
  SDX_TRY(check(x.dims, target.dims));
  const AxisSplit at = split_at(x.dims, 1);
  if (args.has(2) && args.in(2).count != at.size) {
    return fail("SDX-T0613", "weights have shape {}; there are {} classes",
                to_string(args.in(2).dims), at.size);
  }
  std::vector<C> loss(target.count), weight(target.count);
  for (size_t sample = 0; sample < target.count; ++sample) {
    const size_t first = sample / at.inner * at.size * at.inner + sample % at.inner;
    const auto in = [&](size_t c) { return load(x.data<T>()[first + c * at.inner]); };
    C most = -std::numeric_limits<C>::infinity(), log_sum = 0;
    if (a.softmax) {
      for (size_t c = 0; c < at.size; ++c) most = in(c) > most || in(c) != in(c) ? in(c) : most;
      log_sum = math::log(lane_sum<C>(at.size, [&](size_t c) { return math::exp(in(c)-most); }));
    }
    const auto y = [&](size_t c) { return a.softmax ? (in(c)-most) - log_sum : in(c); };
    if (args.wants(1)) {
      for (size_t c = 0; c < at.size; ++c)
        args.out(1).data<T>()[first + c * at.inner] = store<T>(y(c));
    }
    const int64_t c = get_i64(target.type, target.raw, sample);
    if (a.ignored && c == *a.ignored) continue;
    if (c < 0 || size_t(c) >= at.size) {
      return fail("SDX-R0611", "class {} of sample {} is not in [0, {})", c, sample, at.size);
    }
    weight[sample] = args.has(2) ? load(args.in(2).data<T>()[c]) : C(1);
    loss[sample] = weight[sample] * -y(size_t(c));
  }
  T* out = args.out().data<T>();
  if (a.reduction == Loss::Reduction::none) {
    for (size_t i = 0; i < loss.size(); ++i) out[i] = store<T>(loss[i]);
    return ok();
  }
  C total = lane_sum<C>(loss.size(), [&](size_t i) { return loss[i]; });
  if (a.reduction == Loss::Reduction::mean) {
    total = total / lane_sum<C>(weight.size(), [&](size_t i) { return weight[i]; });
  }
  *out = store<T>(total);
  return ok();
}

Status reference(const Loss& a, Args& args) {
  Status status;
  visit_floats(args.in(0).type, [&]<class T>() { status = losses<T>(a, args); });
  return status;
}

std::vector<Case> cases() {
  return {{.name = "the_mean_is_over_weights",
           .opset = 12,
           .attrs = {},
           .inputs = {Tensor::of<float>({2, 2}, {-1, -2, -3, -4}), Tensor::of<int64_t>({2}, {0, 1}),
                      Tensor::of<float>({2}, {1, 3})},
           .expected = {Tensor::scalar<float>(3.25f)}}};
}

constexpr OpOf<Loss> kNegativeLogLikelihoodLoss{
    .name = "NegativeLogLikelihoodLoss",
    .doc = "Minus the log-probability of each sample's class, weighted, and its sum or mean.",
    .history = kNllHistory,
    .read = read<false>,
    .infer = infer,
    .reference = reference,
    .cases = cases,
};
constexpr OpOf<Loss> kSoftmaxCrossEntropyLoss{
    .name = "SoftmaxCrossEntropyLoss",
    .doc = "NegativeLogLikelihoodLoss of the scores' LogSoftmax.",
    .history = kSceHistory,
    .read = read<true>,
    .infer = infer,
    .reference = reference,
};

}  // namespace

extern const Op negative_log_likelihood_loss = erase<kNegativeLogLikelihoodLoss>();
extern const Op softmax_cross_entropy_loss = erase<kSoftmaxCrossEntropyLoss>();

}  // namespace sdx::ops
