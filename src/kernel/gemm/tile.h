// tile: a block of matrix product outputs held in registers while their chains run over k.
//
// Every output is one chain acc = fma(a[k], b[k], acc), k ascending: the lanes of a register are
// different outputs, so neither the vector width nor the tile's shape can change a bit. A chain may
// stop and continue from the stored sum.
#pragma once

#include "kernel/epilogue/epilogue.h"
#include "kernel/gemm/block.h"
#include "kernel/simd/registers.h"
#include "kernel/simd/unroll.h"

namespace sdx::SDX_ISA {

// Vectors per tile row and rows per tile: as many chains as the registers hold beside one row of B
// and a broadcast.
#if defined(SDX_ISA_avx512)
inline constexpr int kTileVecs = 2, kTileRows = 12;
#elif defined(SDX_ISA_avx2)
inline constexpr int kTileVecs = 2, kTileRows = 6;
#elif defined(SDX_ISA_neon)
inline constexpr int kTileVecs = 4, kTileRows = 6;
#else
inline constexpr int kTileVecs = 2, kTileRows = 2;
#endif
inline constexpr int kTileCols = kTileVecs * kLanes;
// Tiles of few rows are wider, or too few chains would hide the latency of a multiply-add. The
// widest hold a panel and a vector more: a tile of one vector would load as much as it computes.
#if defined(SDX_ISA_avx512)
inline constexpr int kWideRows = 6, kWideVecs = 3;
#elif defined(SDX_ISA_avx2)
inline constexpr int kWideRows = 3, kWideVecs = 4;
#else
inline constexpr int kWideRows = 0, kWideVecs = kTileVecs;
#endif
// The columns that a block's last panel may have: kPanel, or as many as its tiles are wide.
inline constexpr size_t kWidestPanel = size_t(kWideVecs) * kLanes > kPanel
                                           ? size_t(kWideVecs) * kLanes
                                           : kPanel;

// Columns that may run beside a tile: as many as registers are left, where one holds all rows.
inline constexpr int kMostBeside = kLanes > kTileRows&& kTileRows == 12 ? 4 : 0;

inline constexpr float kNowhere[1] = {0};

// So many steps of k lie side by side; the next stretch begins `jump` floats behind its last step.
struct TileStretch {
  size_t length;
  ptrdiff_t jump;
};

struct TileArgs {
  size_t k;
  const float* a;  // a[k * a_step + row], or where it lies: a[row * a_row + k]
  size_t a_step, a_row = 0;
  const TileStretch* stretches = nullptr;  // with a_row: of k, where it does not lie side by side
  const float* b;  // b[k * b_step + column], readable up to a multiple of 16 columns
  size_t b_step;
  float* c;
  size_t ldc;
  size_t cols;                    // columns to store
  const float* ahead = kNowhere;  // what tiles to come will read: one line is fetched at each k
  size_t ahead_step = 0;          // floats from one k to the next
  size_t ahead_tile = 0;          // and from what one tile of a block fetches to the next's
  // Columns that would fill little of a vector run beside a tile of packed rows, whose rows are the
  // lanes: at most kMostBeside of them, beside[k * beside_step + column].
  size_t beside_cols = 0;
  const float* beside = nullptr;
  size_t beside_step = 0;
  float* beside_c = nullptr;     // beside_c[row * ldc + column]; affine has no more than a bias
  bool resume;                   // the chains continue from c instead of +0
  const AffineEpilogue* affine;  // what follows the chains, with `bias` at this tile's corner;
                                 // null: the chains are not at their end
};

// Up to kRowBlock rows by one panel of B, or by a widest one, cut into tiles. `t` describes the
// block's corner.
void tile_block(const TileArgs& t, size_t rows);

}  // namespace sdx::SDX_ISA
