#include "rewrite/quantised.h"

#include <cmath>

#include "ops/list.h"
#include "ops/quant/dequantize_linear.h"
#include "ops/quant/quantize_linear.h"

namespace sdx::rewrite {

using typed::Node;
using typed::Outlet;

namespace {

bool is_byte(DType type) { return type == DType::u8 || type == DType::i8; }

std::shared_ptr<const Tensor> zeros_like(const std::shared_ptr<const Tensor>& scale, DType type) {
  return std::make_shared<const Tensor>(Tensor::make(type, scale->dims()));
}

// Along which axis a scale changes, and after how many elements; 0: at each.
struct Steps {
  int64_t axis, block;
};
Steps steps_of(const Node& node) {
  if (node.is(ops::quantize_linear)) {
    const auto& a = node.as<ops::Quantize>();
    return {a.axis, a.block};
  }
  const auto& a = node.as<ops::Dequantize>();
  return {a.axis, a.block};
}

}  // namespace

std::optional<Quantised> quantised(const Rewriting& r, const Node& node, DType type,
                                   std::optional<int64_t> axis) {
  const Fact& scale = r.old.fact(node.inputs[1]);
  const bool has_zero = node.inputs.size() > 2 && node.inputs[2].present();
  const Fact& zero = has_zero ? r.old.fact(node.inputs[2]) : scale;
  if (!is_byte(type) || !scale.value || scale.type != DType::f32 || !zero.value)
    return std::nullopt;
  const Steps steps = steps_of(node);
  if (steps.block != 0) return std::nullopt;
  if (scale.value->count() != 1) {
    const Fact& x = r.old.fact(node.inputs[0]);
    if (!axis || scale.rank() != 1 || !x.has_rank()) return std::nullopt;
    if ((steps.axis < 0 ? steps.axis + int64_t(x.rank()) : steps.axis) != *axis)
      return std::nullopt;
  }
  return Quantised{node.inputs[0], scale.value,
                   has_zero ? zero.value : zeros_like(scale.value, type)};
}

std::optional<Quantised> dequantised(const Rewriting& r, Outlet wire, std::optional<int64_t> axis) {
  const Node& node = r.old.node(wire.node);
  if (!node.is(ops::dequantize_linear)) return std::nullopt;
  return quantised(r, node, r.old.fact(node.inputs[0]).type, axis);
}

int64_t zero_of(const Quantised& q) {
  return q.zero->type() == DType::i8 ? int64_t(*q.zero->data<int8_t>())
                                     : int64_t(*q.zero->data<uint8_t>());
}

std::optional<Tensor> integer_bias(const Tensor& bias, const Quantised& x, const Quantised& w,
                                   const Quantised& y) {
  if (bias.type() != DType::f32 || bias.rank() != 1) return std::nullopt;
  Tensor integers = Tensor::make(DType::i32, bias.dims());
  for (size_t c = 0; c < bias.count(); ++c) {
    const float unit =
        *x.scale->data<float>() * w.scale->data<float>()[w.scale->count() > 1 ? c : 0];
    const float steps = std::nearbyint(bias.data<float>()[c] / unit);
    if (!(std::fabs(steps) < 0x1p30f)) return std::nullopt;
    // Where x_scale * w_scale is coarse, rounding to it could change the answer by many steps of y.
    const double change = double(steps) * double(unit) - double(bias.data<float>()[c]);
    if (!(std::fabs(change) <= double(*y.scale->data<float>()) / 2)) return std::nullopt;
    integers.data<int32_t>()[c] = int32_t(steps);
  }
  return integers;
}

std::vector<Outlet> qlinear_conv_inputs(Rewriting& r, Outlet image, Outlet weights,
                                        const Quantised& x, const Quantised& w, const Quantised& y,
                                        const std::optional<Tensor>& bias) {
  const auto scalar = [&](const Tensor& value) { return r.made.constant(value.reshaped({})); };
  std::vector<Outlet> inputs = {image,
                                scalar(*x.scale),
                                scalar(*x.zero),
                                weights,
                                r.made.constant(*w.scale),
                                r.made.constant(*w.zero),
                                scalar(*y.scale),
                                scalar(*y.zero)};
  if (bias) inputs.push_back(r.made.constant(*bias));
  return inputs;
}

}  // namespace sdx::rewrite
