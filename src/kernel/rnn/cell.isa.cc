#include "kernel/rnn/cell.h"

#include "kernel/math/math_isa.h"

namespace sdx::SDX_ISA {
namespace {

template <class Body>
SDX_INLINE void blocks(size_t n, Body body) {
  for (size_t i = 0; i < n; i += 16) body(i, n - i < 16 ? n - i : 16);
}
SDX_INLINE F32x16 get(const float* p, size_t count) {
  return count == 16 ? load(p) : load_n(p, count);
}
SDX_INLINE void put(float* p, F32x16 a, size_t count) {
  if (count == 16) {
    store(p, a);
  } else {
    store_n(p, a, count);
  }
}

SDX_INLINE F32x16 cut(F32x16 x, float clip) {
  return select(x < F32x16(-clip), F32x16(-clip), select(x > F32x16(clip), F32x16(clip), x));
}

}  // namespace

void lstm_cell(const LstmCell& a) {
  const size_t n = a.hidden;
  blocks(n, [&](size_t j, size_t count) {
    const auto gate = [&](size_t g) {
      const size_t at = g * n + j;
      return (get(a.x + at, count) + get(a.h + at, count)) + get(a.bias + at, count);
    };
    const auto peep = [&](F32x16 pre, size_t which, F32x16 cell) {
      return a.peepholes != nullptr ? pre + get(a.peepholes + which * n + j, count) * cell : pre;
    };
    const F32x16 c = get(a.state_c + j, count);
    const F32x16 i = lanes::sigmoid(cut(peep(gate(0), 0, c), a.clip));
    const F32x16 f =
        a.input_forget ? F32x16(1.0f) - i : lanes::sigmoid(cut(peep(gate(2), 2, c), a.clip));
    const F32x16 g = lanes::tanh(cut(gate(3), a.clip));
    const F32x16 next = f * c + i * g;
    const F32x16 o = lanes::sigmoid(cut(peep(gate(1), 1, next), a.clip));
    put(a.state_c + j, lanes::canonical(next), count);
    put(a.state_h + j, lanes::canonical(o * lanes::tanh(cut(next, a.clip))), count);
  });
}

void gru_cell(const GruCell& a) {
  const size_t n = a.hidden;
  blocks(n, [&](size_t j, size_t count) {
    const auto gate = [&](size_t g) {
      const size_t at = g * n + j;
      return (get(a.x + at, count) + get(a.h + at, count)) + get(a.bias + at, count);
    };
    const size_t at = 2 * n + j;
    const F32x16 z = lanes::sigmoid(cut(gate(0), a.clip)), r = lanes::sigmoid(cut(gate(1), a.clip));
    const F32x16 linear = get(a.h + at, count) + get(a.r_bias + at, count);
    const F32x16 pre = (get(a.x + at, count) + r * linear) + get(a.w_bias + at, count);
    const F32x16 next =
        (F32x16(1.0f) - z) * lanes::tanh(cut(pre, a.clip)) + z * get(a.state_h + j, count);
    put(a.state_h + j, lanes::canonical(next), count);
  });
}

void gru_gates(const GruCell& a) {
  const size_t n = a.hidden;
  blocks(n, [&](size_t j, size_t count) {
    const auto gate = [&](size_t g) {
      const size_t at = g * n + j;
      return (get(a.x + at, count) + get(a.h + at, count)) + get(a.bias + at, count);
    };
    put(a.z + j, lanes::sigmoid(cut(gate(0), a.clip)), count);
    put(a.reset_h + j, lanes::sigmoid(cut(gate(1), a.clip)) * get(a.state_h + j, count), count);
  });
}

void gru_update(const GruCell& a) {
  const size_t n = a.hidden;
  blocks(n, [&](size_t j, size_t count) {
    const size_t at = 2 * n + j;
    const F32x16 z = get(a.z + j, count);
    const F32x16 pre = (get(a.x + at, count) + get(a.reset + j, count)) + get(a.bias + at, count);
    const F32x16 next =
        (F32x16(1.0f) - z) * lanes::tanh(cut(pre, a.clip)) + z * get(a.state_h + j, count);
    put(a.state_h + j, lanes::canonical(next), count);
  });
}

void rnn_cell(const RnnCell& a) {
  blocks(a.hidden, [&](size_t j, size_t count) {
    const F32x16 pre =
        cut((get(a.x + j, count) + get(a.h + j, count)) + get(a.bias + j, count), a.clip);
    put(a.state_h + j, a.relu ? lanes::relu(pre) : lanes::tanh(pre), count);
  });
}

}  // namespace sdx::SDX_ISA
