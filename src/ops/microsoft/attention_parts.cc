#include "ops/microsoft/attention.h"

namespace sdx::ops::microsoft {
namespace {

Wire size_of(Composer& c, Wire x, int64_t axis) {
  return c.add(shape, {x}, {{"start", axis}, {"end", axis + 1}});
}

}  // namespace

int64_t heads_of(Composer& c) {
  const int64_t heads = c.node().i("num_heads");
  return c.require(heads > 0, "SDX-T1070", "num_heads is {}; it must be positive", heads) ? heads
                                                                                          : 1;
}

AttrMap attention_attributes(Composer& c, int64_t heads, bool causal) {
  AttrMap attrs{{"is_causal", int64_t{causal}}, {"q_num_heads", heads}, {"kv_num_heads", heads}};
  if (const float scale = c.node().f_or("scale", 0); scale != 0) attrs.emplace("scale", scale);
  return attrs;
}

Wire count_of_keys(Composer& c, Wire k, Wire past) {
  const Wire now = size_of(c, k, c.fact(k).rank() == 3 ? 1 : 2);
  return past.present() ? c.add(add, {now, size_of(c, past, 2)}) : now;
}

Wire padding_mask(Composer& c, Wire mask, Wire batch_of, Wire keys, DType type) {
  if (c.failed()) return mask;
  const Fact& fact = c.fact(mask);
  const Wire zero = c.number(DType::i32, 0);
  Wire allowed;
  if (fact.rank() == 2) {
    allowed = c.add(unsqueeze, {c.add(greater, {mask, zero}), c.ints({1, 2})});
  } else if (fact.rank() == 3) {
    allowed = c.add(unsqueeze, {c.add(greater, {mask, zero}), c.ints({1})});
  } else if (fact.rank() == 1) {
    // [batch] of ends, or [2 * batch] of ends, then starts.
    const Dim &count = fact.dim(0), &batch = c.fact(batch_of).dim(0);
    const bool starts = count == batch * Dim(2);
    if (!c.require(starts || count == batch || !count.is_const() || !batch.is_const(), "SDX-T1080",
                   "a mask of {} for {} rows: expected one or two numbers per row", fact.text(),
                   batch.text())) {
      return mask;
    }
    const Wire places = c.cast(
        c.add(range, {c.number(DType::i64, 0), c.reshape(keys, {}), c.number(DType::i64, 1)}),
        DType::i32);
    const auto part = [&](Wire rows, int64_t i) {
      return c.add(squeeze, {c.slice(rows, 0, i, i + 1), c.ints({0})});
    };
    Wire from, to;
    if (starts || count == batch) {
      const Wire rows = c.reshape(mask, {starts ? 2 : 1, -1, 1, 1, 1});
      to = part(rows, 0);
      if (starts) from = part(rows, 1);
    } else {
      // Only running tells which: [k, batch, 1, 1, 1], and the starts count k - 1 times.
      const Wire rows = c.add(
          reshape, {mask, c.add(concat, {c.ints({-1}), size_of(c, batch_of, 0), c.ints({1, 1, 1})},
                                {{"axis", int64_t{0}}})});
      const Wire twice = c.add(expand, {rows, c.ints({2, 1, 1, 1, 1})});
      const Wire more = c.add(sub, {size_of(c, rows, 0), c.number(DType::i64, 1)});
      to = part(twice, 0);
      from = c.add(mul, {part(twice, 1), c.cast(more, DType::i32)});
    }
    allowed = c.add(less, {places, to});
    if (from.present()) allowed = c.add(and_, {allowed, c.add(greater_or_equal, {places, from})});
  } else {
    c.require(false, "SDX-T1080", "a mask of {}: expected 1, 2 or 3 dimensions", fact.text());
    return mask;
  }
  const float filter = c.node().f_or("mask_filter_value", -10000);
  return c.add(where, {allowed, c.number(type, 0), c.number(type, double(filter))});
}

Wires attend(Composer& c, const AttentionParts& parts) {
  const DType type = c.fact(parts.in.q).type;
  Wire mask;
  if (parts.mask.present()) {
    const Wire keys = count_of_keys(c, parts.in.k, parts.past_key);
    mask = padding_mask(c, parts.mask, parts.in.q, keys, type);
    if (parts.bias.present()) mask = c.add(add, {mask, parts.bias});
  } else {
    mask = parts.bias;
  }
  AttrMap attrs = attention_attributes(c, parts.heads, parts.causal);
  if (c.wants(3)) attrs.emplace("qk_matmul_output_mode", int64_t{2});
  Wires y =
      c.add(attention, {parts.in.q, parts.in.k, parts.in.v, mask, parts.past_key, parts.past_value},
            attrs, c.wants(3) ? 4 : 3);
  y.resize(4);
  return y;
}

}  // namespace sdx::ops::microsoft
