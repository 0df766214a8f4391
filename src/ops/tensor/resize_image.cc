// Kernels of Resize: nearest elements of any type, and images of f32, of halves and of bytes whose
// rows and columns change, their channels before or behind them.
#include <cstring>

#include "base/fitting.h"
#include "kernel/elementwise/halves.h"
#include "kernel/elementwise/loops.h"
#include "kernel/quant/quant.h"
#include "kernel/rows/rows.h"
#include "ops/tensor/resize.h"

namespace sdx::ops {
namespace {

using Coordinates = Resampling::Coordinates;

// The taps of all axes, and those of an image's rows and columns with weights as float.
struct Image {
  ResizePlan plan;
  size_t row_axis = 0;
  std::vector<float> row_weight, column_weight;

  const AxisTaps& rows() const { return plan[row_axis]; }
  const AxisTaps& columns() const { return plan[row_axis + 1]; }
};

bool plannable(const Resize& a, const Call& call) {
  const Wanted w = wanted(a, call.in);
  if (a.how.coordinates == Coordinates::crop ||
      (w.by_sizes ? !w.sizes || !constant_dims(*w.sizes) : !w.scales))
    return false;
  return resize_plan(a, call.in[0].dims(), call.out[0].dims(), w).ok();
}

Result<ResizePlan> plan_of(const Resize& a, const Call& call) {
  return resize_plan(a, call.in[0].dims(), call.out[0].dims(), wanted(a, call.in));
}

// The axis of an image's rows: the last but one, or the one before where channels come last.
std::optional<size_t> row_axis(const ResizePlan& plan) {
  const auto only_rows_and_columns = [&](size_t row) {
    for (size_t i = 0; i < plan.size(); ++i) {
      if (i != row && i != row + 1 && !plan[i].identity()) return false;
    }
    return true;
  };
  for (size_t behind = 2; behind <= std::min<size_t>(3, plan.size()); ++behind) {
    if (only_rows_and_columns(plan.size() - behind)) return plan.size() - behind;
  }
  return std::nullopt;
}

// One input row resized along its length.
void stretch_row(const Image& image, const float* from, float* to, size_t width) {
  const AxisTaps& columns = image.columns();
  if (columns.identity()) {
    std::memcpy(to, from, width * sizeof(float));
    return;
  }
  const float* weight = image.column_weight.data();
  const int32_t* index = columns.index.data();
  if (columns.taps == 2) {
    for (size_t i = 0; i < width; ++i) {
      const float left = weight[2 * i] * from[index[2 * i]];
      const float right = weight[2 * i + 1] * from[index[2 * i + 1]];
      // A tap of weight 0 takes no part, not even with an infinity.
      to[i] = weight[2 * i] == 0 ? right : weight[2 * i + 1] == 0 ? left : left + right;
    }
    return;
  }
  for (size_t i = 0; i < width; ++i) {
    float sum = 0;
    bool first = true;
    for (size_t k = i * columns.taps; k < (i + 1) * columns.taps; ++k) {
      if (weight[k] == 0) continue;
      const float term = weight[k] * from[index[k]];
      sum = first ? term : sum + term;
      first = false;
    }
    to[i] = sum;
  }
}

// The same of a row of pixels with all their channels.
void stretch_pixels(const Image& image, const float* from, float* to, size_t width, size_t channels,
                    Isa isa) {
  const AxisTaps& columns = image.columns();
  if (columns.identity()) {
    std::memcpy(to, from, width * channels * sizeof(float));
    return;
  }
  for (size_t i = 0; i < width; ++i, to += channels) {
    size_t taken = 0;
    const float *first = nullptr, *second = nullptr;
    float weights[2] = {};
    for (size_t k = i * columns.taps; k < (i + 1) * columns.taps; ++k) {
      const float weight = image.column_weight[k];
      if (weight == 0) continue;
      const float* pixel = from + size_t(columns.index[k]) * channels;
      if (taken < 2) {
        (taken == 0 ? first : second) = pixel;
        weights[taken] = weight;
      }
      if (++taken == 2) {
        SDX_PICK(blend_rows, isa)(first, weights[0], second, weights[1], to, channels);
      } else if (taken > 2) {
        SDX_PICK(add_weighed_row, isa)(pixel, to, channels, weight);
      }
    }
    if (taken == 1) SDX_PICK(weigh_row, isa)(first, to, channels, weights[0]);
    if (taken == 0) std::fill_n(to, channels, 0.0f);
  }
}

}  // namespace

std::shared_ptr<const void> pack_resize(const Resize& a, const Call& call, Pool&) {
  auto plan = resize_plan(a, call.in[0].dims(), call.out[0].dims(), wanted(a, call.in));
  if (!plan) return nullptr;
  auto image = std::make_shared<Image>();
  image->plan = *std::move(plan);
  if (const auto axis = row_axis(image->plan)) {
    image->row_axis = *axis;
    image->row_weight.assign(image->rows().weight.begin(), image->rows().weight.end());
    image->column_weight.assign(image->columns().weight.begin(), image->columns().weight.end());
  }
  return image;
}

bool fits_resize_nearest(const Resize& a, const Call& call) {
  return a.how.mode == Resampling::Mode::nearest && plannable(a, call);
}
Status run_resize_nearest(const Resize&, Args& args) {
  take_nearest(static_cast<const Image*>(args.packed)->plan, args.in(0), args.out(), args.pool);
  return ok();
}

namespace {

// Only two axes change size, neighbours at the end or before the last.
bool is_image(const Resize& a, const Call& call) {
  return a.how.mode != Resampling::Mode::nearest && call.in[0].rank() >= 2 && plannable(a, call) &&
         row_axis(*plan_of(a, call)).has_value();
}

// How rows of one type become the floats in which they are resized, and what is made of them.
struct AsFloats {
  DType type;
  Isa isa;
  size_t bytes = bytes_for(type, 1);

  void widen(const std::byte* from, float* to, size_t n) const {
    if (bytes == 1) return cast_loop(type, DType::f32, isa)(from, to, n);
    widening(type, isa)(reinterpret_cast<const uint16_t*>(from), to, n);
  }
  void narrow(const float* from, std::byte* to, size_t n) const {
    constexpr float kOne = 1;
    if (bytes != 1) return narrowing(type, isa)(from, reinterpret_cast<uint16_t*>(to), n);
    SDX_PICK(quantize_f32_8, isa)
    (from, reinterpret_cast<uint8_t*>(to), n, &kOne, nullptr, 0, type == DType::i8);
  }
};

// Elements of a row of rows and columns, with its channels.
size_t line_of(const ResizePlan& plan, const Fact& image) {
  size_t line = 1;
  for (size_t i = row_axis(plan).value_or(0) + 1; i < plan.size(); ++i)
    line *= size_t(image.dim(i).value());
  return line;
}

}  // namespace

bool fits_resize_image(const Resize& a, const Call& call) {
  return call.in[0].type == DType::f32 && is_image(a, call);
}
bool fits_resize_narrow_image(const Resize& a, const Call& call) {
  const DType type = call.in[0].type;
  const bool narrow =
      type == DType::u8 || type == DType::i8 || type == DType::f16 || type == DType::bf16;
  return narrow && is_image(a, call);
}

// Per thread: the rows that the taps of one output row need, and which input row each of them
// holds; for other types than f32 an input row and an output row as floats.
size_t resize_image_scratch(const Resize& a, const Call& call) {
  const auto plan = plan_of(a, call);
  const size_t line = line_of(*plan, call.out[0]);
  const size_t taps = (*plan)[row_axis(*plan).value_or(0)].taps;
  const bool wide = call.in[0].type == DType::f32;
  const size_t beside = wide ? 0 : line_of(*plan, call.in[0]) + line;
  must_fit(double(call.threads) * (double(taps) * (double(line) + 2) + double(beside)));
  return size_t(call.threads) *
         (taps * (line * sizeof(float) + sizeof(int64_t)) + beside * sizeof(float));
}

Status run_resize_image(const Resize&, Args& args) {
  const Image& image = *static_cast<const Image*>(args.packed);
  const View &x = args.in(0), &y = args.out();
  const AxisTaps& rows = image.rows();
  const size_t height = size_t(y.dims[image.row_axis]), in_height = size_t(x.dims[image.row_axis]);
  const size_t width = size_t(y.dims[image.row_axis + 1]),
               in_width = size_t(x.dims[image.row_axis + 1]);
  const bool last = image.row_axis + 2 < y.rank();
  const size_t channels = last ? size_t(y.dims[image.row_axis + 2]) : 1;
  const size_t line = width * channels, taps = rows.taps;
  if (y.count == 0) return ok();
  const bool wide = x.type == DType::f32;
  const AsFloats as_floats{x.type, args.isa};
  if (wide && rows.identity() && image.columns().identity()) {  // a copy, but for the bits of a NaN
    args.pool->parallel(y.count, 32768, [&](size_t begin, size_t end, int) {
      SDX_PICK(weigh_row, args.isa)
      (x.data<float>() + begin, y.data<float>() + begin, end - begin, 1.0f);
    });
    return ok();
  }
  const size_t threads = size_t(args.pool->threads()), in_line = in_width * channels;
  auto* const holders = reinterpret_cast<int64_t*>(args.scratch.data());
  auto* const rings = reinterpret_cast<float*>(holders + threads * taps);
  float* const beside = rings + threads * taps * line;
  const size_t grain = std::max<size_t>(1, 32768 / line);
  args.pool->parallel(y.count / line, grain, [&](size_t begin, size_t end, int thread) {
    float* const ring = rings + size_t(thread) * taps * line;
    int64_t* const holds = holders + size_t(thread) * taps;
    float* const wide_in = beside + size_t(thread) * (in_line + line);
    std::fill_n(holds, taps, -1);
    const auto stretched = [&](size_t source) -> const float* {
      float* const to = ring + source % taps * line;
      if (holds[source % taps] != int64_t(source)) {
        if (!wide) {
          const auto* narrow = x.data<std::byte>() + source * in_line * as_floats.bytes;
          as_floats.widen(narrow, wide_in, in_line);
        }
        const float* from = wide ? x.data<float>() + source * in_line : wide_in;
        last ? stretch_pixels(image, from, to, width, channels, args.isa)
             : stretch_row(image, from, to, width);
        holds[source % taps] = int64_t(source);
      }
      return to;
    };
    for (size_t i = begin; i < end; ++i) {
      const size_t plane = i / height, row = i % height;
      float* const to = wide ? y.data<float>() + i * line : wide_in + in_line;
      const float* first = nullptr;
      float first_weight = 0;
      size_t taken = 0;
      for (size_t k = 0; k < taps; ++k) {
        const float weight = image.row_weight[row * taps + k];
        if (weight == 0) continue;
        const float* from = stretched(plane * in_height + size_t(rows.index[row * taps + k]));
        if (++taken == 1) {
          first = from;
          first_weight = weight;
        } else if (taken == 2) {
          SDX_PICK(blend_rows, args.isa)(first, first_weight, from, weight, to, line);
        } else {
          SDX_PICK(add_weighed_row, args.isa)(from, to, line, weight);
        }
      }
      if (taken == 1) SDX_PICK(weigh_row, args.isa)(first, to, line, first_weight);
      if (taken == 0) std::fill_n(to, line, 0.0f);
      if (!wide) as_floats.narrow(to, y.data<std::byte>() + i * line * as_floats.bytes, line);
    }
  });
  return ok();
}

}  // namespace sdx::ops
