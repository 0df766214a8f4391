// quant: runs of elements between float and 8- or 4-bit integers, with the bits of the operators'
// references.
//
// A run has one scale and zero point (step 0), or element i has scale[i] and zero[i] (step 1); a
// null zero is 0. 8-bit elements are int8 if `is_signed`, else uint8; 4-bit elements lie two to a
// byte, the first in the low half.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernel/isa.h"

namespace sdx {

SDX_DECLARE_ISAS(void quantize_f32_8(const float* x, uint8_t* y, size_t n, const float* scale,
                                     const uint8_t* zero, size_t step, bool is_signed);)
SDX_DECLARE_ISAS(void dequantize_8_f32(const uint8_t* x, float* y, size_t n, const float* scale,
                                       const uint8_t* zero, size_t step, bool is_signed);)
// 32-bit elements and zero points; the difference is exact before it is rounded to a float.
SDX_DECLARE_ISAS(void dequantize_32_f32(const int32_t* x, float* y, size_t n, const float* scale,
                                        const int32_t* zero, size_t step);)
// The run starts at the low half of x[0]; its zero points start at element `first_zero` of `zero`.
SDX_DECLARE_ISAS(void dequantize_4_f32(const uint8_t* x, float* y, size_t n, const float* scale,
                                       const uint8_t* zero, size_t first_zero, size_t step,
                                       bool is_signed);)
// Scales and results are float16.
SDX_DECLARE_ISAS(void dequantize_4_f16(const uint8_t* x, uint16_t* y, size_t n,
                                       const uint16_t* scale, const uint8_t* zero,
                                       size_t first_zero, size_t step, bool is_signed);)
// y = saturate(round half to even(float(c) * ratio) + zero).
SDX_DECLARE_ISAS(void requantize_32_8(const int32_t* c, uint8_t* y, size_t n, const float* ratio,
                                      size_t step, int32_t zero, bool is_signed);)
// y = (a - zero) * scale + (b - zero) * scale, or 0 instead of less if `relu`, quantised again; the
// last scale and zero point are y's. May be called if adds_bytes() says so.
struct AddBytes {
  float scale[3];
  int32_t zero[3];
  bool relu, is_signed;
};
bool adds_bytes(const AddBytes&);
SDX_DECLARE_ISAS(void add_bytes(const AddBytes&, const uint8_t* a, const uint8_t* b, uint8_t* y,
                                size_t n);)
// Widens *least and *most to hold all elements; NaN if one is NaN.
SDX_DECLARE_ISAS(void range_f32(const float* x, size_t n, float* least, float* most);)

}  // namespace sdx
