// Adagrad, Adam and Momentum: one step of an optimiser for each of its tensors.
#include <cmath>

#include "kernel/math/math.h"
#include "ops/common.h"

namespace sdx::ops {
namespace {

constexpr std::string_view kTraining = "ai.onnx.preview.training";

enum class Method { adagrad, adam, momentum, nesterov };

struct Optimizer {
  Method method;
  size_t tensors;  // that are optimised
  size_t states;   // accumulators of each
  float alpha = 0, beta = 0, epsilon = 0, decay = 0, norm = 0, norm_post = 0;
};

constexpr Version kAdagradHistory[] = {
    {1,
     "(R: T1, T: T2, inputs...~: T3) -> (outputs...~: T3) {decay_factor: float = 0, epsilon: float "
     "= 1e-06, norm_coefficient: float = 0} T1 in f32 f64 T2 in i64 T3 in f32 f64"}};
constexpr Version kAdamHistory[] = {
    {1,
     "(R: T1, T: T2, inputs...~: T3) -> (outputs...~: T3) {alpha: float = 0.9, beta: float = "
     "0.999, epsilon: float = 1e-06, norm_coefficient: float = 0, norm_coefficient_post: float = "
     "0} T1 in f32 f64 T2 in i64 T3 in f32 f64"}};
constexpr Version kMomentumHistory[] = {
    {1,
     "(R: T1, T: T2, inputs...~: T3) -> (outputs...~: T3) {alpha!: float, beta!: float, mode!: "
     "string, norm_coefficient!: float} T1 in f32 f64 T2 in i64 T3 in f32 f64"}};

// R and T, then all tensors, all gradients and all of each kind of accumulator.
Result<Optimizer> read(const Node& node, const Facts& in, Method method, size_t states) {
  const size_t groups = 2 + states;
  if (in.size() < 2 + groups || (in.size() - 2) % groups != 0) {
    return fail("SDX-T0680", "{} inputs after R and T are not {} for each tensor",
                in.size() < 2 ? 0 : in.size() - 2, groups);
  }
  Optimizer a{method, (in.size() - 2) / groups, states};
  if (node.wanted.size() > a.tensors * (1 + states)) {
    return fail("SDX-T0680", "{} outputs are named, there are {}", node.wanted.size(),
                a.tensors * (1 + states));
  }
  for (size_t i = 0; i < in.size() - 2; ++i) {
    const Fact &x = in[2 + i % a.tensors], &other = in[2 + i];
    const bool differ = x.is_concrete() && other.is_concrete() && x.dims() != other.dims();
    if (x.type != other.type || differ) {
      return fail("SDX-T0681", "inputs {} and {} belong together but are {} and {}",
                  2 + i % a.tensors, 2 + i, x.text(), other.text());
    }
  }
  a.alpha = node.f_or("alpha", 0);
  a.beta = node.f_or("beta", 0);
  a.epsilon = node.f_or("epsilon", 0);
  a.decay = node.f_or("decay_factor", 0);
  a.norm = node.f("norm_coefficient");
  a.norm_post = node.f_or("norm_coefficient_post", 0);
  return a;
}
Result<Optimizer> read_adagrad(const Node& node, const Facts& in) {
  return read(node, in, Method::adagrad, 1);
}
Result<Optimizer> read_adam(const Node& node, const Facts& in) {
  return read(node, in, Method::adam, 2);
}
Result<Optimizer> read_momentum(const Node& node, const Facts& in) {
  const std::string& mode = node.s("mode");
  if (mode != "standard" && mode != "nesterov") {
    return fail("SDX-T0682", "mode is \"{}\", expected standard or nesterov", mode);
  }
  return read(node, in, mode == "standard" ? Method::momentum : Method::nesterov, 1);
}

Result<Facts> infer(const Optimizer& a, const Facts& in) {
  Facts out;
  for (size_t group = 0; group <= a.states; ++group) {
    for (size_t i = 0; i < a.tensors; ++i) out.push_back(like(in[2 + i]));
  }
  return out;
}

// What all elements share: the learning rate, adjusted for the number of steps t so far.
template <class C>
C rate(const Optimizer& a, double r, int64_t t) {
  if (a.method == Method::adagrad) return C(r / (1 + double(t) * double(a.decay)));
  if (a.method != Method::adam || t <= 0) return C(r);
  return C(r * std::sqrt(1 - math::pow(double(a.beta), double(t))) /
           (1 - math::pow(double(a.alpha), double(t))));
}

// One element: x and its accumulators s, given its gradient.
template <class C>
void step(const Optimizer& a, C rate, bool first, C& x, C gradient, C* s) {
  const C g = C(a.norm) * x + gradient;
  switch (a.method) {
    case Method::adagrad:
      s[0] = s[0] + g * g;
      x = x - rate * g / (std::sqrt(s[0]) + C(a.epsilon));
      return;
    case Method::adam:
      s[0] = C(a.alpha) * s[0] + (C(1) - C(a.alpha)) * g;
      s[1] = C(a.beta) * s[1] + (C(1) - C(a.beta)) * (g * g);
      x = (C(1) - C(a.norm_post)) * (x - rate * (s[0] / (std::sqrt(s[1]) + C(a.epsilon))));
      return;
    case Method::momentum:
    case Method::nesterov:
      s[0] = C(a.alpha) * s[0] + (first ? C(1) : C(a.beta)) * g;
      x = x - rate * (a.method == Method::momentum ? s[0] : g + C(a.alpha) * s[0]);
      return;
  }
}

template <class C>
void run(const Optimizer& a, Args& args, size_t tensor, double r, int64_t t) {
  const C adjusted = rate<C>(a, r, t);
  const auto in = [&](size_t group, size_t i) {
    return args.in(2 + group * a.tensors + tensor).template data<C>()[i];
  };
  const auto out = [&](size_t group, size_t i, C value) {
    const size_t slot = group * a.tensors + tensor;
    if (args.wants(slot)) args.out(slot).template data<C>()[i] = store<C>(value);
  };
  for (size_t i = 0; i < args.in(2 + tensor).count; ++i) {
    C x = in(0, i), s[2] = {};
    for (size_t k = 0; k < a.states; ++k) s[k] = in(2 + k, i);
    step(a, adjusted, t <= 0, x, in(1, i), s);
    out(0, i, x);
    for (size_t k = 0; k < a.states; ++k) out(1 + k, i, s[k]);
  }
}

Status reference(const Optimizer& a, Args& args) {
  if (args.in(0).count != 1 || args.in(1).count != 1) {
    return fail("SDX-R0680", "R has {} elements and T {}, expected 1", args.in(0).count,
                args.in(1).count);
  }
  const double r = get_f64(args.in(0).type, args.in(0).raw, 0);
  const int64_t t = args.in(1).data<int64_t>()[0];
  for (size_t tensor = 0; tensor < a.tensors; ++tensor) {
    const View& x = args.in(2 + tensor);
    for (size_t group = 1; group < 2 + a.states; ++group) {
      if (args.in(2 + group * a.tensors + tensor).count != x.count) {
        return fail("SDX-R0681", "tensor {} and what belongs to it differ in size", tensor);
      }
    }
    x.type == DType::f32 ? run<float>(a, args, tensor, r, t) : run<double>(a, args, tensor, r, t);
  }
  return ok();
}

Case one_step(std::string name, AttrMap attrs, int64_t t, std::vector<double> inputs,
              std::vector<double> expected) {
  Case result{.name = std::move(name), .opset = 1, .attrs = std::move(attrs), .inputs = {}};
  result.inputs = {Tensor::scalar(.5), Tensor::scalar(t)};
  for (const double x : inputs) result.inputs.emplace_back(Tensor::of<double>({1}, {x}));
  for (const double y : expected) result.expected.emplace_back(Tensor::of<double>({1}, {y}));
  result.rtol = 1e-6;
  result.outputs = expected.size();
  return result;
}

std::vector<Case> adagrad_cases() {
  // g = .5 * 2 + 3 = 4; h = 9 + 16 = 25; x = 2 - .5 / (1 + 2 * .5) * 4 / (5 + 0)
  return {one_step("regularised_and_decayed",
                   {{"norm_coefficient", .5f}, {"decay_factor", .5f}, {"epsilon", 0.f}}, 2,
                   {2, 3, 9}, {1.8, 25}),
          one_step("two_tensors", {{"epsilon", 0.f}}, 0, {1, 2, 3, 4, 0, 0}, {.5, 1.5, 9, 16})};
}
std::vector<Case> adam_cases() {
  // v = .5 * 2 + .5 * 4 = 3; h = .75 * 0 + .25 * 16 = 4; rate = .5 * sqrt(1 - .75) / (1 - .5)
  return {
      one_step("corrected_for_its_first_step", {{"alpha", .5f}, {"beta", .75f}, {"epsilon", 1.f}},
               1, {1, 4, 2, 0}, {.5, 3, 4}),
      one_step("uncorrected_and_regularised_afterwards",
               {{"alpha", .5f}, {"beta", .75f}, {"epsilon", 1.f}, {"norm_coefficient_post", .5f}},
               0, {1, 4, 2, 0}, {.25, 3, 4})};
}
std::vector<Case> momentum_cases() {
  const auto attrs = [](std::string mode) {
    return AttrMap{
        {"alpha", .5f}, {"beta", .25f}, {"mode", std::move(mode)}, {"norm_coefficient", 1.f}};
  };
  // g = 2 + 6 = 8; v = .5 * 4 + (.25 or 1) * 8; x = 2 - .5 v, or 2 - .5 (8 + .5 v)
  return {one_step("standard", attrs("standard"), 1, {2, 6, 4}, {0, 4}),
          one_step("first_step", attrs("standard"), 0, {2, 6, 4}, {-3, 10}),
          one_step("nesterov", attrs("nesterov"), 1, {2, 6, 4}, {-3, 4})};
}

constexpr OpOf<Optimizer> kAdagrad{
    .name = "Adagrad",
    .doc = "One step of Adagrad: rates shrink with the sum of squared gradients.",
    .history = kAdagradHistory,
    .read = read_adagrad,
    .infer = infer,
    .reference = reference,
    .cases = adagrad_cases,
    .domain = kTraining,
};
constexpr OpOf<Optimizer> kAdam{
    .name = "Adam",
    .doc = "One step of Adam: averaged gradients over the root of averaged squares.",
    .history = kAdamHistory,
    .read = read_adam,
    .infer = infer,
    .reference = reference,
    .cases = adam_cases,
    .domain = kTraining,
};
constexpr OpOf<Optimizer> kMomentum{
    .name = "Momentum",
    .doc = "One step of gradient descent with momentum, standard or Nesterov's.",
    .history = kMomentumHistory,
    .read = read_momentum,
    .infer = infer,
    .reference = reference,
    .cases = momentum_cases,
    .domain = kTraining,
};

}  // namespace

extern const Op adagrad = erase<kAdagrad>();
extern const Op adam = erase<kAdam>();
extern const Op momentum = erase<kMomentum>();

}  // namespace sdx::ops
