#include "kernel/attention/rows.h"

#include "kernel/math/math_isa.h"

namespace sdx::SDX_ISA {
namespace {

SDX_INLINE F32x16 get(const float* p, size_t count, float fill = 0.0f) {
  return count == 16 ? load(p) : load_n(p, count, fill);
}
SDX_INLINE void put(float* p, F32x16 a, size_t count) {
  if (count == 16) {
    store(p, a);
  } else {
    store_n(p, a, count);
  }
}
SDX_INLINE size_t least(size_t a, size_t b) { return a < b ? a : b; }

// kVectors vectors of columns at once, so that chains of fma overlap; the last one may be partial.
template <int kVectors>
SDX_INLINE void columns(const float* p, size_t first, size_t last, const float* v, size_t ldv,
                        size_t tail, float* y) {
  F32x16 acc[kVectors];
  for (int i = 0; i < kVectors; ++i) acc[i] = F32x16(0.0f);
  for (size_t j = first; j < last; ++j) {
    const F32x16 weight(p[j]);
    const float* row = v + j * ldv;
    for (int i = 0; i + 1 < kVectors; ++i) acc[i] = fma(weight, load(row + i * 16), acc[i]);
    acc[kVectors - 1] = fma(weight, get(row + (kVectors - 1) * 16, tail), acc[kVectors - 1]);
  }
  for (int i = 0; i < kVectors; ++i) {
    put(y + i * 16, lanes::canonical(acc[i]), i + 1 < kVectors ? 16 : tail);
  }
}

}  // namespace

void attention_softmax(float* row, size_t first, size_t last) {
  constexpr float kMinusInfinity = -__builtin_inff();
  const size_t begin = first / 16 * 16;
  for (size_t j = begin; j < first; ++j) row[j] = kMinusInfinity;
  F32x16 most(kMinusInfinity);
  for (size_t j = begin; j < last; j += 16) {
    most = lanes::max(most, get(row + j, least(16, last - j), kMinusInfinity));
  }
  const float top = max(most);
  if (top == kMinusInfinity) {
    for (size_t j = begin; j < last; ++j) row[j] = 0.0f;
    return;
  }
  F32x16 total(0.0f);
  for (size_t j = begin; j < last; j += 16) {
    const size_t count = least(16, last - j);
    const F32x16 e = lanes::exp(get(row + j, count, kMinusInfinity) - F32x16(top));
    total = total + e;
    put(row + j, e, count);
  }
  const F32x16 divisor(sum(total));
  for (size_t j = begin; j < last; j += 16) {
    const size_t count = least(16, last - j);
    put(row + j, get(row + j, count) / divisor, count);
  }
}

void attention_values(const float* p, size_t first, size_t last, const float* v, size_t ldv,
                      size_t size, float* y) {
  size_t d = 0;
  for (; d + 128 <= size; d += 128) columns<8>(p, first, last, v + d, ldv, 16, y + d);
  for (; d + 64 <= size; d += 64) columns<4>(p, first, last, v + d, ldv, 16, y + d);
  for (; d < size; d += 16) columns<1>(p, first, last, v + d, ldv, least(16, size - d), y + d);
}

}  // namespace sdx::SDX_ISA
