// RotaryEmbedding: ai.onnx's operator of this name with its inputs in another order.
#include "ops/microsoft/microsoft.h"
#include "ops/noise.h"

namespace sdx::ops::microsoft {
namespace {

constexpr Version kHistory[] = {
    {1,
     "(input: T, position_ids: M, cos_cache: T, sin_cache: T) -> (output: T) {interleaved: int, "
     "is_packed_batching: int, num_heads: int, rotary_embedding_dim: int, scale: float} T in f32 "
     "f16 bf16 M in i64"}};

// The size of one axis of x at run time, as a vector of one element.
Wire size_of(Composer& c, Wire x, int64_t axis) {
  return c.add(shape, {x}, {{"start", axis}, {"end", axis + 1}});
}

// position_ids is [batch, length], or one number: the position of each row's first token.
Wire positions_of(Composer& c, Wire x, Wire ids) {
  if (c.fact(ids).rank() == 2) return ids;
  c.require(c.fact(ids).rank() <= 1, "SDX-T0506", "position_ids is {}; one number or a matrix",
            c.fact(ids).text());
  const int64_t axis = c.fact(x).rank() == 3 ? 1 : 2;
  const Wire length = size_of(c, x, axis);
  const Wire steps =
      c.add(range, {c.number(DType::i64, 0), c.reshape(length, {}), c.number(DType::i64, 1)});
  const Wire row = c.add(add, {steps, ids});
  return c.add(expand, {row, c.add(concat, {size_of(c, x, 0), length}, {{"axis", int64_t{0}}})});
}

Result<Wires> compose(Composer& c) {
  const Wire x = c.in(0), cos = c.in(2);
  const Fact &in = c.fact(x), &cache = c.fact(cos);
  c.require(in.rank() == 3 || in.rank() == 4, "SDX-T0501",
            "the input is {}; it must have 3 or 4 dimensions", in.text());
  c.require(cache.rank() == 2, "SDX-T0505", "cos_cache is {}; it must be a matrix", cache.text());
  c.require(c.node().i_or("is_packed_batching", 0) == 0, "SDX-T1072",
            "is_packed_batching: batches without padding do not run here");
  if (c.failed()) return Wires{};
  int64_t heads = c.node().i_or("num_heads", 0);
  const int64_t turned = c.node().i_or("rotary_embedding_dim", 0);
  if (heads == 0 && in.rank() == 3) {
    const int64_t size = c.size(cos, 1, "cos_cache") * 2, hidden = c.size(x, 2, "the input");
    if (c.require(turned == 0 && size > 0 && hidden % size == 0, "SDX-T0502",
                  "num_heads must be given: the input is {} and cos_cache {}", in.text(),
                  cache.text())) {
      heads = hidden / size;
    }
  }
  AttrMap attrs{{"interleaved", c.node().i_or("interleaved", 0)}, {"rotary_embedding_dim", turned}};
  if (in.rank() == 3) attrs.emplace("num_heads", heads);
  const Wire positions = positions_of(c, x, c.in(1));
  return Wires{c.add(rotary_embedding, {x, cos, c.in(3), positions}, attrs)};
}

std::vector<Case> cases() {
  return {
      {.name = "a_quarter_turn_at_the_second_position",
       .opset = 1,
       .attrs = {{"interleaved", int64_t{1}}},
       .inputs = {Tensor::of<float>({1, 1, 1, 4}, {1, 2, 3, 4}), Tensor::of<int64_t>({1}, {1}),
                  Tensor::of<float>({2, 2}, {5, 5, 0, 1}), Tensor::of<float>({2, 2}, {5, 5, 1, 0})},
       .expected = {Tensor::of<float>({1, 1, 1, 4}, {-2, 1, 3, 4})}},
      {.name = "heads_that_the_caches_tell",
       .opset = 1,
       .attrs = {},
       .inputs = {noise({2, 3, 24}), Tensor::of<int64_t>({2, 3}, {0, 1, 2, 4, 3, 2}),
                  noise({5, 4}, 2), noise({5, 4}, 3)}},
      {.name = "a_part_of_each_head",
       .opset = 1,
       .attrs = {{"num_heads", int64_t{2}}, {"rotary_embedding_dim", int64_t{4}}},
       .inputs = {noise(DType::f16, {1, 3, 16}), Tensor::of<int64_t>({1}, {1}),
                  noise(DType::f16, {5, 2}, 2), noise(DType::f16, {5, 2}, 3)}}};
}

constexpr OpOf<Composition> kRotary = composed<compose>(
    kDomain, "RotaryEmbedding", "Turns pairs of a head's elements by angles of its position.",
    kHistory, cases);

}  // namespace

extern const Op ms_rotary_embedding = erase<kRotary>();

}  // namespace sdx::ops::microsoft
