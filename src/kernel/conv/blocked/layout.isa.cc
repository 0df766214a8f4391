#include <cstring>

#include "kernel/conv/blocked/work.h"

namespace sdx::SDX_ISA {

// Sixteen positions at a time stay in registers or the first cache either way round.
void to_blocks(const float* planes, size_t channels, size_t pixels, float* block) {
  float tile[kBlockLanes][kBlockLanes] = {};
  for (size_t p = 0; p < pixels; p += kBlockLanes) {
    const size_t count = pixels - p < kBlockLanes ? pixels - p : kBlockLanes;
    for (size_t c = 0; c < channels; ++c)
      memcpy(tile[c], planes + c * pixels + p, count * sizeof(float));
    for (size_t i = 0; i < count; ++i) {
      for (size_t c = 0; c < kBlockLanes; ++c) block[(p + i) * kBlockLanes + c] = tile[c][i];
    }
  }
}

void from_blocks(const float* block, size_t channels, size_t pixels, float* planes) {
  float tile[kBlockLanes][kBlockLanes] = {};
  for (size_t p = 0; p < pixels; p += kBlockLanes) {
    const size_t count = pixels - p < kBlockLanes ? pixels - p : kBlockLanes;
    memcpy(tile, block + p * kBlockLanes, count * kBlockLanes * sizeof(float));
    for (size_t c = 0; c < channels; ++c) {
      for (size_t i = 0; i < count; ++i) planes[c * pixels + p + i] = tile[i][c];
    }
  }
}

}  // namespace sdx::SDX_ISA
