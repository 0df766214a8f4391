// Attention as the operators of com.microsoft have it, made from ai.onnx's Attention.
#pragma once

#include "ops/microsoft/microsoft.h"

namespace sdx::ops::microsoft {

// Queries, keys and values: [batch, length, heads * size], or keys and values [batch, heads,
// length, size].
struct Heads3 {
  Wire q, k, v;
};

struct AttentionParts {
  Heads3 in;
  Wire past_key, past_value;  // [batch, heads, past, size]
  Wire mask;                  // of whole numbers: what padding_mask takes
  Wire bias;                  // added to the scores: [1 or batch, 1 or heads, length, keys]
  bool causal = false;
  int64_t heads = 1;
};

// What the attribute mask_filter_value says is added to the scores of masked keys, as a tensor that
// broadcasts to [batch, heads, length, keys]. The mask is [batch, keys] or [batch, length, keys] of
// 0 and 1, or a vector of each row's count of keys, perhaps followed by where each row starts.
// `batch_of` has the batch as its first axis; `keys` is the count of keys.
Wire padding_mask(Composer& c, Wire mask, Wire batch_of, Wire keys, DType type);

// The outputs y, present_key, present_value and, if output 3 is asked for, the scores before their
// softmax with what was added to them.
Wires attend(Composer& c, const AttentionParts& parts);

// The number of keys of each row at run time: the length of `k`, 3- or 4-dimensional, and of `past`
// if it is given; a vector of one element.
Wire count_of_keys(Composer& c, Wire k, Wire past);

int64_t heads_of(Composer& c);
// scale as ai.onnx has it: left out where it is 0.
AttrMap attention_attributes(Composer& c, int64_t heads, bool causal);

}  // namespace sdx::ops::microsoft
