// cell: one time step of one sequence for recurrent layers with their usual activations (sigmoid
// and tanh), with the bits of ops/rnn/recurrent.cc.
#pragma once

#include <cstddef>

#include "kernel/isa.h"

namespace sdx {

// `x` and `h` are the products x W^T and h R^T, gate after gate, each `hidden` long. Activations
// see their input cut to
// [-clip, clip]; infinity does not cut.
struct LstmCell {
  size_t hidden;
  const float *x, *h;      // gates i, o, f, c
  const float* bias;       // Wb + Rb, as the gates
  const float* peepholes;  // i, o, f; or null
  bool input_forget;       // f = 1 - i
  float clip;
  float *state_c, *state_h;  // updated
};

// GRU with linear_before_reset. Without it, gru_gates and gru_update go before and after the
// product (r * h) R^T.
struct GruCell {
  size_t hidden;
  const float *x, *h;          // gates z, r, h; without linear_before_reset `h` has z and r
  const float *w_bias, *bias;  // Wb; Wb + Rb
  const float* r_bias;         // Rb
  float clip;
  float* state_h;      // updated
  const float* reset;  // of gru_update: the product (r * h) R^T
  float *z, *reset_h;  // of gru_gates: results; gru_update reads z
};

struct RnnCell {
  size_t hidden;
  const float *x, *h, *bias;
  bool relu;  // else tanh
  float clip;
  float* state_h;
};

SDX_DECLARE_ISAS(void lstm_cell(const LstmCell&); void gru_cell(const GruCell&);
                 void gru_gates(const GruCell&); void gru_update(const GruCell&);
                 void rnn_cell(const RnnCell&);)

}  // namespace sdx
