// The operators of com.microsoft, the operator set of onnxruntime: what models carry that its
// quantiser, its optimiser and the exporters around it have written.
//
// Most are compositions by their documentation (ops/composed/composition.h): a file shows the
// nodes that one stands for. Families share a file, as those of ai.onnx do. Operators that users
// do not meet are known by name and signature alone (refused.cc), so that a model which needs one
// is told what it needs.
#pragma once

#include "ops/composed/parts.h"

namespace sdx::ops::microsoft {

inline constexpr std::string_view kDomain = "com.microsoft";

// What an attribute `activation` names, on x, with its parameters in the order alpha, beta (Clip:
// min, max). "" is x itself.
Wire activated(Composer& c, Wire x, const std::string& name, std::vector<float> params);

// A scale or zero point that stands for all elements: a scalar, or a vector of one element.
Wire scalar(Composer& c, Wire x, std::string_view what);
// (x - zero_point) * scale, and x / scale + zero_point rounded and saturated; a zero point that is
// left out is 0. `type` is that of the quantised elements.
Wire dequantised(Composer& c, Wire x, Wire scale, Wire zero_point);
Wire quantised(Composer& c, Wire x, Wire scale, Wire zero_point, DType type);

}  // namespace sdx::ops::microsoft
