// tile: a block of matrix product outputs held in registers while their chains run over k.
//
// Every output is one chain acc = fma(a[k], b[k], acc), k ascending: the lanes of a register are
// different outputs, so neither the vector width nor the tile's shape can change a bit. A chain may
// stop and continue from the stored sum.
#pragma once

#include "kernel/epilogue/epilogue.h"
#include "kernel/simd/vec.h"

namespace sdx::SDX_ISA {

// Vectors per tile row and rows per tile: as many chains as the registers hold beside one row of B
// and a broadcast.
inline constexpr int kTileVecs = 2;
#if defined(SDX_ISA_avx512)
inline constexpr int kTileRows = 12;
#elif defined(SDX_ISA_avx2)
inline constexpr int kTileRows = 6;
#else
inline constexpr int kTileRows = 2;
#endif
inline constexpr int kTileCols = kTileVecs * kLanes;

inline constexpr float kNowhere[1] = {0};

struct TileArgs {
  size_t k;
  const float* a;  // a[k * a_step + row], or where it lies: a[row * a_row + k]
  size_t a_step, a_row = 0;
  const float* b;  // b[k * b_step + column], readable up to a multiple of 16 columns
  size_t b_step;
  float* c;
  size_t ldc;
  size_t cols;                    // columns to store
  const float* ahead = kNowhere;  // what tiles to come will read: one line is fetched at each k
  size_t ahead_step = 0;          // floats
  bool resume;                    // the chains continue from c instead of +0
  const AffineEpilogue* affine;   // what follows the chains, with `bias` at this tile's corner;
                                 // null: the chains are not at their end
};

template <int I>
struct Index {
  static constexpr int value = I;
};

// f(Index<0>), f(Index<1>), ...: unrolled by the front end, so that arrays of accumulators become
// registers.
template <int N, int I = 0, class F>
[[gnu::always_inline]] constexpr void unroll(F&& f) {
  if constexpr (I < N) {
    f(Index<I>{});
    unroll<N, I + 1>(f);
  }
}

// The value of A for each row of a tile at the k that it has come to.
template <int Rows>
struct PackedRows {
  const float* a;
  size_t step;
  explicit PackedRows(const TileArgs& t) : a(t.a), step(t.a_step) {}
  template <int R>
  [[gnu::always_inline]] float at() const {
    return a[R];
  }
  [[gnu::always_inline]] void next() { a += step; }
};
// Rows of contiguous k: one pointer for three rows, which addressing modes reach from it.
template <int Rows>
struct RowsInPlace {
  static constexpr int kPointers = (Rows + 2) / 3;
  const float* a[kPointers];
  size_t row;
  explicit RowsInPlace(const TileArgs& t) : row(t.a_row) {
    for (int i = 0; i < kPointers; ++i) a[i] = t.a + size_t(i) * 3 * row;
  }
  template <int R>
  [[gnu::always_inline]] float at() const {
    return a[R / 3][R % 3 * row];
  }
  [[gnu::always_inline]] void next() {
    for (int i = 0; i < kPointers; ++i) ++a[i];
  }
};

template <int Rows, int Vecs, template <int> class RowsOfA = PackedRows>
void tile(const TileArgs& t) {
  Vec acc[Rows][Vecs];
  const size_t last = t.cols - (Vecs - 1) * kLanes;  // columns in the last vector
  const auto at = [&](float* base, size_t row, int v) { return base + row * t.ldc + v * kLanes; };

  if (t.resume) {
    unroll<Rows>([&](auto r) __attribute__((always_inline)) {
      unroll<Vecs>([&](auto v) __attribute__((always_inline)) {
        const float* p = at(t.c, r.value, v.value);
        const bool whole = v.value < Vecs - 1 || last >= kLanes;
        acc[r.value][v.value] = whole ? vec_load(p) : vec_load(p, last);
      });
    });
  } else {
    unroll<Rows>([&](auto r) __attribute__((always_inline)) {
      unroll<Vecs>([&](auto v)
                       __attribute__((always_inline)) { acc[r.value][v.value] = vec_zero(); });
    });
  }

  RowsOfA<Rows> a(t);
  const float* b = t.b;
  const float* ahead = t.ahead;
  const size_t b_step = t.b_step, ahead_step = t.ahead_step;
  for (size_t k = t.k; k != 0; --k) {
    Vec row[Vecs];
    unroll<Vecs>([&](auto v) __attribute__((always_inline)) {
      row[v.value] = vec_load(b + v.value * kLanes);
    });
    unroll<Rows>([&](auto r) __attribute__((always_inline)) {
      const Vec x = vec_set(a.template at<r.value>());
      unroll<Vecs>([&](auto v) __attribute__((always_inline)) {
        acc[r.value][v.value] = vec_fma(x, row[v.value], acc[r.value][v.value]);
      });
    });
    __builtin_prefetch(ahead, 0, 2);
    a.next();
    b += b_step;
    ahead += ahead_step;
  }

  if (const AffineEpilogue* f = t.affine) {
    if (f->alpha != 1) {
      const Vec alpha = vec_set(f->alpha);
      unroll<Rows>([&](auto r) __attribute__((always_inline)) {
        unroll<Vecs>([&](auto v) __attribute__((always_inline)) {
          acc[r.value][v.value] = vec_mul(acc[r.value][v.value], alpha);
        });
      });
    }
    if (f->bias != nullptr) {
      const Vec beta = vec_set(f->beta);
      const bool scaled = f->beta != 1;
      unroll<Rows>([&](auto r) __attribute__((always_inline)) {
        const float* bias = f->bias + r.value * f->bias_row;
        unroll<Vecs>([&](auto v) __attribute__((always_inline)) {
          const bool whole = v.value < Vecs - 1 || last >= kLanes;
          Vec x = f->bias_col == 0 ? vec_set(*bias)
                  : whole          ? vec_load(bias + v.value * kLanes)
                                   : vec_load(bias + v.value * kLanes, last);
          if (scaled) x = vec_mul(x, beta);
          acc[r.value][v.value] = vec_add(acc[r.value][v.value], x);
        });
      });
    }
    if (f->other != nullptr) {
      unroll<Rows>([&](auto r) __attribute__((always_inline)) {
        const float* other = f->other + r.value * f->other_row;
        unroll<Vecs>([&](auto v) __attribute__((always_inline)) {
          const bool whole = v.value < Vecs - 1 || last >= kLanes;
          const Vec x =
              whole ? vec_load(other + v.value * kLanes) : vec_load(other + v.value * kLanes, last);
          acc[r.value][v.value] = vec_add(acc[r.value][v.value], x);
        });
      });
    }
    unroll<Rows>([&](auto r) __attribute__((always_inline)) {
      unroll<Vecs>([&](auto v) __attribute__((always_inline)) {
        acc[r.value][v.value] = vec_canonical(acc[r.value][v.value]);
      });
    });
  }

  unroll<Rows>([&](auto r) __attribute__((always_inline)) {
    unroll<Vecs>([&](auto v) __attribute__((always_inline)) {
      float* p = at(t.c, r.value, v.value);
      if (v.value < Vecs - 1 || last >= kLanes) {
        vec_store(p, acc[r.value][v.value]);
      } else {
        vec_store(p, acc[r.value][v.value], last);
      }
    });
  });
}

using TileFn = void (*)(const TileArgs&);

struct TileTable {
  TileFn fn[kTileRows][kTileVecs];
};

template <template <int> class RowsOfA>
constexpr TileTable make_tile_table() {
  TileTable table{};
  unroll<kTileRows>([&](auto r) {
    unroll<kTileVecs>(
        [&](auto v) { table.fn[r.value][v.value] = &tile<r.value + 1, v.value + 1, RowsOfA>; });
  });
  return table;
}
template <template <int> class RowsOfA>
inline constexpr TileTable kTiles = make_tile_table<RowsOfA>();

// Up to kRowBlock rows by one panel of B, cut into tiles. `t` describes the block's corner.
template <template <int> class RowsOfA = PackedRows>
void tile_block(const TileArgs& t, size_t rows) {
  // One tile is described by `t` itself: a copy would read back, all at once, what was just written
  // piece by piece, and wait for it.
  if (rows <= kTileRows && t.cols <= kTileCols) {
    return kTiles<RowsOfA>.fn[rows - 1][(t.cols + kLanes - 1) / kLanes - 1](t);
  }
  for (size_t r = 0; r < rows; r += kTileRows) {
    const size_t height = rows - r < kTileRows ? rows - r : kTileRows;
    for (size_t j = 0; j < t.cols; j += kTileCols) {
      TileArgs s = t;
      s.a += t.a_row == 0 ? r : r * t.a_row;
      s.b += j;
      s.c += r * t.ldc + j;
      s.cols = t.cols - j < kTileCols ? t.cols - j : kTileCols;
      AffineEpilogue affine;
      if (t.affine != nullptr) {
        affine = t.affine->at(r, j);
        s.affine = &affine;
      }
      kTiles<RowsOfA>.fn[height - 1][(s.cols + kLanes - 1) / kLanes - 1](s);
    }
  }
}

}  // namespace sdx::SDX_ISA
