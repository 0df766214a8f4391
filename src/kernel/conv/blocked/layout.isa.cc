#include <cstring>

#include "kernel/conv/blocked/work.h"
#include "kernel/turn/wide.h"

namespace sdx::SDX_ISA {
namespace {

#if defined(SDX_NO_VECTORS)
constexpr size_t kPieces = 1;
// Four rows of four columns of `from`, `step` floats apart, turned.
void turn_four(const float* from, size_t step, float* to, size_t to_step) {
  for (size_t r = 0; r < 4; ++r) {
    for (size_t c = 0; c < 4; ++c) to[r * to_step + c] = from[c * step + r];
  }
}
#else
constexpr size_t kPieces = Wide::kPieces;
// Four rows of kPieces times four columns of `from`, `step` floats apart, turned.
[[gnu::always_inline]] inline void turn_four(const float* from, size_t step, float* to,
                                             size_t to_step) {
  Wide a[4];
  for (size_t i = 0; i < 4; ++i) {
    a[i] = Wide::load(reinterpret_cast<const char*>(from + i * step), 4 * step * sizeof(float));
  }
  turn_blocks<sizeof(float)>(a);
  for (size_t i = 0; i < 4; ++i) a[i].store(reinterpret_cast<char*>(to + i * to_step));
}
#endif
constexpr size_t kAtOnce = 4 * kPieces;

}  // namespace

void to_blocks(const float* planes, size_t channels, size_t pixels, float* block) {
  size_t p = 0;
  for (; channels == kBlockLanes && p + 4 <= pixels; p += 4) {
    for (size_t c = 0; c < kBlockLanes; c += kAtOnce) {
      turn_four(planes + c * pixels + p, pixels, block + p * kBlockLanes + c, kBlockLanes);
    }
  }
  for (; p < pixels; ++p) {
    for (size_t c = 0; c < kBlockLanes; ++c)
      block[p * kBlockLanes + c] = c < channels ? planes[c * pixels + p] : 0.0f;
  }
}

void from_blocks(const float* block, size_t channels, size_t pixels, float* planes) {
  size_t p = 0;
  for (; channels == kBlockLanes && p + kAtOnce <= pixels; p += kAtOnce) {
    for (size_t c = 0; c < kBlockLanes; c += 4) {
      turn_four(block + p * kBlockLanes + c, kBlockLanes, planes + c * pixels + p, pixels);
    }
  }
  for (size_t c = 0; c < channels; ++c) {
    for (size_t i = p; i < pixels; ++i) planes[c * pixels + i] = block[i * kBlockLanes + c];
  }
}

}  // namespace sdx::SDX_ISA
