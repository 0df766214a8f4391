#include "kernel/window/pool_plane.h"

#include "kernel/conv/blocked/work.h"
#include "kernel/simd/f32x16.h"
#include "kernel/simd/registers.h"
#include "kernel/simd/unroll.h"
#include "kernel/window/greatest.h"
#include "kernel/window/stage_phases.h"
#include "kernel/window/within.h"

namespace sdx::SDX_ISA {
namespace {

// The sums of windows of some planes; done(sum, output of the plane, how many count) is what is
// written.
template <class Done>
SDX_INLINE void sum_planes(const PoolWork& work, const float* x, float* y, size_t planes,
                           float* staged, Done done) {
  const PoolShape& s = *work.shape;
  const size_t size = phase_size(s), step = work.phase_step, taps = s.taps();
  const size_t outputs = s.outputs(), width = s.out[2];
  if (outputs == 0 || planes == 0) return;
  const size_t phases = phase_count(s), inputs = s.inputs();
  float* sums = staged + phases * step + kPhaseSlack;
  for (size_t p = 0; p < phases; ++p) {
    for (size_t i = 0; i < planes; ++i) {
      stage_phase<Borders::fill>(s, work.phase[p], x + i * inputs, F32x16(0.0f),
                                 staged + p * step + i * size, [](F32x16 some) { return some; });
    }
  }
  const size_t end = (planes - 1) * size + outputs_span(s);
  // Some vectors at once hide the latency of a sum.
  constexpr int kSums = kLanes == 16 ? 8 : 4;
  static_assert(16 * kSums <= kPhaseSlack);
  for (size_t at = 0; at < end; at += 16 * kSums) {
    F32x16 acc[kSums];
    repeat<kSums>([&](int v) __attribute__((always_inline)) { acc[v] = F32x16(0.0f); });
    for (size_t k = 0; k < taps; ++k) {
      const float* from = staged + work.tap[k] + at;
      repeat<kSums>([&](int v)
                        __attribute__((always_inline)) { acc[v] = acc[v] + load(from + 16 * v); });
    }
    repeat<kSums>([&](int v) __attribute__((always_inline)) { store(sums + at + 16 * v, acc[v]); });
  }
  const size_t down = phase_dim(s, 1), along = phase_dim(s, 2);
  const bool dense = down == s.out[1] && along == width;
  const size_t depth = dense ? 1 : s.out[0], rows = dense ? 1 : s.out[1];
  const size_t length = dense ? outputs : width;
  for (size_t plane = 0; plane < planes; ++plane) {
    size_t at = 0;
    for (size_t z = 0; z < depth; ++z) {
      for (size_t row = 0; row < rows; ++row, at += length, y += length) {
        const float* from = sums + plane * size + (z * down + row) * along;
        size_t i = 0;
        for (; i + 16 <= length; i += 16) store(y + i, done(load(from + i), at + i, size_t{16}));
        if (i < length) {
          const size_t count = length - i;
          store_n(y + i, done(load(from + i), at + i, count), count);
        }
      }
    }
  }
}

// The quotients of sums by one count. By a power of two it is a product; otherwise the product with
// the inverse is corrected once, which rounds as the quotient does where nothing over- or
// underflows (as in kernel/softmax).
struct EqualCounts {
  F32x16 count, inverse, rest, minus;
  bool exact;
  explicit EqualCounts(float n)
      : count(n),
        inverse(1.0f / n),
        rest(__builtin_fmaf(-(1.0f / n), n, 1.0f) * (1.0f / n)),
        minus(-n),
        exact((bits(one::F32(n)).v & 0x7fffff) == 0) {}
  SDX_INLINE F32x16 operator()(F32x16 sum) const {
    if (exact) return sum * inverse;
#if !defined(SDX_SOFT_FMA)
    const F32x16 size = lanes::abs(sum);
    const M16 usual =
        (size == F32x16(0.0f)) | ((size > F32x16(0x1p-77f)) & (size < F32x16(0x1p120f)));
    if (__builtin_expect(all(usual), 1)) {
      const F32x16 q = fma(sum, inverse, sum * rest);
      return fma(fma(q, minus, sum), inverse, q);
    }
#endif
    return sum / count;
  }
};

// each(input row, input plane) for those under an output's window that lie in the image.
template <class Each>
SDX_INLINE void each_row(const PoolShape& s, size_t z, size_t row, Each each) {
  for (size_t kz = 0; kz < s.kernel[0]; ++kz) {
    const size_t iz = z * s.stride[0] + kz * s.dilation[0] - s.pad[0];
    if (iz >= s.in[0]) continue;
    for (size_t ky = 0; ky < s.kernel[1]; ++ky) {
      const size_t iy = row * s.stride[1] + ky * s.dilation[1] - s.pad[1];
      if (iy < s.in[1]) each(iz * s.in[1] + iy);
    }
  }
}

// Every second window of Taps columns, sixteen of a row at once: take(acc, their elements at one
// tap), where 2 * i and 2 * i + 1 come out of the same 32. What is no element is `fill`.
template <int Taps, class V, class Take, class Done>
SDX_INLINE void pool_pairs_of(const PoolShape& s, const float* x, float* y, F32x16 fill, V start,
                              Take take, Done done) {
  const size_t width = s.out[2];
  const auto size = ptrdiff_t(s.in[2]), pad = ptrdiff_t(s.pad[2]);
  for (size_t c = 0; c < width; c += 16) {
    const size_t count = width - c < 16 ? width - c : 16;
    const ptrdiff_t first = ptrdiff_t(2 * c) - pad;
    const Within low[2] = {{first, size}, {first + 2, size}};
    const Within high[2] = {{first + 16, size}, {first + 18, size}};
    size_t to = c;
    for (size_t z = 0; z < s.out[0]; ++z) {
      for (size_t row = 0; row < s.out[1]; ++row, to += width) {
        V acc = start;
        each_row(
            s, z, row, [&](size_t line) __attribute__((always_inline)) {
              const float* from = x + ptrdiff_t(line) * size + first;
              unroll<(Taps + 1) / 2>([&](auto i) __attribute__((always_inline)) {
                const F32x16 a = low[i.value].load_from(from + 2 * i.value, fill);
                const F32x16 b = high[i.value].load_from(from + 2 * i.value + 16, fill);
                acc = take(acc, every_second<0>(a, b));
                if constexpr (2 * i.value + 1 < Taps) acc = take(acc, every_second<1>(a, b));
              });
            });
        store_n(y + to, done(acc, to, count), count);
      }
    }
  }
}

template <class V, class Take, class Done>
SDX_INLINE void pool_pairs(const PoolShape& s, const float* x, float* y, float fill, V start,
                           Take take, Done done) {
  switch (s.kernel[2]) {
    case 1:
      return pool_pairs_of<1>(s, x, y, F32x16(fill), start, take, done);
    case 2:
      return pool_pairs_of<2>(s, x, y, F32x16(fill), start, take, done);
    case 3:
      return pool_pairs_of<3>(s, x, y, F32x16(fill), start, take, done);
    default:
      return pool_pairs_of<4>(s, x, y, F32x16(fill), start, take, done);
  }
}

// take(acc, sixteen elements) over the windows of channels that come last.
template <class V, class Take, class Done>
SDX_INLINE void pool_channels(const PoolShape& s, const float* x, float* y, V start, Take take,
                              Done done) {
  const size_t width = s.in[2];
  size_t at = 0;
  for (size_t z = 0; z < s.out[0]; ++z) {
    for (size_t row = 0; row < s.out[1]; ++row) {
      for (size_t c = 0; c < width; c += 16, at += 16) {
        V acc = start;
        each_row(
            s, z, row, [&](size_t line) __attribute__((always_inline)) {
              acc = take(acc, load(x + line * width + c));
            });
        store(y + at, done(acc, at));
      }
    }
  }
}

// Sixteen planes, turned: take(acc, a pixel of each), and done(acc, output) is what is written.
template <class V, class Take, class Done>
SDX_INLINE void pool_turned(const PoolShape& s, const float* pixels, float* y, V start, Take take,
                            Done done) {
  // Outputs side by side, which hide the latency of a sum, and share what finds their taps.
  constexpr size_t kSide = kLanes == 16 ? 8 : 4;
  const size_t width = s.out[2], across = s.stride[2] * 16;
  // Columns whose windows lie beside the image at neither end.
  size_t first_whole = 0, past_whole = width;
  while (first_whole < width && !Reach(s, 2, first_whole).whole(s, 2)) ++first_whole;
  while (past_whole > first_whole && !Reach(s, 2, past_whole - 1).whole(s, 2)) --past_whole;
  const size_t line = s.in[2] * s.dilation[1] * 16, step = s.dilation[2] * 16;
  size_t at = 0;
  for (size_t row = 0; row < s.out[1]; ++row) {
    const Reach down(s, 1, row);
    const ptrdiff_t top = down.first + ptrdiff_t(down.begin * s.dilation[1]);
    const float* const rows = pixels + top * ptrdiff_t(s.in[2] * 16);
    const auto fold = [&](auto count, const Reach& along) __attribute__((always_inline)) {
      V acc[count.value];
      repeat<count.value>([&](int v) __attribute__((always_inline)) { acc[v] = start; });
      const float* from = rows + (along.first + ptrdiff_t(along.begin * s.dilation[2])) * 16;
      for (size_t ky = down.begin; ky < down.end; ++ky, from += line) {
        const float* tap = from;
        for (size_t kx = along.begin; kx < along.end; ++kx, tap += step) {
          repeat<count.value>([&](int v) __attribute__((always_inline)) {
            acc[v] = take(acc[v], load(tap + v * across));
          });
        }
      }
      repeat<count.value>([&](int v) __attribute__((always_inline)) {
        store(y + (at + v) * 16, done(acc[v], at + v));
      });
      at += size_t(count.value);
    };
    const auto fold_up_to = [&](size_t column, size_t end) __attribute__((always_inline)) {
      for (; column < end; ++column) fold(Index<1>(), Reach(s, 2, column));
    };
    fold_up_to(0, first_whole);
    size_t column = first_whole;
    for (; column + kSide <= past_whole; column += kSide)
      fold(Index<int(kSide)>(), Reach(s, 2, column));
    if (column + kSide / 2 <= past_whole) {
      fold(Index<int(kSide / 2)>(), Reach(s, 2, column));
      column += kSide / 2;
    }
    fold_up_to(column, width);
  }
}

// As many of some planes as come in sixteens, turned: enter(pixel of each) is what is taken.
// Returns how many.
template <class V, class Enter, class Take, class Done>
SDX_INLINE size_t pool_sixteens(const PoolShape& s, const float* x, float* y, size_t planes,
                                float* staged, V start, Enter enter, Take take, Done done) {
  if (!s.turns_planes()) return 0;
  const size_t inputs = s.inputs(), outputs = s.outputs();
  float* made = staged + 16 * inputs;
  size_t plane = 0;
  for (; plane + 16 <= planes; plane += 16) {
    to_blocks(x + plane * inputs, 16, inputs, staged);
    enter(staged, inputs);
    pool_turned(s, staged, made, start, take, done);
    from_blocks(made, 16, outputs, y + plane * outputs);
  }
  return plane;
}

// The greatest of windows of channels that come last.
void max_of_channels(const PoolShape& s, const float* x, float* y) {
  for (size_t z = 0; z < s.out[0]; ++z) {
    for (size_t row = 0; row < s.out[1]; ++row, y += s.in[2]) {
      const WindowRows rows(s, x, Reach(s, 0, z), row);
      const auto all = [&](auto as) __attribute__((always_inline)) {
        for (size_t c = 0; c < s.in[2]; c += 16) {
          const auto get = [c](const float* line) { return load(line + c); };
          store(y + c, as.leave(down_columns(as, rows, get)));
        }
        return as.right();
      };
      if (!all(AsFloats())) all(AsKeys());
    }
  }
}

void max_of_rows(const PoolShape& s, const float* x, float* y, float* columns) {
  const auto reach = ptrdiff_t((s.kernel[1] - 1) * s.dilation[1]);
  const auto step = ptrdiff_t(s.stride[1] * s.in[2]);
  for (size_t z = 0; z < s.out[0]; ++z) {
    const Reach in_depth(s, 0, z);
    WindowRows rows(s, x, in_depth, 0);
    bool was_whole = false;  // nothing of the windows above lay beside the image
    for (size_t row = 0; row < s.out[1]; ++row, y += s.out[2]) {
      const ptrdiff_t top = ptrdiff_t(row * s.stride[1]) - ptrdiff_t(s.pad[1]);
      const bool is_whole = top >= 0 && top + reach < ptrdiff_t(s.in[1]);
      if (is_whole && was_whole) {
        rows.first += step;
      } else {
        rows = WindowRows(s, x, in_depth, row);
      }
      was_whole = is_whole;
      if (!greatest_row<AsFloats>(s, rows, y, columns)) greatest_row<AsKeys>(s, rows, y, columns);
    }
  }
}

}  // namespace

void max_pool_planes(const PoolWork& work, const float* x, float* y, size_t planes, float* staged) {
  const PoolShape& s = *work.shape;
  if (s.outputs() == 0) return;
  size_t i = 0;
  for (; s.reads_channels() && i < planes; ++i)
    max_of_channels(s, x + i * s.inputs(), y + i * s.outputs());
  constexpr size_t kManyTaps = 36;  // more than it takes to look down and along
  // Rows that are long enough for vectors of their own.
  const bool in_rows = (finds_pairs(s) || finds_neighbours(s)) && s.out[2] > 24;
  if (s.taps() < kManyTaps && !in_rows) {
    i += pool_sixteens(
        s, x, y, planes - i, staged, key_of(F32x16(-__builtin_inff())),
        [](float* pixels, size_t n) {
          for (float* p = pixels; p != pixels + 16 * n; p += 16)
            store(p, from_bits(key_of(load(p))));
        },
        [](I32x16 acc, F32x16 key) { return greater_of(acc, bits(key)); },
        [](I32x16 acc, size_t) { return float_of(acc); });
  }
  for (; i < planes; ++i) max_of_rows(s, x + i * s.inputs(), y + i * s.outputs(), staged);
}

void average_pool_planes(const PoolWork& work, const float* x, const PoolCounts& counts, float* y,
                         size_t planes, float* staged) {
  const PoolShape& s = *work.shape;
  const F32x16 zero(0.0f);
  const auto add = [](F32x16 acc, F32x16 some) { return acc + some; };
  for (size_t i = 0; s.reads_channels() && i < planes; ++i) {
    pool_channels(
        s, x + i * s.inputs(), y + i * s.outputs(), zero, add,
        [&](F32x16 sum, size_t at) { return lanes::canonical(sum / load(counts.each + at)); });
  }
  if (s.reads_channels() || s.outputs() == 0) return;
  // each(sums, output) is what is written of sixteen planes, done(sums, first output of the plane,
  // how many) of a row.
  const auto pool = [&](auto each, auto done) __attribute__((always_inline)) {
    const size_t turned = pool_sixteens(
        s, x, y, planes, staged, zero, [](float*, size_t) {}, add, each);
    x += turned * s.inputs();
    y += turned * s.outputs();
    planes -= turned;
    for (size_t i = 0; s.reads_pairs() && i < planes; ++i) {
      pool_pairs(s, x + i * s.inputs(), y + i * s.outputs(), 0.0f, zero, add, done);
    }
    if (s.reads_pairs()) return;
    sum_planes(work, x, y, planes, staged, done);
  };
  if (counts.all_equal) {
    const EqualCounts divided(*counts.each);
    pool([&](F32x16 sum, size_t) { return lanes::canonical(divided(sum)); },
         [&](F32x16 sum, size_t, size_t) { return lanes::canonical(divided(sum)); });
  } else {
    pool([&](F32x16 sum, size_t at) { return lanes::canonical(sum / F32x16(counts.each[at])); },
         [&](F32x16 sum, size_t at, size_t count) {
           return lanes::canonical(sum / load_n(counts.each + at, count, 1.0f));
         });
  }
}

}  // namespace sdx::SDX_ISA
