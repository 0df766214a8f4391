// What the pooling operators share: reading their window, their output's shape, and the order on
// element values.
#pragma once

#include <cmath>

#include "base/aligned.h"
#include "kernel/window/pool_plane.h"
#include "op/layout.h"
#include "ops/pool/window.h"

namespace sdx::ops {

inline Result<Window> read_pool_window(const Node& node, const Fact& x) {
  if (x.has_rank() && x.rank() < 3)
    return fail("SDX-T0335", "the input has rank {}, expected at least 3", x.rank());
  std::optional<size_t> spatial;
  if (x.has_rank()) spatial = x.rank() - 2;
  SDX_ASSIGN(Window window, read_window(node, spatial));
  if (window.kernel.empty()) return fail("SDX-T0336", "kernel_shape is missing");
  return window;
}

inline Result<Fact> infer_pool(const Window& window, const Fact& x) {
  if (!x.has_rank()) return Fact::tensor(x.type, Shape(window.spatial + 2, Dim::unknown()));
  Shape shape{x.dim(0), x.dim(1)};
  for (size_t i = 0; i < window.spatial; ++i) {
    SDX_ASSIGN(Dim size, output_size(window, i, x.dim(i + 2), window.kernel[i]));
    shape.push_back(std::move(size));
  }
  return Fact::tensor(x.type, std::move(shape));
}

inline PoolShape plane_shape(const WindowAxes& axes) { return kernel_axes<PoolShape>(axes); }
inline PoolShape plane_shape(const Window& window, std::span<const int64_t> x,
                             std::span<const int64_t> y) {
  return plane_shape(resolve(window, x.subspan(2), y.subspan(2), {}));
}
// Floats that a staged plane takes, in whole cache lines.
inline size_t staged_floats(const PoolShape& s) { return aligned_floats(s.staged_size()); }

// Whether staging fits: a few million floats per thread at most.
inline bool plane_fits(const Window& window, const Call& call, DType type = DType::f32) {
  if (call.in[0].type != type || window.spatial > 3) return false;
  const PoolShape s = plane_shape(window, call.in[0].dims(), call.out[0].dims());
  double staged = 1;  // sizes in the padding may be anything
  for (int i = 0; i < 3; ++i) staged *= double(phases_along(s, i)) * double(phase_dim(s, i));
  constexpr double kMost = 1 << 24;
  return s.reads_in_place() ||
         (staged <= kMost &&
          double(s.kernel[0]) * double(s.kernel[1]) * double(s.kernel[2]) <= kMost);
}

// Scratch of a pooling: its phases and where each tap lies, then a few staged planes per thread.
inline size_t phase_bytes(const PoolShape& s) {
  return s.reads_in_place() ? 0 : aligned_bytes(phase_count(s) * sizeof(PhaseRows));
}
inline size_t work_bytes(const PoolShape& s) {
  return s.reads_in_place() ? 0 : phase_bytes(s) + aligned_bytes(s.taps() * sizeof(size_t));
}
inline size_t planes_scratch(const PoolShape& s, int threads) {
  return work_bytes(s) + staged_floats(s) * size_t(threads) * sizeof(float);
}

// body(work, first plane, how many, room to stage them) over groups of planes.
template <class Body>
void share_planes(const PoolShape& s, size_t planes, Pool& pool, std::byte* scratch, Body&& body) {
  auto* phase = reinterpret_cast<PhaseRows*>(scratch);
  auto* tap = reinterpret_cast<size_t*>(scratch + phase_bytes(s));
  const PoolWork work{&s, s.phase_step(), tap, phase};
  if (!s.reads_in_place()) {
    find_taps(s, work.phase_step, tap);
    find_phases(s, phase);
  }
  const size_t together = s.planes_together();
  auto* all = reinterpret_cast<float*>(scratch + work_bytes(s));
  pool.parallel((planes + together - 1) / together, 1, [&](size_t begin, size_t end, int thread) {
    float* staged = all + size_t(thread) * staged_floats(s);
    for (size_t i = begin; i < end; ++i) {
      const size_t first = i * together;
      body(work, first, std::min(together, planes - first), staged);
    }
  });
}

// Channels behind the spatial axes are one more of these, along which the window does nothing.
std::optional<Relaid> pool_layout(const Relay& asked);

// MaxPool of bytes whose last axis the window leaves alone: channels that come last.
bool fits_max_pool_bytes(const Window& window, const Call& call);
Status run_max_pool_bytes(const Window& window, Args& args);
// The same of planes, which become floats for a while.
bool fits_max_pool_byte_planes(const Window& window, const Call& call);
Status run_max_pool_byte_planes(const Window& window, Args& args);

// a > b, where NaN is greater than all and +0 greater than -0.
template <class T>
bool above(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return a > b;
  } else {
    const auto x = load(a), y = load(b);
    if (x != x || y != y) return y == y;
    return x > y || (x == y && std::signbit(y) && !std::signbit(x));
  }
}
// The value below all others.
template <class T>
T least() {
  if constexpr (std::is_integral_v<T>) {
    return std::numeric_limits<T>::min();
  } else {
    return store<T>(-std::numeric_limits<Compute<T>>::infinity());
  }
}
template <class T>
T greatest() {
  if constexpr (std::is_integral_v<T>) {
    return std::numeric_limits<T>::max();
  } else {
    return store<T>(std::numeric_limits<Compute<T>>::infinity());
  }
}
// The same value, with any NaN the canonical one.
template <class T>
T canonical(T x) {
  if constexpr (std::is_integral_v<T>) {
    return x;
  } else {
    return store<T>(load(x));
  }
}

}  // namespace sdx::ops
