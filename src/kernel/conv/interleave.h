// Weights of a few output channels side by side, in the order of the reduction: what the packs of
// dense convolutions are made of.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace sdx {

// Where the weights of one output channel lie: w[row * row_step + channel * channel_step + tap].
struct ConvWeights {
  const float* w = nullptr;
  size_t row_step = 0, channel_step = 0;
  size_t channels = 0, taps = 0;
};

namespace interleaving {

typedef float Quad __attribute__((vector_size(16)));

inline Quad load(const float* p) {
  Quad q;
  std::memcpy(&q, p, sizeof q);
  return q;
}
inline void store(float* p, Quad q) { std::memcpy(p, &q, sizeof q); }

// `count` floats of each of `rows` rows: float i of row r goes to to[at[i] + r]. Four rows at a
// time, so that a line of each is used up before another takes its place in the cache.
inline void scatter(const float* from, size_t row_step, size_t rows, size_t count, const size_t* at,
                    float* to) {
  size_t r = 0;
  for (; r + 4 <= rows; r += 4, to += 4) {
    const float *p0 = from + r * row_step, *p1 = p0 + row_step, *p2 = p1 + row_step,
                *p3 = p2 + row_step;
    size_t i = 0;
    for (; i + 4 <= count; i += 4) {
      const Quad a = load(p0 + i), b = load(p1 + i), c = load(p2 + i), d = load(p3 + i);
      const Quad ab0 = __builtin_shufflevector(a, b, 0, 4, 1, 5),
                 ab1 = __builtin_shufflevector(a, b, 2, 6, 3, 7);
      const Quad cd0 = __builtin_shufflevector(c, d, 0, 4, 1, 5),
                 cd1 = __builtin_shufflevector(c, d, 2, 6, 3, 7);
      store(to + at[i], __builtin_shufflevector(ab0, cd0, 0, 1, 4, 5));
      store(to + at[i + 1], __builtin_shufflevector(ab0, cd0, 2, 3, 6, 7));
      store(to + at[i + 2], __builtin_shufflevector(ab1, cd1, 0, 1, 4, 5));
      store(to + at[i + 3], __builtin_shufflevector(ab1, cd1, 2, 3, 6, 7));
    }
    for (; i < count; ++i) store(to + at[i], Quad{p0[i], p1[i], p2[i], p3[i]});
  }
  for (; r < rows; ++r, ++to) {
    for (size_t i = 0; i < count; ++i) to[at[i]] = from[r * row_step + i];
  }
}

}  // namespace interleaving

// Channels that are laid out together. A kernel of one tap has no order but that of its channels:
// longer stretches of each row.
inline size_t interleaved_together(const ConvWeights& s) {
  return std::min<size_t>(s.channels, s.taps == 1 ? 64 : 16);
}

// to[k * lanes + row] = the weight of row [0, rows) at step k of the reduction, whose order is
// (channel / 16, tap, channel % 16); lanes behind the last row get 0. `at` is room for the steps of
// the channels that are laid out together.
inline void interleave(const ConvWeights& s, size_t rows, size_t lanes, size_t* at, float* to) {
  const size_t most = interleaved_together(s);
  const bool joined = s.channel_step == s.taps;  // the channels of a row lie side by side
  size_t laid_out = 0;  // channels of which `at` says by channel and tap where its lanes begin
  for (size_t first = 0; first < s.channels; first += most) {
    const size_t n = std::min(most, s.channels - first);
    if (n != laid_out) {
      for (size_t c = 0; c < n; ++c) {
        for (size_t tap = 0; tap < s.taps; ++tap) at[c * s.taps + tap] = (tap * n + c) * lanes;
      }
      laid_out = n;
    }
    if (rows < lanes) {
      for (size_t k = 0; k < n * s.taps; ++k)
        std::fill(to + k * lanes + rows, to + (k + 1) * lanes, 0.f);
    }
    const size_t stretch = joined ? n * s.taps : s.taps;
    for (size_t i = 0; i < n * s.taps; i += stretch) {
      const size_t from = joined ? first * s.taps : (first + i / s.taps) * s.channel_step;
      interleaving::scatter(s.w + from, s.row_step, rows, stretch, at + i, to);
    }
    to += n * s.taps * lanes;
  }
}

inline void interleave(const ConvWeights& s, size_t rows, size_t lanes, float* to) {
  std::vector<size_t> at(interleaved_together(s) * s.taps);
  interleave(s, rows, lanes, at.data(), to);
}

// Whether no float is an infinity or NaN.
inline bool all_finite(const float* x, size_t n) {
  constexpr uint32_t kExponent = 0x7f800000;
  typedef uint32_t Words __attribute__((vector_size(64)));
  typedef int32_t Found __attribute__((vector_size(64)));
  constexpr size_t kWords = sizeof(Words) / sizeof(uint32_t);
  Found found{};
  size_t i = 0;
  for (; i + kWords <= n; i += kWords) {
    Words words;
    std::memcpy(&words, x + i, sizeof words);
    found |= (words & kExponent) == kExponent;
  }
  bool any = false;
  for (size_t lane = 0; lane < kWords; ++lane) any |= found[lane] != 0;
  for (; i < n; ++i) {
    uint32_t word;
    std::memcpy(&word, x + i, sizeof word);
    any |= (word & kExponent) == kExponent;
  }
  return !any;
}

}  // namespace sdx
