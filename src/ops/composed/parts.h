// The operators that compositions are made of. They are named here and not through ops/list.h, so
// that a new operator leaves the compositions as they are compiled.
#pragma once

#include "ops/composed/composition.h"

namespace sdx::ops {

extern const Op add, attention, average_pool, bit_cast, cast, clip, concat, constant_of_shape, conv,
    conv_transpose, cos, cum_sum, dequantize_linear, div, dynamic_quantize_linear, elu, equal_, erf,
    exp, expand, gather, gather_elements, gather_nd, gelu, gemm, global_average_pool,
    global_max_pool, greater, greater_or_equal, grid_sample, group_normalization, hard_sigmoid,
    identity, layer_normalization, leaky_relu, less, less_or_equal, log, log_softmax, lstm, matmul,
    matmul_integer, max_, max_pool, min_, mul, neg, not_, one_hot, or_, pad, pow, qlinear_conv,
    quantize_linear, range, reciprocal, reduce_max, reduce_mean, reduce_sum, relu, reshape, resize,
    rms_normalization, rotary_embedding, scatter_elements, scatter_nd, selu, shape, sigmoid, slice,
    softmax, softplus, softsign, split, sqrt, squeeze, sub, swish, tanh, tensor_scatter,
    thresholded_relu, tile, top_k, transpose, trilu, unique, unsqueeze, where, and_, abs;

}  // namespace sdx::ops
