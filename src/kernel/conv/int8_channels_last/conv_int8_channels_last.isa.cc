#include "kernel/conv/int8_channels_last/conv_int8_channels_last.h"

#include "kernel/conv/int8_channels_last/to_bytes.h"
#include "kernel/gemm_int8/neon.h"
#include "kernel/gemm_int8/ready_rows.h"
#include "kernel/gemm_int8/vnni.h"

namespace sdx::SDX_ISA {
namespace {

// As many pixels as leave registers for the weights of a panel.
#if defined(SDX_ISA_neon)
constexpr int kPixels = 5;
#else
constexpr int kPixels = 6;
#endif
// Of pixels and of quads: with fewer, AMX would wait for its weights or multiply zeros.
constexpr size_t kLeastForTiles = 4, kLeastQuadsForTiles = 16;

#if defined(SDX_ISA_avx512)

template <int Pixels, int Vecs>
void vnni_tile(const Int8ChannelsLastBlock& b, const uint8_t* const* pixels, size_t pixel) {
  __m512i acc[Pixels][Vecs];
  const uint8_t* x[Pixels];
  repeat<Pixels>([&](int p) __attribute__((always_inline)) {
    x[p] = pixels[p];
    repeat<Vecs>([&](int v) __attribute__((always_inline)) {
      acc[p][v] = _mm512_loadu_si512(b.add + 16 * v);
      asm("" : "+v"(acc[p][v]));
    });
  });
  const int8_t* w = b.w;
  for (size_t ry = 0; ry < b.runs_y; ++ry) {
    for (size_t rx = 0; rx < b.runs_x; ++rx) {
      const size_t run = ry * b.step_y + rx * b.step_x, end = run + 4 * b.quads;
      for (size_t at = run; at != end; at += 4, w += 64 * Vecs) {
        __m512i weights[Vecs];
        repeat<Vecs>([&](int v) __attribute__((always_inline)) {
          weights[v] = _mm512_loadu_si512(w + 64 * v);
        });
        repeat<Pixels>([&](int p) __attribute__((always_inline)) {
          int32_t quad;
          std::memcpy(&quad, x[p] + at, sizeof quad);
          const __m512i four = _mm512_set1_epi32(quad);
          repeat<Vecs>([&](int v) __attribute__((always_inline)) {
            acc[p][v] = dot_quads(acc[p][v], four, weights[v]);
          });
        });
      }
    }
  }
  // No call comes between the quick ways and the sums, which would leave the registers for it.
  alignas(64) int32_t sum[Pixels * kChannelsLastPanel];
  const auto put_aside = [&](int p) __attribute__((always_inline)) {
    repeat<Vecs>([&](int v) __attribute__((always_inline)) {
      _mm512_store_si512(sum + p * kChannelsLastPanel + v * 16, acc[p][v]);
    });
  };
  unsigned left = 0;  // pixels that were put aside
  const bool whole = Vecs == 4 && b.channels == kChannelsLastPanel;
  if (b.tame && b.other == nullptr) {
    const LastBytes bytes(b);
    const __mmask64 there = some_channels(b);
    repeat<Pixels>([&](int p) __attribute__((always_inline)) {
      __m512i four[4];
      repeat<4>([&](int v) __attribute__((always_inline)) { four[v] = acc[p][v < Vecs ? v : 0]; });
      _mm512_mask_storeu_epi8(b.y + (pixel + p) * b.ldy, there, bytes.of(four));
    });
  } else if (whole && b.tame && b.sum.near) {
    if constexpr (Vecs == 4) {
      const LastBytesAndOther both(b);
      repeat<Pixels>([&](int p) __attribute__((always_inline)) {
        const size_t at = (pixel + p) * b.ldy;
        if (both.store(acc[p], b.other + at, b.y + at)) return;
        put_aside(p);
        left |= 1u << p;
      });
    }
  } else {
    repeat<Pixels>(put_aside);
    left = (1u << Pixels) - 1;
  }
  for (; left != 0; left &= left - 1) {
    const auto p = size_t(__builtin_ctz(left));
    end_pixel(b, sum + p * kChannelsLastPanel, pixel + p);
  }
}

using TileFn = void (*)(const Int8ChannelsLastBlock&, const uint8_t* const*, size_t);
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

#if defined(SDX_ISA_avx2)

// Sixteen channels by vpdpbusd, in its older or newer encoding.
template <bool kVex, int Pixels>
void half_tile(const Int8ChannelsLastBlock& b, const uint8_t* const* pixels, size_t lane,
               int32_t* sum) {
  __m256i acc[Pixels][2];
  const uint8_t* x[Pixels];
  repeat<Pixels>([&](int p) __attribute__((always_inline)) {
    x[p] = pixels[p];
    acc[p][0] = acc[p][1] = _mm256_setzero_si256();
  });
  const int8_t* w = b.w + 4 * lane;
  for (size_t ry = 0; ry < b.runs_y; ++ry) {
    for (size_t rx = 0; rx < b.runs_x; ++rx) {
      const size_t run = ry * b.step_y + rx * b.step_x, end = run + 4 * b.quads;
      for (size_t at = run; at != end; at += 4, w += 4 * b.width) {
        const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(w));
        const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(w + 32));
        repeat<Pixels>([&](int p) __attribute__((always_inline)) {
          int32_t quad;
          std::memcpy(&quad, x[p] + at, sizeof quad);
          const __m256i four = _mm256_set1_epi32(quad);
          acc[p][0] = dot_quads<kVex>(acc[p][0], four, low);
          acc[p][1] = dot_quads<kVex>(acc[p][1], four, high);
        });
      }
    }
  }
  repeat<Pixels>([&](int p) __attribute__((always_inline)) {
    auto* to = reinterpret_cast<__m256i*>(sum + p * kChannelsLastPanel + lane);
    _mm256_storeu_si256(to, acc[p][0]);
    _mm256_storeu_si256(to + 1, acc[p][1]);
  });
}

template <bool kVex>
void half_tiles(const Int8ChannelsLastBlock& b) {
  LastPixels next(b);
  for (size_t pixel = b.first; pixel < b.last;) {
    const size_t pixels = b.last - pixel < kPixels ? b.last - pixel : kPixels;
    alignas(64) int32_t sum[kPixels * kChannelsLastPanel];
    const uint8_t* x[kPixels];
    for (size_t p = 0; p < pixels; ++p) x[p] = next.next();
    for (size_t lane = 0; lane < b.width; lane += 16) {
      if (pixels == kPixels) {
        half_tile<kVex, kPixels>(b, x, lane, sum);
      } else {
        for (size_t p = 0; p < pixels; ++p)
          half_tile<kVex, 1>(b, x + p, lane, sum + p * kChannelsLastPanel);
      }
    }
    end_sums(b, sum, pixel, pixels);
    pixel += pixels;
  }
}

#elif defined(SDX_ISA_neon)

// Sixteen channels.
template <class Dot, int Pixels>
void dot_tile(const Int8ChannelsLastBlock& b, const uint8_t* const* pixels, size_t lane,
              int32_t* sum) {
  int32x4_t acc[Pixels][4];
  const uint8_t* x[Pixels];
  repeat<4>([&](int v) __attribute__((always_inline)) {
    const int32x4_t first = first_sum<Dot>(b.w_sum + lane + 4 * v);
    repeat<Pixels>([&](int p) __attribute__((always_inline)) { acc[p][v] = first; });
  });
  repeat<Pixels>([&](int p) __attribute__((always_inline)) { x[p] = pixels[p]; });
  const int8_t* w = b.w + 4 * lane;
  uint8x16_t quads[Pixels];
  const auto take = [&](auto q) __attribute__((always_inline)) {
    int8x16_t weights[4];
    repeat<4>([&](int v) __attribute__((always_inline)) { weights[v] = vld1q_s8(w + 16 * v); });
    w += 4 * b.width;
    repeat<Pixels>([&](int p) __attribute__((always_inline)) {
      repeat<4>([&](int v) __attribute__((always_inline)) {
        acc[p][v] = Dot::template add<q.value>(acc[p][v], weights[v], quads[p]);
      });
    });
  };
  for (size_t ry = 0; ry < b.runs_y; ++ry) {
    for (size_t rx = 0; rx < b.runs_x; ++rx) {
      size_t at = ry * b.step_y + rx * b.step_x;
      const size_t end = at + 4 * b.quads;
      for (; at + 16 <= end; at += 16) {
        repeat<Pixels>([&](int p) __attribute__((always_inline)) {
          quads[p] = flipped<Dot>(vld1q_u8(x[p] + at));
        });
        unroll<4>(take);
      }
      for (; at != end; at += 4) {
        repeat<Pixels>([&](int p) __attribute__((always_inline)) {
          uint32_t quad;
          std::memcpy(&quad, x[p] + at, sizeof quad);
          quads[p] = flipped<Dot>(vreinterpretq_u8_u32(vdupq_n_u32(quad)));
        });
        take(Index<0>{});
      }
    }
  }
  repeat<Pixels>([&](int p) __attribute__((always_inline)) {
    repeat<4>([&](int v) __attribute__((always_inline)) {
      vst1q_s32(sum + p * kChannelsLastPanel + lane + 4 * v, acc[p][v]);
    });
  });
}

template <class Dot>
void dot_tiles(const Int8ChannelsLastBlock& b) {
  LastPixels next(b);
  for (size_t pixel = b.first; pixel < b.last;) {
    const size_t pixels = b.last - pixel < kPixels ? b.last - pixel : kPixels;
    alignas(64) int32_t sum[kPixels * kChannelsLastPanel];
    const uint8_t* x[kPixels];
    for (size_t p = 0; p < pixels; ++p) x[p] = next.next();
    for (size_t lane = 0; lane < b.width; lane += 16) {
      unroll<kPixels>([&](auto p) {
        if (pixels == p.value + 1) dot_tile<Dot, p.value + 1>(b, x, lane, sum);
      });
    }
    end_sums(b, sum, pixel, pixels);
    pixel += pixels;
  }
}

#elif !defined(SDX_ISA_avx512)

// One pixel: lanes are output channels.
void one_pixel(const Int8ChannelsLastBlock& b, const uint8_t* x, size_t pixel) {
  alignas(64) uint32_t sum[kChannelsLastPanel] = {};
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
  end_sums(b, reinterpret_cast<int32_t*>(sum), pixel, 1);
}

#endif

#if defined(SDX_ISA_avx2) || defined(SDX_ISA_avx512)

// A stretch of what the reduction reads of any pixel, as pieces that lie together.
struct Pieces {
  struct Piece {
    size_t from, bytes;  // from where the pixel begins; whole quads
  };
  Piece piece[kReadyDepth / 4];
  size_t count = 0;

  // Those of bytes [begin, begin + n).
  void find(const Int8ChannelsLastBlock& b, size_t begin, size_t n) {
    count = 0;
    const size_t run_bytes = 4 * b.quads;
    size_t run = begin / run_bytes, at = begin % run_bytes;
    size_t y = run / b.runs_x, x = run % b.runs_x;
    for (; n != 0; at = 0) {
      const size_t bytes = run_bytes - at < n ? run_bytes - at : n;
      piece[count++] = {y * b.step_y + x * b.step_x + at, bytes};
      n -= bytes;
      if (++x == b.runs_x) x = 0, ++y;
    }
  }

  void copy(const uint8_t* pixel, uint8_t* to) const {
    for (size_t i = 0; i < count; ++i) {
      const uint8_t* from = pixel + piece[i].from;
      size_t left = piece[i].bytes;
      for (; left >= 32; left -= 32, from += 32, to += 32)
        _mm256_storeu_si256((__m256i*)to, _mm256_loadu_si256((const __m256i*)from));
      for (; left >= 8; left -= 8, from += 8, to += 8) std::memcpy(to, from, 8);
      if (left != 0) {
        std::memcpy(to, from, 4);
        to += 4;
      }
    }
  }
};

// Without instructions for bytes: pixels are made ready once for as many panels as there are sums
// for.
constexpr size_t kReadyChannels = 512, kReadyPanels = kReadyChannels / kChannelsLastPanel;

// The panels of a block, each as a block of its own.
struct OwnPanels {
  Int8ChannelsLastBlock of[kReadyPanels];
  size_t count = 0;
  Int8Most most;
  explicit OwnPanels(const Int8ChannelsLastBlock& b) {
    for (size_t first = 0; first < b.all_channels; first += kChannelsLastPanel) {
      of[count] = b.at(first);
      most.take(*of[count++].most);
    }
  }
};

void ready_pixels(const Int8ChannelsLastBlock& b) {
  LastPixels next(b);
  alignas(64) int32_t sum[kReadyPanels][kReadyRows * kChannelsLastPanel];
  ReadyRows rows;
  const OwnPanels panels(b);
  const SafeLimits limits(panels.most);
  Pieces pieces;
  const size_t depth = b.depth(), count = b.last - b.first,
               parts = (count + kReadyRows - 1) / kReadyRows;
  for (size_t i = 0; i < parts; ++i) {
    const size_t begin = count * i / parts, pixels = count * (i + 1) / parts - begin;
    const uint8_t* x[kReadyRows];
    for (size_t p = 0; p < pixels; ++p) x[p] = next.next();
    for (size_t k = 0; k < depth; k += kReadyDepth) {
      const size_t n = depth - k < kReadyDepth ? depth - k : kReadyDepth;
      if (i == 0 || depth > kReadyDepth) pieces.find(b, k, n);
      for (size_t p = 0; p < pixels; ++p) {
        std::memset(rows.bytes[p] + n / 32 * 32, 0, 32);
        pieces.copy(x[p], rows.bytes[p]);
      }
      rows.quads = n / 4;
      rows.settle(pixels, limits);
      for (size_t panel = 0; panel < panels.count; ++panel) {
        const size_t width = panels.of[panel].width;
        multiply_ready({rows, panels.of[panel].w + k * width, 4 * width, sum[panel],
                        kChannelsLastPanel, k != 0},
                       pixels, width);
      }
    }
    for (size_t panel = 0; panel < panels.count; ++panel)
      end_sums(panels.of[panel], sum[panel], b.first + begin, pixels);
  }
}

#endif

// The pixels of a window, a vector of channels at a time.
template <class Int>
void max_of(const MaxChannelsLastWindow& w, uint8_t* y) {
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

size_t conv_int8_channels_last_panels(Int8Unit unit, size_t panel_bytes) {
#if defined(SDX_ISA_avx2) || defined(SDX_ISA_avx512)
  // As many as stay in the second cache while the pixels pass over them.
  constexpr size_t kCached = 320 * 1024;
  if (unit == Int8Unit::plain) {
    const size_t fit = kCached / panel_bytes;
    return fit < 1 ? 1 : fit < kReadyPanels ? fit : kReadyPanels;
  }
#endif
  (void)unit, (void)panel_bytes;
  return 1;
}

void conv_int8_channels_last_block(const Int8ChannelsLastBlock& b) {
#if defined(SDX_ISA_avx512)
  const bool tiles = b.unit == Int8Unit::amx || b.unit == Int8Unit::amx_in_memory;
  if (tiles && b.last - b.first >= kLeastForTiles &&
      b.runs_y * b.runs_x * b.quads >= kLeastQuadsForTiles) {
    return conv_int8_channels_last_tiles(b);
  }
  if (b.unit != Int8Unit::plain) {
    LastPixels pixels(b);
    const size_t count = b.last - b.first, parts = (count + kPixels - 1) / kPixels;
    for (size_t i = 0; i < parts; ++i) {
      const size_t begin = count * i / parts, height = count * (i + 1) / parts - begin;
      const uint8_t* x[kPixels];
      for (size_t p = 0; p < height; ++p) x[p] = pixels.next();
      kLastTiles.fn[height - 1][b.width / 16 - 1](b, x, b.first + begin);
    }
    return;
  }
  ready_pixels(b);
#elif defined(SDX_ISA_avx2)
  if (b.unit == Int8Unit::avx_vnni) return half_tiles<true>(b);
  if (b.unit == Int8Unit::avx_vnni_evex) return half_tiles<false>(b);
  ready_pixels(b);
#elif defined(SDX_ISA_neon)
  if (b.unit == Int8Unit::neon_i8mm) return dot_tiles<MixedDot>(b);
  if (b.unit == Int8Unit::neon_dot) return dot_tiles<SignedDot>(b);
  dot_tiles<WideDot>(b);
#else
  LastPixels pixels(b);
  for (size_t pixel = b.first; pixel < b.last; ++pixel) one_pixel(b, pixels.next(), pixel);
#endif
}

void max_channels_last(const MaxChannelsLastWindow& w, uint8_t* y) {
  return w.is_signed ? max_of<int8_t>(w, y) : max_of<uint8_t>(w, y);
}

}  // namespace sdx::SDX_ISA
