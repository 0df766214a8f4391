// The eight tile registers of AMX, and the same in memory.
//
// A tile is up to 16 rows of up to 64 bytes. A product of two adds to a tile of 32-bit sums: rows
// of bytes, four along k to a group, times groups of four bytes, [k / 4][column][4].
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(SDX_ISA_avx512)

namespace sdx::SDX_ISA {

// What the instruction that configures tiles reads.
struct alignas(64) TileShapes {
  uint8_t palette = 1, start_row = 0, unused[14] = {};
  uint16_t row_bytes[8] = {}, unused_tiles[8] = {};
  uint8_t rows[8] = {}, unused_rows[8] = {};

  void set(int tile, size_t height, size_t bytes) {
    rows[tile] = uint8_t(height);
    row_bytes[tile] = uint16_t(bytes);
  }
};
static_assert(sizeof(TileShapes) == 64);

// As assembly, for AMX is not part of the level; only a machine that has it comes here.
struct AmxTiles {
  // Makes all tiles zero.
  void shape(const TileShapes& shapes) { asm volatile("ldtilecfg %0" ::"m"(shapes)); }
  void release() { asm volatile("tilerelease"); }
  template <int kChunk>
  [[gnu::always_inline]] void zero() {
    asm volatile("tilezero %%tmm%c0" ::"i"(kChunk));
  }
  template <int kChunk>
  [[gnu::always_inline]] void load(const void* from, size_t step) {
    asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(from), "r"(step), "i"(kChunk) : "memory");
  }
  template <int kChunk>
  [[gnu::always_inline]] void store(void* to, size_t step) {
    asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(to), "r"(step), "i"(kChunk) : "memory");
  }
  // sums += a * b; b is signed.
  template <int kSums, int kA, int kB>
  [[gnu::always_inline]] void add(bool a_signed) {
    if (a_signed) {
      asm volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kSums), "i"(kA), "i"(kB));
    } else {
      asm volatile("tdpbusd %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kSums), "i"(kA), "i"(kB));
    }
  }
};

// What the instructions do, for tests on other machines.
struct TilesInMemory {
  TileShapes shapes;
  uint8_t bytes[8][16][64];

  void shape(const TileShapes& given) {
    shapes = given;
    std::memset(bytes, 0, sizeof bytes);
  }
  void release() {}
  template <int kChunk>
  void zero() {
    std::memset(bytes[kChunk], 0, sizeof bytes[kChunk]);
  }
  template <int kChunk>
  void load(const void* from, size_t step) {
    zero<kChunk>();
    for (size_t r = 0; r < shapes.rows[kChunk]; ++r) {
      std::memcpy(bytes[kChunk][r], static_cast<const char*>(from) + r * step,
                  shapes.row_bytes[kChunk]);
    }
  }
  template <int kChunk>
  void store(void* to, size_t step) {
    for (size_t r = 0; r < shapes.rows[kChunk]; ++r)
      std::memcpy(static_cast<char*>(to) + r * step, bytes[kChunk][r], shapes.row_bytes[kChunk]);
  }
  template <int kSums, int kA, int kB>
  void add(bool a_signed) {
    for (size_t r = 0; r < shapes.rows[kSums]; ++r) {
      for (size_t k = 0; k < shapes.row_bytes[kA]; ++k) {
        const uint8_t byte = bytes[kA][r][k];
        const int32_t a = a_signed ? int32_t(int8_t(byte)) : byte;
        for (size_t j = 0; j < shapes.row_bytes[kSums] / 4u; ++j) {
          uint32_t sum;
          std::memcpy(&sum, bytes[kSums][r] + 4 * j, 4);
          sum += uint32_t(a * int8_t(bytes[kB][k / 4][4 * j + k % 4]));
          std::memcpy(bytes[kSums][r] + 4 * j, &sum, 4);
        }
      }
    }
  }
};

}  // namespace sdx::SDX_ISA

#endif
