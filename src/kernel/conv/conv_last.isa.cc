#include "kernel/conv/conv_last.h"

#include "kernel/conv/conv_last_end.h"
#include "kernel/gemm_int8/vnni.h"

namespace sdx::SDX_ISA {
namespace {

// As many pixels as leave registers for the weights of a panel.
constexpr int kPixels = 6;

// What remains to be done to `n` bytes that the convolution has made.
void add_other(const ConvLastBlock& b, const uint8_t* bytes, size_t pixel) {
  const size_t at = pixel * b.ldy;
  add_bytes(*b.sum.steps, bytes, b.other + at, b.y + at, b.channels);
}

#if defined(SDX_ISA_avx512)

// One pixel's sums as bytes, step by step.
[[gnu::noinline]] void end_pixel(const ConvLastBlock& b, const int32_t* sum, size_t pixel) {
  uint8_t own[kLastPanel];
  uint8_t* y = b.other == nullptr ? b.y + pixel * b.ldy : own;
  for (size_t lane = 0; lane < b.channels; lane += 16) store_bytes(b, sum + lane, lane, y);
  if (b.other != nullptr) add_other(b, own, pixel);
}

template <int Pixels, int Vecs>
void vnni_tile(const ConvLastBlock& b, const uint8_t* const* pixels, size_t pixel) {
  __m512i acc[Pixels][Vecs];
  const uint8_t* x[Pixels];
  unroll<Pixels>([&](auto p) __attribute__((always_inline)) {
    x[p.value] = pixels[p.value];
    unroll<Vecs>([&](auto v) __attribute__((always_inline)) {
      acc[p.value][v.value] = _mm512_loadu_si512(b.add + 16 * v.value);
      asm("" : "+v"(acc[p.value][v.value]));
    });
  });
  const int8_t* w = b.w;
  for (size_t ry = 0; ry < b.runs_y; ++ry) {
    for (size_t rx = 0; rx < b.runs_x; ++rx) {
      const size_t run = ry * b.step_y + rx * b.step_x, end = run + 4 * b.quads;
      for (size_t at = run; at != end; at += 4, w += 64 * Vecs) {
        __m512i weights[Vecs];
        unroll<Vecs>([&](auto v) __attribute__((always_inline)) {
          weights[v.value] = _mm512_loadu_si512(w + 64 * v.value);
        });
        unroll<Pixels>([&](auto p) __attribute__((always_inline)) {
          int32_t quad;
          std::memcpy(&quad, x[p.value] + at, sizeof quad);
          const __m512i four = _mm512_set1_epi32(quad);
          unroll<Vecs>([&](auto v) __attribute__((always_inline)) {
            acc[p.value][v.value] = dot_quads(acc[p.value][v.value], four, weights[v.value]);
          });
        });
      }
    }
  }
  // The quick ways need a whole panel; no call comes between them and the sums, which would leave
  // the registers for it.
  alignas(64) int32_t sum[Pixels * kLastPanel];
  const auto put_aside = [&](auto p) __attribute__((always_inline)) {
    unroll<Vecs>([&](auto v) __attribute__((always_inline)) {
      _mm512_store_si512(sum + p.value * kLastPanel + v.value * 16, acc[p.value][v.value]);
    });
  };
  unsigned left = 0;  // pixels that were put aside
  const bool quick = Vecs == 4 && b.tame && b.channels == kLastPanel;
  if (quick && b.other == nullptr) {
    if constexpr (Vecs == 4) {
      const LastBytes bytes(b);
      unroll<Pixels>([&](auto p) __attribute__((always_inline)) {
        _mm512_storeu_si512(b.y + (pixel + p.value) * b.ldy, bytes.of(acc[p.value]));
      });
    }
  } else if (quick && b.sum.near) {
    if constexpr (Vecs == 4) {
      const LastBytesAndOther both(b);
      unroll<Pixels>([&](auto p) __attribute__((always_inline)) {
        const size_t at = (pixel + p.value) * b.ldy;
        if (both.store(acc[p.value], b.other + at, b.y + at)) return;
        put_aside(p);
        left |= 1u << p.value;
      });
    }
  } else {
    unroll<Pixels>(put_aside);
    left = (1u << Pixels) - 1;
  }
  for (; left != 0; left &= left - 1) {
    const auto p = size_t(__builtin_ctz(left));
    end_pixel(b, sum + p * kLastPanel, pixel + p);
  }
}

using TileFn = void (*)(const ConvLastBlock&, const uint8_t* const*, size_t);
struct LastTiles {
  TileFn fn[kPixels][4];
};
constexpr LastTiles make_tiles() {
  LastTiles table{};
  unroll<kPixels>([&](auto p) {
    unroll<4>([&](auto v) { table.fn[p.value][v.value] = &vnni_tile<p.value + 1, v.value + 1>; });
  });
  return table;
}
constexpr LastTiles kLastTiles = make_tiles();

#endif

// One pixel: lanes are output channels.
void one_pixel(const ConvLastBlock& b, const uint8_t* x, size_t pixel) {
  alignas(64) uint32_t sum[kLastPanel] = {};
  const int8_t* w = b.w;
  for (size_t ry = 0; ry < b.runs_y; ++ry) {
    for (size_t rx = 0; rx < b.runs_x; ++rx) {
      const uint8_t* a = x + ry * b.step_y + rx * b.step_x;
      for (size_t i = 0; i < b.quads; ++i, a += 4, w += 4 * b.width) {
        for (size_t j = 0; j < b.width; ++j) {
          sum[j] += uint32_t(a[0] * w[4 * j] + a[1] * w[4 * j + 1] + a[2] * w[4 * j + 2] +
                             a[3] * w[4 * j + 3]);
        }
      }
    }
  }
  uint8_t own[kLastPanel];
  uint8_t* y = b.other == nullptr ? b.y + pixel * b.ldy : own;
  for (size_t j = 0; j < b.channels; ++j) {
    const auto s = int32_t(sum[j] + uint32_t(b.add[j]));
    y[j] = saturated(float(s) * b.ratio[j], b.zero, b.y_signed ? -128 : 0);
  }
  if (b.other != nullptr) add_other(b, own, pixel);
}

// Where the pixels of the output begin in x, one after the other.
struct Pixels {
  const ConvLastBlock& b;
  size_t column;
  const uint8_t* row;
  explicit Pixels(const ConvLastBlock& block)
      : b(block),
        column(block.first % block.out_columns),
        row(block.x + block.first / block.out_columns * block.row_step) {}
  const uint8_t* next() {
    const uint8_t* x = row + column * b.column_step;
    if (++column == b.out_columns) {
      column = 0;
      row += b.row_step;
    }
    return x;
  }
};

// The pixels of a window, a vector of channels at a time.
template <class Int>
void max_of(const MaxLastWindow& w, uint8_t* y) {
  typedef Int Bytes __attribute__((vector_size(64)));
  constexpr Int kLeast = Int(-1) < Int(0) ? Int(-128) : Int(0);
  const auto greatest = [&](size_t first, size_t n) __attribute__((always_inline)) {
    Bytes most = Bytes{} + kLeast;
    for (size_t row = 0; row < w.rows; ++row) {
      for (size_t column = 0; column < w.columns; ++column) {
        Bytes x{};
        std::memcpy(&x, w.x + row * w.row_step + column * w.column_step + first, n);
        most = x > most ? x : most;
      }
    }
    std::memcpy(y + first, &most, n);
  };
  size_t first = 0;
  for (; first + sizeof(Bytes) <= w.channels; first += sizeof(Bytes))
    greatest(first, sizeof(Bytes));
  if (first < w.channels) greatest(first, w.channels - first);
}

}  // namespace

void conv_last_block(const ConvLastBlock& b) {
  Pixels pixels(b);
#if defined(SDX_ISA_avx512)
  if (b.vnni) {
    const size_t count = b.last - b.first, tiles = (count + kPixels - 1) / kPixels;
    for (size_t i = 0; i < tiles; ++i) {
      const size_t begin = count * i / tiles, height = count * (i + 1) / tiles - begin;
      const uint8_t* x[kPixels];
      for (size_t p = 0; p < height; ++p) x[p] = pixels.next();
      kLastTiles.fn[height - 1][b.width / 16 - 1](b, x, b.first + begin);
    }
    return;
  }
#endif
  for (size_t pixel = b.first; pixel < b.last; ++pixel) one_pixel(b, pixels.next(), pixel);
}

void max_last(const MaxLastWindow& w, uint8_t* y) {
  return w.is_signed ? max_of<int8_t>(w, y) : max_of<uint8_t>(w, y);
}

}  // namespace sdx::SDX_ISA
