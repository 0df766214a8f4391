#include "rewrite/rules.h"

namespace sdx::rewrite {

std::span<const Rule> composed_rules() {
  static const Rule kRules[] = {composed};
  return kRules;
}

std::span<const Rule> padding_rules() {
  static const Rule kRules[] = {empty_padding, own_padding};
  return kRules;
}

std::span<const Rule> halves_rules() {
  static const Rule kRules[] = {wide_halves};
  return kRules;
}

std::span<const Rule> ordering_rules() {
  static const Rule kRules[] = {spelled_square, spelled_gelu, batch_norm, quantised_moves};
  return kRules;
}

std::span<const Rule> rules() {
  static const Rule kRules[] = {replace_nan, transposed_weights, matmul_q4,       integer_products,
                                rms_norm,    rotated_halves,     fuse_elementwise};
  return kRules;
}

std::span<const Rule> rules_on_programs() {
  static const Rule kRules[] = {fuse_attention, attention_output, quantised_elementwise};
  return kRules;
}

std::span<const Rule> constant_rules() {
  static const Rule kRules[] = {dequantised_weights, constant_arithmetic, quantised_tables};
  return kRules;
}

std::span<const Rule> joining_rules() {
  static const Rule kRules[] = {join_convs, join_parts, join_sums};
  return kRules;
}

std::span<const Rule> sharing_rules() {
  static const Rule kRules[] = {joined_before};
  return kRules;
}

std::span<const Rule> standard_numerics() {
  static const Rule kRules[] = {qdq_conv, qdq_gemm, qdq_matmul};
  return kRules;
}

}  // namespace sdx::rewrite
