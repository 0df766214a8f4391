// Images read between their pixels, as GridSample does linearly: for each point two taps along the
// rows and two along the columns.
//
// Where points lie in the image is as good as random, so no step depends on it: a tap that takes no
// part has an index within the image, and a mask that makes +0 of what it gives, which changes no
// sum that began with +0.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernel/isa.h"

namespace sdx {

// The taps of some points along one axis, those of equal rank side by side.
struct GridTaps {
  static constexpr size_t kMost = 64;  // a multiple of 16
  alignas(64) int32_t index[2][kMost];
  alignas(64) float weight[2][kMost];
  alignas(64) int32_t mask[2][kMost];  // 0 or -1

  void set(size_t point, int tap, bool present, int32_t at, float w) {
    index[tap][point] = at;
    weight[tap][point] = w;
    mask[tap][point] = -int32_t(present & (w != 0));
  }
};

struct GridAxis {
  int32_t size;        // below 2^24
  bool align_corners;  // -1 and 1 name the centres of the outermost pixels, not their edges
  bool border;         // the outermost pixel goes on; else there is +0 around
};

// Images of `channels` planes, `plane` floats each, of rows of `width`; `points` for each image.
struct GridImages {
  const float* x;  // of the first point's image
  size_t channels, plane, width, points;
  size_t first;  // the first point's number among its image's
  float* y;      // its answer of the first channel
};

SDX_DECLARE_ISAS(
    // `position`: of `count` points up to kMost, `step` floats apart. NaN names the first border.
    void grid_taps(const GridAxis&, const float* position, size_t step, size_t count, GridTaps*);
    // Columns first, products and sums rounded. Points go on in the next image only if there is one
    // channel. Taps up to the next multiple of 16 must be set.
    void grid_blend(const GridImages&, const GridTaps& rows, const GridTaps& columns,
                    size_t count);)

}  // namespace sdx
