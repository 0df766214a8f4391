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
extern const Op abs;
extern const Op acos;
extern const Op acosh;
extern const Op add;
extern const Op and_;
extern const Op asin;
extern const Op asinh;
extern const Op atan;
extern const Op atanh;
extern const Op bit_shift;
extern const Op bitwise_and;
extern const Op bitwise_not;
extern const Op bitwise_or;
extern const Op bitwise_xor;
extern const Op ceil;
extern const Op celu;
extern const Op clip;
extern const Op cos;
extern const Op cosh;
extern const Op div;
extern const Op dropout;
extern const Op elu;
extern const Op equal_;
extern const Op erf;
extern const Op exp;
extern const Op floor;
extern const Op gelu;
extern const Op greater;
extern const Op greater_or_equal;
extern const Op hard_sigmoid;
extern const Op hard_swish;
extern const Op is_inf;
extern const Op is_nan;
extern const Op leaky_relu;
extern const Op less;
extern const Op less_or_equal;
extern const Op log;
extern const Op log_softmax;
extern const Op max_;
extern const Op mean;
extern const Op min_;
extern const Op mish;
extern const Op mod;
extern const Op mul;
extern const Op neg;
extern const Op not_;
extern const Op or_;
extern const Op pow;
extern const Op prelu;
extern const Op reciprocal;
extern const Op relu;
extern const Op round;
extern const Op selu;
extern const Op shrink;
extern const Op sigmoid;
extern const Op sign;
extern const Op sin;
extern const Op sinh;
extern const Op softmax;
extern const Op lstm;
extern const Op gru;
extern const Op rnn;
extern const Op attention;
extern const Op rotary_embedding;
extern const Op linear_attention;
extern const Op softplus;
extern const Op softsign;
extern const Op sqrt;
extern const Op sub;
extern const Op sum;
extern const Op swiglu;
extern const Op swish;
extern const Op tan;
extern const Op tanh;
extern const Op thresholded_relu;
extern const Op where;
extern const Op xor_;
}  // namespace ops

}  // namespace sdx
