#include "kernel/gemm_int8/amx_tiles.h"
#include "kernel/gemm_int8/block.h"
#include "kernel/simd/numbers.h"

namespace sdx::SDX_ISA {

#if defined(SDX_ISA_avx512)

namespace {

// Tiles 0 and 1 are the sums of the first 16 rows, 2 and 3 of the others; 4 and 5 are rows, 6 and 7
// columns.
TileShapes shapes_of(size_t rows) {
  TileShapes s;
  const size_t first = least(rows, 16), second = rows > 16 ? rows - 16 : 1;
  for (const int tile : {0, 1, 4}) s.set(tile, first, 64);
  for (const int tile : {2, 3, 5}) s.set(tile, second, 64);
  for (const int tile : {6, 7}) s.set(tile, 16, 64);
  return s;
}

template <class Tiles>
[[gnu::always_inline]] inline void add_step(Tiles& tiles, const Int8Tiles& t, const uint8_t* a,
                                            size_t a_row, const int8_t* b) {
  const size_t step = 4 * t.width;
  tiles.template load<4>(a, a_row);
  tiles.template load<6>(b, step);
  tiles.template add<0, 4, 6>(t.a_signed);
  const bool tall = t.rows > 16, wide = t.width > 16;
  if (tall) {
    tiles.template load<5>(a + 16 * a_row, a_row);
    tiles.template add<2, 5, 6>(t.a_signed);
  }
  if (!wide) return;
  tiles.template load<7>(b + 64, step);
  tiles.template add<1, 4, 7>(t.a_signed);
  if (tall) tiles.template add<3, 5, 7>(t.a_signed);
}

template <class Tiles>
void sum(Tiles& tiles, const Int8Tiles& t) {
  tiles.template zero<0>();
  tiles.template zero<1>();
  tiles.template zero<2>();
  tiles.template zero<3>();
  const size_t whole = t.k / 64;
  for (size_t i = 0; i < whole; ++i)
    add_step(tiles, t, t.a + 64 * i, t.a_row, t.b + i * 64 * t.width);
  if (const size_t rest = t.k % 64; rest != 0) {
    // What is left of k, with zeros after it.
    alignas(64) uint8_t a[kAmxRows * 64] = {};
    alignas(64) int8_t b[64 * kPanel] = {};
    for (size_t r = 0; r < t.rows; ++r)
      std::memcpy(a + 64 * r, t.a + r * t.a_row + 64 * whole, rest);
    std::memcpy(b, t.b + whole * 64 * t.width, quads_of(rest) * 4 * t.width);
    add_step(tiles, t, a, 64, b);
  }
  const size_t row_bytes = kPanel * sizeof(int32_t);
  tiles.template store<0>(t.sum, row_bytes);
  if (t.width > 16) tiles.template store<1>(t.sum + 16, row_bytes);
  if (t.rows <= 16) return;
  tiles.template store<2>(t.sum + 16 * kPanel, row_bytes);
  if (t.width > 16) tiles.template store<3>(t.sum + 16 * kPanel + 16, row_bytes);
}

}  // namespace

void int8_tiles_begin(size_t rows) { AmxTiles().shape(shapes_of(rows)); }
void int8_tiles_end() { AmxTiles().release(); }

void int8_tiles(const Int8Tiles& t) {
  if (t.in_memory) {
    TilesInMemory tiles;
    tiles.shape(shapes_of(t.rows));
    return sum(tiles, t);
  }
  AmxTiles tiles;
  sum(tiles, t);
}

#else

void int8_tiles_begin(size_t) {}
void int8_tiles_end() {}
void int8_tiles(const Int8Tiles&) {}

#endif

}  // namespace sdx::SDX_ISA
