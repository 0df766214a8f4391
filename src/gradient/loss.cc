// Derivatives of the losses, by their definition in simpler operators.
#include "ops/loss/loss.h"

#include "gradient/rule.h"

namespace sdx::gradient {
namespace {

// log_prob is [N, C, d...], the target [N, d...].
Outlet likelihood(const Step& s, Outlet log_prob) {
  Builder& b = s.b;
  const DType type = b.type(log_prob);
  Outlet target = b.cast(s.in[1], DType::i64);
  Outlet weight;
  if (s.has(2)) weight = s.in[2];
  Outlet valid;
  const auto& a = s.as<ops::Loss>();
  if (a.ignored) {
    const Outlet ignored = b.op("Squeeze", {b.ints({*a.ignored})});
    valid = b.op("Not", {b.op("Equal", {target, ignored})});
    target = b.op("Where", {valid, target, b.op("Squeeze", {b.ints({0})})});
  }
  const Outlet column = b.op("Unsqueeze", {target, b.ints({1})});
  const Outlet picked = b.op("GatherElements", {log_prob, column}, {{"axis", int64_t{1}}});
  Outlet loss = b.neg(b.op("Squeeze", {picked, b.ints({1})}));
  Outlet weights = weight.present() ? b.op("Gather", {weight, target})
                                    : b.op("Expand", {b.number(1, type), b.shape(target)});
  if (valid.present()) weights = b.only(valid, weights);
  loss = b.mul(loss, weights);
  if (a.reduction == ops::Loss::Reduction::none) return loss;
  const auto total = [&](Outlet wire) {
    return b.op("ReduceSum", {wire}, {{"keepdims", int64_t{0}}});
  };
  return a.reduction == ops::Loss::Reduction::sum ? total(loss)
                                                  : b.div(total(loss), total(weights));
}

Outlets cross_entropy(const Step& s) {
  const Outlet log_prob = s.b.op("LogSoftmax", {s.x()}, {{"axis", int64_t{1}}});
  Outlets ys{likelihood(s, log_prob)};
  if (s.out.size() > 1) ys.push_back(log_prob);
  return s.through(ys);
}

constexpr Entry kLossRules[] = {
    {"NegativeLogLikelihoodLoss",
     [](const Step& s) -> Outlets { return s.through({likelihood(s, s.x())}); }},
    {"SoftmaxCrossEntropyLoss", cross_entropy},
};

}  // namespace

std::span<const Entry> loss_rules() { return kLossRules; }

}  // namespace sdx::gradient
