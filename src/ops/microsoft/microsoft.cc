#include "ops/microsoft/microsoft.h"

namespace sdx::ops::microsoft {

Wire activated(Composer& c, Wire x, const std::string& name, std::vector<float> params) {
  const auto most = [&](size_t count) {
    return c.require(params.size() <= count, "SDX-T1051",
                     "activation {} takes {} parameters; there are {}", name, count, params.size());
  };
  const auto parameter = [&](size_t i, float fallback) {
    return i < params.size() ? params[i] : fallback;
  };
  if (name.empty()) return x;
  if (name == "Relu") return most(0) ? c.add(relu, {x}) : x;
  if (name == "Tanh") return most(0) ? c.add(tanh, {x}) : x;
  if (name == "Sigmoid") return most(0) ? c.add(sigmoid, {x}) : x;
  if (name == "Gelu") return most(0) ? c.add(gelu, {x}) : x;
  if (name == "Softplus") return most(0) ? c.add(softplus, {x}) : x;
  if (name == "Softsign") return most(0) ? c.add(softsign, {x}) : x;
  if (name == "Elu" && most(1)) return c.add(elu, {x}, {{"alpha", parameter(0, 1)}});
  if (name == "ThresholdedRelu" && most(1)) {
    return c.add(thresholded_relu, {x}, {{"alpha", parameter(0, 1)}});
  }
  if (name == "Selu" && most(2)) {
    return c.add(selu, {x},
                 {{"alpha", parameter(0, 1.6732632f)}, {"gamma", parameter(1, 1.050701f)}});
  }
  if (name == "LeakyRelu" && most(1)) {
    return c.add(leaky_relu, {x}, {{"alpha", parameter(0, .01f)}});
  }
  if (name == "HardSigmoid" && most(2)) {
    return c.add(hard_sigmoid, {x}, {{"alpha", parameter(0, .2f)}, {"beta", parameter(1, .5f)}});
  }
  if (name == "Clip" && most(2)) {
    const DType type = c.fact(x).type;
    const auto bound = [&](size_t i) {
      return i < params.size() ? c.number(type, double(params[i])) : Wire{};
    };
    return c.add(clip, {x, bound(0), bound(1)});
  }
  c.require(false, "SDX-T1052",
            "activation \"{}\" is none of Clip, Elu, Gelu, HardSigmoid, LeakyRelu, Relu, Selu, "
            "Sigmoid, Softplus, Softsign, Tanh, ThresholdedRelu",
            name);
  return x;
}

Wire scalar(Composer& c, Wire x, std::string_view what) {
  const Fact& fact = c.fact(x);
  if (!x.present() || !fact.has_rank() || fact.rank() == 0) return x;
  c.require(fact.rank() == 1 && (!fact.dim(0).is_const() || fact.dim(0).is_const(1)), "SDX-T1053",
            "{} is {}; it must be a scalar", what, fact.text());
  return c.reshape(x, {});
}

Wire dequantised(Composer& c, Wire x, Wire scale, Wire zero_point) {
  return c.add(dequantize_linear,
               {x, scalar(c, scale, "a scale"), scalar(c, zero_point, "a zero point")});
}

Wire quantised(Composer& c, Wire x, Wire scale, Wire zero_point, DType type) {
  return c.add(quantize_linear,
               {x, scalar(c, scale, "a scale"), scalar(c, zero_point, "a zero point")},
               {{"output_dtype", int64_t(type)}});
}

}  // namespace sdx::ops::microsoft
