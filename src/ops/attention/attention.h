// Attention's attributes, the keys that each query may see, and the additive mask; shared by its
// reference and kernels.
#pragma once

#include <array>
#include <optional>

#include "ops/attention/heads.h"

namespace sdx::ops {

struct Attention {
  bool causal;
  int64_t q_heads, kv_heads;  // of inputs with 3 dimensions
  int64_t left, right;        // window; -1: no bound
  int64_t mode;  // what output 3 holds: 0 product, 1 capped, 2 with bias, 3 probabilities
  std::optional<float> scale;
  float softcap;                   // 0: none
  std::optional<DType> precision;  // of the softmax
};

// Sizes of one run, checked against each other.
struct AttentionSizes {
  Heads q, k, v;
  size_t past = 0, total = 0;  // keys before the new ones, and all keys
  size_t group = 1;            // query heads per key head
};
Result<AttentionSizes> attention_sizes(const Attention&, const Args&);

// Keys [first, last) that query i of a batch may see by causality, window and length; other keys
// take no part at all.
struct KeyRange {
  size_t first, last;
};
KeyRange keys_of(const Attention&, const AttentionSizes&, const Args&, size_t batch, size_t i);

// The mask as right-aligned strides over (batch, head, query); keys beyond `keys` are masked.
struct Mask {
  View view;
  size_t keys = 0;
  std::array<size_t, 3> step{};
  bool present() const { return view.present(); }
  size_t row(size_t b, size_t h, size_t i) const { return b * step[0] + h * step[1] + i * step[2]; }
};
Result<Mask> mask_of(const AttentionSizes&, const Args&);

}  // namespace sdx::ops
