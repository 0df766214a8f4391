// How one axis is resized: for every output position, the input elements it takes and their
// weights.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/tensor.h"

namespace sdx {

struct Resampling {
  enum class Mode { nearest, linear, cubic } mode = Mode::nearest;
  enum class Coordinates {
    half_pixel,
    half_pixel_symmetric,
    half_pixel_for_nn,  // tf_half_pixel_for_nn
    pytorch_half_pixel,
    align_corners,
    asymmetric,
    crop,  // tf_crop_and_resize
  } coordinates = Coordinates::half_pixel;
  // `simple` is Resize-10: down when enlarging, up when reducing.
  enum class Nearest {
    prefer_floor,
    prefer_ceil,
    floor,
    ceil,
    simple
  } nearest = Nearest::prefer_floor;
  float cubic_a = -0.75f;
  bool exclude_outside = false;
  bool antialias = false;
};

struct AxisSize {
  int64_t in, out;
  double scale;
  double start = 0, end = 1;  // the region of interest, for `crop`
};

struct AxisTaps {
  size_t taps = 1;             // per output position
  std::vector<int32_t> index;  // taps per position, inside the axis
  std::vector<double> weight;  // likewise; a tap of weight 0 takes no part
  std::vector<bool> outside;   // `crop`: the position lies outside the input; empty if none does

  bool identity() const;
};

// How many taps all positions have together, before they are made.
double count_taps(const Resampling& how, const AxisSize& size);
// Coordinates and weights are computed in double, by the formulas of ONNX's text.
AxisTaps axis_taps(const Resampling& how, const AxisSize& size);

}  // namespace sdx
