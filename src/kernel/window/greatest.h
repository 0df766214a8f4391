// The greatest elements of windows, for *.isa.cc files: NaN if one is NaN, +0 greater than -0,
// -infinity of none.
//
// The greatest of many does not depend on their order, so a row of windows is taken in two steps:
// the greatest down each column, into a buffer, and the greatest along it. Numbers are compared as
// floats, by one instruction that passes NaNs over and may take the wrong zero; both are noticed,
// and what they touch is taken again in a form that knows of them.
#pragma once

#include "kernel/simd/f32x16.h"
#include "kernel/window/pool_plane.h"
#include "kernel/window/stage_phases.h"

namespace sdx::SDX_ISA {

#if defined(SDX_ISA_avx512)
SDX_INLINE I32 greater_of(I32 a, I32 b) {
  return (RawI32)_mm512_max_epi32((__m512i)a.v, (__m512i)b.v);
}
#elif defined(SDX_ISA_avx2)
SDX_INLINE I32 greater_of(I32 a, I32 b) {
  return (RawI32)_mm256_max_epi32((__m256i)a.v, (__m256i)b.v);
}
#elif defined(SDX_ISA_neon)
SDX_INLINE I32 greater_of(I32 a, I32 b) { return (RawI32)vmaxq_s32(a.v, b.v); }
#else
SDX_INLINE I32 greater_of(I32 a, I32 b) { return select(a > b, a, b); }
#endif
template <class T>
SDX_INLINE Pair<T> greater_of(Pair<T> a, Pair<T> b) {
  return {greater_of(a.lo, b.lo), greater_of(a.hi, b.hi)};
}

// Integers in the order of floats, so that the greatest of many is one integer comparison each. The
// distance wraps around for the NaNs with a sign, which would come before -infinity: all NaNs are
// on top.
constexpr int32_t kBehindNans = 0x007fffff;
SDX_INLINE I32x16 key_of(F32x16 x) {
  const I32x16 i = bits(x);
  return (i ^ ((i >> 31) & I32x16(0x7fffffff))) - I32x16(kBehindNans);
}
SDX_INLINE F32x16 float_of(I32x16 key) {
  const I32x16 i = key + I32x16(kBehindNans);
  return lanes::canonical(from_bits(i ^ ((i >> 31) & I32x16(0x7fffffff))));
}

// Whether either lane is NaN.
#if defined(SDX_ISA_avx512)
SDX_INLINE M32 unordered(F32 a, F32 b) { return {_mm512_cmp_ps_mask(a.v, b.v, _CMP_UNORD_Q)}; }
#elif defined(SDX_ISA_avx2)
SDX_INLINE M32 unordered(F32 a, F32 b) { return {(RawI32)_mm256_cmp_ps(a.v, b.v, _CMP_UNORD_Q)}; }
#else
SDX_INLINE M32 unordered(F32 a, F32 b) { return (a != a) | (b != b); }
#endif
template <class T>
SDX_INLINE auto unordered(Pair<T> a, Pair<T> b) -> Pair<decltype(unordered(a.lo, b.lo))> {
  return {unordered(a.lo, b.lo), unordered(a.hi, b.hi)};
}

// As what elements are compared: as floats, where `odd` gathers what that gets wrong, or as keys,
// which get nothing wrong.
struct AsFloats {
  M16 odd = F32x16(0.0f) != F32x16(0.0f);
  SDX_INLINE static F32x16 none() { return F32x16(-__builtin_inff()); }
  SDX_INLINE F32x16 enter(F32x16 x) {
    odd = odd | (x != x);
    return x;
  }
  SDX_INLINE F32x16 enter(F32x16 a, F32x16 b) {  // the greater
    odd = odd | unordered(a, b);
    return max_raw(a, b);
  }
  SDX_INLINE static F32x16 greater(F32x16 a, F32x16 b) { return max_raw(a, b); }
  SDX_INLINE F32x16 leave(F32x16 x) {
    odd = odd | (bits(x) == I32x16(INT32_MIN));
    return x;
  }
  SDX_INLINE bool right() const { return !any(odd); }
};
struct AsKeys {
  SDX_INLINE static F32x16 none() { return from_bits(key_of(F32x16(-__builtin_inff()))); }
  SDX_INLINE static F32x16 enter(F32x16 x) { return from_bits(key_of(x)); }
  SDX_INLINE static F32x16 enter(F32x16 a, F32x16 b) { return greater(enter(a), enter(b)); }
  SDX_INLINE static F32x16 greater(F32x16 a, F32x16 b) {
    return from_bits(greater_of(bits(a), bits(b)));
  }
  SDX_INLINE static F32x16 leave(F32x16 key) { return float_of(bits(key)); }
  SDX_INLINE static bool right() { return true; }
};

// Taps [begin, end) of an output along an axis lie in the image, the first of all at `first`.
struct Reach {
  ptrdiff_t first;
  size_t begin, end;
  SDX_INLINE Reach(const PoolShape& s, int axis, size_t output)
      : first(ptrdiff_t(output * s.stride[axis]) - ptrdiff_t(s.pad[axis])),
        begin(0),
        end(s.kernel[axis]) {
    const auto step = ptrdiff_t(s.dilation[axis]), size = ptrdiff_t(s.in[axis]);
    while (begin < end && first + ptrdiff_t(begin) * step < 0) ++begin;
    while (end > begin && first + ptrdiff_t(end - 1) * step >= size) --end;
  }
  SDX_INLINE bool whole(const PoolShape& s, int axis) const {
    return begin == 0 && end == s.kernel[axis];
  }
};

// The rows that an output row's windows are over: `deep` times `down` of them.
struct WindowRows {
  const float* first;
  size_t deep, down;
  ptrdiff_t deeper, lower;
  SDX_INLINE WindowRows(const PoolShape& s, const float* x, size_t z, size_t row) {
    const Reach in_depth(s, 0, z), in_height(s, 1, row);
    const auto width = ptrdiff_t(s.in[2]), plane = ptrdiff_t(s.in[1]) * width;
    deep = in_depth.end - in_depth.begin;
    down = in_height.end - in_height.begin;
    deeper = ptrdiff_t(s.dilation[0]) * plane;
    lower = ptrdiff_t(s.dilation[1]) * width;
    first = deep * down == 0 ? x
                             : x + in_depth.first * plane + ptrdiff_t(in_depth.begin) * deeper +
                                   in_height.first * width + ptrdiff_t(in_height.begin) * lower;
  }
};

// The greatest of sixteen columns; get(a row's address) loads their elements.
template <class As, class Get>
SDX_INLINE F32x16 down_columns(As& as, const WindowRows& rows, Get get) {
  F32x16 most = as.none();
  for (size_t z = 0; z < rows.deep; ++z) {
    const float* at = rows.first + ptrdiff_t(z) * rows.deeper;
    size_t k = 0;
    for (; k + 2 <= rows.down; k += 2, at += 2 * rows.lower)
      most = as.greater(most, as.enter(get(at), get(at + rows.lower)));
    if (k < rows.down) most = as.greater(most, as.enter(get(at)));
  }
  return most;
}

// The columns of one output row's windows, with padding on both sides: `s.row_floats()` of them.
template <class As>
SDX_INLINE void greatest_down(As& as, const PoolShape& s, const WindowRows& rows, float* columns) {
  const size_t in = s.in[2], whole = in / 16 * 16, rest = in - whole;
  float* to = columns + s.pad[2];
  fill_row(columns, s.pad[2], as.none());
  for (size_t c = 0; c < whole; c += 16)
    store(to + c, down_columns(as, rows, [c](const float* row) { return load(row + c); }));
  if (rest != 0) {
    const auto get = [=](const float* row) { return load_n(row + whole, rest, -__builtin_inff()); };
    store(to + whole, down_columns(as, rows, get));
  }
  const size_t end = s.pad[2] + whole + (rest != 0 ? 16 : 0);
  fill_row(columns + end, s.row_floats() - end, as.none());
}

// The outputs of a row from its columns. kTaps: how many make a window; 0: as many as the shape
// says.
template <int kTaps, class As>
SDX_INLINE void greatest_along(As& as, const PoolShape& s, float* columns, float* y) {
  const size_t width = s.out[2], stride = s.stride[2], step = s.dilation[2];
  const size_t taps = kTaps != 0 ? kTaps : s.kernel[2];
  const auto along = [&](size_t at) __attribute__((always_inline)) {
    F32x16 most = load(columns + at);
    for (size_t k = 1; k < taps; ++k) most = as.greater(most, load(columns + at + k * step));
    return most;
  };
  // Where few windows lie in a vector, all are made, each in the place of its first column.
  for (size_t at = 0; stride > 2 && at <= (width - 1) * stride; at += 16)
    store(columns + at, along(at));
  for (size_t c = 0; c < width; c += 16) {
    const size_t count = width - c < 16 ? width - c : 16;
    F32x16 most;
    if (stride == 1) {
      most = along(c);
    } else if (stride == 2) {
      most = every_second(along(2 * c), along(2 * c + 16));
    } else {
      float some[16];
      store(some, as.none());
      for (size_t i = 0; i < count; ++i) some[i] = columns[(c + i) * stride];
      most = load(some);
    }
    most = as.leave(most);
    if (count == 16) {
      store(y + c, most);
    } else {
      store_n(y + c, most, count);
    }
  }
}

// One row of outputs. False: there is something odd in it. `columns`: shape.row_floats().
template <class As>
SDX_INLINE bool greatest_row(const PoolShape& s, const WindowRows& rows, float* y, float* columns) {
  As as;
  greatest_down(as, s, rows, columns);
  switch (s.kernel[2]) {
    case 2:
      greatest_along<2>(as, s, columns, y);
      break;
    case 3:
      greatest_along<3>(as, s, columns, y);
      break;
    default:
      greatest_along<0>(as, s, columns, y);
  }
  return as.right();
}

}  // namespace sdx::SDX_ISA
