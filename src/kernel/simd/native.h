// The machine's own vectors at this level: 4 floats (portable, neon), 8 (avx2) or 16 (avx512), and
// as many doubles and integers as fill the same register. Arithmetic is the compiler's vector
// extension; only what it cannot say is an intrinsic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(SDX_ISA_neon)
#include <arm_neon.h>
#endif

#include "kernel/simd/pair.h"

namespace sdx::SDX_ISA {

#if defined(SDX_ISA_avx512)
inline constexpr int kRegisterBytes = 64;
#elif defined(SDX_ISA_avx2)
inline constexpr int kRegisterBytes = 32;
#else
inline constexpr int kRegisterBytes = 16;
#endif

typedef float RawF32 __attribute__((vector_size(kRegisterBytes)));
typedef double RawF64 __attribute__((vector_size(kRegisterBytes)));
typedef int32_t RawI32 __attribute__((vector_size(kRegisterBytes)));
typedef int64_t RawI64 __attribute__((vector_size(kRegisterBytes)));
typedef uint32_t RawU32 __attribute__((vector_size(kRegisterBytes)));
typedef uint64_t RawU64 __attribute__((vector_size(kRegisterBytes)));

// A mask is a mask register on avx512, elsewhere a vector of 0 and -1 as wide as the lanes it
// speaks of.
template <class Raw>
struct MaskOf {
  static constexpr int kLanes = 0;
  using Scalar = bool;
  using Mask = MaskOf;
  using Int = void;
  using Float = void;
  using Wide = void;
  Raw m;
  friend SDX_INLINE MaskOf operator&(MaskOf a, MaskOf b) { return {Raw(a.m & b.m)}; }
  friend SDX_INLINE MaskOf operator|(MaskOf a, MaskOf b) { return {Raw(a.m | b.m)}; }
  friend SDX_INLINE MaskOf operator~(MaskOf a) { return {Raw(~a.m)}; }
  friend SDX_INLINE bool any(MaskOf a) {
#if defined(SDX_ISA_avx512)
    return a.m != 0;
#elif defined(SDX_ISA_avx2)
    return _mm256_movemask_epi8((__m256i)a.m) != 0;
#elif defined(__SSE2__)
    return _mm_movemask_epi8((__m128i)a.m) != 0;
#elif defined(SDX_ISA_neon)
    return vmaxvq_u32((uint32x4_t)a.m) != 0;
#else
    const auto whole = (RawI64)a.m;
    return (whole[0] | whole[1]) != 0;
#endif
  }
  friend SDX_INLINE bool all(MaskOf a) { return !any(~a); }
};
#if defined(SDX_ISA_avx512)
using M32 = MaskOf<__mmask16>;
using M64 = MaskOf<__mmask8>;
#else
using M32 = MaskOf<RawI32>;
using M64 = MaskOf<RawI64>;
#endif

struct F32;
struct F64;

#if defined(SDX_ISA_avx512)
#define SDX_COMPARE(V, M, op, intrinsic, predicate) \
  friend SDX_INLINE M operator op(V a, V b) { return {intrinsic(a.v, b.v, predicate)}; }
#define SDX_COMPARE_FLOAT(V, M, x)                          \
  SDX_COMPARE(V, M, ==, _mm512_cmp_##x##_mask, _CMP_EQ_OQ)  \
  SDX_COMPARE(V, M, !=, _mm512_cmp_##x##_mask, _CMP_NEQ_UQ) \
  SDX_COMPARE(V, M, <, _mm512_cmp_##x##_mask, _CMP_LT_OQ)   \
  SDX_COMPARE(V, M, <=, _mm512_cmp_##x##_mask, _CMP_LE_OQ)  \
  SDX_COMPARE(V, M, >, _mm512_cmp_##x##_mask, _CMP_GT_OQ)   \
  SDX_COMPARE(V, M, >=, _mm512_cmp_##x##_mask, _CMP_GE_OQ)  \
  friend SDX_INLINE V select(M m, V a, V b) { return (Raw)_mm512_mask_blend_##x(m.m, b.v, a.v); }
#define SDX_COMPARE_INT(V, M, x)                                        \
  friend SDX_INLINE M operator==(V a, V b) {                            \
    return {_mm512_cmpeq_##x##_mask((__m512i)a.v, (__m512i)b.v)};       \
  }                                                                     \
  friend SDX_INLINE M operator<(V a, V b) {                             \
    return {_mm512_cmplt_##x##_mask((__m512i)a.v, (__m512i)b.v)};       \
  }                                                                     \
  friend SDX_INLINE M operator>(V a, V b) { return b < a; }             \
  friend SDX_INLINE V select(M m, V a, V b) {                           \
    return (Raw)_mm512_mask_blend_##x(m.m, (__m512i)b.v, (__m512i)a.v); \
  }
#else
#define SDX_COMPARE(V, M, op) \
  friend SDX_INLINE M operator op(V a, V b) { return {a.v op b.v}; }
#define SDX_COMPARE_INT(V, M, x) \
  SDX_COMPARE(V, M, ==)          \
  SDX_COMPARE(V, M, <)           \
  SDX_COMPARE(V, M, >)           \
  friend SDX_INLINE V select(M m, V a, V b) { return m.m ? a.v : b.v; }
#define SDX_COMPARE_FLOAT(V, M, x) \
  SDX_COMPARE_INT(V, M, x)         \
  SDX_COMPARE(V, M, !=)            \
  SDX_COMPARE(V, M, <=)            \
  SDX_COMPARE(V, M, >=)
#endif

#define SDX_VECTOR(V, T)                                               \
  static constexpr int kLanes = kRegisterBytes / int(sizeof(T));       \
  using Scalar = T;                                                    \
  V() = default;                                                       \
  SDX_INLINE V(Raw raw) : v(raw) {}                                    \
  SDX_INLINE V(T x) : v(x - Raw{}) {}                                  \
  SDX_INLINE static V load(const T* p) {                               \
    Raw raw;                                                           \
    memcpy(&raw, p, kRegisterBytes);                                   \
    return raw;                                                        \
  }                                                                    \
  SDX_INLINE void store(T* p) const { memcpy(p, &v, kRegisterBytes); } \
  Raw v;

// Integers wrap: sums are taken on the unsigned type.
#define SDX_INT(V, T, RawT, RawUnsigned, M, F, x)                                                  \
  struct V {                                                                                       \
    using Raw = RawT;                                                                              \
    using Mask = M;                                                                                \
    using Int = void;                                                                              \
    using Float = F;                                                                               \
    using Wide = void;                                                                             \
    SDX_VECTOR(V, T)                                                                               \
    SDX_COMPARE_INT(V, M, x)                                                                       \
    friend SDX_INLINE V operator+(V a, V b) { return (Raw)((RawUnsigned)a.v + (RawUnsigned)b.v); } \
    friend SDX_INLINE V operator-(V a, V b) { return (Raw)((RawUnsigned)a.v - (RawUnsigned)b.v); } \
    friend SDX_INLINE V operator&(V a, V b) { return a.v & b.v; }                                  \
    friend SDX_INLINE V operator|(V a, V b) { return a.v | b.v; }                                  \
    friend SDX_INLINE V operator^(V a, V b) { return a.v ^ b.v; }                                  \
    friend SDX_INLINE V operator<<(V a, int n) { return (Raw)((RawUnsigned)a.v << n); }            \
    friend SDX_INLINE V operator>>(V a, int n) { return a.v >> n; }                                \
    friend SDX_INLINE V shift_right_logical(V a, int n) { return (Raw)((RawUnsigned)a.v >> n); }   \
  };
SDX_INT(I32, int32_t, RawI32, RawU32, M32, F32, epi32)
SDX_INT(I64, int64_t, RawI64, RawU64, M64, F64, epi64)

#define SDX_FLOAT(V, T, RawT, M, I, W, x)                         \
  struct V {                                                      \
    using Raw = RawT;                                             \
    using Mask = M;                                               \
    using Int = I;                                                \
    using Float = void;                                           \
    using Wide = W;                                               \
    SDX_VECTOR(V, T)                                              \
    SDX_COMPARE_FLOAT(V, M, x)                                    \
    friend SDX_INLINE V operator+(V a, V b) { return a.v + b.v; } \
    friend SDX_INLINE V operator-(V a, V b) { return a.v - b.v; } \
    friend SDX_INLINE V operator*(V a, V b) { return a.v * b.v; } \
    friend SDX_INLINE V operator/(V a, V b) { return a.v / b.v; } \
  };
SDX_FLOAT(F64, double, RawF64, M64, I64, void, pd)
SDX_FLOAT(F32, float, RawF32, M32, I32, Pair<F64>, ps)

#undef SDX_VECTOR
#undef SDX_INT
#undef SDX_FLOAT
#undef SDX_COMPARE
#undef SDX_COMPARE_INT
#undef SDX_COMPARE_FLOAT

SDX_INLINE I32 bits(F32 a) { return (RawI32)a.v; }
SDX_INLINE F32 from_bits(I32 a) { return (RawF32)a.v; }
SDX_INLINE I64 bits(F64 a) { return (RawI64)a.v; }
SDX_INLINE F64 from_bits(I64 a) { return (RawF64)a.v; }
SDX_INLINE F32 to_f32(I32 a) { return __builtin_convertvector(a.v, RawF32); }
// Towards zero; the value must lie within int32.
SDX_INLINE I32 to_i32(F32 a) { return __builtin_convertvector(a.v, RawI32); }

#if defined(SDX_ISA_avx512)

SDX_INLINE F32 fma(F32 a, F32 b, F32 c) { return _mm512_fmadd_ps(a.v, b.v, c.v); }
// One instruction by a table of what to do with each kind of float: the constant for quiet (0) and
// signalling NaN (1), the value itself for the six others.
SDX_INLINE F32 fix_nan(F32 a) {
  const __m512 one_nan = _mm512_castsi512_ps(_mm512_set1_epi32(0x7fc00000));
  return _mm512_fixupimm_ps(one_nan, a.v, _mm512_set1_epi32(0x11111100), 0);
}
SDX_INLINE F32 sqrt(F32 a) { return _mm512_sqrt_ps(a.v); }
SDX_INLINE F64 sqrt(F64 a) { return _mm512_sqrt_pd(a.v); }
// The second operand where either is NaN or both are zeros, as in a < b ? a : b.
SDX_INLINE F32 min_raw(F32 a, F32 b) { return _mm512_min_ps(a.v, b.v); }
SDX_INLINE F32 max_raw(F32 a, F32 b) { return _mm512_max_ps(a.v, b.v); }
SDX_INLINE F64 min_raw(F64 a, F64 b) { return _mm512_min_pd(a.v, b.v); }
SDX_INLINE F64 max_raw(F64 a, F64 b) { return _mm512_max_pd(a.v, b.v); }
SDX_INLINE F32 round_even(F32 a) { return _mm512_roundscale_ps(a.v, _MM_FROUND_TO_NEAREST_INT); }
SDX_INLINE F32 floor(F32 a) { return _mm512_roundscale_ps(a.v, _MM_FROUND_TO_NEG_INF); }
SDX_INLINE F32 ceil(F32 a) { return _mm512_roundscale_ps(a.v, _MM_FROUND_TO_POS_INF); }
SDX_INLINE F32 trunc(F32 a) { return _mm512_roundscale_ps(a.v, _MM_FROUND_TO_ZERO); }
SDX_INLINE F32 ldexp(F32 a, I32 n) { return _mm512_scalef_ps(a.v, to_f32(n).v); }
SDX_INLINE F32 ldexp(F32 a, F32 n) { return _mm512_scalef_ps(a.v, n.v); }
SDX_INLINE F32 lookup(const float (&table)[16], I32 index) {
  return _mm512_permutexvar_ps((__m512i)index.v, _mm512_loadu_ps(table));
}
SDX_INLINE Pair<F64> to_f64(F32 a) {
  return {F64(_mm512_cvtps_pd(_mm512_castps512_ps256(a.v))),
          F64(_mm512_cvtps_pd(_mm512_extractf32x8_ps(a.v, 1)))};
}
SDX_INLINE F32 to_f32(Pair<F64> a) {
  return _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(a.lo.v)),
                            _mm512_cvtpd_ps(a.hi.v), 1);
}
SDX_INLINE F32 load_u16_as_f16(const uint16_t* p) {
  return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i*)p));
}
SDX_INLINE I32 load_u16(const uint16_t* p) {
  return (RawI32)_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i*)p));
}
SDX_INLINE void store_u16(uint16_t* p, I32 a) {
  _mm256_storeu_si256((__m256i*)p, _mm512_cvtepi32_epi16((__m512i)a.v));
}
SDX_INLINE void store_f16_raw(uint16_t* p, F32 a) {
  _mm256_storeu_si256((__m256i*)p, _mm512_cvtps_ph(a.v, _MM_FROUND_TO_NEAREST_INT));
}

#elif defined(SDX_ISA_avx2)

SDX_INLINE F32 fma(F32 a, F32 b, F32 c) { return _mm256_fmadd_ps(a.v, b.v, c.v); }
SDX_INLINE F32 sqrt(F32 a) { return _mm256_sqrt_ps(a.v); }
SDX_INLINE F64 sqrt(F64 a) { return _mm256_sqrt_pd(a.v); }
SDX_INLINE F32 min_raw(F32 a, F32 b) { return _mm256_min_ps(a.v, b.v); }
SDX_INLINE F32 max_raw(F32 a, F32 b) { return _mm256_max_ps(a.v, b.v); }
SDX_INLINE F64 min_raw(F64 a, F64 b) { return _mm256_min_pd(a.v, b.v); }
SDX_INLINE F64 max_raw(F64 a, F64 b) { return _mm256_max_pd(a.v, b.v); }
SDX_INLINE F32 round_even(F32 a) { return _mm256_round_ps(a.v, _MM_FROUND_TO_NEAREST_INT); }
SDX_INLINE F32 floor(F32 a) { return _mm256_round_ps(a.v, _MM_FROUND_TO_NEG_INF); }
SDX_INLINE F32 ceil(F32 a) { return _mm256_round_ps(a.v, _MM_FROUND_TO_POS_INF); }
SDX_INLINE F32 trunc(F32 a) { return _mm256_round_ps(a.v, _MM_FROUND_TO_ZERO); }
SDX_INLINE F32 ldexp(F32 a, I32 n) { return soft::ldexp(a, n); }
SDX_INLINE F32 ldexp(F32 a, F32 n) { return soft::ldexp(a, to_i32(n)); }
// A blend looks at nothing but signs: no comparison with zero is needed.
SDX_INLINE F32 blend_by_sign(F32 x, F32 a, F32 b) { return _mm256_blendv_ps(b.v, a.v, x.v); }
// A part of a table, in a register: a permutation that reads memory takes twice as long on AMD's.
SDX_INLINE __m256 eight_of_table(const float* table) {
  __m256 eight = _mm256_loadu_ps(table);
  asm("" : "+x"(eight));
  return eight;
}
SDX_INLINE F32 lookup(const float (&table)[16], I32 index) {
  const __m256i i = (__m256i)index.v;
  const __m256 low = _mm256_permutevar8x32_ps(eight_of_table(table), i);
  const __m256 high = _mm256_permutevar8x32_ps(eight_of_table(table + 8), i);
  return _mm256_blendv_ps(low, high, _mm256_castsi256_ps(_mm256_slli_epi32(i, 28)));
}
// Half as long a table takes one instruction; here alone, because elsewhere sixteen do, too.
SDX_INLINE F32 lookup(const EightFloats& table, I32 index) {
  return _mm256_permutevar8x32_ps(eight_of_table(table.at), (__m256i)index.v);
}
SDX_INLINE Pair<F64> to_f64(F32 a) {
  return {F64(_mm256_cvtps_pd(_mm256_castps256_ps128(a.v))),
          F64(_mm256_cvtps_pd(_mm256_extractf128_ps(a.v, 1)))};
}
SDX_INLINE F32 to_f32(Pair<F64> a) {
  return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm256_cvtpd_ps(a.lo.v)),
                              _mm256_cvtpd_ps(a.hi.v), 1);
}
SDX_INLINE F32 load_u16_as_f16(const uint16_t* p) {
  return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i*)p));
}
SDX_INLINE I32 load_u16(const uint16_t* p) {
  return (RawI32)_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i*)p));
}
SDX_INLINE void store_u16(uint16_t* p, I32 a) {
  const __m128i low = _mm256_castsi256_si128((__m256i)a.v);
  _mm_storeu_si128((__m128i*)p, _mm_packus_epi32(low, _mm256_extracti128_si256((__m256i)a.v, 1)));
}
SDX_INLINE void store_f16_raw(uint16_t* p, F32 a) {
  _mm_storeu_si128((__m128i*)p, _mm256_cvtps_ph(a.v, _MM_FROUND_TO_NEAREST_INT));
}

#elif defined(SDX_ISA_neon)

SDX_INLINE F32 fma(F32 a, F32 b, F32 c) { return (RawF32)vfmaq_f32(c.v, a.v, b.v); }
SDX_INLINE F32 sqrt(F32 a) { return (RawF32)vsqrtq_f32(a.v); }
SDX_INLINE F64 sqrt(F64 a) { return (RawF64)vsqrtq_f64(a.v); }
// Not fmin and fmax, which have an opinion on NaN and zeros.
SDX_INLINE F32 min_raw(F32 a, F32 b) { return select(a < b, a, b); }
SDX_INLINE F32 max_raw(F32 a, F32 b) { return select(a > b, a, b); }
SDX_INLINE F64 min_raw(F64 a, F64 b) { return select(a < b, a, b); }
SDX_INLINE F64 max_raw(F64 a, F64 b) { return select(a > b, a, b); }
SDX_INLINE F32 round_even(F32 a) { return (RawF32)vrndnq_f32(a.v); }
SDX_INLINE F32 floor(F32 a) { return (RawF32)vrndmq_f32(a.v); }
SDX_INLINE F32 ceil(F32 a) { return (RawF32)vrndpq_f32(a.v); }
SDX_INLINE F32 trunc(F32 a) { return (RawF32)vrndq_f32(a.v); }
SDX_INLINE F32 ldexp(F32 a, I32 n) { return soft::ldexp(a, n); }
SDX_INLINE F32 ldexp(F32 a, F32 n) { return soft::ldexp(a, to_i32(n)); }
// The table is 64 bytes, of which a lane takes four that follow each other.
SDX_INLINE F32 lookup(const float (&table)[16], I32 index) {
  uint8x16x4_t bytes;
  for (int i = 0; i < 4; ++i) bytes.val[i] = vreinterpretq_u8_f32(vld1q_f32(table + 4 * i));
  const uint32x4_t first = vandq_u32((uint32x4_t)index.v, vdupq_n_u32(15));
  const uint32x4_t at = vmlaq_u32(vdupq_n_u32(0x03020100), first, vdupq_n_u32(0x04040404));
  return (RawF32)vreinterpretq_f32_u8(vqtbl4q_u8(bytes, vreinterpretq_u8_u32(at)));
}
SDX_INLINE Pair<F64> to_f64(F32 a) {
  return {F64((RawF64)vcvt_f64_f32(vget_low_f32(a.v))), F64((RawF64)vcvt_high_f64_f32(a.v))};
}
SDX_INLINE F32 to_f32(Pair<F64> a) {
  return (RawF32)vcvt_high_f32_f64(vcvt_f32_f64(a.lo.v), a.hi.v);
}
SDX_INLINE I32 load_u16(const uint16_t* p) {
  return (RawI32)vreinterpretq_s32_u32(vmovl_u16(vld1_u16(p)));
}
SDX_INLINE void store_u16(uint16_t* p, I32 a) { vst1_u16(p, vmovn_u32((uint32x4_t)a.v)); }
SDX_INLINE F32 load_u16_as_f16(const uint16_t* p) {
  return (RawF32)vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)));
}
SDX_INLINE void store_f16_raw(uint16_t* p, F32 a) {
  vst1_u16(p, vreinterpret_u16_f16(vcvt_f16_f32(a.v)));
}

#else

typedef uint16_t HalfU16 __attribute__((vector_size(8)));

// g++ takes these four apart into single lanes when they are written as vector extensions.
#if defined(__SSE2__)
SDX_INLINE Pair<F64> to_f64(F32 a) {
  return {F64(_mm_cvtps_pd(a.v)), F64(_mm_cvtps_pd(_mm_movehl_ps(a.v, a.v)))};
}
SDX_INLINE F32 to_f32(Pair<F64> a) {
  return _mm_movelh_ps(_mm_cvtpd_ps(a.lo.v), _mm_cvtpd_ps(a.hi.v));
}
SDX_INLINE F32 sqrt(F32 a) { return _mm_sqrt_ps(a.v); }
SDX_INLINE F64 sqrt(F64 a) { return _mm_sqrt_pd(a.v); }
#else
typedef float HalfF32 __attribute__((vector_size(8)));
SDX_INLINE Pair<F64> to_f64(F32 a) {
  return {F64(__builtin_convertvector(__builtin_shufflevector(a.v, a.v, 0, 1), RawF64)),
          F64(__builtin_convertvector(__builtin_shufflevector(a.v, a.v, 2, 3), RawF64))};
}
SDX_INLINE F32 to_f32(Pair<F64> a) {
  return __builtin_shufflevector(__builtin_convertvector(a.lo.v, HalfF32),
                                 __builtin_convertvector(a.hi.v, HalfF32), 0, 1, 2, 3);
}
SDX_INLINE F32 sqrt(F32 a) {
  return RawF32{__builtin_sqrtf(a.v[0]), __builtin_sqrtf(a.v[1]), __builtin_sqrtf(a.v[2]),
                __builtin_sqrtf(a.v[3])};
}
SDX_INLINE F64 sqrt(F64 a) { return RawF64{__builtin_sqrt(a.v[0]), __builtin_sqrt(a.v[1])}; }
#endif
#if defined(__FP_FAST_FMAF)
SDX_INLINE F32 fma(F32 a, F32 b, F32 c) {
  return RawF32{__builtin_fmaf(a.v[0], b.v[0], c.v[0]), __builtin_fmaf(a.v[1], b.v[1], c.v[1]),
                __builtin_fmaf(a.v[2], b.v[2], c.v[2]), __builtin_fmaf(a.v[3], b.v[3], c.v[3])};
}
#else
#define SDX_SOFT_FMA 1
F32 fma(F32 a, F32 b, F32 c);  // fma.isa.cc
#endif
SDX_INLINE F32 min_raw(F32 a, F32 b) { return select(a < b, a, b); }
SDX_INLINE F32 max_raw(F32 a, F32 b) { return select(a > b, a, b); }
SDX_INLINE F64 min_raw(F64 a, F64 b) { return select(a < b, a, b); }
SDX_INLINE F64 max_raw(F64 a, F64 b) { return select(a > b, a, b); }
SDX_INLINE F32 round_even(F32 a) { return soft::round_even(a); }
SDX_INLINE F32 floor(F32 a) { return soft::floor(a); }
SDX_INLINE F32 ceil(F32 a) { return soft::ceil(a); }
SDX_INLINE F32 trunc(F32 a) { return soft::trunc(a); }
SDX_INLINE F32 ldexp(F32 a, I32 n) { return soft::ldexp(a, n); }
SDX_INLINE F32 ldexp(F32 a, F32 n) { return soft::ldexp(a, to_i32(n)); }
SDX_INLINE F32 lookup(const float (&table)[16], I32 index) {
  const RawI32 i = index.v & 15;
  return RawF32{table[i[0]], table[i[1]], table[i[2]], table[i[3]]};
}
SDX_INLINE I32 load_u16(const uint16_t* p) {
  HalfU16 raw;
  memcpy(&raw, p, 8);
  return __builtin_convertvector(raw, RawI32);
}
SDX_INLINE void store_u16(uint16_t* p, I32 a) {
  const HalfU16 raw = __builtin_convertvector(a.v, HalfU16);
  memcpy(p, &raw, 8);
}
SDX_INLINE F32 load_u16_as_f16(const uint16_t* p) { return soft::widen_f16(load_u16(p)); }
SDX_INLINE void store_f16_raw(uint16_t* p, F32 a) { store_u16(p, soft::narrow_f16(a)); }

#endif

}  // namespace sdx::SDX_ISA
