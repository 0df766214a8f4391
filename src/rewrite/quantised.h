// What rules on quantised graphs ask of QuantizeLinear and DequantizeLinear nodes.
#pragma once

#include <memory>
#include <optional>

#include "rewrite/rewrite.h"

namespace sdx::rewrite {

// A tensor with its scale and zero point, all but the tensor constant.
struct Quantised {
  typed::Outlet tensor;  // an old wire
  std::shared_ptr<const Tensor> scale, zero;
};

// `node` as DequantizeLinear or QuantizeLinear between float and the bytes `type`, with one
// constant scale or, if an axis is named, one per index along it.
std::optional<Quantised> quantised(const Rewriting&, const typed::Node& node, DType type,
                                   std::optional<int64_t> axis = std::nullopt);
// The DequantizeLinear that makes an old wire.
std::optional<Quantised> dequantised(const Rewriting&, typed::Outlet wire,
                                     std::optional<int64_t> axis = std::nullopt);
// The zero point of a tensor that has one.
int64_t zero_of(const Quantised&);
// The bias of a product in units of scale(x) * scale(w); nothing if it does not fit, or if rounding
// it to them changes it by more than half a step of y.
std::optional<Tensor> integer_bias(const Tensor& bias, const Quantised& x, const Quantised& w,
                                   const Quantised& y);
// The inputs of a QLinearConv of image `x` with `weights`, new wires both, and a bias as integers
// if there is one.
std::vector<typed::Outlet> qlinear_conv_inputs(Rewriting&, typed::Outlet image,
                                               typed::Outlet weights, const Quantised& x,
                                               const Quantised& w, const Quantised& y,
                                               const std::optional<Tensor>& bias);

}  // namespace sdx::rewrite
