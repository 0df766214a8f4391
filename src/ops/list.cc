#include "ops/list.h"

#include <map>

namespace sdx {

using namespace ops;  // NOLINT: the list is the one place that names them all

static const Op* const kOps[] = {
    &dequantize_linear,
    &dynamic_quantize_linear,
    &matmul_integer,
    &qlinear_matmul,
    &quantize_linear,
    &bit_cast,
    &cast,
    &cast_like,
    &concat,
    &constant,
    &constant_of_shape,
    &expand,
    &flatten,
    &gather,
    &gather_elements,
    &gather_nd,
    &identity,
    &reshape,
    &shape,
    &size,
    &slice,
    &split,
    &squeeze,
    &tile,
    &transpose,
    &unsqueeze,
    &elementwise,
    &if_,
    &loop,
    &scan,
    &sequence_map,
    &average_pool,
    &batch_normalization,
    &conv,
    &gemm,
    &global_average_pool,
    &global_lp_pool,
    &global_max_pool,
    &layer_normalization,
    &matmul,
    &max_pool,
    &reduce_l1,
    &reduce_l2,
    &reduce_log_sum,
    &reduce_log_sum_exp,
    &reduce_max,
    &reduce_mean,
    &reduce_min,
    &reduce_prod,
    &reduce_sum,
    &reduce_sum_square,
    &rms_normalization,
    &arg_max,
    &arg_min,
    &det,
    &group_normalization,
    &hardmax,
    &instance_normalization,
    &lp_normalization,
    &lp_pool,
    &lrn,
    &max_roi_pool,
    &max_unpool,
    &mean_variance_normalization,
    &roi_align,
    &log_softmax,
    &softmax,
    &lstm,
    &gru,
    &rnn,
    &attention,
    &rotary_embedding,
    &linear_attention,
};

std::span<const Op* const> all_ops() { return kOps; }

const Op* find_op(std::string_view domain, std::string_view name) {
  static const auto* const by_name = [] {
    auto* map = new std::map<std::pair<std::string_view, std::string_view>, const Op*>;
    for (const Op* op : kOps) map->emplace(std::pair{op->domain, op->name}, op);
    return map;
  }();
  const auto at = by_name->find({domain == "ai.onnx" ? "" : domain, name});
  return at == by_name->end() ? nullptr : at->second;
}

}  // namespace sdx
