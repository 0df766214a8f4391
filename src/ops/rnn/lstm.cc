// LSTM.
#include "ops/noise.h"
#include "ops/rnn/recurrent_fast.h"

namespace sdx::ops {
namespace {

constexpr Version kHistory[] = {
    {1,
     "(X: T, W: T, R: T, B?: T, sequence_lens?: T1, initial_h?: T, initial_c?: T, P?: T) -> (Y?: "
     "T, Y_h?: T, Y_c?: T) {activation_alpha: floats, activation_beta: floats, activations: "
     "strings, clip: float, direction: string = \"forward\", hidden_size: int, input_forget: int = "
     "0, output_sequence: int = 0} T in floats T1 in i32"},
    {7, "{-output_sequence}"},
    {14, "{layout: int = 0}"},
    {22, "T += bf16"},
};

Result<Recurrent> read(const Node& node, const Facts& in) {
  return read_recurrent(Cell::lstm, node, in);
}

// Sizes that leave remainders in vectors and panels. Weights are given as constants and as inputs
// by the tests.
Case layer(std::string name, int opset, AttrMap attrs, int64_t directions, bool batch_first = false,
           int64_t hidden = 19) {
  constexpr int64_t kSteps = 3, kBatch = 2, kInput = 5;
  const auto f32 = [](Dims dims, uint64_t seed) {
    return noise(DType::f32, std::move(dims), seed);
  };
  const Dims state =
      batch_first ? Dims{kBatch, directions, hidden} : Dims{directions, kBatch, hidden};
  attrs.emplace("hidden_size", hidden);
  return {
      .name = std::move(name),
      .opset = opset,
      .attrs = std::move(attrs),
      .inputs = {f32(batch_first ? Dims{kBatch, kSteps, kInput} : Dims{kSteps, kBatch, kInput}, 1),
                 f32({directions, 4 * hidden, kInput}, 2), f32({directions, 4 * hidden, hidden}, 3),
                 f32({directions, 8 * hidden}, 4), Tensor::of<int32_t>({kBatch}, {3, 2}),
                 f32(state, 5), f32(state, 6), f32({directions, 3 * hidden}, 7)},
      .outputs = 3};
}

std::vector<Case> cases() {
  Case without = layer("without_optional_inputs", 7, {}, 1);
  without.inputs.resize(3);
  Case from_zeros = layer("zeros_times_an_infinite_weight_are_nan", 7, {}, 1);
  from_zeros.inputs.resize(3);
  std::get<Tensor>(from_zeros.inputs[2]).data<float>()[7] = -std::numeric_limits<float>::infinity();
  return {
      {.name = "a_closed_state_stays_zero",
       .opset = 1,
       .attrs = {{"hidden_size", int64_t{1}}},
       .inputs = {Tensor::of<float>({1, 1, 1}, {1}), Tensor::of<float>({1, 4, 1}, {0, 0, 0, 0}),
                  Tensor::of<float>({1, 4, 1}, {0, 0, 0, 0})},
       .expected = {Tensor::of<float>({1, 1, 1, 1}, {0})}},
      without,
      layer("both_directions_with_everything", 7, {{"direction", std::string("bidirectional")}}, 2),
      layer("batch_first_in_reverse", 14,
            {{"direction", std::string("reverse")}, {"layout", int64_t{1}}}, 1, true),
      layer("clipped_with_coupled_gates", 14, {{"clip", .25f}, {"input_forget", int64_t{1}}}, 1),
      layer("units_for_two_threads", 14, {}, 1, false, 165),
      from_zeros,
      layer("other_activations", 14,
            {{"activations", std::vector<std::string>{"HardSigmoid", "Softsign", "Elu"}}}, 1)};
}

constexpr OpOf<Recurrent> kLstm{
    .name = "LSTM",
    .doc = "A long short-term memory layer over sequences, in one or both directions.",
    .history = kHistory,
    .read = read,
    .infer = infer_recurrent,
    .reference = recurrent_reference,
    .kernels = kRecurrentKernels,
    .cases = cases,
    .stream = stream_recurrent,
};

}  // namespace

extern const Op lstm = erase<kLstm>();

}  // namespace sdx::ops
