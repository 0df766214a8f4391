#include <cstring>

#include "kernel/conv/int8_channels_last/conv_int8_channels_last.h"
#include "kernel/simd/numbers.h"

namespace sdx::SDX_ISA {
namespace {

constexpr size_t kChunk = 256;  // bytes of a channel that are put in order at a time

// Bytes [begin, begin + kChunk) of a channel's weights, [channels][taps], in the order of the
// reduction: runs of `joined` taps, [tap][channel], each filled up to whole quads.
void put_in_order(const Int8ChannelsLastPack& p, const uint8_t* w, size_t begin, size_t end,
                  uint8_t* out) {
  const size_t run_bytes = 4 * p.quads, used = p.joined * p.channels;
  for (size_t at = begin; at < end;) {
    const size_t run = at / run_bytes, in_run = at % run_bytes;
    if (in_run >= used) {
      const size_t n = least(run_bytes - in_run, end - at);
      std::memset(out, p.flip, n);
      at += n;
      out += n;
      continue;
    }
    const size_t tap = run * p.joined + in_run / p.channels, c = in_run % p.channels;
    const size_t n = least(p.channels - c, end - at);
    const uint8_t* from = w + c * p.taps + tap;
    for (size_t i = 0; i < n; ++i) out[i] = from[i * p.taps];
    at += n;
    out += n;
  }
}

// Two vectors' sixteen lanes dealt between each other: the first halves and the second ones.
template <class V>
inline __attribute__((always_inline)) V deal_low(V a, V b) {
  return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}
template <class V>
inline __attribute__((always_inline)) V deal_high(V a, V b) {
  return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15,
                                 31);
}

// Sixteen channels by sixteen quads, turned.
typedef uint32_t Quads __attribute__((vector_size(64)));

void turn(const uint8_t* const* rows, size_t at, uint8_t flip, int8_t* to, size_t step,
          Quads* sums) {
  Quads v[16], t[16];
  for (int i = 0; i < 16; ++i) std::memcpy(&v[i], rows[i] + at, sizeof v[i]);
  // Four times, the first eight rows are dealt between the last eight.
  const auto deal = [&](const Quads* in, Quads* out) __attribute__((always_inline)) {
    for (int i = 0; i < 8; ++i) {
      out[2 * i] = deal_low(in[i], in[i + 8]);
      out[2 * i + 1] = deal_high(in[i], in[i + 8]);
    }
  };
  deal(v, t);
  deal(t, v);
  deal(v, t);
  deal(t, v);
  const Quads flips = Quads{} + uint32_t(flip) * 0x01010101u;
  for (int i = 0; i < 16; ++i) {
    v[i] ^= flips;
    std::memcpy(to + size_t(i) * step, &v[i], sizeof v[i]);
    // The four signed bytes of each.
    typedef int32_t Ints __attribute__((vector_size(64)));
    const Ints q = Ints(v[i]);
    *sums += Quads((q << 24 >> 24) + (q << 16 >> 24) + (q << 8 >> 24) + (q >> 24));
  }
}

constexpr size_t kMostTaps = 16, kPiece = 64;

// kPiece channels of all taps, [channel][taps], as [tap][channel].
void taps_apart(const uint8_t* w, size_t taps, uint8_t (*out)[kPiece]) {
  typedef uint8_t Bytes __attribute__((vector_size(16)));
  uint8_t piece[kPiece * kMostTaps + 16];  // each channel is read with what lies after it
  std::memcpy(piece, w, kPiece * taps);
  for (size_t c = 0; c < kPiece; c += 16) {
    Bytes v[16], t[16];
    for (size_t i = 0; i < 16; ++i) std::memcpy(&v[i], piece + (c + i) * taps, 16);
    const auto deal = [&](const Bytes* in, Bytes* to) __attribute__((always_inline)) {
      for (int i = 0; i < 8; ++i) {
        to[2 * i] = deal_low(in[i], in[i + 8]);
        to[2 * i + 1] = deal_high(in[i], in[i + 8]);
      }
    };
    deal(v, t);
    deal(t, v);
    deal(v, t);
    deal(t, v);
    for (size_t tap = 0; tap < taps; ++tap) std::memcpy(out[tap] + c, &v[tap], 16);
  }
}

// Sixteen lanes of whole pieces of channels, whose taps lie side by side: no run has an end to
// fill.
void pack_pieces(const Int8ChannelsLastPack& p, size_t lane, Quads* sums) {
  alignas(64) uint8_t apart[16][kMostTaps][kPiece];
  for (size_t c = 0; c < p.channels; c += kPiece) {
    for (size_t i = 0; i < 16; ++i) {
      if (lane + i < p.count) {
        taps_apart(p.w + ((lane + i) * p.channels + c) * p.taps, p.taps, apart[i]);
      } else {
        std::memset(apart[i], p.flip, sizeof apart[i]);
      }
    }
    for (size_t tap = 0; tap < p.taps; ++tap) {
      const uint8_t* rows[16];
      for (size_t i = 0; i < 16; ++i) rows[i] = apart[i][tap];
      turn(rows, 0, p.flip, p.to + ((tap * p.channels + c) * p.width + 4 * lane), 4 * p.width,
           sums);
    }
  }
}

}  // namespace

void conv_int8_channels_last_pack_panel(const Int8ChannelsLastPack& p) {
  const size_t bytes = 4 * p.quads * p.runs;
  const bool in_order = p.taps == 1 && p.channels % 4 == 0;
  for (size_t lane = 0; lane < p.width; lane += 16) {
    Quads sums{};
    const bool pieces = p.channels % kPiece == 0 && p.taps > 1 && p.taps <= kMostTaps;
    if (pieces) pack_pieces(p, lane, &sums);
    for (size_t begin = 0; begin < bytes && !pieces; begin += kChunk) {
      const size_t end = least(bytes, begin + kChunk);
      alignas(64) uint8_t chunk[16][kChunk];
      const uint8_t* rows[16];
      for (size_t i = 0; i < 16; ++i) {
        const uint8_t* w = p.w + (lane + i) * p.channels * p.taps;
        const bool real = lane + i < p.count;
        rows[i] = chunk[i];
        if (real && in_order && end - begin == kChunk) {
          rows[i] = w + begin;
        } else {
          std::memset(chunk[i], p.flip, kChunk);
          if (real) put_in_order(p, w, begin, end, chunk[i]);
        }
      }
      for (size_t at = begin; at < end; at += 64) {
        int8_t* to = p.to + (at * p.width + 4 * lane);
        if (end - at >= 64) {
          turn(rows, at - begin, p.flip, to, 4 * p.width, &sums);
        } else {
          alignas(64) int8_t last[16 * 64];
          turn(rows, at - begin, p.flip, last, 64, &sums);
          for (size_t i = 0; i < (end - at) / 4; ++i)
            std::memcpy(to + i * 4 * p.width, last + 64 * i, 64);
        }
      }
    }
    std::memcpy(p.sum + lane, &sums, sizeof sums);
  }
  *p.most = int8_most(p.to, bytes / 4, p.width);
}

}  // namespace sdx::SDX_ISA
