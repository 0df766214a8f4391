// MaxRoiPool.
#include <cmath>

#include "ops/pool/pool.h"
#include "ops/pool/roi.h"

namespace sdx::ops {
namespace {

struct MaxRoiPool {
  int64_t height, width;
  float scale;
};

constexpr Version kHistory[] = {
    {1, "(X: T, rois: T) -> (Y: T) {pooled_shape!: ints, spatial_scale: float = 1} T in floats"},
    {22, "T += bf16"},
};

Result<MaxRoiPool> read(const Node& node, const Facts&) {
  const std::vector<int64_t>& shape = node.ints("pooled_shape");
  if (shape.size() != 2 || shape[0] < 1 || shape[1] < 1) {
    return fail("SDX-T0339", "pooled_shape must be two positive sizes");
  }
  return MaxRoiPool{shape[0], shape[1], node.f("spatial_scale")};
}

Result<Facts> infer(const MaxRoiPool& a, const Facts& in) {
  return infer_roi(in, a.height, a.width, 5);
}

// Along each axis: first = round(x1 * scale), last = round(x2 * scale), halves away from zero; size
// = max(last - first + 1, 1). Bin p of n takes the elements from first + floor(p * size / n) to
// first + ceil((p + 1) * size / n), cut to the input. y is the greatest of them (NaN is greater
// than all), 0 if there are none.
struct Bins {
  int64_t first, size, bins, limit;
  template <class C>
  Bins(C from, C to, C scale, int64_t count, int64_t most) : bins(count), limit(most) {
    first = to_integer<int32_t>(std::round(from * scale));
    size = std::max<int64_t>(int64_t(to_integer<int32_t>(std::round(to * scale))) - first + 1, 1);
  }
  int64_t begin(int64_t p) const { return std::clamp<int64_t>(first + p * size / bins, 0, limit); }
  int64_t end(int64_t p) const {
    return std::clamp<int64_t>(first + ((p + 1) * size + bins - 1) / bins, 0, limit);
  }
};

template <class T>
Status pool(const MaxRoiPool& a, Args& args) {
  using C = Compute<T>;
  const View &x = args.in(0), &rois = args.in(1);
  const int64_t channels = x.dims[1], height = x.dims[2], width = x.dims[3];
  T* to = args.out().data<T>();
  for (size_t r = 0; r < size_t(rois.dims[0]); ++r) {
    const T* roi = rois.data<T>() + r * 5;
    const auto batch = to_integer<int64_t>(load(roi[0]));
    if (batch < 0 || batch >= x.dims[0]) return bad_region_batch(r, batch, x.dims[0]);
    const Bins across(load(roi[1]), load(roi[3]), C(a.scale), a.width, width);
    const Bins down(load(roi[2]), load(roi[4]), C(a.scale), a.height, height);
    for (int64_t c = 0; c < channels; ++c) {
      const T* plane = x.data<T>() + (batch * channels + c) * height * width;
      for (int64_t ph = 0; ph < a.height; ++ph) {
        for (int64_t pw = 0; pw < a.width; ++pw) {
          const bool empty = down.begin(ph) >= down.end(ph) || across.begin(pw) >= across.end(pw);
          T best = empty ? store<T>(C(0)) : least<T>();
          for (int64_t i = down.begin(ph); !empty && i < down.end(ph); ++i) {
            for (int64_t j = across.begin(pw); j < across.end(pw); ++j) {
              if (above(plane[i * width + j], best)) best = plane[i * width + j];
            }
          }
          *to++ = canonical(best);
        }
      }
    }
  }
  return ok();
}

Status reference(const MaxRoiPool& a, Args& args) {
  Status status = ok();
  visit_floats(args.in(0).type, [&]<class T>() { status = pool<T>(a, args); });
  return status;
}

std::vector<Case> cases() {
  return {{.name = "bins_of_a_region",
           .opset = 1,
           .attrs = {{"pooled_shape", std::vector<int64_t>{1, 2}}},
           .inputs = {Tensor::of<float>({1, 1, 2, 3}, {1, 2, 3, 4, 5, 6}),
                      Tensor::of<float>({1, 5}, {0, 0, 0, 2, 1})},
           .expected = {Tensor::of<float>({1, 1, 1, 2}, {5, 6})}}};
}

constexpr OpOf<MaxRoiPool> kMaxRoiPool{
    .name = "MaxRoiPool",
    .doc = "The greatest element of each bin of each region of interest.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .cases = cases,
};

}  // namespace

extern const Op max_roi_pool = erase<kMaxRoiPool>();

}  // namespace sdx::ops
