// Attention of batches whose padding has been taken out: tokens of all rows lie one after another,
// and token_offset [batch, length] tells the place of each in the padded batch, tokens first.
#include "ops/microsoft/attention.h"
#include "ops/noise.h"

namespace sdx::ops::microsoft {
namespace {

constexpr Version kMultiHeadHistory[] = {
    {1,
     "(query: T, key?: T, value?: T, bias?: T, token_offset: M, cumulative_sequence_length: M, "
     "attention_bias?: T) -> (output: T) {mask_filter_value: float, num_heads!: int, scale: float} "
     "T in f32 f16 M in i32"}};
constexpr Version kAttentionHistory[] = {
    {1,
     "(input: T, weights: T, bias: T, token_offset: M, cumulative_sequence_length: M, "
     "attention_bias?: T) -> (output: T) {num_heads!: int, qkv_hidden_sizes: ints, scale: float} T "
     "in f32 f16 M in i32"}};
constexpr Version kRestoreHistory[] = {
    {1, "(input: T, token_offset: M) -> (output: T) T in f32 f16 M in i32"}};

// The places of the tokens in the padded batch, as many as `tokens` has rows.
Wire places_of(Composer& c, Wire tokens, Wire offsets) {
  const Wire flat = c.cast(c.reshape(offsets, {-1}), DType::i64);
  const Wire count = c.add(shape, {tokens}, {{"start", int64_t{0}}, {"end", int64_t{1}}});
  return c.add(slice, {flat, c.ints({0}), count, c.ints({0})});
}

// [tokens, size] as [batch, length, size], zeros where there is no token.
Wire padded(Composer& c, Wire x, Wire places, Wire offsets) {
  const Wire rows = c.add(shape, {c.reshape(offsets, {-1})});
  const Wire size = c.add(shape, {x}, {{"start", int64_t{1}}, {"end", int64_t{2}}});
  const Wire dims = c.add(concat, {rows, size}, {{"axis", int64_t{0}}});
  const Wire empty = c.add(expand, {c.number(c.fact(x).type, 0), dims});
  const Wire whole = c.add(scatter_nd, {empty, c.add(unsqueeze, {places, c.ints({1})}), x});
  const Wire target =
      c.add(concat, {c.add(shape, {offsets}), c.ints({-1})}, {{"axis", int64_t{0}}});
  return c.add(reshape, {whole, target});
}

Wire attend_packed(Composer& c, const Heads3& tokens, Wire offsets, Wire ends, Wire bias) {
  c.require(c.fact(offsets).rank() == 2, "SDX-T1056", "token_offset is {}; it must be a matrix",
            c.fact(offsets).text());
  c.require(c.fact(ends).rank() == 1, "SDX-T1056",
            "cumulative_sequence_length is {}; it must be a vector", c.fact(ends).text());
  const int64_t heads = heads_of(c);
  const Wire places = places_of(c, tokens.q, offsets);
  const auto spread = [&](Wire x) { return padded(c, x, places, offsets); };
  const Wire lengths =
      c.cast(c.add(sub, {c.slice(ends, 0, 1, INT64_MAX), c.slice(ends, 0, 0, -1)}), DType::i64);
  const Wire y =
      c.add(attention,
            {spread(tokens.q), spread(tokens.k), spread(tokens.v), bias, Wire{}, Wire{}, lengths},
            attention_attributes(c, heads, false));
  const Wire size = c.add(shape, {y}, {{"start", int64_t{2}}});
  const Wire rows = c.add(concat, {c.ints({-1}), size}, {{"axis", int64_t{0}}});
  return c.add(gather, {c.add(reshape, {y, rows}), places});
}

Result<Wires> compose_multi_head(Composer& c) {
  Heads3 in{c.in(0), c.in(1), c.in(2)};
  if (!c.has(1)) {
    if (!c.require(c.fact(in.q).rank() == 4, "SDX-T1082",
                   "without a key the query must be [tokens,heads,3,size]; it is {}",
                   c.fact(in.q).text())) {
      return Wires{};
    }
    const Wires parts =
        c.add(split, {in.q}, {{"axis", int64_t{2}}, {"num_outputs", int64_t{3}}}, 3);
    in = {c.reshape(parts[0], {0, -1}), c.reshape(parts[1], {0, -1}), c.reshape(parts[2], {0, -1})};
  }
  c.require(in.v.present() && c.fact(in.q).rank() == 2, "SDX-T1082",
            "query, key and value must be matrices of tokens");
  int64_t at = 0;
  for (Wire* part : {&in.q, &in.k, &in.v}) {
    if (!c.has(3) || c.failed()) break;
    const int64_t size = c.size(*part, 1, "the query, key or value");
    *part = c.add(add, {*part, c.slice(c.in(3), 0, at, at + size)});
    at += size;
  }
  return Wires{attend_packed(c, in, c.in(4), c.in(5), c.in(6))};
}

Result<Wires> compose_attention(Composer& c) {
  const Wire qkv = c.add(add, {c.add(matmul, {c.in(0), c.in(1)}), c.in(2)});
  std::vector<int64_t> sizes = c.node().ints_or_empty("qkv_hidden_sizes");
  if (sizes.empty()) {
    const int64_t all = c.size(qkv, 1, "the projected input");
    c.require(all % 3 == 0, "SDX-T1081", "{} columns do not split into three", all);
    sizes.assign(3, all / 3);
  }
  c.require(sizes.size() == 3, "SDX-T1081", "qkv_hidden_sizes has {} numbers; expected 3",
            sizes.size());
  if (c.failed()) return Wires{};
  const Wires parts = c.add(split, {qkv, c.ints(sizes)}, {{"axis", int64_t{1}}}, 3);
  return Wires{attend_packed(c, {parts[0], parts[1], parts[2]}, c.in(3), c.in(4), c.in(5))};
}

Result<Wires> compose_restore(Composer& c) {
  return Wires{padded(c, c.in(0), places_of(c, c.in(0), c.in(1)), c.in(1))};
}

// Two rows, of two tokens and of one.
const Tensor offsets() { return Tensor::of<int32_t>({2, 2}, {0, 1, 2, 3}); }

std::vector<Case> cases_multi_head() {
  const Tensor ends = Tensor::of<int32_t>({3}, {0, 2, 3});
  return {{.name = "rows_do_not_see_each_other",
           .opset = 1,
           .attrs = {{"num_heads", int64_t{1}}},
           .inputs = {Tensor::make(DType::f32, {3, 1}), Tensor::make(DType::f32, {3, 1}),
                      Tensor::of<float>({3, 1}, {2, 4, 10}), Value{}, offsets(), ends},
           .expected = {Tensor::of<float>({3, 1}, {3, 3, 10})}},
          {.name = "one_tensor_for_all_three",
           .opset = 1,
           .attrs = {{"num_heads", int64_t{2}}},
           .inputs = {noise({3, 2, 3, 8}), Value{}, Value{}, noise({48}, 2), offsets(), ends,
                      noise({1, 2, 2, 2}, 3)}}};
}
std::vector<Case> cases_attention() {
  return {{.name = "projects_its_tokens",
           .opset = 1,
           .attrs = {{"num_heads", int64_t{2}}},
           .inputs = {noise({3, 16}), noise({16, 48}, 2), noise({48}, 3), offsets(),
                      Tensor::of<int32_t>({3}, {0, 2, 3})}}};
}
std::vector<Case> cases_restore() {
  return {
      {.name = "zeros_where_there_is_no_token",
       .opset = 1,
       .attrs = {},
       .inputs = {Tensor::of<float>({3, 1}, {2, 4, 10}), Tensor::of<int32_t>({2, 2}, {0, 1, 3, 2})},
       .expected = {Tensor::of<float>({2, 2, 1}, {2, 4, 0, 10})}}};
}

constexpr OpOf<Composition> kMultiHead = composed<compose_multi_head>(
    kDomain, "PackedMultiHeadAttention", "MultiHeadAttention of tokens without padding.",
    kMultiHeadHistory, cases_multi_head);
constexpr OpOf<Composition> kAttention =
    composed<compose_attention>(kDomain, "PackedAttention", "Attention of tokens without padding.",
                                kAttentionHistory, cases_attention);
constexpr OpOf<Composition> kRestore =
    composed<compose_restore>(kDomain, "RestorePadding", "Tokens put back into a padded batch.",
                              kRestoreHistory, cases_restore);

}  // namespace

extern const Op packed_multi_head_attention = erase<kMultiHead>();
extern const Op packed_attention = erase<kAttention>();
extern const Op restore_padding = erase<kRestore>();

}  // namespace sdx::ops::microsoft
