// overlap_add: the blocks of Col2Im added onto a plane of pixels, place by place, so that a pixel
// takes what lands on it in the order of the places within a block.
//
// Where blocks lie a stride apart, the columns are kept in phases, every stride-th side by side, so
// that a row of blocks meets neighbours; they are put in order at the end.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernel/isa.h"

namespace sdx {

// For (rows, columns). Place k of block i lies on pixel i * stride + k * dilation - pad.
struct OverlapShape {
  int64_t image[2], block[2], blocks[2], dilation[2], pad[2], stride[2];

  int64_t phases() const { return stride[1] < image[1] ? stride[1] : 1; }
  int64_t phase_length() const { return (image[1] + phases() - 1) / phases(); }
  // Planes that are added up together: as many as stay in the first cache.
  size_t planes_together() const { return 4096 / size_t(image[0] * image[1] + 1) + 1; }
  // Floats that planes_together() take in phases; 0 where they are added up in place.
  size_t staged_size() const {
    return phases() == 1 ? 0 : planes_together() * size_t(image[0] * phases() * phase_length());
  }
};

// `from`: for each plane and place of a block the elements of all blocks. `planes` is at most
// planes_together(). `staged`: staged_size() floats.
SDX_DECLARE_ISAS(void overlap_add(const OverlapShape&, const float* from, float* image,
                                  size_t planes, float* staged);)

}  // namespace sdx
