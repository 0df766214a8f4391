// What gemm_q4.cc asks of the code compiled per instruction-set level.
#pragma once

#include <cstddef>

#include "kernel/isa.h"

namespace sdx {

inline constexpr size_t kQ4Columns = 16;  // of a panel
inline constexpr size_t kQ4Rows = 8;      // whose elements share a word
inline constexpr size_t kQ4Panels = 4;    // of a group
inline constexpr size_t kQ4MostRows = 4;  // of A that run against the packed panels directly
inline constexpr size_t kQ4Behind = 3;    // bytes behind the last word that may be read

// Rows of A against a group of panels of B.
struct Q4Block {
  size_t rows, cols, k;
  const float* a;
  size_t lda;

  size_t block;       // rows of B that share a scale
  const char* group;  // as in Q4Packed
  size_t panels;      // of the group
  bool has_zeros;
  float zero;

  float* c;
  size_t ldc;
};

SDX_DECLARE_ISAS(void q4_multiply(const Q4Block&);
                 // A panel of the group as floats: out[row * step + column].
                 void q4_dequantize(const Q4Block&, size_t panel, float* out, size_t step);)

}  // namespace sdx
