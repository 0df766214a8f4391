// What the tests of convolutions share: random operands, shapes and a comparison of bits.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kernel/conv/shape.h"

namespace sdx {

inline std::vector<float> random_floats(size_t n, unsigned seed, bool specials) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal;
  const float inf = std::numeric_limits<float>::infinity();
  const float odd[] = {0.f, -0.f, inf, -inf, std::nanf("1"), 1e-30f, -1e-30f, 1e-45f, 3e38f};
  std::vector<float> v(n);
  for (float& x : v) {
    x = normal(rng);
    if (specials && rng() % 20 == 0) x = odd[rng() % std::size(odd)];
  }
  return v;
}

inline size_t product(const size_t* d) { return d[0] * d[1] * d[2]; }

// The output size with `pad_end` behind the input.
inline ConvShape with_output(ConvShape s, const size_t pad_end[3]) {
  for (int i = 0; i < 3; ++i) {
    const size_t reach = (s.kernel[i] - 1) * s.dilation[i] + 1;
    s.out[i] = (s.in[i] + s.pad[i] + pad_end[i] - reach) / s.stride[i] + 1;
  }
  return s;
}

inline std::string describe(const ConvShape& s) {
  std::string text = "batch " + std::to_string(s.batch) + " groups " + std::to_string(s.groups) +
                     " channels " + std::to_string(s.in_channels) + "->" +
                     std::to_string(s.out_channels);
  for (int i = 0; i < 3; ++i) {
    text += " | " + std::to_string(s.in[i]) + "->" + std::to_string(s.out[i]) + " k" +
            std::to_string(s.kernel[i]) + " s" + std::to_string(s.stride[i]) + " d" +
            std::to_string(s.dilation[i]) + " p" + std::to_string(s.pad[i]);
  }
  return text;
}

inline ::testing::AssertionResult same_bits(const std::vector<float>& want,
                                            const std::vector<float>& got) {
  for (size_t i = 0; i < want.size(); ++i) {
    if (std::memcmp(&want[i], &got[i], sizeof(float)) != 0) {
      return ::testing::AssertionFailure()
             << "element " << i << ": " << want[i] << " against " << got[i];
    }
  }
  return ::testing::AssertionSuccess();
}

inline ConvShape planar(size_t batch, size_t groups, size_t in, size_t out, size_t h, size_t w,
                        size_t kernel, size_t stride, size_t pad) {
  ConvShape s{
      batch,     groups,       in, out, {1, h, w}, {}, {1, kernel, kernel}, {1, stride, stride},
      {1, 1, 1}, {0, pad, pad}};
  return with_output(s, s.pad);
}

}  // namespace sdx
