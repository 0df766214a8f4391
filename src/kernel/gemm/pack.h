// Operands copied into the order in which tiles read them, widened to float on the way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/dtype.h"
#include "kernel/gemm/vec.h"

namespace sdx::SDX_ISA {

inline float float_of_bits(uint32_t bits) {
  float f;
  std::memcpy(&f, &bits, sizeof f);
  return f;
}

inline float widen_f16(uint16_t h) {
  const uint32_t sign = uint32_t(h & 0x8000) << 16;
  const uint32_t exponent = h >> 10 & 31, mantissa = h & 1023;
  if (exponent == 31) return float_of_bits(sign | 0x7f800000 | mantissa << 13);
  if (exponent != 0) return float_of_bits(sign | (exponent + 112) << 23 | mantissa << 13);
  const float magnitude = float(int(mantissa)) * 0x1p-24f;
  return sign != 0 ? -magnitude : magnitude;
}

inline float widen_bf16(uint16_t h) { return float_of_bits(uint32_t(h) << 16); }

// Round to nearest even; NaN is canonical.
inline uint16_t narrow_f16(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  const uint32_t sign = bits >> 16 & 0x8000;
  bits &= 0x7fffffff;
  if (bits > 0x7f800000) return 0x7e00;
  if (bits >= 0x477ff000) return uint16_t(sign | 0x7c00);  // 65520 and more
  if (bits < 0x38800000) {  // below 2^-14: adding 0.5 leaves a multiple of 2^-24 in the low bits
    const float sum = float_of_bits(bits) + 0.5f;
    uint32_t out;
    std::memcpy(&out, &sum, sizeof out);
    return uint16_t(sign | (out - 0x3f000000));
  }
  bits += 0xfff + (bits >> 13 & 1);
  return uint16_t(sign | (bits - 0x38000000) >> 13);
}

inline uint16_t narrow_bf16(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  if ((bits & 0x7fffffff) > 0x7f800000) return 0x7fc0;
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

inline float widen_at(const void* p, DType type, size_t i) {
  if (type == DType::f32) return static_cast<const float*>(p)[i];
  const uint16_t h = static_cast<const uint16_t*>(p)[i];
  return type == DType::f16 ? widen_f16(h) : widen_bf16(h);
}

typedef float Quad __attribute__((vector_size(16)));
typedef int32_t QuadIndex __attribute__((vector_size(16)));

inline Quad quad_load(const float* p) {
  Quad q;
  std::memcpy(&q, p, sizeof q);
  return q;
}

// out[k * step + row] = in[row * stride + k].
inline void pack_transposed(const float* in, size_t stride, size_t rows, size_t k, float* out,
                            size_t step) {
  size_t r = 0;
  for (; r + 4 <= rows; r += 4) {
    const float* p = in + r * stride;
    float* o = out + r;
    size_t i = 0;
    for (; i + 4 <= k; i += 4, p += 4) {
      const Quad a = quad_load(p), b = quad_load(p + stride);
      const Quad c = quad_load(p + 2 * stride), d = quad_load(p + 3 * stride);
      const Quad ab0 = __builtin_shuffle(a, b, QuadIndex{0, 4, 1, 5}),
                 ab1 = __builtin_shuffle(a, b, QuadIndex{2, 6, 3, 7});
      const Quad cd0 = __builtin_shuffle(c, d, QuadIndex{0, 4, 1, 5}),
                 cd1 = __builtin_shuffle(c, d, QuadIndex{2, 6, 3, 7});
      const Quad t[4] = {__builtin_shuffle(ab0, cd0, QuadIndex{0, 1, 4, 5}),
                         __builtin_shuffle(ab0, cd0, QuadIndex{2, 3, 6, 7}),
                         __builtin_shuffle(ab1, cd1, QuadIndex{0, 1, 4, 5}),
                         __builtin_shuffle(ab1, cd1, QuadIndex{2, 3, 6, 7})};
      for (int j = 0; j < 4; ++j, o += step) std::memcpy(o, &t[j], sizeof t[j]);
    }
    for (; i < k; ++i, ++p, o += step) {
      for (size_t j = 0; j < 4; ++j) o[j] = p[j * stride];
    }
  }
  for (; r < rows; ++r) {
    for (size_t i = 0; i < k; ++i) out[i * step + r] = in[r * stride + i];
  }
}

// out[k * step + row] = in[row * row_stride + k * k_stride].
inline void pack_any(const void* in, DType type, size_t row_stride, size_t k_stride, size_t rows,
                     size_t k, float* out, size_t step) {
  if (type == DType::f32) {
    const float* p = static_cast<const float*>(in);
    if (k_stride == 1) return pack_transposed(p, row_stride, rows, k, out, step);
    if (row_stride == 1) {
      for (size_t i = 0; i < k; ++i)
        std::memcpy(out + i * step, p + i * k_stride, rows * sizeof(float));
      return;
    }
  }
  for (size_t i = 0; i < k; ++i) {
    for (size_t r = 0; r < rows; ++r)
      out[i * step + r] = widen_at(in, type, r * row_stride + i * k_stride);
  }
}

}  // namespace sdx::SDX_ISA
