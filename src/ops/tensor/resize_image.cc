// Kernels of Resize: nearest elements of any type, and images of f32 whose rows and columns change.
#include <cstring>

#include "kernel/rows/rows.h"
#include "ops/tensor/resize.h"

namespace sdx::ops {
namespace {

using Mode = Resampling::Mode;
using Place = Resampling::Place;

// A kernel's taps for the two innermost axes, with weights as float.
struct Image {
  ResizePlan plan;
  std::vector<float> row_weight, column_weight;
  size_t ring;  // rows kept after the horizontal step
};

bool plannable(const Resize& a, const Call& call) {
  const Wanted w = wanted(a, call.in);
  if (a.how.place == Place::crop || (w.by_sizes ? !w.sizes || !constant_dims(*w.sizes) : !w.scales))
    return false;
  return resize_plan(a, call.in[0].dims(), call.out[0].dims(), w).ok();
}

size_t row_taps(const Resize& a, const Call& call) {
  const auto plan = resize_plan(a, call.in[0].dims(), call.out[0].dims(), wanted(a, call.in));
  return plan ? (*plan)[plan->size() - 2].taps : 1;
}
// One input row resized along its length.
void stretch_row(const Image& image, const float* from, float* to, size_t width) {
  const AxisTaps& columns = image.plan.back();
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

}  // namespace

std::shared_ptr<const void> pack_resize(const Resize& a, const Call& call, Pool&) {
  auto plan = resize_plan(a, call.in[0].dims(), call.out[0].dims(), wanted(a, call.in));
  if (!plan) return nullptr;
  auto image = std::make_shared<Image>();
  image->plan = *std::move(plan);
  const size_t rank = image->plan.size();
  if (rank >= 2) {
    const AxisTaps &rows = image->plan[rank - 2], &columns = image->plan[rank - 1];
    image->row_weight.assign(rows.weight.begin(), rows.weight.end());
    image->column_weight.assign(columns.weight.begin(), columns.weight.end());
    image->ring = rows.taps;
  }
  return image;
}

bool fits_resize_nearest(const Resize& a, const Call& call) {
  return a.how.mode == Mode::nearest && plannable(a, call);
}
Status run_resize_nearest(const Resize&, Args& args) {
  take_nearest(static_cast<const Image*>(args.packed)->plan, args.in(0), args.out(), args.pool);
  return ok();
}

// Only the two innermost axes of f32 change size.
bool fits_resize_image(const Resize& a, const Call& call) {
  if (a.how.mode == Mode::nearest || call.in[0].type != DType::f32 || call.in[0].rank() < 2 ||
      !plannable(a, call))
    return false;
  const auto plan = resize_plan(a, call.in[0].dims(), call.out[0].dims(), wanted(a, call.in));
  return std::all_of(plan->begin(), plan->end() - 2,
                     [](const AxisTaps& taps) { return taps.identity(); });
}
// Per thread: the rows that the taps of one output row need, and which input row each of them
// holds.
size_t resize_image_scratch(const Resize& a, const Call& call) {
  const size_t width = size_t(call.out[0].dim(call.out[0].rank() - 1).value());
  return size_t(call.threads) * row_taps(a, call) * (width * sizeof(float) + sizeof(int64_t));
}

Status run_resize_image(const Resize&, Args& args) {
  const Image& image = *static_cast<const Image*>(args.packed);
  const View &x = args.in(0), &y = args.out();
  const size_t rank = y.rank();
  const AxisTaps& rows = image.plan[rank - 2];
  const size_t height = size_t(y.dims[rank - 2]), width = size_t(y.dims[rank - 1]);
  const size_t in_height = size_t(x.dims[rank - 2]), in_width = size_t(x.dims[rank - 1]);
  if (y.count == 0) return ok();
  auto* const holders = reinterpret_cast<int64_t*>(args.scratch.data());
  auto* const rings = reinterpret_cast<float*>(holders + size_t(args.pool->threads()) * image.ring);
  const size_t grain = std::max<size_t>(1, 32768 / width);
  const auto weigh = SDX_PICK(weigh_row, args.isa);
  const auto add_weighed = SDX_PICK(add_weighed_row, args.isa);
  args.pool->parallel(y.count / width, grain, [&](size_t begin, size_t end, int thread) {
    float* const ring = rings + size_t(thread) * image.ring * width;
    int64_t* const holds = holders + size_t(thread) * image.ring;
    std::fill_n(holds, image.ring, -1);
    for (size_t line = begin; line < end; ++line) {
      const size_t plane = line / height, row = line % height;
      float* const to = y.data<float>() + line * width;
      bool first = true;
      for (size_t k = 0; k < rows.taps; ++k) {
        const float weight = image.row_weight[row * rows.taps + k];
        if (weight == 0) continue;
        const size_t source = plane * in_height + size_t(rows.index[row * rows.taps + k]);
        const size_t slot = source % image.ring;
        float* const stretched = ring + slot * width;
        if (holds[slot] != int64_t(source)) {
          stretch_row(image, x.data<float>() + source * in_width, stretched, width);
          holds[slot] = int64_t(source);
        }
        (first ? weigh : add_weighed)(stretched, to, width, weight);
        first = false;
      }
      if (first) std::fill_n(to, width, 0.0f);
    }
  });
  return ok();
}

}  // namespace sdx::ops
