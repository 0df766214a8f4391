#include "kernel/attention/values.h"

#include "kernel/math/math_isa.h"
#include "kernel/simd/numbers.h"

namespace sdx::SDX_ISA {
namespace {

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

// kVectors vectors of columns at once, so that chains of fma overlap; the last one may be partial.
template <int kVectors>
SDX_INLINE void columns(const float* p, size_t first, size_t last, const float* v, size_t ldv,
                        size_t tail, bool resume, float* y) {
  F32x16 acc[kVectors];
  for (int i = 0; i < kVectors; ++i) {
    acc[i] = resume ? get(y + i * 16, i + 1 < kVectors ? 16 : tail) : F32x16(0.0f);
  }
  for (size_t j = first; j < last; ++j) {
    const F32x16 weight(p[j]);
    const float* row = v + j * ldv;
    for (int i = 0; i + 1 < kVectors; ++i) acc[i] = fma(weight, load(row + i * 16), acc[i]);
    acc[kVectors - 1] = fma(weight, get(row + (kVectors - 1) * 16, tail), acc[kVectors - 1]);
  }
  for (int i = 0; i < kVectors; ++i) {
    put(y + i * 16, acc[i], i + 1 < kVectors ? 16 : tail);
  }
}

}  // namespace

void attention_values(const float* p, size_t first, size_t last, const float* v, size_t ldv,
                      size_t size, bool resume, float* y) {
  size_t d = 0;
  for (; d + 128 <= size; d += 128) columns<8>(p, first, last, v + d, ldv, 16, resume, y + d);
  for (; d + 64 <= size; d += 64) columns<4>(p, first, last, v + d, ldv, 16, resume, y + d);
  for (; d < size; d += 16)
    columns<1>(p, first, last, v + d, ldv, least(16, size - d), resume, y + d);
}

}  // namespace sdx::SDX_ISA
