// Random numbers with one answer: Philox4x32-10 (Salmon, Moraes, Dror, Shaw, 2011), a counter
// encrypted with the seed.
//
// The rule: element i of an output depends on the seed and on i alone, so neither threads nor the
// order of elements matter. The key is the seed's low and high 32 bits; the counter is the block's
// number, low half first, then two zeros. uniform(i) is made of words 2 (i % 2) and 2 (i % 2) + 1
// of block i / 2; normal(i) of the four words of block i. An operator without a seed has the seed
// 0.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

#include "kernel/math/math.h"

namespace sdx {

class Philox {
 public:
  explicit Philox(uint64_t seed) : seed_(seed) {}

  std::array<uint32_t, 4> block(uint64_t index) const {
    std::array<uint32_t, 4> c{uint32_t(index), uint32_t(index >> 32), 0, 0};
    uint32_t k0 = uint32_t(seed_), k1 = uint32_t(seed_ >> 32);
    for (int round = 0; round < 10; ++round) {
      const uint64_t p0 = uint64_t{0xD2511F53} * c[0], p1 = uint64_t{0xCD9E8D57} * c[2];
      c = {uint32_t(p1 >> 32) ^ c[1] ^ k0, uint32_t(p1), uint32_t(p0 >> 32) ^ c[3] ^ k1,
           uint32_t(p0)};
      k0 += 0x9E3779B9;
      k1 += 0xBB67AE85;
    }
    return c;
  }

  // In [0, 1): the upper 53 bits of 64 random ones, times 2^-53.
  double uniform(uint64_t i) const {
    const std::array<uint32_t, 4> words = block(i / 2);
    return unit(words[2 * (i % 2)], words[2 * (i % 2) + 1]);
  }

  // Mean 0, deviation 1, by Box and Muller: sqrt(-2 log(1 - u)) cos(2 pi v).
  double normal(uint64_t i) const {
    const std::array<uint32_t, 4> words = block(i);
    const double u = unit(words[0], words[1]), v = unit(words[2], words[3]);
    return std::sqrt(-2 * math::log(1 - u)) * math::cos(0x1.921fb54442d18p+2 * v);
  }

 private:
  static double unit(uint32_t high, uint32_t low) {
    return double(((uint64_t{high} << 32) | low) >> 11) * 0x1p-53;
  }
  uint64_t seed_;
};

}  // namespace sdx
