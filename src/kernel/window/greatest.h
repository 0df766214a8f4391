// The greatest elements of windows, for *.isa.cc files: NaN if one is NaN, +0 greater than -0,
// -infinity of none.
//
// The greatest of many does not depend on their order, so a row of windows is taken in two steps:
// the greatest down each column, into a buffer or registers, and the greatest along it. Numbers are
// compared as floats, by one instruction that passes NaNs over and may take the wrong zero; both
// are noticed, and what they touch is taken again in a form that knows of them.
#pragma once

#include "kernel/simd/f32x16.h"
#include "kernel/simd/unroll.h"
#include "kernel/window/pool_plane.h"
#include "kernel/window/stage_phases.h"
#include "kernel/window/within.h"

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

// `so_far` where moreover neither lane is NaN, and where moreover x is not -0. A comparison under a
// mask is one instruction where masks are registers of their own.
#if defined(SDX_ISA_avx512)
SDX_INLINE M32 ordered(M32 so_far, F32 a, F32 b) {
  return {_mm512_mask_cmp_ps_mask(so_far.m, a.v, b.v, _CMP_ORD_Q)};
}
SDX_INLINE M32 not_minus_zero(M32 so_far, F32 x) {
  return {_mm512_mask_cmpneq_epi32_mask(so_far.m, (__m512i)x.v, _mm512_set1_epi32(INT32_MIN))};
}
#else
#if defined(SDX_ISA_avx2)
SDX_INLINE M32 ordered(M32 so_far, F32 a, F32 b) {
  return so_far & M32{(RawI32)_mm256_cmp_ps(a.v, b.v, _CMP_ORD_Q)};
}
#else
SDX_INLINE M32 ordered(M32 so_far, F32 a, F32 b) { return so_far & (a == a) & (b == b); }
#endif
SDX_INLINE M32 not_minus_zero(M32 so_far, F32 x) { return so_far & ~(bits(x) == I32(INT32_MIN)); }
#endif
template <class M, class T>
SDX_INLINE Pair<M> ordered(Pair<M> so_far, Pair<T> a, Pair<T> b) {
  return {ordered(so_far.lo, a.lo, b.lo), ordered(so_far.hi, a.hi, b.hi)};
}
template <class M, class T>
SDX_INLINE Pair<M> not_minus_zero(Pair<M> so_far, Pair<T> x) {
  return {not_minus_zero(so_far.lo, x.lo), not_minus_zero(so_far.hi, x.hi)};
}

// As what elements are compared: as floats, where `fine` is what that gets right, or as keys, which
// get nothing wrong.
struct AsFloats {
  M16 fine = F32x16(0.0f) == F32x16(0.0f);
  SDX_INLINE static F32x16 none() { return F32x16(-__builtin_inff()); }
  SDX_INLINE F32x16 enter(F32x16 x) {
    fine = ordered(fine, x, x);
    return x;
  }
  SDX_INLINE F32x16 enter(F32x16 a, F32x16 b) {  // the greater
    fine = ordered(fine, a, b);
    return max_raw(a, b);
  }
  SDX_INLINE static F32x16 greater(F32x16 a, F32x16 b) { return max_raw(a, b); }
  SDX_INLINE F32x16 leave(F32x16 x) {
    fine = not_minus_zero(fine, x);
    return x;
  }
  SDX_INLINE bool right() const { return all(fine); }
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
  SDX_INLINE WindowRows(const PoolShape& s, const float* x, const Reach& in_depth, size_t row) {
    const Reach in_height(s, 1, row);
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

// The greatest of some times sixteen columns; get(a row's address, which sixteen) loads elements.
template <int kSixteens>
struct Sixteens {
  F32x16 of[kSixteens];
};
template <int kSixteens, class As, class Get>
SDX_INLINE Sixteens<kSixteens> down_columns(As& as, const WindowRows& rows, Get get) {
  Sixteens<kSixteens> most;
  repeat<kSixteens>([&](int i) __attribute__((always_inline)) { most.of[i] = as.none(); });
  for (size_t z = 0; z < rows.deep; ++z) {
    const float* at = rows.first + ptrdiff_t(z) * rows.deeper;
    size_t k = 0;
    for (; k + 2 <= rows.down; k += 2, at += 2 * rows.lower) {
      repeat<kSixteens>([&](int i) __attribute__((always_inline)) {
        most.of[i] = as.greater(most.of[i], as.enter(get(at, i), get(at + rows.lower, i)));
      });
    }
    if (k == rows.down) continue;
    repeat<kSixteens>([&](int i) __attribute__((always_inline)) {
      most.of[i] = as.greater(most.of[i], as.enter(get(at, i)));
    });
  }
  return most;
}
template <class As, class Get>
SDX_INLINE F32x16 down_columns(As& as, const WindowRows& rows, Get get) {
  return down_columns<1>(as, rows, [&](const float* row, int) { return get(row); }).of[0];
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

// The greatest down some times sixteen columns from `first` on, which may lie beside the image.
template <int kSixteens, class As>
SDX_INLINE Sixteens<kSixteens> down_from(As& as, const PoolShape& s, const WindowRows& rows,
                                         ptrdiff_t first) {
  const auto size = ptrdiff_t(s.in[2]);
  if (first >= 0 && first + 16 * kSixteens <= size) {
    return down_columns<kSixteens>(
        as, rows, [=](const float* row, int i) { return load(row + first + 16 * i); });
  }
  const F32x16 none(-__builtin_inff());
  if constexpr (kSixteens == 1) {
    const Within in(first, size);
    return down_columns<1>(as, rows,
                           [&](const float* row, int) { return in.load_from(row + first, none); });
  } else {
    const Within in[2] = {{first, size}, {first + 16, size}};
    return down_columns<2>(as, rows, [&](const float* row, int i) {
      return in[i].load_from(row + first + 16 * i, none);
    });
  }
}

// Rows of windows without a buffer, where the greatest down all columns lie in a few registers:
// two or three columns, every second window, and three columns, every window. Where sixteen lanes
// take four registers, the ends of rows would take longer than the buffer.
constexpr bool kFewRegisters = 16 * sizeof(float) <= 2 * size_t(kRegisterBytes);
SDX_INLINE bool finds_pairs(const PoolShape& s) {
  return kFewRegisters && s.stride[2] == 2 && s.dilation[2] == 1 &&
         (s.kernel[2] == 2 || s.kernel[2] == 3);
}
SDX_INLINE bool finds_neighbours(const PoolShape& s) {
  return kFewRegisters && s.stride[2] == 1 && s.dilation[2] == 1 && s.kernel[2] == 3;
}

template <class As>
SDX_INLINE void put_greatest(As& as, F32x16 most, float* y, size_t count) {
  most = as.leave(most);
  if (count >= 16) {
    store(y, most);
  } else {
    store_n(y, most, count);
  }
}

// Even and odd columns of 32 make sixteen windows.
template <int kTaps, class As>
SDX_INLINE void greatest_of_pairs(As& as, const PoolShape& s, const WindowRows& rows, float* y) {
  struct Columns {
    F32x16 even, odd;
  };
  const auto columns = [&](size_t c) __attribute__((always_inline)) {
    const auto some = down_from<2>(as, s, rows, ptrdiff_t(2 * c) - ptrdiff_t(s.pad[2]));
    return Columns{every_second<0>(some.of[0], some.of[1]),
                   every_second<1>(some.of[0], some.of[1])};
  };
  const size_t width = s.out[2];
  Columns here = columns(0);
  for (size_t c = 0; c < width; c += 16) {
    F32x16 most = as.greater(here.even, here.odd);
    if constexpr (kTaps == 3) {
      const Columns next = c + 16 <= width ? columns(c + 16) : here;
      most = as.greater(most, moved_up<1>(here.even, next.even));
      here = next;
    } else if (c + 16 < width) {
      here = columns(c + 16);
    }
    put_greatest(as, most, y + c, width - c);
  }
}

template <class As>
SDX_INLINE void greatest_of_neighbours(As& as, const PoolShape& s, const WindowRows& rows,
                                       float* y) {
  const size_t width = s.out[2];
  const auto columns = [&](size_t c) __attribute__((always_inline)) {
    return down_from<1>(as, s, rows, ptrdiff_t(c) - ptrdiff_t(s.pad[2])).of[0];
  };
  F32x16 here = columns(0);
  for (size_t c = 0; c < width; c += 16) {
    const F32x16 next = c + 14 < width ? columns(c + 16) : here;
    const F32x16 behind = as.greater(moved_up<1>(here, next), moved_up<2>(here, next));
    put_greatest(as, as.greater(here, behind), y + c, width - c);
    here = next;
  }
}

// One row of outputs. False: there is something odd in it. `columns`: shape.row_floats().
template <class As>
SDX_INLINE bool greatest_row(const PoolShape& s, const WindowRows& rows, float* y, float* columns) {
  As as;
  if (finds_neighbours(s)) {
    greatest_of_neighbours(as, s, rows, y);
    return as.right();
  }
  if (finds_pairs(s)) {
    s.kernel[2] == 2 ? greatest_of_pairs<2>(as, s, rows, y) : greatest_of_pairs<3>(as, s, rows, y);
    return as.right();
  }
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
