#include "kernel/gemm/tile.h"

namespace sdx::SDX_ISA {
namespace {

// What a tile fetches at each k: a line that tiles to come will read.
struct FetchesLater {
  template <int Vecs>
  [[gnu::always_inline]] static void fetch(const float*, size_t, const float* ahead) {
    __builtin_prefetch(ahead, 0, 2);
  }
};
// Or, where few rows share what is read of B, its own next lines into the first cache.
struct FetchesNext {
  static constexpr size_t kAhead = 4;
  template <int Vecs>
  [[gnu::always_inline]] static void fetch(const float* b, size_t b_step, const float*) {
    repeat<Vecs>([&](int v) __attribute__((always_inline)) {
      __builtin_prefetch(b + kAhead * b_step + v * kLanes, 0, 3);
    });
  }
};

// The value of A for each row of a tile at the k that it has come to.
template <int Rows>
struct PackedRows : FetchesLater {
  static constexpr int kBeside = 0;
  const float* a;
  size_t step;
  explicit PackedRows(const TileArgs& t) : a(t.a), step(t.a_step) {}
  [[gnu::always_inline]] float at(int r) const { return a[r]; }
  [[gnu::always_inline]] void next() { a += step; }
};

// With up to Columns columns beside the tile.
template <int Rows, int Columns>
struct RowsBeside : PackedRows<Rows> {
  static constexpr int kBeside = Columns;
  using PackedRows<Rows>::PackedRows;
};
template <int Rows>
using BesideOne = RowsBeside<Rows, 1>;
template <int Rows>
using BesideTwo = RowsBeside<Rows, 2>;
template <int Rows>
using BesideFour = RowsBeside<Rows, 4>;

// Pointers that step alike stay in registers of their own: as one vector they would go through
// memory at each step, and the loads would wait for them.
[[gnu::always_inline]] inline void keep_apart([[maybe_unused]] const float*& pointer) {
#if !defined(SDX_ISA_neon)  // whose loads step their own pointers
  asm("" : "+r"(pointer));
#endif
}

// Rows of contiguous k: one pointer for three rows, which addressing modes reach from it.
template <int Rows>
struct RowsInPlace : FetchesLater {
  static constexpr int kBeside = 0;
  static constexpr int kPointers = (Rows + 2) / 3;
  const float* a[kPointers];
  size_t row;
  explicit RowsInPlace(const TileArgs& t) : row(t.a_row) {
    repeat<kPointers>([&](int i)
                          __attribute__((always_inline)) { a[i] = t.a + size_t(i) * 3 * row; });
  }
  [[gnu::always_inline]] float at(int r) const { return a[r / 3][r % 3 * row]; }
  [[gnu::always_inline]] void next() { step_by(1); }
  // Written out, not as a loop: an array that a loop walks along is kept in memory.
  [[gnu::always_inline]] void step_by(ptrdiff_t step) {
    repeat<kPointers>([&](int i) __attribute__((always_inline)) {
      a[i] += step;
      keep_apart(a[i]);
    });
  }
};

// The same in stretches: taps of a convolution of few rows.
template <int Rows>
struct RowsInStretches : RowsInPlace<Rows> {
  template <int Vecs>
  [[gnu::always_inline]] static void fetch(const float* b, size_t b_step, const float* ahead) {
    FetchesNext::fetch<Vecs>(b, b_step, ahead);
  }
  const TileStretch* stretch;
  size_t left;
  explicit RowsInStretches(const TileArgs& t)
      : RowsInPlace<Rows>(t), stretch(t.stretches), left(stretch->length) {}
  [[gnu::always_inline]] void next() {
    ptrdiff_t step = 1;
    if (--left == 0) [[unlikely]] {
      step = stretch->jump;
      left = (++stretch)->length;
    }
    this->step_by(step);
  }
};

// Sums beside a tile come from c and go there; apart from the tile, whose registers they would
// take.
[[gnu::noinline, maybe_unused]] void load_beside(const TileArgs& t, size_t rows, F32* sums) {
  for (size_t c = 0; c < t.beside_cols; ++c) {
    float lane[kLanes];
    for (size_t r = 0; r < rows; ++r) lane[r] = t.beside_c[r * t.ldc + c];
    sums[c] = load_first(lane, rows);
  }
}
[[gnu::noinline, maybe_unused]] void store_beside(const TileArgs& t, size_t rows, const F32* sums) {
  for (size_t c = 0; c < t.beside_cols; ++c) {
    F32 sum = sums[c];
    if (t.affine != nullptr) {
      if (t.affine->bias != nullptr) sum = sum + load_first(t.affine->bias, rows);
      sum = lanes::canonical(sum);
    }
    float lane[kLanes];
    sum.store(lane);
    for (size_t r = 0; r < rows; ++r) t.beside_c[r * t.ldc + c] = lane[r];
  }
}

template <int Rows, int Vecs, template <int> class RowsOfA>
void tile(const TileArgs& t) {
  F32 acc[Rows][Vecs];
  const size_t last = t.cols - (Vecs - 1) * kLanes;  // columns in the last vector
  const auto at = [&](float* base, size_t row, int v) { return base + row * t.ldc + v * kLanes; };

  if (t.resume) {
    repeat<Rows>([&](int r) __attribute__((always_inline)) {
      repeat<Vecs>([&](int v) __attribute__((always_inline)) {
        const float* p = at(t.c, r, v);
        const bool whole = v < Vecs - 1 || last >= kLanes;
        acc[r][v] = whole ? F32::load(p) : load_first(p, last);
      });
    });
  } else {
    repeat<Rows>([&](int r) __attribute__((always_inline)) {
      repeat<Vecs>([&](int v) __attribute__((always_inline)) { acc[r][v] = F32(0.0f); });
    });
  }

  if (!t.resume) {  // what is written comes while the chains run
    repeat<Rows>([&](int r)
                     __attribute__((always_inline)) { __builtin_prefetch(at(t.c, r, 0), 1); });
  }

  // The columns beside, whose lanes are the rows. What goes through memory is another array: g++
  // keeps a chain there that its loop could have in a register.
  constexpr int kBeside = RowsOfA<Rows>::kBeside;
  F32 beside[kBeside + 1], stored[kBeside + 1];
  const auto each_beside = [](auto&& body) __attribute__((always_inline)) {
    repeat<kBeside>(body);
  };
  if (kBeside != 0 && t.resume) {
    load_beside(t, Rows, stored);
    each_beside([&](int c) __attribute__((always_inline)) { beside[c] = stored[c]; });
  } else {
    each_beside([&](int c) __attribute__((always_inline)) { beside[c] = F32(0.0f); });
  }
  const float* column = t.beside;
  const size_t column_step = t.beside_step;

  RowsOfA<Rows> a(t);
  const float* b = t.b;
  const float* ahead = t.ahead;
  const size_t b_step = t.b_step, ahead_step = t.ahead_step;
  for (size_t k = t.k; k != 0; --k) {
    F32 row[Vecs];
    repeat<Vecs>([&](int v) __attribute__((always_inline)) { row[v] = F32::load(b + v * kLanes); });
    repeat<Rows>([&](int r) __attribute__((always_inline)) {
      const Each x(a.at(r));
      repeat<Vecs>([&](int v)
                       __attribute__((always_inline)) { acc[r][v] = fma(x, row[v], acc[r][v]); });
    });
    RowsOfA<Rows>::template fetch<Vecs>(b, b_step, ahead);
    if constexpr (kBeside != 0) {
      const F32 rows = load_first(a.a, Rows);
      each_beside([&](int c) __attribute__((always_inline)) {
        beside[c] = fma(rows, F32(column[c]), beside[c]);
      });
      column += column_step;
    }
    a.next();
    b += b_step;
    ahead += ahead_step;
  }

  if constexpr (kBeside != 0) {
    each_beside([&](int c) __attribute__((always_inline)) { stored[c] = beside[c]; });
    store_beside(t, Rows, stored);
  }
  if (const AffineEpilogue* f = t.affine) {
    if (f->alpha != 1) {
      const F32 alpha = F32(f->alpha);
      repeat<Rows>([&](int r) __attribute__((always_inline)) {
        repeat<Vecs>([&](int v) __attribute__((always_inline)) { acc[r][v] = acc[r][v] * alpha; });
      });
    }
    if (f->bias != nullptr) {
      const F32 beta = F32(f->beta);
      const bool scaled = f->beta != 1;
      repeat<Rows>([&](int r) __attribute__((always_inline)) {
        const float* bias = f->bias + r * f->bias_row;
        repeat<Vecs>([&](int v) __attribute__((always_inline)) {
          const bool whole = v < Vecs - 1 || last >= kLanes;
          F32 x = f->bias_col == 0 ? F32(*bias)
                  : whole          ? F32::load(bias + v * kLanes)
                                   : load_first(bias + v * kLanes, last);
          if (scaled) x = x * beta;
          acc[r][v] = acc[r][v] + x;
        });
      });
    }
    if (f->other != nullptr) {
      repeat<Rows>([&](int r) __attribute__((always_inline)) {
        const float* other = f->other + r * f->other_row;
        repeat<Vecs>([&](int v) __attribute__((always_inline)) {
          const bool whole = v < Vecs - 1 || last >= kLanes;
          const F32 x =
              whole ? F32::load(other + v * kLanes) : load_first(other + v * kLanes, last);
          acc[r][v] = acc[r][v] + x;
        });
      });
    }
    repeat<Rows>([&](int r) __attribute__((always_inline)) {
      repeat<Vecs>([&](int v)
                       __attribute__((always_inline)) { acc[r][v] = lanes::canonical(acc[r][v]); });
    });
  }

  repeat<Rows>([&](int r) __attribute__((always_inline)) {
    repeat<Vecs>([&](int v) __attribute__((always_inline)) {
      float* p = at(t.c, r, v);
      if (v < Vecs - 1 || last >= kLanes) {
        acc[r][v].store(p);
      } else {
        store_first(p, acc[r][v], last);
      }
    });
  });
}

using TileFn = void (*)(const TileArgs&);

// By rows - 1 and vectors - 1.
struct TileTable {
  TileFn fn[kTileRows][kWideVecs];
};

constexpr int most_vecs(int rows) { return rows <= kWideRows ? kWideVecs : kTileVecs; }

template <template <int> class RowsOfA>
constexpr TileTable make_tile_table() {
  TileTable table{};
  unroll<kTileRows>([&](auto r) {
    constexpr int kRows = r.value + 1;
    unroll<most_vecs(kRows)>(
        [&](auto v) { table.fn[r.value][v.value] = &tile<kRows, v.value + 1, RowsOfA>; });
  });
  return table;
}
template <template <int> class RowsOfA>
constexpr TileTable kTiles = make_tile_table<RowsOfA>();

// Rows are cut into tiles of nearly equal height: one or two rows left over would be slow.
template <template <int> class RowsOfA>
void run_tiles(const TileArgs& t, size_t rows) {
  const auto wide = [](size_t height) { return size_t(most_vecs(int(height)) * kLanes); };
  // One tile is described by `t` itself: a copy would read back, all at once, what was just written
  // piece by piece, and wait for it.
  if (rows <= kTileRows && t.cols <= wide(rows)) {
    return kTiles<RowsOfA>.fn[rows - 1][(t.cols + kLanes - 1) / kLanes - 1](t);
  }
  const size_t tallest = t.cols > kPanel ? kWideRows : kTileRows;
  const size_t tiles = (rows + tallest - 1) / tallest;
  TileArgs s = t;
  AffineEpilogue affine;
  if (t.affine != nullptr) affine = *t.affine, s.affine = &affine;
  for (size_t i = 0; i < tiles; ++i) {
    const size_t r = rows * i / tiles, height = rows * (i + 1) / tiles - r, most = wide(height);
    s.a = t.a + (t.a_row == 0 ? r : r * t.a_row);
    s.beside_c = t.beside_c + r * t.ldc;
    for (size_t j = 0; j < t.cols; j += most) {
      s.b = t.b + j;
      s.c = t.c + r * t.ldc + j;
      s.cols = t.cols - j < most ? t.cols - j : most;
      if (affine.bias != nullptr)
        affine.bias = t.affine->bias + r * affine.bias_row + j * affine.bias_col;
      if (affine.other != nullptr) affine.other = t.affine->other + r * affine.other_row + j;
      kTiles<RowsOfA>.fn[height - 1][(s.cols + kLanes - 1) / kLanes - 1](s);
      s.ahead += t.ahead_tile;
    }
  }
}

}  // namespace

void tile_block(const TileArgs& t, size_t rows) {
  if (t.stretches != nullptr) return run_tiles<RowsInStretches>(t, rows);
  if constexpr (kMostBeside != 0) {
    if (t.beside_cols == 1) return run_tiles<BesideOne>(t, rows);
    if (t.beside_cols == 2) return run_tiles<BesideTwo>(t, rows);
    if (t.beside_cols > 2) return run_tiles<BesideFour>(t, rows);
  }
  t.a_row != 0 ? run_tiles<RowsInPlace>(t, rows) : run_tiles<PackedRows>(t, rows);
}

}  // namespace sdx::SDX_ISA
