// Resize and Upsample, resolved: what all versions of both come to, and the bodies that run it.
#pragma once

#include "op/streaming.h"
#include "ops/tensor/ints.h"
#include "ops/tensor/resize_axis.h"

namespace sdx::ops {

struct Resize {
  Resampling how;
  enum class Aspect { stretch, not_larger, not_smaller } aspect = Aspect::stretch;
  float extrapolation = 0;
  MaybeInts axes;                                           // absent: all
  std::optional<std::vector<float>> scales;                 // otherwise an input
  size_t roi_input = 0, scales_input = 0, sizes_input = 0;  // 0: this version has no such input
};

// What the inputs say, as far as it is known; in a run all of it is.
struct Wanted {
  std::optional<std::vector<float>> scales;
  std::optional<std::vector<Dim>> sizes;
  std::vector<double> roi;
  bool by_sizes = false;
};
Wanted wanted(const Resize& a, const Facts& in);
Wanted wanted(const Resize& a, const Args& args);

Result<SmallInts> resized_axes(const Resize& a, size_t rank);
// The one scale that keeps the proportions: the smallest or largest of size / dim.
double common_scale(const Resize& a, std::span<const int64_t> dims, const SmallInts& axes,
                    const std::vector<Dim>& sizes);

// The taps of every axis.
using ResizePlan = std::vector<AxisTaps>;
Result<ResizePlan> resize_plan(const Resize& a, std::span<const int64_t> x,
                               std::span<const int64_t> y, const Wanted& w);

// By integers, where positions along the axis do not depend on its length.
Streaming stream_resize(const Resize& a, const Streamed& s);

Status resize_reference(const Resize& a, Args& args);
// Every element of the output is one of the input: any type, row by row. Equal rows are copied.
void take_nearest(const ResizePlan& plan, const View& x, const View& y, Pool* pool);
// Output positions outside the input along any axis hold the extrapolation value.
bool any_outside(const ResizePlan& plan);

// Kernels: any type by nearest elements, images of f32, and those of bytes and halves.
std::shared_ptr<const void> pack_resize(const Resize& a, const Call& call, Pool&);
bool fits_resize_nearest(const Resize& a, const Call& call);
Status run_resize_nearest(const Resize& a, Args& args);
bool fits_resize_image(const Resize& a, const Call& call);
bool fits_resize_narrow_image(const Resize& a, const Call& call);
size_t resize_image_scratch(const Resize& a, const Call& call);
Status run_resize_image(const Resize& a, Args& args);

}  // namespace sdx::ops
