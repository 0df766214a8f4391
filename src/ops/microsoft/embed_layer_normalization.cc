// EmbedLayerNormalization: the first layer of encoders: embeddings of words, positions and
// segments, summed and normalised.
#include "ops/microsoft/microsoft.h"
#include "ops/noise.h"

namespace sdx::ops::microsoft {
namespace {

constexpr Version kHistory[] = {
    {1,
     "(input_ids: T1, segment_ids?: T1, word_embedding: T, position_embedding: T, "
     "segment_embedding?: T, gamma: T, beta: T, mask?: T1, position_ids?: T1) -> (output: T, "
     "mask_index?: T1, embedding_sum?: T) {epsilon: float = 1e-12, mask_index_type: int} T1 in i32 "
     "T in f32 f16"}};

// (word + position) + segment, then LayerNormalization. mask_index counts the ones of each row of
// the mask; without a mask it is 0.
Result<Wires> compose(Composer& c) {
  const Wire ids = c.in(0);
  c.require(c.fact(ids).rank() == 2, "SDX-T1056", "input_ids is {}; it must have 2 dimensions",
            c.fact(ids).text());
  c.require(c.has(1) == c.has(4), "SDX-T1071",
            "segment_ids and segment_embedding must be given together");
  if (c.failed()) return Wires{};
  const Wire length = c.reshape(c.add(shape, {ids}, {{"start", int64_t{1}}}), {});
  const Wire zero = c.number(DType::i64, 0), one = c.number(DType::i64, 1);
  const Wire positions = c.has(8) ? c.in(8) : c.add(range, {zero, length, one});
  Wire sum = c.add(add, {c.add(gather, {c.in(2), ids}), c.add(gather, {c.in(3), positions})});
  if (c.has(4)) sum = c.add(add, {sum, c.add(gather, {c.in(4), c.in(1)})});
  const Wire y =
      c.add(layer_normalization, {sum, c.in(5), c.in(6)}, {{"epsilon", c.node().f("epsilon")}});
  const Wire counted = c.has(7) ? c.in(7) : ids;
  const Wire wanted = c.number(DType::i32, 1);
  Wire ones = c.cast(c.add(equal_, {counted, wanted}), DType::i32);
  if (!c.has(7)) ones = c.add(mul, {ones, c.number(DType::i32, 0)});
  const Wire mask_index = c.add(reduce_sum, {ones, c.ints({1})}, {{"keepdims", int64_t{0}}});
  return Wires{y, mask_index, sum};
}

std::vector<Case> cases() {
  const Tensor ids = Tensor::of<int32_t>({2, 3}, {0, 1, 2, 2, 0, 1});
  return {
      {.name = "counts_the_mask",
       .opset = 1,
       .attrs = {{"epsilon", 0.f}},
       .inputs = {Tensor::of<int32_t>({1, 2}, {0, 1}), Value{},
                  Tensor::of<float>({2, 2}, {1, 3, 2, 8}), Tensor::make(DType::f32, {2, 2}),
                  Value{}, Tensor::of<float>({2}, {1, 1}), Tensor::of<float>({2}, {0, 5}),
                  Tensor::of<int32_t>({1, 2}, {1, 0})},
       .expected = {Tensor::of<float>({1, 2, 2}, {-1, 6, -1, 6}), Tensor::of<int32_t>({1}, {1})},
       .outputs = 2},
      {.name = "with_segments_and_positions",
       .opset = 1,
       .attrs = {},
       .inputs = {ids, Tensor::of<int32_t>({2, 3}, {0, 0, 1, 1, 1, 0}), noise({5, 33}),
                  noise({7, 33}, 2), noise({2, 33}, 3), noise({33}, 4), noise({33}, 5), Value{},
                  Tensor::of<int32_t>({1, 3}, {6, 5, 4})},
       .outputs = 3}};
}

constexpr OpOf<Composition> kEmbed = composed<compose>(
    kDomain, "EmbedLayerNormalization",
    "LayerNormalization of the sum of word, position and segment embeddings.", kHistory, cases);

}  // namespace

extern const Op embed_layer_normalization = erase<kEmbed>();

}  // namespace sdx::ops::microsoft
