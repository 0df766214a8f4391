// Recurrent: what LSTM, GRU and RNN share: attributes, shapes, the walk over time, and the
// arithmetic of the three cells.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "op/streaming.h"
#include "ops/common.h"

namespace sdx::ops {

enum class Cell { lstm, gru, rnn };

struct Activation {
  enum class Kind {
    relu,
    tanh,
    sigmoid,
    affine,
    leaky_relu,
    thresholded_relu,
    scaled_tanh,
    hard_sigmoid,
    elu,
    softsign,
    softplus
  } kind;
  float alpha = 0, beta = 0;
};

struct Recurrent {
  Cell cell;
  std::vector<bool> reversed;                    // one per direction
  std::vector<std::array<Activation, 3>> f_g_h;  // one triple per direction
  std::optional<float> clip;
  std::optional<int64_t> hidden;  // if the attribute says it
  bool batch_first;
  bool input_forget;         // LSTM: f = 1 - i
  bool linear_before_reset;  // GRU

  size_t gates() const { return cell == Cell::lstm ? 4 : cell == Cell::gru ? 3 : 1; }
  size_t directions() const { return reversed.size(); }
  size_t states() const { return cell == Cell::lstm ? 2 : 1; }
};

// Sizes of one run, checked against each other, and where things lie.
struct RecurrentSizes {
  size_t steps, batch, input, hidden, gates, directions;
  bool batch_first;

  size_t x(size_t t, size_t n) const {
    return (batch_first ? n * steps + t : t * batch + n) * input;
  }
  size_t y(size_t t, size_t d, size_t n) const {
    return (batch_first ? (n * steps + t) * directions + d : (t * directions + d) * batch + n) *
           hidden;
  }
  size_t state(size_t d, size_t n) const {
    return (batch_first ? n * directions + d : d * batch + n) * hidden;
  }
};

Result<Recurrent> read_recurrent(Cell, const Node&, const Facts& in);
Result<Facts> infer_recurrent(const Recurrent&, const Facts& in);
Status recurrent_reference(const Recurrent&, Args&);
// Forwards, the state after a piece is the one before the next.
Streaming stream_recurrent(const Recurrent&, const Streamed&);
Result<RecurrentSizes> recurrent_sizes(const Recurrent&, std::span<const View> ins);
// The length of sequence n; `steps` if no lengths are given.
Result<size_t> sequence_length(const Args&, const RecurrentSizes&, size_t n);

float activate(const Activation&, float x);
double activate(const Activation&, double x);

}  // namespace sdx::ops
