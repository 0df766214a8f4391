// Products of doubles: each output is one chain of fused multiply-adds over k ascending, as for
// floats.
#include <vector>

#include "kernel/gemm/block.h"
#include "kernel/gemm/gemm.h"
#include "kernel/simd/native.h"
#include "kernel/simd/numbers.h"
#include "kernel/simd/unroll.h"

namespace sdx::SDX_ISA {
namespace {

constexpr int kVec = F64::kLanes;
// Rows and vectors of a tile: as many chains as the registers hold.
#if defined(SDX_ISA_avx512)
constexpr int kTallest = 6, kVecs = 2;
#elif defined(SDX_ISA_avx2)
constexpr int kTallest = 3, kVecs = 4;
#else
constexpr int kTallest = 2, kVecs = 16 / kVec;
#endif
constexpr size_t kCols = 16;
static_assert(kVecs * kVec == int(kCols));

SDX_INLINE F64 chain(F64 x, F64 y, F64 acc) {
#if defined(SDX_ISA_avx512)
  return _mm512_fmadd_pd(x.v, y.v, acc.v);
#elif defined(SDX_ISA_avx2)
  return _mm256_fmadd_pd(x.v, y.v, acc.v);
#else
  for (int i = 0; i < kVec; ++i) acc.v[i] = __builtin_fma(x.v[i], y.v[i], acc.v[i]);
  return acc;
#endif
}

// sums[row * kCols + column] over k of a[row * a_row + k * a_k] * b[k * b_step + column].
template <int Rows>
void tile(const double* a, size_t a_row, size_t a_k, const double* b, size_t b_step, size_t k,
          double* sums) {
  F64 acc[Rows][kVecs];
  repeat<Rows>([&](int r) __attribute__((always_inline)) {
    repeat<kVecs>([&](int v) __attribute__((always_inline)) { acc[r][v] = F64(0.0); });
  });
  for (; k != 0; --k, a += a_k, b += b_step) {
    F64 row[kVecs];
    repeat<kVecs>([&](int v) __attribute__((always_inline)) { row[v] = F64::load(b + v * kVec); });
    repeat<Rows>([&](int r) __attribute__((always_inline)) {
      const F64 x(a[size_t(r) * a_row]);
      repeat<kVecs>([&](int v) __attribute__((always_inline)) {
        acc[r][v] = chain(x, row[v], acc[r][v]);
      });
    });
  }
  repeat<Rows>([&](int r) __attribute__((always_inline)) {
    repeat<kVecs>([&](int v) __attribute__((always_inline)) {
      acc[r][v].store(sums + r * int(kCols) + v * kVec);
    });
  });
}

void run_tile(size_t rows, const double* a, size_t a_row, size_t a_k, const double* b,
              size_t b_step, size_t k, double* sums) {
  static_assert(kTallest <= 6);
  constexpr auto of = [](int rows) { return rows < kTallest ? rows : kTallest; };
  switch (rows) {
    case 1:
      return tile<1>(a, a_row, a_k, b, b_step, k, sums);
    case 2:
      return tile<of(2)>(a, a_row, a_k, b, b_step, k, sums);
    case 3:
      return tile<of(3)>(a, a_row, a_k, b, b_step, k, sums);
    case 4:
      return tile<of(4)>(a, a_row, a_k, b, b_step, k, sums);
    case 5:
      return tile<of(5)>(a, a_row, a_k, b, b_step, k, sums);
    default:
      return tile<of(6)>(a, a_row, a_k, b, b_step, k, sums);
  }
}

}  // namespace

void gemm_f64_rows(const GemmF64Args& g, size_t batch, size_t row_begin, size_t row_end) {
  const size_t a_row = g.trans_a ? 1 : g.lda, a_k = g.trans_a ? g.lda : 1;
  const size_t b_k = g.trans_b ? 1 : g.ldb, b_col = g.trans_b ? g.ldb : 1;
  const double* a = g.a + batch * g.a_batch;
  std::vector<double> panel;
  for (size_t col = 0; col < g.n; col += kCols) {
    const size_t cols = least(g.n - col, kCols);
    const double* b = g.b + batch * g.b_batch + col * b_col;
    size_t b_step = b_k;
    // Columns side by side are read where they lie, unless many rows come back to them.
    constexpr size_t kFew = 4;
    if (b_col != 1 || cols != kCols || row_end - row_begin > kFew) {
      panel.resize(g.k * kCols);
      for (size_t k = 0; k < g.k; ++k) {
        for (size_t j = 0; j < cols; ++j) panel[k * kCols + j] = b[k * b_k + j * b_col];
      }
      b = panel.data();
      b_step = kCols;
    }
    for (size_t row = row_begin; row < row_end; row += size_t(kTallest)) {
      const size_t rows = least(row_end - row, size_t(kTallest));
      double sums[kTallest * kCols];
      run_tile(rows, a + row * a_row, a_row, a_k, b, b_step, g.k, sums);
      for (size_t r = 0; r < rows; ++r) {
        double* c = g.c + batch * g.c_batch + (row + r) * g.ldc + col;
        for (size_t j = 0; j < cols; ++j) {
          double x = sums[r * kCols + j];
          if (g.alpha != 1) x = x * g.alpha;
          if (g.bias != nullptr) {
            double bias =
                g.bias[batch * g.bias_batch + (row + r) * g.bias_row + (col + j) * g.bias_col];
            if (g.beta != 1) bias = bias * g.beta;
            x = x + bias;
          }
          c[j] = x != x ? __builtin_nan("") : x;
        }
      }
    }
  }
}

}  // namespace sdx::SDX_ISA
