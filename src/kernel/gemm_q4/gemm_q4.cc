#include "kernel/gemm_q4/gemm_q4.h"

#include <algorithm>
#include <cstring>

#include "base/fitting.h"
#include "base/slab.h"
#include "kernel/gemm/block.h"
#include "kernel/gemm/gemm.h"
#include "kernel/gemm_q4/block.h"

namespace sdx {
namespace {

constexpr size_t kVectorBytes = kQ4Columns * sizeof(float);

size_t divide_up(size_t x, size_t by) { return (x + by - 1) / by; }
unsigned nibble(const uint8_t* p, size_t i) { return p[i / 2] >> (i % 2 * 4) & 15u; }

// The words of up to eight rows and up to 16 columns.
void pack_words(const Q4Source& s, size_t row, size_t rows, size_t col, size_t cols, char* out) {
  uint32_t words[kQ4Columns] = {};
  const unsigned flip = s.is_signed ? 8 : 0;
  for (size_t i = 0; i < rows; ++i) {
    const size_t at = (row + i) * s.n + col;
    const unsigned shift = unsigned(4 * i);
    if (cols == kQ4Columns && at % 2 == 0) {
      const uint8_t* from = s.q + at / 2;
      for (size_t j = 0; j < kQ4Columns / 2; ++j) {
        words[2 * j] |= ((from[j] & 15u) ^ flip) << shift;
        words[2 * j + 1] |= ((from[j] >> 4) ^ flip) << shift;
      }
    } else {
      for (size_t j = 0; j < cols; ++j) words[j] |= (nibble(s.q, at + j) ^ flip) << shift;
    }
  }
  std::memcpy(out, words, sizeof words);
}

// The same of columns: eight of a column's rows are four bytes, the first in the lowest bits.
void pack_columns(const Q4Source& s, size_t row, size_t rows, size_t col, size_t cols, char* out) {
  uint32_t words[kQ4Columns] = {};
  const uint32_t flip = s.is_signed ? 0x88888888u : 0;
  const uint8_t* from = s.q + col * s.q_column + row / 2;
  if (rows == kQ4Rows) {
    for (size_t j = 0; j < cols; ++j, from += s.q_column) {
      words[j] = (uint32_t(from[0]) | uint32_t(from[1]) << 8 | uint32_t(from[2]) << 16 |
                  uint32_t(from[3]) << 24) ^
                 flip;
    }
  } else {
    const uint32_t some = (1u << 4 * rows) - 1;
    for (size_t j = 0; j < cols; ++j, from += s.q_column) {
      for (size_t i = 0; i < divide_up(rows, 2); ++i) words[j] |= uint32_t(from[i]) << 8 * i;
      words[j] = (words[j] ^ flip) & some;
    }
  }
  std::memcpy(out, words, sizeof words);
}

// A vector of the panel lies `step` bytes behind the one before.
void pack_panel(const Q4Source& s, size_t panel, bool has_zeros, char* out, size_t step) {
  const size_t col = panel * kQ4Columns, cols = std::min(kQ4Columns, s.n - col);
  const unsigned flip = s.is_signed ? 8 : 0;
  for (size_t first = 0, b = 0; first < s.k; first += s.block, ++b) {
    float scale[kQ4Columns] = {}, zero[kQ4Columns] = {};
    for (size_t j = 0; j < cols; ++j) {
      scale[j] = s.scale_of(b, col + j);
      if (has_zeros) zero[j] = float(s.zero_of(b, col + j) ^ flip);
    }
    std::memcpy(out, scale, sizeof scale);
    out += step;
    if (has_zeros) {
      std::memcpy(out, zero, sizeof zero);
      out += step;
    }
    const size_t end = std::min(s.k, first + s.block);
    const auto pack = s.by_columns ? &pack_columns : &pack_words;
    for (size_t row = first; row < end; row += kQ4Rows, out += step)
      pack(s, row, std::min(kQ4Rows, end - row), col, cols, out);
  }
}

size_t panels_of(size_t n) { return divide_up(n, kQ4Columns); }
size_t groups_of(size_t n) { return divide_up(panels_of(n), kQ4Panels); }
size_t panels_in_group(size_t n, size_t group) {
  return std::min(kQ4Panels, panels_of(n) - group * kQ4Panels);
}

// All rows of A against a group.
Q4Block block_of(const GemmQ4Args& g, size_t group) {
  const Q4Packed& packed = *g.b;
  const size_t col = group * kQ4Panels * kQ4Columns;
  Q4Block b{};
  b.rows = g.m;
  b.cols = std::min(kQ4Panels * kQ4Columns, packed.n - col);
  b.k = packed.k;
  b.a = g.a;
  b.lda = packed.k;
  b.block = packed.block;
  b.group = packed.groups() + group * kQ4Panels * packed.panel_bytes();
  b.panels = panels_in_group(packed.n, group);
  b.has_zeros = packed.has_zeros;
  b.zero = packed.zero;
  b.c = g.c + col;
  b.ldc = packed.n;
  return b;
}

void multiply_directly(const GemmQ4Args& g, Pool& pool, Isa isa) {
  const auto multiply = SDX_PICK(q4_multiply, isa);
  constexpr size_t kWidth = kQ4Panels * kQ4Columns;
  const size_t work = kWidth * g.b->k * g.m;
  const size_t grain = std::max<size_t>(1, 65536 / std::max<size_t>(1, work));
  pool.parallel(groups_of(g.b->n), grain, [&](size_t begin, size_t end, int) {
    for (size_t group = begin; group < end; ++group) multiply(block_of(g, group));
    const size_t col = begin * kWidth, cols = std::min(g.b->n, end * kWidth) - col;
    if (g.epilogue.fn) g.epilogue.fn(g.epilogue.ctx, g.c + col, g.b->n, 0, col, g.m, cols);
  });
}

// With many rows, columns are dequantised a stretch at a time, as many as stay in the caches.
size_t stretch(size_t k, size_t n, int threads) {
  constexpr size_t kFloats = 1 << 18;
  const size_t panels = std::max(kFloats / (std::max<size_t>(1, k) * kPanel), 4 * size_t(threads));
  return std::min(panels * kPanel, divide_up(n, kPanel) * kPanel);
}

GemmArgs stretch_args(size_t m, size_t k, size_t n, const float* b) {
  GemmArgs s;
  s.m = m;
  s.n = n;
  s.k = k;
  s.lda = k;
  s.b_packed = b;
  return s;
}

// A stretch's epilogue, told of columns of the whole.
struct Moved {
  BlockEpilogue to;
  size_t col;
  static void block(void* self, float* c, size_t ldc, size_t row, size_t col, size_t rows,
                    size_t cols) {
    const auto* moved = static_cast<const Moved*>(self);
    moved->to.fn(moved->to.ctx, c, ldc, row, moved->col + col, rows, cols);
  }
};

// Panels `begin` to `end` of 16 columns behind column `col`, of which `cols` are wanted, in floats
// as gemm_pack_b lays them out; the last panel there may be half as wide.
void dequantize(const GemmQ4Args& g, size_t col, size_t cols, size_t begin, size_t end,
                float* floats, Isa isa) {
  const auto panel = SDX_PICK(q4_dequantize, isa);
  for (size_t p = begin; p < end; ++p) {
    const size_t at = p * kQ4Columns, first = at / kPanel * kPanel;
    const size_t from = col / kQ4Columns + p;
    panel(block_of(g, from / kQ4Panels), from % kQ4Panels, floats + first * g.b->k + at % kPanel,
          panel_width(cols - first));
  }
}

// The product with columns that are floats by now. `scratch`: of gemm.
template <class Gemm>
void multiply_floats(const GemmQ4Args& g, size_t col, size_t cols, const float* floats,
                     float* scratch, Gemm&& multiply) {
  GemmArgs s = stretch_args(g.m, g.b->k, cols, floats);
  s.a = g.a;
  s.c = g.c + col;
  s.ldc = g.b->n;
  s.scratch = scratch;
  Moved moved{g.epilogue, col};
  if (g.epilogue.fn) s.epilogue = {&Moved::block, &moved};
  multiply(s);
}

// All threads together, stretch by stretch.
void multiply_stretches(const GemmQ4Args& g, Pool& pool, Isa isa) {
  const size_t k = g.b->k, n = g.b->n, width = stretch(k, n, pool.threads());
  auto* floats = static_cast<float*>(g.scratch);
  for (size_t col = 0; col < n; col += width) {
    const size_t cols = std::min(width, n - col);
    pool.parallel(divide_up(cols, kQ4Columns), 1, [&](size_t begin, size_t end, int) {
      dequantize(g, col, cols, begin, end, floats, isa);
    });
    multiply_floats(g, col, cols, floats, floats + k * width,
                    [&](const GemmArgs& s) { gemm(s, pool, isa); });
  }
}

// Where there are enough columns, each thread has its own: it multiplies with what it dequantised
// while that is in its own cache, and waits for nobody. How many at a time; 0: too few.
size_t own_columns(size_t k, size_t n, int threads) {
  constexpr size_t kFloats = 1 << 16, kTurns = 4;
  const size_t panels = divide_up(n, kPanel);
  if (threads == 1 || panels < 2 * size_t(threads)) return 0;
  const size_t cached = kFloats / (std::max<size_t>(1, k) * kPanel);
  return std::clamp<size_t>(panels / (kTurns * size_t(threads)), 1, std::max<size_t>(1, cached)) *
         kPanel;
}

// Of one thread, in floats: its columns, then what gemm needs.
size_t own_floats(size_t m, size_t k, size_t width) {
  constexpr float kSome = 0;
  return k * width + gemm_scratch_bytes(stretch_args(m, k, width, &kSome), 1) / sizeof(float);
}

void multiply_own_columns(const GemmQ4Args& g, size_t width, Pool& pool, Isa isa) {
  const size_t k = g.b->k, n = g.b->n, floats_each = own_floats(g.m, k, width);
  pool.parallel(divide_up(n, width), 1, [&](size_t begin, size_t end, int thread) {
    float* floats = static_cast<float*>(g.scratch) + size_t(thread) * floats_each;
    for (size_t part = begin; part < end; ++part) {
      const size_t col = part * width, cols = std::min(width, n - col);
      dequantize(g, col, cols, 0, divide_up(cols, kQ4Columns), floats, isa);
      multiply_floats(g, col, cols, floats, floats + k * width,
                      [&](const GemmArgs& s) { gemm_here(s, isa); });
    }
  });
}

}  // namespace

size_t Q4Packed::panel_bytes() const {
  const size_t last = k % block;
  const auto words = [](size_t rows) { return divide_up(rows, kQ4Rows); };
  const size_t vectors =
      k / block * words(block) + words(last) + divide_up(k, block) * (has_zeros ? 2 : 1);
  return vectors * kVectorBytes;
}

std::shared_ptr<const Q4Packed> pack_q4(const Q4Source& s, Pool& pool) {
  must_fit((double(s.n) + 64) * (double(s.k) + 64) / 8);  // a byte each, with scales and zeros
  Q4Packed packed{s.k, s.n, s.block, false, float(s.every_zero ^ (s.is_signed ? 8 : 0))};
  if (s.zero != nullptr && s.blocks() * s.n != 0) {
    const unsigned first = s.zero_of(0, 0);
    for (size_t i = 1; i < s.blocks() * s.n; ++i)
      packed.has_zeros |= s.zero_of(i % s.blocks(), i / s.blocks()) != first;
    packed.zero = float(first ^ (s.is_signed ? 8 : 0));
  }
  const size_t bytes = packed.panel_bytes();
  const std::shared_ptr<void> memory =
      allocate_lasting(sizeof(Q4Packed) + panels_of(s.n) * bytes + kQ4Behind);
  const auto* placed = new (memory.get()) Q4Packed(packed);
  auto* out = static_cast<char*>(memory.get()) + sizeof(Q4Packed);
  pool.parallel(groups_of(s.n), 1, [&](size_t begin, size_t end, int) {
    for (size_t group = begin; group < end; ++group) {
      const size_t first = group * kQ4Panels, panels = panels_in_group(s.n, group);
      for (size_t p = 0; p < panels; ++p) {
        pack_panel(s, first + p, packed.has_zeros, out + first * bytes + p * kVectorBytes,
                   panels * kVectorBytes);
      }
    }
  });
  return {memory, placed};
}

size_t gemm_q4_scratch_bytes(size_t m, size_t k, size_t n, int threads) {
  if (m <= kQ4MostRows) return 0;
  must_fit(double(k) * 2 * kPanel);
  if (const size_t own = own_columns(k, n, threads); own != 0)
    return size_t(threads) * own_floats(m, k, own) * sizeof(float);
  constexpr float kSome = 0;
  const size_t width = stretch(k, n, threads);
  must_fit(double(k) * double(width));
  return k * width * sizeof(float) + gemm_scratch_bytes(stretch_args(m, k, width, &kSome), threads);
}

void gemm_q4(const GemmQ4Args& g, Pool& pool, Isa isa) {
  if (g.m == 0 || g.b->n == 0) return;
  if (g.m <= kQ4MostRows) return multiply_directly(g, pool, isa);
  const size_t own = own_columns(g.b->k, g.b->n, pool.threads());
  own != 0 ? multiply_own_columns(g, own, pool, isa) : multiply_stretches(g, pool, isa);
}

}  // namespace sdx
