// cell: one time step of some units of one sequence, for recurrent layers with their usual
// activations (sigmoid and tanh), with the bits of ops/rnn/recurrent.cc.
#pragma once

#include <cstddef>

#include "kernel/isa.h"

namespace sdx {

// Units go in blocks of 16, one vector. Products and biases hold, for every block, its gates one
// after the other, 16 floats each; what lies behind the last unit is never looked at. States are
// plain arrays of `hidden` floats.
inline constexpr size_t kCellUnits = 16;

struct CellRange {
  size_t hidden;
  size_t begin, end;  // blocks to compute
};

// `x` and `h` are the products x W^T and h R^T. Activations see their input cut to [-clip, clip];
// infinity does not cut.
struct LstmCell {
  CellRange units;
  const float *x, *h;      // gates i, o, f, c
  const float* bias;       // Wb + Rb, as the gates
  const float* peepholes;  // i, o, f, each `hidden` long; or null
  bool input_forget;       // f = 1 - i
  float clip;
  float* state_c;  // updated
  float* next_h;
};

// GRU with linear_before_reset. Without it, gru_gates and gru_update go before and after the
// product (r * h) R^T.
struct GruCell {
  CellRange units;
  const float *x, *h;          // gates z, r, h; without linear_before_reset `h` has z and r
  const float *w_bias, *bias;  // Wb; Wb + Rb
  const float* r_bias;         // Rb
  float clip;
  const float* state_h;
  float* next_h;
  const float* reset;  // of gru_update: the product (r * h) R^T, one gate
  float *z, *reset_h;  // of gru_gates: results, as states; gru_update reads z
};

struct RnnCell {
  CellRange units;
  const float *x, *h, *bias;
  bool relu;  // else tanh
  float clip;
  float* next_h;
};

SDX_DECLARE_ISAS(void lstm_cell(const LstmCell&); void gru_cell(const GruCell&);
                 void gru_gates(const GruCell&); void gru_update(const GruCell&);
                 void rnn_cell(const RnnCell&);)

}  // namespace sdx
