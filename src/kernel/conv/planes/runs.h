// Runs of outputs: where the inputs of a vector of outputs lie side by side, and at which rows of
// the kernel there are any.
#pragma once

#include "kernel/conv/planes/work.h"
#include "kernel/simd/numbers.h"
#include "kernel/simd/registers.h"

namespace sdx::SDX_ISA {

// Lanes [first, first + count) of a vector of outputs, which read contiguous inputs from `base` on,
// at the rows of the kernel whose bits are set: at others they read zeros.
struct LaneRun {
  size_t base;
  uint64_t inside;
  uint32_t first, count;
};
inline constexpr uint64_t kAllInside = ~uint64_t{0};

#if defined(SDX_ISA_avx512)
inline F32 load_run(F32 v, const float* p, const LaneRun& s) {
  return _mm512_mask_loadu_ps(v.v, __mmask16(((1u << s.count) - 1) << s.first), p - s.first);
}
#elif defined(SDX_ISA_avx2)
inline F32 load_run(F32 v, const float* p, const LaneRun& s) {
  const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  const __m256i in =
      _mm256_andnot_si256(_mm256_cmpgt_epi32(_mm256_set1_epi32(int(s.first)), lane),
                          _mm256_cmpgt_epi32(_mm256_set1_epi32(int(s.first + s.count)), lane));
  return _mm256_or_ps(v.v, _mm256_maskload_ps(p - s.first, in));
}
#else
inline F32 load_run(F32 v, const float* p, const LaneRun& s) {
  for (uint32_t i = 0; i < s.count; ++i) v.v[s.first + i] = p[i];
  return v;
}
#endif

// The rows of the kernel that meet the input's, of those that a row of outputs meets.
inline uint64_t rows_inside(const ConvShape& s, const Staged& staged, size_t z, size_t y) {
  const size_t rows = s.kernel[0] * s.kernel[1];
  if (!staged.rows_left_out) return kAllInside;
  uint64_t outside = 0;
  for (size_t i = 0; i < rows; ++i) {
    // A row before the input wraps to a very large number.
    const size_t iz = z * s.stride[0] + i / s.kernel[1] * s.dilation[0] - s.pad[0];
    const size_t iy = y * s.stride[1] + i % s.kernel[1] * s.dilation[1] - s.pad[1];
    if (iz >= s.in[0] || iy >= s.in[1]) outside |= uint64_t{1} << i;
  }
  return ~outside;
}

// The outputs [pixel, pixel + lanes) as runs along rows, or several rows that lie side by side;
// returns how many there are.
inline size_t find_runs(const ConvShape& s, const Staged& staged, size_t pixel, size_t lanes,
                        LaneRun* runs) {
  size_t count = 0;
  for (size_t lane = 0; lane < lanes;) {
    const size_t x = (pixel + lane) % s.out[2], row = (pixel + lane) / s.out[2];
    const size_t length = least(s.out[2] - x, lanes - lane);
    const size_t z = row / s.out[1], y = row % s.out[1], base = staged.base(s, z, y, x);
    const uint64_t inside = rows_inside(s, staged, z, y);
    lane += length;
    LaneRun& last = runs[count - (count != 0)];
    if (count != 0 && last.base + last.count == base && last.inside == inside) {
      last.count += uint32_t(length);
    } else {
      runs[count++] = {base, inside, uint32_t(lane - length), uint32_t(length)};
    }
  }
  return count;
}

}  // namespace sdx::SDX_ISA
