// The operators: one line each here and in list.cc. Nothing registers itself.
#pragma once

#include <span>
#include <string_view>

#include "op/op.h"

namespace sdx {

std::span<const Op* const> all_ops();
// `domain` is "" or "ai.onnx" for the default one; null if there is no such operator here.
const Op* find_op(std::string_view domain, std::string_view name);

namespace ops {
extern const Op dequantize_linear;
extern const Op dynamic_quantize_linear;
extern const Op matmul_integer;
extern const Op qlinear_matmul;
extern const Op quantize_linear;
extern const Op log_softmax;
extern const Op softmax;
extern const Op lstm;
extern const Op gru;
extern const Op rnn;
extern const Op attention;
extern const Op rotary_embedding;
extern const Op linear_attention;
}  // namespace ops

}  // namespace sdx
