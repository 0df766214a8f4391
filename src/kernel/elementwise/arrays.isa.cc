#include "kernel/elementwise/arrays.h"

#include "kernel/math/math_isa.h"
#include "kernel/math/ops_lanes.h"

namespace sdx::SDX_ISA {
namespace {

// One loop with one copy of the body: the last block differs in how it is loaded and stored.
template <class Body>
SDX_INLINE void blocks(size_t n, Body body) {
  for (size_t i = 0; i < n; i += 16) body(i, n - i < 16 ? n - i : 16);
}
SDX_INLINE F32x16 load_block(const float* p, size_t count) {
  return count == 16 ? load(p) : load_n(p, count);
}
SDX_INLINE void store_block(float* p, F32x16 a, size_t count) {
  if (count == 16) {
    store(p, a);
  } else {
    store_n(p, a, count);
  }
}

// Rows of n elements, `ld` apart.
struct Rows {
  const float* x;
  float* y;
  size_t rows, n, ld;
};

// Long chains of operations wait for their own results less when two vectors take turns; where a
// vector is four registers they do so anyway.
constexpr bool takes_turns(UnaryOp op) {
  return F32x16::kLanes * sizeof(float) <= 2 * kRegisterBytes &&
         (op == UnaryOp::exp || op == UnaryOp::sigmoid || op == UnaryOp::tanh ||
          op == UnaryOp::erf || op == UnaryOp::gelu || op == UnaryOp::gelu_tanh ||
          op == UnaryOp::swish);
}

template <bool kTurns, class F>
SDX_INLINE void map_rows(const Rows& r, F f) {
  using Two = Pair<F32x16>;
  for (size_t row = 0; row < r.rows; ++row) {
    const float* x = r.x + row * r.ld;
    float* y = r.y + row * r.ld;
    size_t done = 0;
    if constexpr (kTurns) {
      for (; r.n - done >= 32; done += 32) f(Two::load(x + done)).store(y + done);
    }
    blocks(r.n - done, [=](size_t i, size_t count) {
      store_block(y + done + i, f(load_block(x + done + i, count)), count);
    });
  }
}

template <UnaryOp op>
__attribute__((noinline)) void unary_rows(const Rows& r, float p, float q) {
  map_rows<takes_turns(op)>(
      r, [=](auto x) __attribute__((always_inline)) {
        using F = decltype(x);
        return lanes::Unary<op>::apply(x, F(p), F(q));
      });
}

// With a factor of 1, as it mostly is, the product with it is no operation.
template <>
__attribute__((noinline)) void unary_rows<UnaryOp::swish>(const Rows& r, float p, float) {
  constexpr bool kTurns = takes_turns(UnaryOp::swish);
  if (p == 1.0f) {
    map_rows<kTurns>(
        r, [](auto x) __attribute__((always_inline)) { return lanes::silu(x); });
  } else {
    map_rows<kTurns>(
        r, [p](auto x) __attribute__((always_inline)) { return lanes::swish(x, decltype(x)(p)); });
  }
}

// Between usual bounds of two zeros the bound is taken, and NaN comes back at the end.
template <>
__attribute__((noinline)) void unary_rows<UnaryOp::clip>(const Rows& r, float p, float q) {
  const bool usual = p == p && !(p == 0 && __builtin_signbit(p)) && q == q && q != 0;
  const F32x16 low(p), high(q);
  if (usual) {
    map_rows<false>(
        r, [=](F32x16 x) __attribute__((always_inline)) {
          const F32x16 inside = min_raw(max_raw(x, low), high);
          return select(lanes::is_nan(x), lanes::nan<F32x16>(), inside);
        });
  } else {
    map_rows<false>(
        r, [=](F32x16 x) __attribute__((always_inline)) { return lanes::clip(x, low, high); });
  }
}

// By the machine's own conversions where it has them.
template <>
__attribute__((noinline)) void unary_rows<UnaryOp::round_to_f16>(const Rows& r, float, float) {
  map_rows<false>(
      r, [](F32x16 x) __attribute__((always_inline)) {
        uint16_t h[16];
        store_f16_raw(h, x);
        return load_f16(h);
      });
}

template <BinaryOp op>
__attribute__((noinline)) void binary_loop(const BinaryOperand& left, const BinaryOperand& right,
                                           float* y, size_t rows, size_t n) {
  if (n == 0) return;
  const size_t stride_a = left.stride, stride_b = right.stride;
  const float *a = left.data, *b = right.data;
  for (; rows != 0; --rows, a += left.row, b += right.row, y += n) {
    const F32x16 first_a(a[0]), first_b(b[0]);
    blocks(n, [=](size_t i, size_t count) {
      const F32x16 u = stride_a == 0 ? first_a : load_block(a + i, count);
      const F32x16 v = stride_b == 0 ? first_b : load_block(b + i, count);
      store_block(y + i, lanes::Binary<op>::apply(u, v), count);
    });
  }
}

// kChannel: x alone has an element of its own at each place, as in a row of one channel.
template <bool kShifted, bool kRelu, bool kChannel>
void scaled_rows(const Scaling& s, float* y, size_t rows, size_t n) {
  Scaling o = s;  // which no store to y can change
  const size_t whole = n / 16 * 16, rest = n - whole;
  for (; rows != 0; --rows, y += n) {
    const F32x16 x(*o.x), shift(kShifted ? *o.shift : 0.0f), factor(*o.factor), term(*o.term);
    const auto at = [&](size_t i, auto load_some) __attribute__((always_inline)) {
      F32x16 v = kChannel || o.x_stride != 0 ? load_some(o.x + i) : x;
      if (kShifted) v = v - (kChannel || o.shift_stride == 0 ? shift : load_some(o.shift + i));
      v = v * (kChannel || o.factor_stride == 0 ? factor : load_some(o.factor + i));
      v = lanes::canonical(v + (kChannel || o.term_stride == 0 ? term : load_some(o.term + i)));
      return kRelu ? lanes::relu(v) : v;
    };
    for (size_t i = 0; i < whole; i += 16) {
      store(y + i, at(i, [](const float* p) { return load(p); }));
    }
    if (rest != 0) {
      store_n(y + whole, at(whole, [rest](const float* p) { return load_n(p, rest); }), rest);
    }
    o.x += o.x_row;
    if (kShifted) o.shift += o.shift_row;
    o.factor += o.factor_row;
    o.term += o.term_row;
  }
}

template <bool kShifted, bool kRelu>
void scaled(const Scaling& s, float* y, size_t rows, size_t n) {
  const bool channel =
      s.x_stride == 1 && s.shift_stride == 0 && s.factor_stride == 0 && s.term_stride == 0;
  channel ? scaled_rows<kShifted, kRelu, true>(s, y, rows, n)
          : scaled_rows<kShifted, kRelu, false>(s, y, rows, n);
}

}  // namespace

void array_scaled(const Scaling& s, float* y, size_t rows, size_t n) {
  if (n == 0) return;
  if (s.shift == nullptr) {
    s.relu ? scaled<false, true>(s, y, rows, n) : scaled<false, false>(s, y, rows, n);
  } else {
    s.relu ? scaled<true, true>(s, y, rows, n) : scaled<true, false>(s, y, rows, n);
  }
}

#define SDX_UNARY(name, value) \
  case UnaryOp::name:          \
    return unary_rows<UnaryOp::name>(r, p, q);
void array_unary_rows(UnaryOp op, const float* x, float* y, size_t rows, size_t n, size_t ld,
                      float p, float q) {
  const Rows r{x, y, rows, n, ld};
  switch (op) { SDX_UNARY_OPS(SDX_UNARY) }
}
#undef SDX_UNARY
void array_unary(UnaryOp op, const float* x, float* y, size_t n, float p, float q) {
  array_unary_rows(op, x, y, 1, n, n, p, q);
}

#define SDX_BINARY(name, value) \
  case BinaryOp::name:          \
    return binary_loop<BinaryOp::name>(a, b, y, rows, n);
void array_binary_rows(BinaryOp op, const BinaryOperand& a, const BinaryOperand& b, float* y,
                       size_t rows, size_t n) {
  switch (op) { SDX_BINARY_OPS(SDX_BINARY) }
}
#undef SDX_BINARY
void array_binary(BinaryOp op, const float* a, size_t stride_a, const float* b, size_t stride_b,
                  float* y, size_t n) {
  array_binary_rows(op, {a, stride_a}, {b, stride_b}, y, 1, n);
}

void array_from_f16(const uint16_t* x, float* y, size_t n) {
  size_t i = 0;
  for (; i + 16 <= n; i += 16) store(y + i, load_f16(x + i));
  if (i == n) return;
  uint16_t last[16] = {};
  memcpy(last, x + i, (n - i) * sizeof(uint16_t));
  store_n(y + i, load_f16(last), n - i);
}
void array_from_bf16(const uint16_t* x, float* y, size_t n) {
  size_t i = 0;
  for (; i + 16 <= n; i += 16) store(y + i, load_bf16(x + i));
  if (i == n) return;
  uint16_t last[16] = {};
  memcpy(last, x + i, (n - i) * sizeof(uint16_t));
  store_n(y + i, load_bf16(last), n - i);
}
void array_to_f16(const float* x, uint16_t* y, size_t n) {
  size_t i = 0;
  for (; i + 16 <= n; i += 16) store_f16(y + i, load(x + i));
  if (i == n) return;
  uint16_t last[16];
  store_f16(last, load_n(x + i, n - i));
  memcpy(y + i, last, (n - i) * sizeof(uint16_t));
}
void array_to_bf16(const float* x, uint16_t* y, size_t n) {
  size_t i = 0;
  for (; i + 16 <= n; i += 16) store_bf16(y + i, load(x + i));
  if (i == n) return;
  uint16_t last[16];
  store_bf16(last, load_n(x + i, n - i));
  memcpy(y + i, last, (n - i) * sizeof(uint16_t));
}

// Lanes behind the end add +0, which changes no sum that began with +0.
float array_sum(const float* x, size_t n) {
  F32x16 total(0.0f);
  blocks(n, [&](size_t i, size_t count) { total = total + load_block(x + i, count); });
  return lanes::canonical(one::F32(sum(total))).v;
}
float array_sum_of_squares(const float* x, size_t n) {
  F32x16 total(0.0f);
  blocks(n, [&](size_t i, size_t count) {
    const F32x16 v = load_block(x + i, count);
    total = total + v * v;
  });
  return lanes::canonical(one::F32(sum(total))).v;
}
float array_max(const float* x, size_t n) {
  const float low = -__builtin_inff();
  F32x16 most(low);
  blocks(n, [&](size_t i, size_t count) {
    most = lanes::max(most, count == 16 ? load(x + i) : load_n(x + i, count, low));
  });
  return max(most);
}

}  // namespace sdx::SDX_ISA
