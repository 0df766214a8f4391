#include "kernel/rnn/cell.h"

#include "kernel/math/math_isa.h"

namespace sdx::SDX_ISA {
namespace {

// Calls body(block, first unit, units).
template <class Body>
SDX_INLINE void blocks(const CellRange& r, Body body) {
  for (size_t block = r.begin; block < r.end; ++block) {
    const size_t j = block * kCellUnits;
    body(block, j, r.hidden - j < kCellUnits ? r.hidden - j : kCellUnits);
  }
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

// One gate of a block out of `Gates`.
template <size_t Gates>
SDX_INLINE F32x16 gate(const float* p, size_t block, size_t g) {
  return load(p + (block * Gates + g) * kCellUnits);
}

}  // namespace

void lstm_cell(const LstmCell& a) {
  blocks(a.units, [&](size_t block, size_t j, size_t count) {
    const auto pre = [&](size_t g) {
      return (gate<4>(a.x, block, g) + gate<4>(a.h, block, g)) + gate<4>(a.bias, block, g);
    };
    const auto peep = [&](F32x16 x, size_t which, F32x16 cell) {
      if (a.peepholes == nullptr) return x;
      return x + get(a.peepholes + which * a.units.hidden + j, count) * cell;
    };
    const F32x16 c = get(a.state_c + j, count);
    const F32x16 i = lanes::sigmoid(cut(peep(pre(0), 0, c), a.clip));
    const F32x16 f =
        a.input_forget ? F32x16(1.0f) - i : lanes::sigmoid(cut(peep(pre(2), 2, c), a.clip));
    const F32x16 g = lanes::tanh(cut(pre(3), a.clip));
    const F32x16 next = f * c + i * g;
    const F32x16 o = lanes::sigmoid(cut(peep(pre(1), 1, next), a.clip));
    put(a.state_c + j, lanes::canonical(next), count);
    put(a.next_h + j, lanes::canonical(o * lanes::tanh(cut(next, a.clip))), count);
  });
}

void gru_cell(const GruCell& a) {
  blocks(a.units, [&](size_t block, size_t j, size_t count) {
    const auto pre = [&](size_t g) {
      return (gate<3>(a.x, block, g) + gate<3>(a.h, block, g)) + gate<3>(a.bias, block, g);
    };
    const F32x16 z = lanes::sigmoid(cut(pre(0), a.clip)), r = lanes::sigmoid(cut(pre(1), a.clip));
    const F32x16 linear = gate<3>(a.h, block, 2) + gate<3>(a.r_bias, block, 2);
    const F32x16 last = (gate<3>(a.x, block, 2) + r * linear) + gate<3>(a.w_bias, block, 2);
    const F32x16 next =
        (F32x16(1.0f) - z) * lanes::tanh(cut(last, a.clip)) + z * get(a.state_h + j, count);
    put(a.next_h + j, lanes::canonical(next), count);
  });
}

void gru_gates(const GruCell& a) {
  blocks(a.units, [&](size_t block, size_t j, size_t count) {
    const auto pre = [&](size_t g) {
      return (gate<3>(a.x, block, g) + gate<2>(a.h, block, g)) + gate<3>(a.bias, block, g);
    };
    put(a.z + j, lanes::sigmoid(cut(pre(0), a.clip)), count);
    put(a.reset_h + j, lanes::sigmoid(cut(pre(1), a.clip)) * get(a.state_h + j, count), count);
  });
}

void gru_update(const GruCell& a) {
  blocks(a.units, [&](size_t block, size_t j, size_t count) {
    const F32x16 z = get(a.z + j, count);
    const F32x16 pre =
        (gate<3>(a.x, block, 2) + gate<1>(a.reset, block, 0)) + gate<3>(a.bias, block, 2);
    const F32x16 next =
        (F32x16(1.0f) - z) * lanes::tanh(cut(pre, a.clip)) + z * get(a.state_h + j, count);
    put(a.next_h + j, lanes::canonical(next), count);
  });
}

void rnn_cell(const RnnCell& a) {
  blocks(a.units, [&](size_t block, size_t j, size_t count) {
    const F32x16 sum =
        (gate<1>(a.x, block, 0) + gate<1>(a.h, block, 0)) + gate<1>(a.bias, block, 0);
    const F32x16 pre = cut(sum, a.clip);
    put(a.next_h + j, a.relu ? lanes::relu(pre) : lanes::tanh(pre), count);
  });
}

}  // namespace sdx::SDX_ISA
