// Attention and QAttention, which project their input themselves, and MultiHeadAttention and
// DecoderMaskedMultiHeadAttention, which take queries, keys and values.
#include "ops/microsoft/attention.h"

#include "ops/noise.h"

namespace sdx::ops::microsoft {

extern const Op matmul_integer_to_scaled;

namespace {

constexpr Version kAttentionHistory[] = {
    {1,
     "(input: T, weights: T, bias?: T, mask_index?: M, past?: T, attention_bias?: T, "
     "past_sequence_length?: M) -> (output: T, present?: T) {do_rotary: int, mask_filter_value: "
     "float, num_heads!: int, past_present_share_buffer: int, qkv_hidden_sizes: ints, "
     "rotary_embedding_dim: int, scale: float, unidirectional: int = 0} T in f32 f16 bf16 M in "
     "i32"}};
constexpr Version kQAttentionHistory[] = {
    {1,
     "(input: T1, weight: T2, bias: T3, input_scale: T3, weight_scale: T3, mask_index?: T4, "
     "input_zero_point?: T1, weight_zero_point?: T2, past?: T3) -> (output: T3, present?: T3) "
     "{do_rotary: int, mask_filter_value: float, num_heads!: int, past_present_share_buffer: int, "
     "scale: float, unidirectional: int = 0} T1 in i8 u8 T2 in i8 u8 T3 in f32 f16 T4 in i32"}};
constexpr Version kMultiHeadHistory[] = {
    {1,
     "(query: T, key?: T, value?: T, bias?: T, key_padding_mask?: M, attention_bias?: T, "
     "past_key?: "
     "T, past_value?: T, past_sequence_length?: M, cache_indirection?: M) -> (output: T, "
     "present_key?: T, present_value?: T, qk?: QK) {mask_filter_value: float, num_heads!: int, "
     "scale: float, unidirectional: int = 0} T in f32 f16 bf16 QK in f32 f16 bf16 M in i32"}};
constexpr Version kMaskedHistory[] = {
    {1,
     "(query: T, key?: T, value?: T, mask_index?: M, attention_bias?: T, past_key?: T, "
     "past_value?: "
     "T, past_sequence_length?: M, beam_width?: M, cache_indirection?: M, bias?: T) -> (output: T, "
     "present_key?: T, present_value?: T, qk?: QK) {mask_filter_value: float, num_heads!: int, "
     "output_qk: int, past_present_share_buffer: int, scale: float} T in f32 f16 QK in f32 f16 M "
     "in i32"}};

void refuse(Composer& c, bool asked, std::string_view what) {
  c.require(!asked, "SDX-T1072", "{} does not run here", what);
}

// The projected input cut into queries, keys and values along its last axis.
Heads3 cut(Composer& c, Wire qkv, std::vector<int64_t> sizes) {
  if (sizes.empty()) {
    const int64_t all = c.size(qkv, 2, "the projected input");
    c.require(all % 3 == 0, "SDX-T1081", "{} columns do not split into three", all);
    sizes.assign(3, all / 3);
  }
  c.require(sizes.size() == 3, "SDX-T1081", "qkv_hidden_sizes has {} numbers; expected 3",
            sizes.size());
  if (c.failed()) return {};
  const Wires parts = c.add(split, {qkv, c.ints(sizes)}, {{"axis", int64_t{2}}}, 3);
  return {parts[0], parts[1], parts[2]};
}

// Attention on what the input was projected to. past and present are [2, batch, heads, keys, size].
Result<Wires> attend_projected(Composer& c, Wire qkv, Wire mask, Wire past, Wire bias,
                               std::vector<int64_t> sizes) {
  const Node& node = c.node();
  refuse(c, node.i_or("do_rotary", 0) != 0, "do_rotary");
  refuse(c, node.i_or("past_present_share_buffer", 0) != 0, "past_present_share_buffer");
  c.require(c.fact(c.in(0)).rank() == 3, "SDX-T1056", "the input is {}; it must have 3 dimensions",
            c.fact(c.in(0)).text());
  AttentionParts parts;
  parts.heads = heads_of(c);
  parts.causal = node.i("unidirectional") != 0;
  parts.in = cut(c, qkv, std::move(sizes));
  parts.mask = mask;
  parts.bias = bias;
  if (past.present()) {
    c.require(c.fact(past).rank() == 5, "SDX-T1056", "past is {}; it must have 5 dimensions",
              c.fact(past).text());
    const auto half = [&](int64_t i) {
      return c.add(squeeze, {c.slice(past, 0, i, i + 1), c.ints({0})});
    };
    parts.past_key = half(0);
    parts.past_value = half(1);
  }
  const Wires y = attend(c, parts);
  if (!c.wants(1)) return Wires{y[0], Wire{}};
  const auto raised = [&](Wire x) { return c.add(unsqueeze, {x, c.ints({0})}); };
  return Wires{y[0], c.add(concat, {raised(y[1]), raised(y[2])}, {{"axis", int64_t{0}}})};
}

Result<Wires> compose_attention(Composer& c) {
  refuse(c, c.has(6), "past_sequence_length");
  Wire qkv = c.add(matmul, {c.in(0), c.in(1)});
  if (c.has(2)) qkv = c.add(add, {qkv, c.in(2)});
  return attend_projected(c, qkv, c.in(3), c.in(4), c.in(5),
                          c.node().ints_or_empty("qkv_hidden_sizes"));
}

Result<Wires> compose_qattention(Composer& c) {
  const Wire qkv = c.add(matmul_integer_to_scaled,
                         {c.in(0), c.in(1), c.in(3), c.in(4), c.in(6), c.in(7), c.in(2)});
  return attend_projected(c, qkv, c.in(5), c.in(8), Wire{}, {});
}

// [batch, length, heads, n, size] as n tensors [batch, length, heads * size].
Wires unpacked(Composer& c, Wire x, int64_t n) {
  const Wires parts = c.add(split, {x}, {{"axis", int64_t{3}}, {"num_outputs", n}}, size_t(n));
  Wires flat;
  for (const Wire part : parts) flat.push_back(c.reshape(part, {0, 0, -1}));
  return flat;
}

// Inputs 0, 1 and 2 as they are meant, with their parts of the bias. Keys and values of 4
// dimensions have theirs already.
Heads3 given_heads(Composer& c, Wire bias) {
  Heads3 in{c.in(0), c.in(1), c.in(2)};
  if (!in.k.present()) {
    c.require(c.fact(in.q).rank() == 5, "SDX-T1082",
              "without a key the query must be [batch,length,heads,3,size]; it is {}",
              c.fact(in.q).text());
    if (c.failed()) return in;
    const Wires parts = unpacked(c, in.q, 3);
    in = {parts[0], parts[1], parts[2]};
  } else if (!in.v.present()) {
    c.require(c.fact(in.k).rank() == 5, "SDX-T1082",
              "without a value the key must be [batch,length,heads,2,size]; it is {}",
              c.fact(in.k).text());
    if (c.failed()) return in;
    const Wires parts = unpacked(c, in.k, 2);
    in.k = parts[0];
    in.v = parts[1];
  }
  c.require(c.fact(in.q).rank() == 3, "SDX-T1082", "the query is {}; it must have 3 dimensions",
            c.fact(in.q).text());
  if (!bias.present() || c.failed()) return in;
  const bool cached = c.fact(in.k).rank() == 4;
  int64_t at = 0;
  for (Wire* part : {&in.q, &in.k, &in.v}) {
    if (cached && part != &in.q) break;
    const int64_t size = c.size(*part, 2, "the query, key or value");
    *part = c.add(add, {*part, c.slice(bias, 0, at, at + size)});
    at += size;
  }
  const Fact& all = c.fact(bias);
  c.require(all.rank() == 1 && (cached || !all.dim(0).is_const() || all.dim(0).is_const(at)),
            "SDX-T1083", "the bias is {}; expected [{}]", all.text(), at);
  return in;
}

Result<Wires> compose_multi_head(Composer& c) {
  // Both tell where in a past's memory its keys are; without a past there is nothing to tell.
  refuse(c, c.has(6) && (c.has(8) || c.has(9)),
         "a past with past_sequence_length or cache_indirection");
  refuse(c, c.wants(3) && c.node().i("unidirectional") != 0, "the output qk of unidirectional");
  AttentionParts parts;
  parts.heads = heads_of(c);
  parts.causal = c.node().i("unidirectional") != 0;
  parts.in = given_heads(c, c.in(3));
  parts.mask = c.in(4);
  parts.bias = c.in(5);
  parts.past_key = c.in(6);
  parts.past_value = c.in(7);
  return attend(c, parts);
}

// One query per row. Where past and present share their memory, the new key is written behind
// past_sequence_length old ones; otherwise this is MultiHeadAttention.
Result<Wires> compose_masked(Composer& c) {
  refuse(c,
         c.has(9) && !(c.fact(c.in(8)).value != nullptr &&
                       get_i64(DType::i32, c.fact(c.in(8)).value->raw(), 0) == 1),
         "cache_indirection of several beams");
  refuse(c, c.wants(3) || c.node().i_or("output_qk", 0) != 0, "the output qk");
  AttentionParts parts;
  parts.heads = heads_of(c);
  parts.in = given_heads(c, c.in(10));
  parts.mask = c.in(3);
  parts.bias = c.in(4);
  if (c.node().i_or("past_present_share_buffer", 0) == 0 || !c.has(5)) {
    parts.past_key = c.in(5);
    parts.past_value = c.in(6);
    return attend(c, parts);
  }
  c.require(c.has(7), "SDX-T1084", "past_present_share_buffer needs past_sequence_length");
  if (c.failed()) return Wires{};
  const Wire batch = c.add(shape, {parts.in.q}, {{"start", int64_t{0}}, {"end", int64_t{1}}});
  const Wire before = c.add(expand, {c.cast(c.reshape(c.in(7), {1}), DType::i64), batch});
  const auto written = [&](Wire past, Wire now) {
    const Wire heads = c.transpose(c.reshape(now, {0, 0, parts.heads, -1}), {0, 2, 1, 3});
    return c.add(tensor_scatter, {past, heads, before}, {{"axis", int64_t{2}}});
  };
  const Wire keys = written(c.in(5), parts.in.k), values = written(c.in(6), parts.in.v);
  const Wire there = c.add(add, {before, c.number(DType::i64, 1)});
  Wire mask = parts.bias;
  if (parts.mask.present()) {
    mask = padding_mask(c, parts.mask, parts.in.q, count_of_keys(c, keys, Wire{}),
                        c.fact(parts.in.q).type);
    if (parts.bias.present()) mask = c.add(add, {mask, parts.bias});
  }
  const Wire y = c.add(attention, {parts.in.q, keys, values, mask, Wire{}, Wire{}, there},
                       attention_attributes(c, parts.heads, false));
  return Wires{y, keys, values, Wire{}};
}

AttrMap heads(int64_t count) { return {{"num_heads", count}}; }
AttrMap causal_heads(int64_t count) {
  return {{"num_heads", count}, {"unidirectional", int64_t{1}}};
}

std::vector<Case> cases_attention() {
  Tensor w = Tensor::make(DType::f32, {2, 6});  // queries and keys 0, values the input
  w.data<float>()[4] = 1;
  w.data<float>()[11] = 1;
  return {
      {.name = "equal_scores_average_the_values",
       .opset = 1,
       .attrs = heads(1),
       .inputs = {Tensor::of<float>({1, 2, 2}, {2, 10, 4, 20}), w, Tensor::make(DType::f32, {6}),
                  Tensor::of<int32_t>({1}, {2})},
       .expected = {Tensor::of<float>({1, 2, 2}, {3, 15, 3, 15})}},
      {.name = "a_past_a_mask_and_a_present",
       .opset = 1,
       .attrs = causal_heads(2),
       .inputs = {noise({2, 3, 16}), noise({16, 48}, 2), noise({48}, 3),
                  Tensor::of<int32_t>({2, 5}, {1, 1, 1, 1, 1, 0, 1, 1, 1, 1}),
                  noise({2, 2, 2, 2, 8}, 4)},
       .outputs = 2},
      {.name = "values_of_another_size",
       .opset = 1,
       .attrs = {{"num_heads", int64_t{2}}, {"qkv_hidden_sizes", std::vector<int64_t>{8, 8, 12}}},
       .inputs = {noise({1, 4, 16}), noise({16, 28}, 2), noise({28}, 3),
                  Tensor::of<int32_t>({2}, {3, 1})}}};
}
std::vector<Case> cases_qattention() {
  return {{.name = "of_bytes",
           .opset = 1,
           .attrs = heads(2),
           .inputs = {noise(DType::u8, {2, 3, 16}, 1, 0, 256),
                      noise(DType::i8, {16, 48}, 2, -128, 128), noise({48}, 3),
                      Tensor::scalar(.01f), Tensor::scalar(.02f), Tensor::of<int32_t>({2}, {3, 2}),
                      Tensor::scalar<uint8_t>(128), Tensor::scalar<int8_t>(0)}}};
}
std::vector<Case> cases_multi_head() {
  return {{.name = "equal_scores_average_the_values",
           .opset = 1,
           .attrs = heads(1),
           .inputs = {Tensor::make(DType::f32, {1, 1, 2}), Tensor::make(DType::f32, {1, 2, 2}),
                      Tensor::of<float>({1, 2, 2}, {2, 10, 4, 20})},
           .expected = {Tensor::of<float>({1, 1, 2}, {3, 15})}},
          {.name = "all_that_can_be_given",
           .opset = 1,
           .attrs = causal_heads(2),
           .inputs = {noise({2, 3, 16}), noise({2, 3, 16}, 2), noise({2, 3, 16}, 3), noise({48}, 4),
                      Tensor::of<int32_t>({2, 5}, {1, 1, 1, 1, 0, 1, 1, 1, 0, 0}),
                      noise({1, 2, 3, 5}, 5), noise({2, 2, 2, 8}, 6), noise({2, 2, 2, 8}, 7)},
           .outputs = 3},
          {.name = "one_tensor_for_all_three",
           .opset = 1,
           .attrs = heads(2),
           .inputs = {noise({1, 4, 2, 3, 8})}},
          {.name = "keys_of_four_dimensions",
           .opset = 1,
           .attrs = heads(2),
           .inputs = {noise({2, 3, 16}), noise({2, 2, 7, 8}, 2), noise({2, 2, 7, 8}, 3)}},
          {.name = "scores_beside_the_answer_and_places_of_a_past_that_is_not_there",
           .opset = 1,
           .attrs = heads(2),
           .inputs = {noise({2, 1, 16}), noise({2, 2, 7, 8}, 2), noise({2, 2, 7, 8}, 3),
                      noise({48}, 4), Value{}, noise({1, 2, 1, 7}, 5), Value{}, Value{},
                      Tensor::of<int32_t>({1}, {1}), Tensor::make(DType::i32, {2, 1, 9})},
           .outputs = 4}};
}
std::vector<Case> cases_masked() {
  AttrMap shared = heads(2);
  shared["past_present_share_buffer"] = int64_t{1};
  return {
      {.name = "behind_the_old_keys_of_a_shared_buffer",
       .opset = 1,
       .attrs = shared,
       .inputs = {noise({2, 1, 16}), noise({2, 1, 16}, 2), noise({2, 1, 16}, 3), Value{}, Value{},
                  noise({2, 2, 9, 8}, 4), noise({2, 2, 9, 8}, 5), Tensor::of<int32_t>({1}, {4})},
       .outputs = 3},
      {.name = "keys_of_four_dimensions",
       .opset = 1,
       .attrs = heads(2),
       .inputs = {noise({2, 1, 16}), noise({2, 2, 7, 8}, 2), noise({2, 2, 7, 8}, 3)}}};
}

constexpr OpOf<Composition> kAttention = composed<compose_attention>(
    kDomain, "Attention", "Attention of an input that is projected to queries, keys and values.",
    kAttentionHistory, cases_attention);
constexpr OpOf<Composition> kQAttention = composed<compose_qattention>(
    kDomain, "QAttention", "Attention of a quantised input and quantised weights.",
    kQAttentionHistory, cases_qattention);
constexpr OpOf<Composition> kMultiHead = composed<compose_multi_head>(
    kDomain, "MultiHeadAttention", "Attention with masks, a bias and a past.", kMultiHeadHistory,
    cases_multi_head);
constexpr OpOf<Composition> kMasked = composed<compose_masked>(
    kDomain, "DecoderMaskedMultiHeadAttention", "Attention of one query per row over its past.",
    kMaskedHistory, cases_masked);

}  // namespace

extern const Op ms_attention = erase<kAttention>();
extern const Op qattention = erase<kQAttention>();
extern const Op multi_head_attention = erase<kMultiHead>();
extern const Op decoder_masked_multi_head_attention = erase<kMasked>();

}  // namespace sdx::ops::microsoft
