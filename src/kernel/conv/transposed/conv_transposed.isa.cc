// Outputs whose columns agree modulo the stride meet the same taps, each at inputs one apart: these
// are a vector's lanes.
#include "kernel/conv/planes/work.h"
#include "kernel/conv/transposed/work.h"
#include "kernel/simd/registers.h"
#include "kernel/simd/unroll.h"

namespace sdx::SDX_ISA {
namespace {

#if defined(SDX_ISA_avx512)
using Mask = __mmask16;
inline Mask lanes_between(int first, int end) { return Mask((1u << end) - (1u << first)); }
inline F32 load_lanes(const float* p, Mask m) { return _mm512_maskz_loadu_ps(m, p); }
inline F32 fma_lanes(F32 a, F32 b, F32 c, Mask m) {
  return _mm512_mask3_fmadd_ps(a.v, b.v, c.v, m);
}
#elif defined(SDX_ISA_avx2)
using Mask = __m256i;
inline Mask lanes_between(int first, int end) {
  const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return _mm256_andnot_si256(_mm256_cmpgt_epi32(_mm256_set1_epi32(first), lane),
                             _mm256_cmpgt_epi32(_mm256_set1_epi32(end), lane));
}
inline F32 load_lanes(const float* p, Mask m) { return _mm256_maskload_ps(p, m); }
inline F32 fma_lanes(F32 a, F32 b, F32 c, Mask m) {
  return _mm256_blendv_ps(c.v, fma(a, b, c).v, _mm256_castsi256_ps(m));
}
#else
struct Mask {
  int first, end;
};
inline Mask lanes_between(int first, int end) { return {first, end}; }
inline F32 load_lanes(const float* p, Mask m) {
  F32 v(0.0f);
  for (int i = m.first; i < m.end; ++i) v.v[i] = p[i];
  return v;
}
inline F32 fma_lanes(F32 a, F32 b, F32 c, Mask m) {
  const F32 sum = fma(a, b, c);
  for (int i = m.first; i < m.end; ++i) c.v[i] = sum.v[i];
  return c;
}
#endif

// True and the input's position if output `o` along `dim` meets one at tap k.
bool meets(const ConvShape& s, int dim, size_t o, size_t k, size_t* i) {
  const size_t ahead = o + s.pad[dim], back = k * s.dilation[dim];
  *i = (ahead - back) / s.stride[dim];
  return ahead >= back && (ahead - back) % s.stride[dim] == 0 && *i < s.in[dim];
}

// Columns phase + stride * (first + lane) of the row, for all output channels of the block.
struct Columns {
  size_t phase, first;
  int lanes;
};

// Vectors of columns at once: few rows alone would be too few chains.
constexpr int vectors_for(int rows) { return rows <= 4 ? 4 : 1; }

// One tap of `count` channels, whose inputs every lane of all vectors meets.
template <int Rows, int Vecs>
[[gnu::always_inline]] inline void run_tap(const float* x, size_t plane, const float* w,
                                           size_t count, F32 (&sum)[Vecs][Rows]) {
  for (size_t i = 0; i < count; ++i, x += plane, w += Rows) {
    repeat<Vecs>([&](int v) __attribute__((always_inline)) {
      const F32 value = F32::load(x + v * kLanes);
      repeat<Rows>([&](int r) __attribute__((always_inline)) {
        sum[v][r] = fma(F32(w[r]), value, sum[v][r]);
      });
    });
  }
}
// Of one vector, where some lanes do.
template <int Rows>
[[gnu::always_inline]] inline void run_tap_lanes(const float* x, size_t plane, const float* w,
                                                 size_t count, Mask mask, F32 (&sum)[Rows]) {
  for (size_t i = 0; i < count; ++i, x += plane, w += Rows) {
    const F32 value = load_lanes(x, mask);
    repeat<Rows>([&](int r) __attribute__((always_inline)) {
      sum[r] = fma_lanes(F32(w[r]), value, sum[r], mask);
    });
  }
}

// acc[vector][row]
template <int Rows, int Vecs>
void run_columns(const ConvShape& s, const TransposeRow& t, const Columns& c, F32* acc) {
  const size_t channels = s.in_channels / s.groups, plane = s.in[0] * s.in[1] * s.in[2];
  const ptrdiff_t stride = ptrdiff_t(s.stride[2]), width = ptrdiff_t(s.in[2]);
  const float* w = t.w;
  F32 sum[Vecs][Rows];
  repeat<Vecs>([&](int v) __attribute__((always_inline)) {
    repeat<Rows>([&](int r) __attribute__((always_inline)) { sum[v][r] = F32(0.0f); });
  });
  for (size_t block = 0; block < channels; block += kChannelBlock) {
    const size_t count = channels - block < kChannelBlock ? channels - block : kChannelBlock;
    for (size_t kz = 0; kz < s.kernel[0]; ++kz) {
      for (size_t ky = 0; ky < s.kernel[1]; ++ky) {
        size_t iz, iy;
        if (!meets(s, 0, t.z, kz, &iz) || !meets(s, 1, t.y, ky, &iy)) {
          w += s.kernel[2] * count * Rows;
          continue;
        }
        for (size_t kx = 0; kx < s.kernel[2]; ++kx, w += count * Rows) {
          const ptrdiff_t ahead = ptrdiff_t(c.phase + s.pad[2]) - ptrdiff_t(kx * s.dilation[2]);
          if (ahead % stride != 0) continue;
          const ptrdiff_t column = ahead / stride + ptrdiff_t(c.first);  // of lane 0's input
          const float* x = t.x + block * plane + (iz * s.in[1] + iy) * s.in[2];
          if (column >= 0 && c.lanes == Vecs * kLanes && column + c.lanes <= width) {
            run_tap<Rows, Vecs>(x + column, plane, w, count, sum);
            continue;
          }
          repeat<Vecs>([&](int v) __attribute__((always_inline)) {
            const ptrdiff_t at = column + v * kLanes;
            const int lanes = c.lanes - v * kLanes < kLanes ? c.lanes - v * kLanes : kLanes;
            const int first = at < 0 ? int(at < -kLanes ? kLanes : -at) : 0;
            const int end = width - at < lanes ? int(width - at) : lanes;
            if (first < end)
              run_tap_lanes<Rows>(x + at, plane, w, count, lanes_between(first, end), sum[v]);
          });
        }
      }
    }
  }
  repeat<Vecs>([&](int v) __attribute__((always_inline)) {
    repeat<Rows>([&](int r) __attribute__((always_inline)) { acc[v * Rows + r] = sum[v][r]; });
  });
}

using RunColumns = void (*)(const ConvShape&, const TransposeRow&, const Columns&, F32*);
RunColumns columns_for(size_t rows) {
  switch (rows) {
    case 1:
      return run_columns<1, vectors_for(1)>;
    case 2:
      return run_columns<2, vectors_for(2)>;
    case 3:
      return run_columns<3, vectors_for(3)>;
    case 4:
      return run_columns<4, vectors_for(4)>;
    case 6:
      return run_columns<6, vectors_for(6)>;
    case 8:
      return run_columns<8, vectors_for(8)>;
    case 10:
      return run_columns<10, vectors_for(10)>;
    default:
      return run_columns<12, vectors_for(12)>;
  }
}

}  // namespace

void conv_transposed_row(const ConvShape& s, const TransposeRow& t) {
  const size_t pixels = s.out[0] * s.out[1] * s.out[2], stride = s.stride[2];
  const size_t rows = transpose_rows(s), together = size_t(vectors_for(int(rows))) * kLanes;
  const RunColumns run = columns_for(rows);
  for (size_t phase = 0; phase < stride && phase < s.out[2]; ++phase) {
    const size_t columns = (s.out[2] - phase + stride - 1) / stride;
    for (size_t first = 0; first < columns; first += together) {
      const size_t left = columns - first;
      const Columns c{phase, first, int(left < together ? left : together)};
      F32 acc[4 * 4];
      run(s, t, c, acc);
      for (size_t r = 0; r < t.rows; ++r) {
        float* out = t.out + r * pixels + phase + first * stride;
        for (int done = 0; done < c.lanes; done += kLanes) {
          float lane[kLanes];
          F32 sum = acc[size_t(done / kLanes) * rows + r];
          if (t.bias != nullptr) sum = sum + F32(t.bias[r]);
          lanes::canonical(sum).store(lane);
          for (int i = 0; i < kLanes && done + i < c.lanes; ++i)
            out[size_t(done + i) * stride] = lane[i];
        }
      }
    }
  }
}

}  // namespace sdx::SDX_ISA
