// RNN.
#include "ops/noise.h"
#include "ops/rnn/recurrent_fast.h"

namespace sdx::ops {
namespace {

constexpr Version kHistory[] = {
    {1,
     "(X: T, W: T, R: T, B?: T, sequence_lens?: T1, initial_h?: T) -> (Y?: T, Y_h?: T) "
     "{activation_alpha: floats, activation_beta: floats, activations: strings = [\"Tanh\", "
     "\"Tanh\"], clip: float, direction: string = \"forward\", hidden_size: int, output_sequence: "
     "int = 0} T in floats T1 in i32"},
    {7, "{-output_sequence}"},
    {14, "{layout: int = 0}"},
    {22, "T += bf16"},
};

Result<Recurrent> read(const Node& node, const Facts& in) {
  return read_recurrent(Cell::rnn, node, in);
}

std::vector<Case> cases() {
  const auto layer = [](std::string name, std::string activation, std::string direction,
                        int64_t hidden = 19) -> Case {
    constexpr int64_t kSteps = 3, kBatch = 2, kInput = 5;
    const auto f32 = [](Dims dims, uint64_t seed) {
      return noise(DType::f32, std::move(dims), seed);
    };
    return {.name = std::move(name),
            .opset = 7,
            .attrs = {{"hidden_size", hidden},
                      {"activations", std::vector<std::string>{activation}},
                      {"direction", std::move(direction)}},
            .inputs = {f32({kSteps, kBatch, kInput}, 1), f32({1, hidden, kInput}, 2),
                       f32({1, hidden, hidden}, 3), f32({1, 2 * hidden}, 4)},
            .outputs = 2};
  };
  return {
      {.name = "the_state_adds_up",
       .opset = 1,
       .attrs = {{"hidden_size", int64_t{1}}, {"activations", std::vector<std::string>{"Relu"}}},
       .inputs = {Tensor::of<float>({2, 1, 1}, {1, 2}), Tensor::of<float>({1, 1, 1}, {1}),
                  Tensor::of<float>({1, 1, 1}, {1})},
       .expected = {Tensor::of<float>({2, 1, 1, 1}, {1, 3})}},
      layer("tanh_forward", "Tanh", "forward"),
      layer("relu_in_reverse", "Relu", "reverse"),
      layer("units_for_two_threads", "Tanh", "forward", 165)};
}

constexpr OpOf<Recurrent> kRnn{
    .name = "RNN",
    .doc = "A simple recurrent layer over sequences, in one or both directions.",
    .history = kHistory,
    .read = read,
    .infer = infer_recurrent,
    .reference = recurrent_reference,
    .kernels = kRecurrentKernels,
    .cases = cases,
    .stream = stream_recurrent,
};

}  // namespace

extern const Op rnn = erase<kRnn>();

}  // namespace sdx::ops
