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
    unroll<Vecs>([&](auto v) __attribute__((always_inline)) {
      __builtin_prefetch(b + kAhead * b_step + v.value * kLanes, 0, 3);
    });
  }
};

// The value of A for each row of a tile at the k that it has come to.
template <int Rows>
struct PackedRows : FetchesLater {
  const float* a;
  size_t step;
  explicit PackedRows(const TileArgs& t) : a(t.a), step(t.a_step) {}
  template <int R>
  [[gnu::always_inline]] float at() const {
    return a[R];
  }
  [[gnu::always_inline]] void next() { a += step; }
};
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
  static constexpr int kPointers = (Rows + 2) / 3;
  const float* a[kPointers];
  size_t row;
  explicit RowsInPlace(const TileArgs& t) : row(t.a_row) {
    unroll<kPointers>([&](auto i) __attribute__((always_inline)) {
      a[i.value] = t.a + size_t(i.value) * 3 * row;
    });
  }
  template <int R>
  [[gnu::always_inline]] float at() const {
    return a[R / 3][R % 3 * row];
  }
  [[gnu::always_inline]] void next() { step_by(1); }
  // Written out, not as a loop: an array that a loop walks along is kept in memory.
  [[gnu::always_inline]] void step_by(ptrdiff_t step) {
    unroll<kPointers>([&](auto i) __attribute__((always_inline)) {
      a[i.value] += step;
      keep_apart(a[i.value]);
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

template <int Rows, int Vecs, template <int> class RowsOfA>
void tile(const TileArgs& t) {
  F32 acc[Rows][Vecs];
  const size_t last = t.cols - (Vecs - 1) * kLanes;  // columns in the last vector
  const auto at = [&](float* base, size_t row, int v) { return base + row * t.ldc + v * kLanes; };

  if (t.resume) {
    unroll<Rows>([&](auto r) __attribute__((always_inline)) {
      unroll<Vecs>([&](auto v) __attribute__((always_inline)) {
        const float* p = at(t.c, r.value, v.value);
        const bool whole = v.value < Vecs - 1 || last >= kLanes;
        acc[r.value][v.value] = whole ? F32::load(p) : load_first(p, last);
      });
    });
  } else {
    unroll<Rows>([&](auto r) __attribute__((always_inline)) {
      unroll<Vecs>([&](auto v)
                       __attribute__((always_inline)) { acc[r.value][v.value] = F32(0.0f); });
    });
  }

  if (!t.resume) {  // what is written comes while the chains run
    unroll<Rows>([&](auto r) __attribute__((always_inline)) {
      __builtin_prefetch(at(t.c, r.value, 0), 1);
    });
  }

  RowsOfA<Rows> a(t);
  const float* b = t.b;
  const float* ahead = t.ahead;
  const size_t b_step = t.b_step, ahead_step = t.ahead_step;
  for (size_t k = t.k; k != 0; --k) {
    F32 row[Vecs];
    unroll<Vecs>([&](auto v) __attribute__((always_inline)) {
      row[v.value] = F32::load(b + v.value * kLanes);
    });
    unroll<Rows>([&](auto r) __attribute__((always_inline)) {
      const Each x(a.template at<r.value>());
      unroll<Vecs>([&](auto v) __attribute__((always_inline)) {
        acc[r.value][v.value] = fma(x, row[v.value], acc[r.value][v.value]);
      });
    });
    RowsOfA<Rows>::template fetch<Vecs>(b, b_step, ahead);
    a.next();
    b += b_step;
    ahead += ahead_step;
  }

  if (const AffineEpilogue* f = t.affine) {
    if (f->alpha != 1) {
      const F32 alpha = F32(f->alpha);
      unroll<Rows>([&](auto r) __attribute__((always_inline)) {
        unroll<Vecs>([&](auto v) __attribute__((always_inline)) {
          acc[r.value][v.value] = acc[r.value][v.value] * alpha;
        });
      });
    }
    if (f->bias != nullptr) {
      const F32 beta = F32(f->beta);
      const bool scaled = f->beta != 1;
      unroll<Rows>([&](auto r) __attribute__((always_inline)) {
        const float* bias = f->bias + r.value * f->bias_row;
        unroll<Vecs>([&](auto v) __attribute__((always_inline)) {
          const bool whole = v.value < Vecs - 1 || last >= kLanes;
          F32 x = f->bias_col == 0 ? F32(*bias)
                  : whole          ? F32::load(bias + v.value * kLanes)
                                   : load_first(bias + v.value * kLanes, last);
          if (scaled) x = x * beta;
          acc[r.value][v.value] = acc[r.value][v.value] + x;
        });
      });
    }
    if (f->other != nullptr) {
      unroll<Rows>([&](auto r) __attribute__((always_inline)) {
        const float* other = f->other + r.value * f->other_row;
        unroll<Vecs>([&](auto v) __attribute__((always_inline)) {
          const bool whole = v.value < Vecs - 1 || last >= kLanes;
          const F32 x = whole ? F32::load(other + v.value * kLanes)
                              : load_first(other + v.value * kLanes, last);
          acc[r.value][v.value] = acc[r.value][v.value] + x;
        });
      });
    }
    unroll<Rows>([&](auto r) __attribute__((always_inline)) {
      unroll<Vecs>([&](auto v) __attribute__((always_inline)) {
        acc[r.value][v.value] = lanes::canonical(acc[r.value][v.value]);
      });
    });
  }

  unroll<Rows>([&](auto r) __attribute__((always_inline)) {
    unroll<Vecs>([&](auto v) __attribute__((always_inline)) {
      float* p = at(t.c, r.value, v.value);
      if (v.value < Vecs - 1 || last >= kLanes) {
        acc[r.value][v.value].store(p);
      } else {
        store_first(p, acc[r.value][v.value], last);
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
  const size_t tiles = (rows + kTileRows - 1) / kTileRows;
  TileArgs s = t;
  AffineEpilogue affine;
  if (t.affine != nullptr) affine = *t.affine, s.affine = &affine;
  for (size_t i = 0; i < tiles; ++i) {
    const size_t r = rows * i / tiles, height = rows * (i + 1) / tiles - r, most = wide(height);
    s.a = t.a + (t.a_row == 0 ? r : r * t.a_row);
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
  t.a_row != 0 ? run_tiles<RowsInPlace>(t, rows) : run_tiles<PackedRows>(t, rows);
}

}  // namespace sdx::SDX_ISA
