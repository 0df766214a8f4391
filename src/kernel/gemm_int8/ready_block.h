// A block of rows made ready (ready_rows.h) against panels of columns.
#pragma once

#include "kernel/gemm_int8/ends.h"
#include "kernel/gemm_int8/ready_rows.h"

#if defined(SDX_ISA_avx2) || defined(SDX_ISA_avx512)

namespace sdx::SDX_ISA {

// What is asked of a row before its products: the sum of its bytes, of which `less` is taken from
// each beforehand. It is the least of them, so that more rows keep below 128.
struct RowLook {
  uint32_t sum = 0;
  uint8_t less = 0;
};

inline RowLook look_at(const uint8_t* p, size_t n, uint8_t flip) {
  const __m256i flips = _mm256_set1_epi8(char(flip));
  __m256i sum = _mm256_setzero_si256(), least = _mm256_set1_epi8(-1);
  size_t i = 0;
  for (; i + 32 <= n; i += 32) {
    const __m256i x = _mm256_xor_si256(_mm256_loadu_si256((const __m256i*)(p + i)), flips);
    least = _mm256_min_epu8(least, x);
    sum = _mm256_add_epi64(sum, _mm256_sad_epu8(x, _mm256_setzero_si256()));
  }
  uint8_t lows[32];
  uint64_t sums[4];
  std::memcpy(lows, &least, sizeof lows);
  std::memcpy(sums, &sum, sizeof sums);
  RowLook look{uint32_t(sums[0] + sums[1] + sums[2] + sums[3]), 255};
  for (const uint8_t low : lows) look.less = low < look.less ? low : look.less;
  for (; i < n; ++i) {
    const uint8_t x = uint8_t(p[i] ^ flip);
    look.sum += x;
    look.less = x < look.less ? x : look.less;
  }
  look.sum -= uint32_t(n) * look.less;
  return look;
}

// Some rows of A, from wherever they are.
class RowSource {
 public:
  // Rows [row, row + rows) of the row block that begins at `block` and has `height` rows.
  RowSource(const Int8Block& g, size_t block, size_t height, size_t row, size_t rows)
      : g_(g), height_(height), at_(row - block), flip_(g.a_signed ? 0x80 : 0) {
    a_ = static_cast<const uint8_t*>(g.a) + row * g.a_row;
    if (g.a_packed != nullptr) packed_ = g.a_packed + int8_rows_size(g.k, block);
    for (size_t r = 0; r < rows; ++r) {
      RowLook look;
      if (packed_ != nullptr) {
        look.sum = uint32_t(packed_[at_ + r]);
      } else if (g.a_k == 1) {
        look = look_at(a_ + r * g.a_row, g.k, flip_);
      } else {
        for (size_t k = 0; k < g.k; ++k) look.sum += uint8_t(a_[r * g.a_row + k * g.a_k] ^ flip_);
      }
      sum[r] = int32_t(look.sum);
      less[r] = look.less;
    }
  }

  // Bytes [k, k + n) of row r, and zeros up to whole vectors.
  void copy(size_t r, size_t k, size_t n, uint8_t* to) const {
    std::memset(to + n / 32 * 32, 0, 32);
    if (packed_ != nullptr) {
      const auto* from = reinterpret_cast<const uint8_t*>(packed_ + height_) + 4 * (at_ + r);
      for (size_t i = 0; i < n; i += 4) std::memcpy(to + i, from + (k + i) * height_, 4);
      return;
    }
    const uint8_t* from = a_ + r * g_.a_row + k * g_.a_k;
    size_t i = 0;
    const __m256i flips = _mm256_set1_epi8(char(flip_)), lesses = _mm256_set1_epi8(char(less[r]));
    for (; g_.a_k == 1 && i + 32 <= n; i += 32) {
      const __m256i x = _mm256_xor_si256(_mm256_loadu_si256((const __m256i*)(from + i)), flips);
      _mm256_store_si256((__m256i*)(to + i), _mm256_sub_epi8(x, lesses));
    }
    for (; i < n; ++i) to[i] = uint8_t((from[i * g_.a_k] ^ flip_) - less[r]);
  }

  int32_t sum[kReadyRows], less[kReadyRows];

 private:
  const Int8Block& g_;
  const uint8_t* a_;
  const int32_t* packed_ = nullptr;
  size_t height_, at_;
  uint8_t flip_;
};

inline constexpr size_t kReadyPanels = 16;  // whose sums are kept while k goes on

// A row block against the panels of columns [first, end), at most kReadyPanels.
inline void run_ready(const Int8Block& g, size_t block, size_t height, size_t first, size_t end) {
  alignas(64) int32_t sum[kReadyPanels][kReadyRows * kPanel];
  ReadyRows ready;
  const size_t panel_size = int8_panel_size(g.k, kPanel);
  Int8Most most;
  for (size_t col = first; col < end; col += kPanel) {
    const int32_t* own = g.b + col / kPanel * panel_size + int8_most_at(g.k, g.cols - col);
    most.take({own[0], own[1]});
  }
  const SafeLimits limits(most);
  const size_t parts = (height + kReadyRows - 1) / kReadyRows;
  for (size_t i = 0; i < parts; ++i) {
    const size_t row = block + height * i / parts, rows = block + height * (i + 1) / parts - row;
    const RowSource source(g, block, height, row, rows);
    for (size_t k = 0; k < g.k || k == 0; k += kReadyDepth) {
      const size_t n = g.k - k < kReadyDepth ? g.k - k : kReadyDepth;
      for (size_t r = 0; r < rows; ++r) source.copy(r, k, n, ready.bytes[r]);
      ready.quads = quads_of(n);
      ready.settle(rows, limits);
      for (size_t col = first; col < end; col += kPanel) {
        const int32_t* panel = g.b + col / kPanel * panel_size;
        const size_t width = panel_width(g.cols - col);
        const auto* w = reinterpret_cast<const int8_t*>(panel + width) + k * width;
        multiply_ready({ready, w, 4 * width, sum[(col - first) / kPanel], kPanel, k != 0}, rows,
                       width);
      }
    }
    for (size_t col = first; col < end; col += kPanel) {
      end_panel(g, row, rows, col, source.sum, g.b + col / kPanel * panel_size,
                sum[(col - first) / kPanel], source.less);
    }
  }
}

}  // namespace sdx::SDX_ISA
#endif
