// A convolution between dequantisation and quantisation is computed in integers.
//
//   QuantizeLinear(Conv(DequantizeLinear(x), DequantizeLinear(w), b))   ->   QLinearConv(x, w,
//   round(b / (sx * sw)))
//
// This changes bits: the float form rounds every product, the integer form none. It is what
// quantised models are trained for and what other engines compute, so it is part of the standard
// numerics level (docs/numerics.md), not of optimisation; the strict level leaves the float form
// alone.
#include <cmath>

#include "ops/list.h"
#include "rewrite/rules.h"

namespace sdx::rewrite {
namespace {

using typed::Node;
using typed::Outlet;
using Wires = std::optional<std::vector<Outlet>>;

// A tensor with its scale and zero point, all but the tensor constant.
struct Quantised {
  Outlet tensor;  // old wires
  std::shared_ptr<const Tensor> scale, zero;
};

bool is_byte(DType type) { return type == DType::u8 || type == DType::i8; }

std::shared_ptr<const Tensor> zeros_like(const std::shared_ptr<const Tensor>& scale, DType type) {
  return std::make_shared<const Tensor>(Tensor::make(type, scale->dims()));
}

// `node` as DequantizeLinear or QuantizeLinear with constant f32 scales, per tensor or, if
// `channels`, per axis 0.
std::optional<Quantised> quantised(const Rewriting& r, const Node& node, DType type,
                                   bool channels) {
  const Fact& scale = r.old.fact(node.inputs[1]);
  const bool has_zero = node.inputs.size() > 2 && node.inputs[2].present();
  const Fact& zero = has_zero ? r.old.fact(node.inputs[2]) : scale;
  if (!is_byte(type) || !scale.value || scale.type != DType::f32 || !zero.value)
    return std::nullopt;
  if (scale.value->count() != 1 &&
      !(channels && scale.rank() == 1 && node.use.i_or("axis", 1) == 0))
    return std::nullopt;
  if (node.use.i_or("block_size", 0) != 0) return std::nullopt;
  return Quantised{node.inputs[0], scale.value,
                   has_zero ? zero.value : zeros_like(scale.value, type)};
}

std::optional<Quantised> dequantised(const Rewriting& r, Outlet wire, bool channels) {
  const Node& node = r.old.node(wire.node);
  if (node.kind != Node::Kind::op || node.use.op != &ops::dequantize_linear) return std::nullopt;
  return quantised(r, node, r.old.fact(node.inputs[0]).type, channels);
}

// The bias in units of one product; nothing if it does not fit.
std::optional<Tensor> integer_bias(const Tensor& bias, const Quantised& x, const Quantised& w) {
  if (bias.type() != DType::f32 || bias.rank() != 1) return std::nullopt;
  Tensor integers = Tensor::make(DType::i32, bias.dims());
  for (size_t c = 0; c < bias.count(); ++c) {
    const float unit =
        *x.scale->data<float>() * w.scale->data<float>()[w.scale->count() > 1 ? c : 0];
    const float steps = std::nearbyint(bias.data<float>()[c] / unit);
    if (!(std::fabs(steps) < 0x1p30f)) return std::nullopt;
    integers.data<int32_t>()[c] = int32_t(steps);
  }
  return integers;
}

Result<Wires> at(Rewriting& r, uint32_t id) {
  const Node& node = r.old.node(id);
  if (node.use.op != &ops::quantize_linear) return Wires();
  const Node* conv = r.only_from(node.inputs[0], ops::conv);
  const auto y = quantised(r, node, node.outputs[0].type, false);
  if (conv == nullptr || !y) return Wires();
  const auto x = dequantised(r, conv->inputs[0], false), w = dequantised(r, conv->inputs[1], true);
  if (!x || !w || !r.old.fact(w->tensor).value) return Wires();
  std::vector<Outlet> inputs = {r.now(x->tensor), {}, {}, r.now(w->tensor), {}, {}, {}, {}};
  if (conv->inputs.size() > 2 && conv->inputs[2].present()) {
    const Fact& bias = r.old.fact(conv->inputs[2]);
    const auto integers = bias.value ? integer_bias(*bias.value, *x, *w) : std::nullopt;
    if (!integers) return Wires();
    inputs.push_back(r.made.constant(*integers));
  }
  const auto scalar = [&](const Tensor& value) { return r.made.constant(value.reshaped({})); };
  inputs[1] = scalar(*x->scale);
  inputs[2] = scalar(*x->zero);
  inputs[4] = r.made.constant(*w->scale);
  inputs[5] = r.made.constant(*w->zero);
  inputs[6] = scalar(*y->scale);
  inputs[7] = scalar(*y->zero);
  const Node* stands_for[] = {conv, &node};
  SDX_ASSIGN(std::vector<Outlet> wires,
             r.add(ops::qlinear_conv, conv->use.attrs, inputs, 1, stands_for));
  return Wires(std::move(wires));
}

}  // namespace

const Rule qdq_conv{"qdq_conv", at};

}  // namespace sdx::rewrite
