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
extern const Op bit_cast;
extern const Op cast;
extern const Op cast_like;
extern const Op concat;
extern const Op constant;
extern const Op constant_of_shape;
extern const Op expand;
extern const Op flatten;
extern const Op gather;
extern const Op gather_elements;
extern const Op gather_nd;
extern const Op identity;
extern const Op reshape;
extern const Op shape;
extern const Op size;
extern const Op slice;
extern const Op split;
extern const Op squeeze;
extern const Op tile;
extern const Op transpose;
extern const Op unsqueeze;
extern const Op elementwise;
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
