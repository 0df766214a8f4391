// GRU.
#include "ops/noise.h"
#include "ops/rnn/recurrent_fast.h"

namespace sdx::ops {
namespace {

constexpr Version kHistory[] = {
    {1,
     "(X: T, W: T, R: T, B?: T, sequence_lens?: T1, initial_h?: T) -> (Y?: T, Y_h: T) "
     "{activation_alpha: floats, activation_beta: floats, activations: strings, clip: float, "
     "direction: string = \"foward\", hidden_size: int, output_sequence: int = 0} T in floats T1 "
     "in i32"},
    {3, "-> (Y?: T, Y_h?: T) {direction: string = \"forward\", linear_before_reset: int = 0}"},
    {7, "{-output_sequence}"},
    {14, "{layout: int = 0}"},
    {22, "T += bf16"},
};

Result<Recurrent> read(const Node& node, const Facts& in) {
  return read_recurrent(Cell::gru, node, in);
}

Case layer(std::string name, int opset, AttrMap attrs, int64_t directions, int64_t hidden = 19) {
  constexpr int64_t kSteps = 3, kBatch = 2, kInput = 5;
  const auto f32 = [](Dims dims, uint64_t seed) {
    return noise(DType::f32, std::move(dims), seed);
  };
  attrs.emplace("hidden_size", hidden);
  return {.name = std::move(name),
          .opset = opset,
          .attrs = std::move(attrs),
          .inputs = {f32({kSteps, kBatch, kInput}, 1), f32({directions, 3 * hidden, kInput}, 2),
                     f32({directions, 3 * hidden, hidden}, 3), f32({directions, 6 * hidden}, 4),
                     Tensor::of<int32_t>({kBatch}, {2, 3}), f32({directions, kBatch, hidden}, 5)},
          .outputs = 2};
}

std::vector<Case> cases() {
  return {layer("both_directions", 7, {{"direction", std::string("bidirectional")}}, 2),
          layer("linear_before_reset", 14, {{"linear_before_reset", int64_t{1}}, {"clip", .5f}}, 1),
          layer("in_reverse", 14, {{"direction", std::string("reverse")}}, 1),
          layer("units_for_two_threads", 14, {}, 1, 165),
          layer("units_for_two_threads_linear", 14, {{"linear_before_reset", int64_t{1}}}, 1, 165)};
}

constexpr OpOf<Recurrent> kGru{
    .name = "GRU",
    .doc = "A gated recurrent unit layer over sequences, in one or both directions.",
    .history = kHistory,
    .read = read,
    .infer = infer_recurrent,
    .reference = recurrent_reference,
    .kernels = kRecurrentKernels,
    .cases = cases,
    .stream = stream_recurrent,
};

}  // namespace

extern const Op gru = erase<kGru>();

}  // namespace sdx::ops
