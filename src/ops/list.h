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
extern const Op if_;
extern const Op loop;
extern const Op scan;
extern const Op sequence_map;
extern const Op average_pool;
extern const Op batch_normalization;
extern const Op conv;
extern const Op gemm;
extern const Op global_average_pool;
extern const Op global_lp_pool;
extern const Op global_max_pool;
extern const Op layer_normalization;
extern const Op matmul;
extern const Op max_pool;
extern const Op reduce_l1;
extern const Op reduce_l2;
extern const Op reduce_log_sum;
extern const Op reduce_log_sum_exp;
extern const Op reduce_max;
extern const Op reduce_mean;
extern const Op reduce_min;
extern const Op reduce_prod;
extern const Op reduce_sum;
extern const Op reduce_sum_square;
extern const Op rms_normalization;
extern const Op arg_max;
extern const Op arg_min;
extern const Op det;
extern const Op group_normalization;
extern const Op hardmax;
extern const Op instance_normalization;
extern const Op lp_normalization;
extern const Op lp_pool;
extern const Op lrn;
extern const Op max_roi_pool;
extern const Op max_unpool;
extern const Op mean_variance_normalization;
extern const Op roi_align;
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
