// Stretches: which taps of a convolution lie inside of the image, along one dimension.
//
// Where most of them do not, as with large dilations, the outputs are cut into parts that meet the
// same taps, and each part runs these alone. The bits stay those of the rule, by which a tap in the
// padding takes part with x = +0. If the weights are finite, fma(w, +0, acc) is acc unless acc is
// -0, which it may turn into +0; and a chain that began with +0 is -0 only where a product
// underflowed. A sum that is not -0 at its end is then right, since what -0 and +0 become by the
// same steps differs only as long as it is zero; an output of -0 is computed again, by the rule.
#pragma once

#include <array>

#include "kernel/conv/shape.h"

namespace sdx {

// Outputs [begin, begin + size) along a dimension meet taps [tap, tap + taps) inside the image.
struct Stretch {
  size_t begin, size, tap, taps;
};

inline Stretch taps_of(const ConvShape& s, int dim, size_t o) {
  Stretch one{o, 1, 0, 0};
  for (size_t k = 0; k < s.kernel[dim]; ++k) {
    // Before the input it wraps to a very large number.
    const size_t at = o * s.stride[dim] + k * s.dilation[dim] - s.pad[dim];
    if (at >= s.in[dim]) continue;
    if (one.taps++ == 0) one.tap = k;
  }
  return one;
}

// Along an axis taps come into the image one after the other and leave it so.
struct Stretches {
  static constexpr size_t kMostTaps = 32;
  std::array<Stretch, 2 * kMostTaps + 2> all;
  size_t count = 0;

  Stretches(const ConvShape& s, int dim) {
    for (size_t o = 0; o < s.out[dim]; ++o) {
      const Stretch one = taps_of(s, dim, o);
      if (count != 0 && all[count - 1].tap == one.tap && all[count - 1].taps == one.taps) {
        ++all[count - 1].size;
      } else {
        all[count++] = one;
      }
    }
  }
  const Stretch& operator[](size_t i) const { return all[i]; }
};

}  // namespace sdx
