// Wide: the widest register as pieces of 16 bytes, each of a block of its own, for *.isa.cc files
// that turn blocks of as many rows as columns. Where a level has no such register,
// SDX_NO_VECTORS is defined instead.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(SDX_ISA_neon)
#include <arm_neon.h>
#endif

namespace sdx::SDX_ISA {

#if defined(__x86_64__)
// One piece, for matrices that are too narrow for more.
struct Piece {
  static constexpr size_t kPieces = 1;
  __m128i v;

  static Piece load(const char* p, size_t) {
    return {_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))};
  }
  void store(char* p) const { _mm_storeu_si128(reinterpret_cast<__m128i*>(p), v); }
};
template <size_t kSize>
inline Piece low(Piece a, Piece b) {
  if constexpr (kSize == 1) return {_mm_unpacklo_epi8(a.v, b.v)};
  if constexpr (kSize == 2) return {_mm_unpacklo_epi16(a.v, b.v)};
  if constexpr (kSize == 4) return {_mm_unpacklo_epi32(a.v, b.v)};
  return {_mm_unpacklo_epi64(a.v, b.v)};
}
template <size_t kSize>
inline Piece high(Piece a, Piece b) {
  if constexpr (kSize == 1) return {_mm_unpackhi_epi8(a.v, b.v)};
  if constexpr (kSize == 2) return {_mm_unpackhi_epi16(a.v, b.v)};
  if constexpr (kSize == 4) return {_mm_unpackhi_epi32(a.v, b.v)};
  return {_mm_unpackhi_epi64(a.v, b.v)};
}
#endif

// Pieces of 16 bytes side by side, each a block's own: two vectors are dealt one element each in
// turn, inside of every piece.
#if defined(SDX_ISA_avx512)
struct Wide {
  static constexpr size_t kPieces = 4;
  __m512i v;

  static Wide load(const char* p, size_t step) {
    const auto piece = [&](size_t i) {
      return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + i * step));
    };
    __m512i v = _mm512_castsi128_si512(piece(0));
    v = _mm512_inserti32x4(v, piece(1), 1);
    v = _mm512_inserti32x4(v, piece(2), 2);
    return {_mm512_inserti32x4(v, piece(3), 3)};
  }
  void store(char* p) const { _mm512_storeu_si512(p, v); }
  void stream(char* p) const { _mm512_stream_si512(reinterpret_cast<__m512i*>(p), v); }
};
template <size_t kSize>
inline Wide low(Wide a, Wide b) {
  if constexpr (kSize == 1) return {_mm512_unpacklo_epi8(a.v, b.v)};
  if constexpr (kSize == 2) return {_mm512_unpacklo_epi16(a.v, b.v)};
  if constexpr (kSize == 4) return {_mm512_unpacklo_epi32(a.v, b.v)};
  return {_mm512_unpacklo_epi64(a.v, b.v)};
}
template <size_t kSize>
inline Wide high(Wide a, Wide b) {
  if constexpr (kSize == 1) return {_mm512_unpackhi_epi8(a.v, b.v)};
  if constexpr (kSize == 2) return {_mm512_unpackhi_epi16(a.v, b.v)};
  if constexpr (kSize == 4) return {_mm512_unpackhi_epi32(a.v, b.v)};
  return {_mm512_unpackhi_epi64(a.v, b.v)};
}
#elif defined(SDX_ISA_avx2)
struct Wide {
  static constexpr size_t kPieces = 2;
  __m256i v;

  static Wide load(const char* p, size_t step) {
    const auto piece = [&](size_t i) {
      return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + i * step));
    };
    return {_mm256_inserti128_si256(_mm256_castsi128_si256(piece(0)), piece(1), 1)};
  }
  void store(char* p) const { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), v); }
};
template <size_t kSize>
inline Wide low(Wide a, Wide b) {
  if constexpr (kSize == 1) return {_mm256_unpacklo_epi8(a.v, b.v)};
  if constexpr (kSize == 2) return {_mm256_unpacklo_epi16(a.v, b.v)};
  if constexpr (kSize == 4) return {_mm256_unpacklo_epi32(a.v, b.v)};
  return {_mm256_unpacklo_epi64(a.v, b.v)};
}
template <size_t kSize>
inline Wide high(Wide a, Wide b) {
  if constexpr (kSize == 1) return {_mm256_unpackhi_epi8(a.v, b.v)};
  if constexpr (kSize == 2) return {_mm256_unpackhi_epi16(a.v, b.v)};
  if constexpr (kSize == 4) return {_mm256_unpackhi_epi32(a.v, b.v)};
  return {_mm256_unpackhi_epi64(a.v, b.v)};
}
#elif defined(__x86_64__)
using Wide = Piece;
#elif defined(SDX_ISA_neon)
struct Wide {
  static constexpr size_t kPieces = 1;
  uint8x16_t v;

  static Wide load(const char* p, size_t) {
    return {vld1q_u8(reinterpret_cast<const uint8_t*>(p))};
  }
  void store(char* p) const { vst1q_u8(reinterpret_cast<uint8_t*>(p), v); }
};
template <size_t kSize>
inline Wide low(Wide a, Wide b) {
  if constexpr (kSize == 1) return {vzip1q_u8(a.v, b.v)};
  if constexpr (kSize == 2) return {uint8x16_t(vzip1q_u16(uint16x8_t(a.v), uint16x8_t(b.v)))};
  if constexpr (kSize == 4) return {uint8x16_t(vzip1q_u32(uint32x4_t(a.v), uint32x4_t(b.v)))};
  return {uint8x16_t(vzip1q_u64(uint64x2_t(a.v), uint64x2_t(b.v)))};
}
template <size_t kSize>
inline Wide high(Wide a, Wide b) {
  if constexpr (kSize == 1) return {vzip2q_u8(a.v, b.v)};
  if constexpr (kSize == 2) return {uint8x16_t(vzip2q_u16(uint16x8_t(a.v), uint16x8_t(b.v)))};
  if constexpr (kSize == 4) return {uint8x16_t(vzip2q_u32(uint32x4_t(a.v), uint32x4_t(b.v)))};
  return {uint8x16_t(vzip2q_u64(uint64x2_t(a.v), uint64x2_t(b.v)))};
}
using Piece = Wide;
#else
#define SDX_NO_VECTORS 1
#endif

#if !defined(SDX_NO_VECTORS)
// Dealing the first half between the second turns a block, once per doubling of its size.
template <size_t kSize, class Pieces>
[[gnu::always_inline]] inline void turn_blocks(Pieces (&a)[16 / kSize]) {
  constexpr size_t kBlock = 16 / kSize;
  Pieces b[kBlock];
  for (size_t half = kBlock; half > 1; half /= 2) {
    for (size_t i = 0; i < kBlock / 2; ++i) {
      b[2 * i] = low<kSize>(a[i], a[i + kBlock / 2]);
      b[2 * i + 1] = high<kSize>(a[i], a[i + kBlock / 2]);
    }
    for (size_t i = 0; i < kBlock; ++i) a[i] = b[i];
  }
}
#endif

}  // namespace sdx::SDX_ISA
