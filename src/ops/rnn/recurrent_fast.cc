#include "ops/rnn/recurrent_fast.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "base/aligned.h"
#include "base/fitting.h"
#include "base/slab.h"
#include "kernel/gemm/gemm.h"
#include "kernel/rnn/cell.h"

namespace sdx::ops {
namespace {

using Kind = Activation::Kind;

// GRU without linear_before_reset multiplies h by the first two gates of R and r * h by the third.
bool in_two_steps(const Recurrent& a) { return a.cell == Cell::gru && !a.linear_before_reset; }

// Columns of the packed weights, and so of the products, are ordered as the cells read them: blocks
// of 16 units, gate after gate within a block, the last block filled up with zeros. A thread that
// multiplies by the columns of some blocks can then run their cells without waiting for the others.
size_t blocks_of(size_t hidden) { return (hidden + kCellUnits - 1) / kCellUnits; }

// Threads share pairs of blocks: whole panels of packed weights, however many gates there are.
constexpr size_t kPair = 2;

// The packed weights of one direction, as offsets in floats.
struct Weights {
  size_t input, hidden, gates, columns;
  size_t first_gates;  // of the product h R^T
  size_t w, r, r_reset, bias, w_bias, r_bias;
  size_t r_finite;  // 1 if no element of R is infinite or NaN, else 0
  size_t total;

  Weights(const Recurrent& a, size_t input_size, size_t hidden_size)
      : input(input_size), hidden(hidden_size), gates(a.gates()) {
    const size_t units = blocks_of(hidden) * kCellUnits;
    columns = gates * units;
    first_gates = in_two_steps(a) ? 2 : gates;
    w = 0;
    r = w + aligned_floats(gemm_packed_b_size(input, columns));
    r_reset = r + aligned_floats(gemm_packed_b_size(hidden, first_gates * units));
    bias = r_reset + (in_two_steps(a) ? aligned_floats(gemm_packed_b_size(hidden, units)) : 0);
    w_bias = bias + columns;
    r_bias = w_bias + columns;
    r_finite = r_bias + columns;
    total = r_finite + aligned_floats(1);
  }
};

// Where unit j of gate g stands among `gates`.
size_t column(size_t gates, size_t g, size_t j) {
  return (j / kCellUnits * gates + g) * kCellUnits + j % kCellUnits;
}

// `from` holds rows of k floats, one per unit, gate after gate.
void pack_gates(const float* from, size_t k, size_t hidden, size_t gates, float* to, Pool& pool,
                Isa isa) {
  const size_t blocks = blocks_of(hidden);
  pool.parallel((blocks + kPair - 1) / kPair, 1, [&](size_t begin, size_t end, int) {
    std::vector<float> rows(kPair * kCellUnits * gates * k);
    for (size_t pair = begin; pair < end; ++pair) {
      const size_t block = pair * kPair, count = std::min(kPair, blocks - block);
      const size_t unit = block * kCellUnits, units = std::min(hidden - unit, count * kCellUnits);
      std::fill(rows.begin(), rows.end(), 0.0f);
      for (size_t g = 0; g < gates; ++g) {
        for (size_t j = 0; j < units; ++j) {
          std::memcpy(rows.data() + column(gates, g, j) * k, from + (g * hidden + unit + j) * k,
                      k * sizeof(float));
        }
      }
      gemm_pack_b_here(rows.data(), DType::f32, k, true, k, count * gates * kCellUnits,
                       to + unit * gates * k, isa);
    }
  });
}

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
  size_t xw, hr, h, next_h, c, z, reset_h, reset, gemm, gemm_step, bytes;

  Layout(const Recurrent& a, const RecurrentSizes& s, int threads) {
    const size_t units = blocks_of(s.hidden) * kCellUnits, columns = s.gates * units;
    must_fit((double(s.steps) + 8) * double(s.batch) * double(columns));
    const size_t state = aligned_floats(s.batch * s.hidden);
    xw = 0;
    hr = xw + s.steps * s.batch * columns;
    h = hr + s.batch * columns;
    next_h = h + state;
    c = next_h + state;
    z = c + (a.cell == Cell::lstm ? state : 0);
    reset_h = z + (in_two_steps(a) ? state : 0);
    reset = reset_h + (in_two_steps(a) ? state : 0);
    gemm = reset + (in_two_steps(a) ? s.batch * units : 0);
    const float packed = 0;
    const GemmArgs all = product(s.steps * s.batch, columns, s.input, nullptr, &packed, nullptr);
    const GemmArgs step = product(s.batch, columns, s.hidden, nullptr, &packed, nullptr);
    gemm_step = aligned_floats(gemm_scratch_bytes(step, 1) / sizeof(float));  // per thread
    bytes = gemm * sizeof(float) +
            std::max(gemm_scratch_bytes(all, threads), size_t(threads) * gemm_step * sizeof(float));
  }
};

}  // namespace

bool fits_unpacked(const Recurrent& a, const Call& call) {
  if (call.in[0].type != DType::f32) return false;
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

bool fits_fast(const Recurrent& a, const Call& call) {
  if (call.in[1].value == nullptr || call.in[2].value == nullptr) return false;
  if (call.in.size() > 3 && call.in[3].present() && call.in[3].value == nullptr) return false;
  return fits_unpacked(a, call);
}

namespace {

// W, R and B (or null) of all directions, as `at` lays them out.
void pack_weights(const Recurrent& a, const Weights& at, const float* w, const float* r,
                  const float* b, float* packed, Pool& pool, Isa isa) {
  const size_t rows = at.gates * at.hidden, first_rows = at.first_gates * at.hidden;
  for (size_t d = 0; d < a.directions(); ++d) {
    float* to = packed + d * at.total;
    const float *from_w = w + d * rows * at.input, *from_r = r + d * rows * at.hidden;
    pack_gates(from_w, at.input, at.hidden, at.gates, to + at.w, pool, isa);
    pack_gates(from_r, at.hidden, at.hidden, at.first_gates, to + at.r, pool, isa);
    if (in_two_steps(a)) {
      pack_gates(from_r + first_rows * at.hidden, at.hidden, at.hidden, 1, to + at.r_reset, pool,
                 isa);
    }
    std::fill(to + at.bias, to + at.total, 0.0f);
    to[at.r_finite] =
        std::all_of(from_r, from_r + rows * at.hidden, [](float x) { return std::isfinite(x); });
    for (size_t i = 0; b != nullptr && i < rows; ++i) {
      const float* from_b = b + d * 2 * rows;
      const size_t j = column(at.gates, i / at.hidden, i % at.hidden);
      to[at.w_bias + j] = from_b[i];
      to[at.r_bias + j] = from_b[rows + i];
      to[at.bias + j] = from_b[i] + from_b[rows + i];
    }
  }
}

Weights weights_of(const Recurrent& a, const Call& call) {
  return Weights(a, size_t(call.in[1].dims()[2]), size_t(call.in[2].dims()[2]));
}

}  // namespace

std::shared_ptr<const void> fast_pack(const Recurrent& a, const Call& call, Pool& pool) {
  const Weights at = weights_of(a, call);
  auto packed = allocate_lasting(at.total * a.directions() * sizeof(float));
  const bool biased = call.in.size() > 3 && call.in[3].present();
  pack_weights(a, at, call.in[1].value->data<float>(), call.in[2].value->data<float>(),
               biased ? call.in[3].value->data<float>() : nullptr,
               static_cast<float*>(packed.get()), pool, call.isa);
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

// Weights that only the run knows are packed behind the rest.
size_t unpacked_scratch(const Recurrent& a, const Call& call) {
  return aligned_bytes(fast_scratch(a, call)) +
         weights_of(a, call).total * a.directions() * sizeof(float);
}

Status run_fast(const Recurrent& a, Args& args) {
  SDX_ASSIGN(const RecurrentSizes s, recurrent_sizes(a, args.ins));
  for (size_t n = 0; n < s.batch; ++n) SDX_TRY(sequence_length(args, s, n));
  Pool& pool = *args.pool;
  const Weights at(a, s.input, s.hidden);
  const Layout room(a, s, pool.threads());
  auto* scratch = reinterpret_cast<float*>(args.scratch.data());
  float *xw = scratch + room.xw, *hr = scratch + room.hr, *c = scratch + room.c;
  const auto* packed = static_cast<const float*>(args.packed);
  if (packed == nullptr) {
    auto* here = reinterpret_cast<float*>(args.scratch.data() + aligned_bytes(room.bytes));
    pack_weights(a, at, args.in(1).data<float>(), args.in(2).data<float>(),
                 args.has(3) ? args.in(3).data<float>() : nullptr, here, pool, args.isa);
    packed = here;
  }
  float *z = scratch + room.z, *reset_h = scratch + room.reset_h, *reset = scratch + room.reset;
  const size_t blocks = blocks_of(s.hidden), units = blocks * kCellUnits;
  const size_t row_bytes = s.hidden * sizeof(float);
  const float clip = a.clip.value_or(std::numeric_limits<float>::infinity());
  const auto length = [&](size_t n) {
    return args.has(4) ? size_t(args.in(4).data<int32_t>()[n]) : s.steps;
  };

  // Shares the columns of a product with packed weights of some gates between threads; each then
  // calls then(n, range) for its blocks and every sequence. A null state gives products of +0.
  const size_t pairs = (blocks + kPair - 1) / kPair;
  const auto multiply = [&](const float* state, const float* weights, size_t gates, float* to,
                            auto&& then) {
    const size_t work = kPair * kCellUnits * gates * s.hidden * s.batch;
    const size_t share = (pairs + size_t(pool.threads()) - 1) / size_t(pool.threads());
    const size_t grain = std::max(share, 32768 / std::max<size_t>(1, work) + 1);
    pool.parallel(pairs, grain, [&](size_t begin, size_t end, int thread) {
      const CellRange range{s.hidden, begin * kPair, std::min(blocks, end * kPair)};
      const size_t first = range.begin * gates * kCellUnits, last = range.end * gates * kCellUnits;
      if (state == nullptr) {
        for (size_t n = 0; n < s.batch; ++n) {
          std::fill(to + n * units * gates + first, to + n * units * gates + last, 0.0f);
        }
      } else {
        GemmArgs g =
            product(s.batch, last - first, s.hidden, state, weights + first * s.hidden, to + first);
        g.ldc = units * gates;
        g.scratch = scratch + room.gemm + size_t(thread) * room.gemm_step;
        gemm_here(g, args.isa);
      }
      for (size_t n = 0; n < s.batch; ++n) then(n, range);
    });
  };

  for (size_t d = 0; d < s.directions; ++d) {
    const float* weights = packed + d * at.total;
    GemmArgs all = product(s.steps * s.batch, at.columns, s.input, args.in(0).data<float>(),
                           weights + at.w, xw);
    all.scratch = scratch + room.gemm;
    sdx::gemm(all, pool, args.isa);
    // A step reads the state of the one before as a whole while its own grows.
    float *h = scratch + room.h, *next_h = scratch + room.next_h;
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

    // Sequences mostly begin with a state of zeros: each of its products with finite weights adds a
    // zero to +0, so that weights need not be read.
    const bool from_zeros = weights[at.r_finite] != 0 &&
                            std::all_of(h, h + s.batch * s.hidden, [](float x) { return x == 0; });

    for (size_t step = 0; step < s.steps; ++step, std::swap(h, next_h)) {
      // The time that this step looks at, in a sequence that is not yet at its end.
      const auto time = [&](size_t n) { return a.reversed[d] ? length(n) - 1 - step : step; };
      const auto x = [&](size_t n) { return xw + s.x(time(n), n) / s.input * at.columns; };
      const auto gru = [&](size_t n, const CellRange& range) {
        return GruCell{range,
                       x(n),
                       hr + n * at.first_gates * units,
                       weights + at.w_bias,
                       weights + at.bias,
                       weights + at.r_bias,
                       clip,
                       h + n * s.hidden,
                       next_h + n * s.hidden,
                       reset + n * units,
                       z + n * s.hidden,
                       reset_h + n * s.hidden};
      };
      const auto cell = [&](size_t n, const CellRange& range) {
        float* next = next_h + n * s.hidden;
        if (a.cell == Cell::lstm) {
          const float* p = args.has(7) ? args.in(7).data<float>() + d * 3 * s.hidden : nullptr;
          SDX_PICK(lstm_cell, args.isa)
          ({range, x(n), hr + n * at.columns, weights + at.bias, p, a.input_forget, clip,
            c + n * s.hidden, next});
        } else if (a.cell == Cell::gru) {
          (in_two_steps(a) ? SDX_PICK(gru_update, args.isa)
                           : SDX_PICK(gru_cell, args.isa))(gru(n, range));
        } else {
          const bool relu = a.f_g_h[d][0].kind == Kind::relu;
          SDX_PICK(rnn_cell, args.isa)
          ({range, x(n), hr + n * at.columns, weights + at.bias, relu, clip, next});
        }
      };
      const auto advance = [&](size_t n, const CellRange& range) {
        const size_t unit = range.begin * kCellUnits;
        const size_t bytes = (std::min(s.hidden, range.end * kCellUnits) - unit) * sizeof(float);
        float* next = next_h + n * s.hidden + unit;
        if (step >= length(n)) {
          std::memcpy(next, h + n * s.hidden + unit, bytes);
          return;
        }
        cell(n, range);
        if (args.wants(0)) {
          std::memcpy(args.out(0).data<float>() + s.y(time(n), d, n) + unit, next, bytes);
        }
      };
      const float* state = step == 0 && from_zeros ? nullptr : h;
      if (in_two_steps(a)) {
        multiply(state, weights + at.r, at.first_gates, hr, [&](size_t n, const CellRange& range) {
          if (step < length(n)) SDX_PICK(gru_gates, args.isa)(gru(n, range));
        });
        multiply(reset_h, weights + at.r_reset, 1, reset, advance);
      } else {
        multiply(state, weights + at.r, at.gates, hr, advance);
      }
    }
    for (size_t n = 0; n < s.batch; ++n) {
      for (size_t t = length(n); args.wants(0) && t < s.steps; ++t) {
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
