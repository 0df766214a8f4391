// RNN.
#include "ops/list.h"
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

constexpr OpOf<Recurrent> kRnn{
    .name = "RNN",
    .doc = "A simple recurrent layer over sequences, in one or both directions.",
    .history = kHistory,
    .read = read,
    .infer = infer_recurrent,
    .reference = recurrent_reference,
    .kernels = kRecurrentKernels,
};

}  // namespace

const Op rnn = erase<kRnn>();

}  // namespace sdx::ops
