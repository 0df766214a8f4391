#include "ops/rnn/recurrent_fast.h"

#include <algorithm>
#include <cstring>

#include "kernel/gemm/gemm.h"
#include "kernel/rnn/cell.h"

namespace sdx::ops {
namespace {

using Kind = Activation::Kind;

size_t aligned(size_t floats) { return (floats + 15) / 16 * 16; }

// GRU without linear_before_reset multiplies h by the first two gates of R and r * h by the third.
bool in_two_steps(const Recurrent& a) { return a.cell == Cell::gru && !a.linear_before_reset; }

// The packed weights of one direction, as offsets in floats.
struct Weights {
  size_t input, hidden, gates;
  size_t w, r, r_reset, bias, w_bias, r_bias, total;

  Weights(const Recurrent& a, size_t input_size, size_t hidden_size)
      : input(input_size), hidden(hidden_size), gates(a.gates()) {
    const size_t columns = gates * hidden;
    w = 0;
    r = w + aligned(gemm_packed_b_size(input, columns));
    r_reset = r + aligned(gemm_packed_b_size(hidden, first_columns(a)));
    bias = r_reset + (in_two_steps(a) ? aligned(gemm_packed_b_size(hidden, hidden)) : 0);
    w_bias = bias + aligned(columns);
    r_bias = w_bias + aligned(columns);
    total = r_bias + aligned(columns);
  }
  size_t first_columns(const Recurrent& a) const { return (in_two_steps(a) ? 2 : gates) * hidden; }
};

GemmArgs product(size_t m, size_t n, size_t k, const float* a, const float* packed, float* c) {
  GemmArgs g;
  g.m = m;
  g.n = n;
  g.k = k;
  g.a = a;
  g.lda = k;
  g.b_packed = packed;
  g.c = c;
  g.ldc = n;
  return g;
}

// Scratch memory as offsets in floats.
struct Layout {
  size_t xw, hr, h, c, z, reset_h, reset, gemm, bytes;

  Layout(const Recurrent& a, const RecurrentSizes& s, int threads) {
    const size_t columns = s.gates * s.hidden, state = aligned(s.batch * s.hidden);
    xw = 0;
    hr = xw + aligned(s.steps * s.batch * columns);
    h = hr + aligned(s.batch * columns);
    c = h + state;
    z = c + (a.cell == Cell::lstm ? state : 0);
    reset_h = z + (in_two_steps(a) ? state : 0);
    reset = reset_h + (in_two_steps(a) ? state : 0);
    gemm = reset + (in_two_steps(a) ? state : 0);
    const float packed = 0;
    const size_t room = std::max(
        gemm_scratch_bytes(product(s.steps * s.batch, columns, s.input, nullptr, &packed, nullptr),
                           threads),
        gemm_scratch_bytes(product(s.batch, columns, s.hidden, nullptr, &packed, nullptr),
                           threads));
    bytes = gemm * sizeof(float) + room;
  }
};

}  // namespace

bool fits_fast(const Recurrent& a, const Call& call) {
  if (call.in[0].type != DType::f32 || call.in[1].value == nullptr || call.in[2].value == nullptr)
    return false;
  if (call.in.size() > 3 && call.in[3].present() && call.in[3].value == nullptr) return false;
  for (const auto& f : a.f_g_h) {
    const bool usual = a.cell == Cell::rnn ? f[0].kind == Kind::tanh || f[0].kind == Kind::relu
                                           : f[0].kind == Kind::sigmoid && f[1].kind == Kind::tanh;
    if (!usual || (a.cell == Cell::lstm && f[2].kind != Kind::tanh)) return false;
  }
  // The shapes are the reference's to check; an odd one goes there.
  const Dims w = call.in[1].dims(), r = call.in[2].dims();
  const auto d = int64_t(a.directions()), gates = int64_t(a.gates());
  if (r.size() != 3 || w.size() != 3 || r[0] != d || w[0] != d || r[2] == 0 || w[2] == 0)
    return false;
  if (r[1] != gates * r[2] || w[1] != r[1]) return false;
  const bool biased = call.in.size() > 3 && call.in[3].present();
  return !biased || call.in[3].dims() == Dims{d, 2 * r[1]};
}

std::shared_ptr<const void> fast_pack(const Recurrent& a, const Call& call, Pool& pool) {
  const Dims w = call.in[1].dims();
  const Weights at(a, size_t(w[2]), size_t(call.in[2].dims()[2]));
  const size_t columns = at.gates * at.hidden, first = at.first_columns(a);
  auto packed = allocate_aligned(at.total * a.directions() * sizeof(float));
  const bool biased = call.in.size() > 3 && call.in[3].present();
  for (size_t d = 0; d < a.directions(); ++d) {
    float* to = static_cast<float*>(packed.get()) + d * at.total;
    const float* from_w = call.in[1].value->data<float>() + d * columns * at.input;
    const float* from_r = call.in[2].value->data<float>() + d * columns * at.hidden;
    gemm_pack_b(from_w, DType::f32, at.input, true, at.input, columns, to + at.w, pool);
    gemm_pack_b(from_r, DType::f32, at.hidden, true, at.hidden, first, to + at.r, pool);
    if (in_two_steps(a)) {
      gemm_pack_b(from_r + first * at.hidden, DType::f32, at.hidden, true, at.hidden, at.hidden,
                  to + at.r_reset, pool);
    }
    for (size_t j = 0; j < columns; ++j) {
      const float* b = biased ? call.in[3].value->data<float>() + d * 2 * columns : nullptr;
      to[at.w_bias + j] = b != nullptr ? b[j] : 0.0f;
      to[at.r_bias + j] = b != nullptr ? b[columns + j] : 0.0f;
      to[at.bias + j] = to[at.w_bias + j] + to[at.r_bias + j];
    }
  }
  return packed;
}

size_t fast_scratch(const Recurrent& a, const Call& call) {
  const Dims x = call.in[0].dims();
  if (x.size() != 3) return 0;
  const RecurrentSizes s{size_t(x[a.batch_first ? 1 : 0]),
                         size_t(x[a.batch_first ? 0 : 1]),
                         size_t(x[2]),
                         size_t(call.in[2].dims()[2]),
                         a.gates(),
                         a.directions(),
                         a.batch_first};
  return Layout(a, s, call.threads).bytes;
}

Status run_fast(const Recurrent& a, Args& args) {
  SDX_ASSIGN(const RecurrentSizes s, recurrent_sizes(a, args.ins));
  for (size_t n = 0; n < s.batch; ++n) SDX_TRY(sequence_length(args, s, n));
  Pool& pool = *args.pool;
  const Weights at(a, s.input, s.hidden);
  const Layout room(a, s, pool.threads());
  auto* scratch = reinterpret_cast<float*>(args.scratch.data());
  float *xw = scratch + room.xw, *hr = scratch + room.hr, *h = scratch + room.h,
        *c = scratch + room.c;
  float *z = scratch + room.z, *reset_h = scratch + room.reset_h, *reset = scratch + room.reset;
  const size_t columns = s.gates * s.hidden, first = at.first_columns(a),
               row_bytes = s.hidden * sizeof(float);
  const float clip = a.clip.value_or(std::numeric_limits<float>::infinity());
  const auto multiply = [&](GemmArgs g) {
    g.scratch = scratch + room.gemm;
    gemm(g, pool);
  };

  for (size_t d = 0; d < s.directions; ++d) {
    const float* weights = static_cast<const float*>(args.packed) + d * at.total;
    multiply(
        product(s.steps * s.batch, columns, s.input, args.in(0).data<float>(), weights + at.w, xw));
    const auto initial = [&](size_t input, float* state) {
      for (size_t n = 0; n < s.batch; ++n) {
        if (args.has(input)) {
          std::memcpy(state + n * s.hidden, args.in(input).data<float>() + s.state(d, n),
                      row_bytes);
        } else {
          std::memset(state + n * s.hidden, 0, row_bytes);
        }
      }
    };
    initial(5, h);
    if (a.cell == Cell::lstm) initial(6, c);
    // Sequences that have ended leave their rows of the second product alone; they must still be
    // numbers.
    if (in_two_steps(a)) std::memset(reset_h, 0, s.batch * row_bytes);

    // Calls f(n, t) for the sequences that are not yet at their end; t is the time that this step
    // looks at.
    const auto each_sequence = [&](size_t step, auto&& f) {
      pool.parallel(s.batch, 4096 / s.hidden + 1, [&](size_t begin, size_t end, int) {
        for (size_t n = begin; n < end; ++n) {
          const size_t length = args.has(4) ? size_t(args.in(4).data<int32_t>()[n]) : s.steps;
          if (step < length) f(n, a.reversed[d] ? length - 1 - step : step);
        }
      });
    };
    const auto gru = [&](size_t n, size_t t) {
      return GruCell{s.hidden,
                     xw + s.x(t, n) / s.input * columns,
                     hr + n * first,
                     weights + at.w_bias,
                     weights + at.bias,
                     weights + at.r_bias,
                     clip,
                     h + n * s.hidden,
                     reset + n * s.hidden,
                     z + n * s.hidden,
                     reset_h + n * s.hidden};
    };
    for (size_t step = 0; step < s.steps; ++step) {
      multiply(product(s.batch, first, s.hidden, h, weights + at.r, hr));
      if (in_two_steps(a)) {
        each_sequence(step, [&](size_t n, size_t t) { SDX_PICK(gru_gates, args.isa)(gru(n, t)); });
        multiply(product(s.batch, s.hidden, s.hidden, reset_h, weights + at.r_reset, reset));
      }
      each_sequence(step, [&](size_t n, size_t t) {
        const float* x = xw + s.x(t, n) / s.input * columns;
        float* state = h + n * s.hidden;
        if (a.cell == Cell::lstm) {
          const float* p = args.has(7) ? args.in(7).data<float>() + d * 3 * s.hidden : nullptr;
          SDX_PICK(lstm_cell, args.isa)
          ({s.hidden, x, hr + n * columns, weights + at.bias, p, a.input_forget, clip,
            c + n * s.hidden, state});
        } else if (a.cell == Cell::gru) {
          (in_two_steps(a) ? SDX_PICK(gru_update, args.isa)
                           : SDX_PICK(gru_cell, args.isa))(gru(n, t));
        } else {
          const bool relu = a.f_g_h[d][0].kind == Kind::relu;
          SDX_PICK(rnn_cell, args.isa)
          ({s.hidden, x, hr + n * columns, weights + at.bias, relu, clip, state});
        }
        if (args.wants(0)) std::memcpy(args.out(0).data<float>() + s.y(t, d, n), state, row_bytes);
      });
    }
    for (size_t n = 0; n < s.batch; ++n) {
      const size_t length = args.has(4) ? size_t(args.in(4).data<int32_t>()[n]) : s.steps;
      for (size_t t = length; args.wants(0) && t < s.steps; ++t) {
        std::memset(args.out(0).data<float>() + s.y(t, d, n), 0, row_bytes);
      }
      if (args.wants(1))
        std::memcpy(args.out(1).data<float>() + s.state(d, n), h + n * s.hidden, row_bytes);
      if (args.wants(2))
        std::memcpy(args.out(2).data<float>() + s.state(d, n), c + n * s.hidden, row_bytes);
    }
  }
  return ok();
}

}  // namespace sdx::ops
