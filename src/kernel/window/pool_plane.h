// Pooling of planes (up to three spatial dimensions) in single precision.
//
// max: the greatest element of the window, NaN if one is NaN, +0 greater than -0; -inf if the
// window is empty. average: the elements of the window added one after the other in row-major
// order, from +0, then divided by the output's own count.
//
// Planes are staged in phases (kernel/window/phases.h), small ones one behind the other; of two
// kinds of window, where vectors come out of the plane itself, the plane is read where it is.
// Sixteen narrow planes are turned, so that a vector holds one pixel of each. Greatest elements are
// found down the columns first, and then along them (kernel/window/greatest.h).
#pragma once

#include <cstddef>

#include "kernel/isa.h"
#include "kernel/window/phases.h"

namespace sdx {

// For (depth, height, width); missing leading dimensions are 1 with stride and dilation 1, pad 0.
struct PoolShape {
  size_t in[3] = {1, 1, 1};
  size_t out[3] = {1, 1, 1};
  size_t kernel[3] = {1, 1, 1};
  size_t stride[3] = {1, 1, 1};
  size_t dilation[3] = {1, 1, 1};
  size_t pad[3] = {0, 0, 0};  // at the beginning

  [[gnu::always_inline]] size_t outputs() const { return out[0] * out[1] * out[2]; }
  [[gnu::always_inline]] size_t inputs() const { return in[0] * in[1] * in[2]; }
  [[gnu::always_inline]] size_t taps() const { return kernel[0] * kernel[1] * kernel[2]; }

  // Planes that are staged at once: enough for some whole vectors.
  size_t planes_together() const {
    const size_t size = phase_size(*this);
    const size_t some = reads_channels() || size >= 512 ? 1 : 1024 / (size + 1) + 1;
    return turns_planes() ? (some + 15) / 16 * 16 : some;
  }
  // From a phase of the planes to the next.
  size_t phase_step() const { return planes_together() * phase_size(*this); }
  // Floats: the phases, and a row of outputs; or sixteen planes and their outputs.
  size_t staged_size() const {
    const size_t phases =
        reads_in_place() ? 0 : phase_step() * (phase_count(*this) + 1) + 2 * kPhaseSlack;
    const size_t turned = turns_planes() ? 16 * (inputs() + outputs()) : 0;
    const size_t most = phases > turned ? phases : turned;
    return most > row_floats() ? most : row_floats();
  }
  // The columns of one output row's windows, and what vectors read behind them.
  [[gnu::always_inline]] size_t row_floats() const {
    const size_t image = pad[2] + in[2] + 16;
    const size_t windows = (out[2] + 16) * stride[2] + kernel[2] * dilation[2] + 32;
    return image > windows ? image : windows;
  }
  // Images so narrow that their rows leave vectors half empty, and so small that sixteen stay in
  // the second cache.
  [[gnu::always_inline]] bool turns_planes() const {
    return in[0] == 1 && out[0] == 1 && kernel[0] == 1 && out[2] < 48 && !reads_channels() &&
           inputs() + outputs() <= 4096 && taps() <= 64;
  }
  [[gnu::always_inline]] bool reads_in_place() const { return reads_channels() || reads_pairs(); }
  // Nothing happens along the width, which is whole vectors: channels that come last.
  [[gnu::always_inline]] bool reads_channels() const {
    return kernel[2] == 1 && stride[2] == 1 && pad[2] == 0 && in[2] == out[2] && in[2] % 16 == 0;
  }
  // Every second window.
  [[gnu::always_inline]] bool reads_pairs() const {
    return stride[2] == 2 && dilation[2] == 1 && kernel[2] <= 4 && kernel[0] <= 64 &&
           kernel[1] <= 64;
  }
};

// What the sums of windows are divided by.
struct PoolCounts {
  const float* each;  // one per output of a plane
  bool all_equal;
};

// What all planes of a shape share.
struct PoolWork {
  const PoolShape* shape;
  size_t phase_step;       // shape->phase_step()
  const size_t* tap;       // find_taps(*shape, phase_step)
  const PhaseRows* phase;  // find_phases(*shape)
};

// `planes` is at most shape.planes_together(). `staged`: room for shape.staged_size() floats,
// aligned to 64.
SDX_DECLARE_ISAS(void max_pool_planes(const PoolWork&, const float* x, float* y, size_t planes,
                                      float* staged);
                 void average_pool_planes(const PoolWork&, const float* x, const PoolCounts&,
                                          float* y, size_t planes, float* staged);)

}  // namespace sdx
