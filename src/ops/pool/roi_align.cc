// RoiAlign.
#include <array>
#include <cmath>
#include <vector>

#include "base/deadline.h"
#include "ops/noise.h"
#include "ops/pool/pool.h"
#include "ops/pool/roi.h"

namespace sdx::ops {
namespace {

struct RoiAlign {
  bool max, half_pixel;
  int64_t height, width, sampling;  // sampling 0: as many samples as the bin is large
  float scale;
};

constexpr Version kHistory[] = {
    {10,
     "(X: T1, rois: T1, batch_indices: T2) -> (Y: T1) {mode: string = \"avg\", output_height: int "
     "= 1, output_width: int "
     "= 1, sampling_ratio: int = 0, spatial_scale: float = 1} T1 in floats T2 in i64"},
    {16, "{coordinate_transformation_mode: string = \"half_pixel\"}"},
    {22, "T1 += bf16"},
};

Result<RoiAlign> read(const Node& node, const Facts&) {
  // Before the attribute existed, coordinates were not shifted.
  const bool half = node.has("coordinate_transformation_mode") &&
                    node.s("coordinate_transformation_mode") == "half_pixel";
  const RoiAlign a{node.s("mode") == "max",  half,
                   node.i("output_height"),  node.i("output_width"),
                   node.i("sampling_ratio"), node.f("spatial_scale")};
  if (node.s("mode") != "max" && node.s("mode") != "avg") {
    return fail("SDX-T0332", "mode is \"{}\", expected avg or max", node.s("mode"));
  }
  if (a.height < 1 || a.width < 1 || a.sampling < 0 || a.sampling > 4096) {
    return fail("SDX-T0331",
                "output_height and output_width must be positive, sampling_ratio from 0 to 4096");
  }
  return a;
}

Result<Facts> infer(const RoiAlign& a, const Facts& in) {
  return infer_roi(in, a.height, a.width, 4);
}

// One axis of a region. start = x1 * scale - offset (offset 0.5 for half_pixel);  size = x2 * scale
// - offset - start, at least 1 without half_pixel;  bin = size / bins;  samples = sampling_ratio,
// or ceil(bin); sample i of bin p lies at (start + p * bin) + ((i + 0.5) * bin) / samples.
template <class C>
struct RoiAxis {
  C start, bin;
  int64_t samples;
  RoiAxis(const RoiAlign& a, C from, C to, int64_t bins) {
    const C offset = a.half_pixel ? C(0.5) : C(0);
    start = from * C(a.scale) - offset;
    C size = (to * C(a.scale) - offset) - start;
    if (!a.half_pixel) size = size > 1 ? size : C(1);
    bin = size / C(bins);
    samples = a.sampling > 0 ? a.sampling
                             : std::clamp<int64_t>(to_integer<int64_t>(std::ceil(bin)), 0, 4096);
  }
  C at(int64_t p, int64_t i) const {
    return (start + C(p) * bin) + ((C(i) + C(0.5)) * bin) / C(samples);
  }
};

// Where a sample lies between two neighbouring elements.
template <class C>
struct Between {
  int64_t low = 0, high = 0;
  C part = 0;  // of the way from low to high
  bool inside = false;
  Between(C at, int64_t size) {
    if (!(at >= C(-1) && at <= C(size)) || size == 0) return;
    inside = true;
    const C from = at > 0 ? at : C(0);
    low = int64_t(from);
    high = low + 1;
    if (low >= size - 1) {
      low = high = size - 1;
      return;
    }
    part = from - C(low);
  }
};

// With ly, lx the parts and hy = 1 - ly, hx = 1 - lx, the four terms of a sample are (hy*hx)*x00,
// (hy*lx)*x01, (ly*hx)*x10, (ly*lx)*x11. avg: the sum over samples, in row-major order, of ((t0 +
// t1) + t2) + t3, divided by their number; max: the greatest term. A sample outside of the input is
// 0.
template <class T>
Status align(const RoiAlign& a, Args& args) {
  using C = Compute<T>;
  const View &x = args.in(0), &rois = args.in(1);
  const int64_t channels = x.dims[1], height = x.dims[2], width = x.dims[3];
  if (args.in(2).count != size_t(rois.dims[0])) {
    return fail("SDX-R0313", "{} batch_indices for {} regions", args.in(2).count, rois.dims[0]);
  }
  T* to = args.out().data<T>();
  for (size_t r = 0; r < size_t(rois.dims[0]); ++r) {
    const T* roi = rois.data<T>() + r * 4;
    const int64_t batch = args.in(2).data<int64_t>()[r];
    if (batch < 0 || batch >= x.dims[0]) return bad_region_batch(r, batch, x.dims[0]);
    const RoiAxis<C> across(a, load(roi[0]), load(roi[2]), a.width),
        down(a, load(roi[1]), load(roi[3]), a.height);
    for (int64_t c = 0; c < channels; ++c) {
      const T* plane = x.data<T>() + (batch * channels + c) * height * width;
      const auto get = [&](int64_t i, int64_t j) { return load(plane[i * width + j]); };
      for (int64_t ph = 0; ph < a.height; ++ph) {
        for (int64_t pw = 0; pw < a.width; ++pw) {
          C sum = 0, most = -std::numeric_limits<C>::infinity();
          for (int64_t iy = 0; iy < down.samples; ++iy) {
            const Between<C> y(down.at(ph, iy), height);
            for (int64_t ix = 0; ix < across.samples; ++ix) {
              Deadline::step();  // the regions may tell how many samples there are
              const Between<C> z(across.at(pw, ix), width);
              C term[4] = {0, 0, 0, 0};
              if (y.inside && z.inside) {
                const C hy = C(1) - y.part, hx = C(1) - z.part;
                term[0] = (hy * hx) * get(y.low, z.low);
                term[1] = (hy * z.part) * get(y.low, z.high);
                term[2] = (y.part * hx) * get(y.high, z.low);
                term[3] = (y.part * z.part) * get(y.high, z.high);
              }
              sum = sum + (((term[0] + term[1]) + term[2]) + term[3]);
              for (const C t : term) most = above(t, most) ? t : most;
            }
          }
          const int64_t count = down.samples * across.samples;
          *to++ = store<T>(!a.max       ? sum / C(std::max<int64_t>(count, 1))
                           : count == 0 ? C(0)
                                        : most);
        }
      }
    }
  }
  return ok();
}

Status reference(const RoiAlign& a, Args& args) {
  Status status = ok();
  visit_floats(args.in(0).type, [&]<class T>() { status = align<T>(a, args); });
  return status;
}

// Averages of floats: where a bin's samples lie and how much their neighbours weigh is found once
// for all channels. A sample outside adds +0 to a sum that began with +0, which is nothing.
class RoiBin {
 public:
  RoiBin(const float* image, size_t plane, size_t channels)
      : image_(image), plane_(plane), sums_(channels) {}

  void sample(const Between<float>& y, const Between<float>& x, int64_t width) {
    if (!y.inside || !x.inside) return;
    const float hy = 1.0f - y.part, hx = 1.0f - x.part;
    samples_[count_++] = {{size_t(y.low * width + x.low), size_t(y.low * width + x.high),
                           size_t(y.high * width + x.low), size_t(y.high * width + x.high)},
                          {hy * hx, hy * x.part, y.part * hx, y.part * x.part}};
    if (count_ == samples_.size()) add();
  }
  // Ends the bin: its averages of all channels, `step` apart.
  void put(float* to, size_t step, float samples) {
    add();
    for (float& sum : sums_) {
      *to = store<float>(sum / samples);
      to += step;
      sum = 0;
    }
  }

 private:
  struct Sample {
    size_t at[4];
    float weight[4];
  };
  void add() {
    const float* plane = image_;
    for (float& total : sums_) {
      float sum = total;
      for (size_t i = 0; i < count_; ++i) {
        const auto term = [&, &s = samples_[i]](int k) { return s.weight[k] * plane[s.at[k]]; };
        sum = sum + (((term(0) + term(1)) + term(2)) + term(3));
      }
      total = sum;
      plane += plane_;
    }
    count_ = 0;
  }

  const float* image_;
  const size_t plane_;
  std::vector<float> sums_;  // of the channels
  std::array<Sample, 64> samples_;
  size_t count_ = 0;
};

bool fits(const RoiAlign& a, const Call& call) { return !a.max && call.in[0].type == DType::f32; }

Status run(const RoiAlign& a, Args& args) {
  const View &x = args.in(0), &rois = args.in(1);
  const int64_t height = x.dims[2], width = x.dims[3];
  const auto regions = size_t(rois.dims[0]), channels = size_t(x.dims[1]);
  const auto plane = size_t(height * width), bins = size_t(a.height * a.width);
  const int64_t* batch = args.in(2).data<int64_t>();
  if (args.in(2).count != regions)
    return fail("SDX-R0313", "{} batch_indices for {} regions", args.in(2).count, regions);
  for (size_t r = 0; r < regions; ++r) {
    if (batch[r] < 0 || batch[r] >= x.dims[0]) return bad_region_batch(r, batch[r], x.dims[0]);
  }
  args.pool->parallel(regions, 1, [&](size_t begin, size_t end, int) {
    for (size_t r = begin; r < end; ++r) {
      const float* roi = rois.data<float>() + r * 4;
      const RoiAxis<float> across(a, roi[0], roi[2], a.width), down(a, roi[1], roi[3], a.height);
      RoiBin bin(x.data<float>() + size_t(batch[r]) * channels * plane, plane, channels);
      float* to = args.out().data<float>() + r * channels * bins;
      for (size_t b = 0; b < bins; ++b, ++to) {
        const int64_t ph = int64_t(b) / a.width, pw = int64_t(b) % a.width;
        for (int64_t iy = 0; iy < down.samples; ++iy) {
          const Between<float> y(down.at(ph, iy), height);
          for (int64_t ix = 0; ix < across.samples; ++ix) {
            Deadline::step();  // the regions may tell how many samples there are
            bin.sample(y, Between<float>(across.at(pw, ix), width), width);
          }
        }
        bin.put(to, bins, float(std::max<int64_t>(down.samples * across.samples, 1)));
      }
    }
  });
  return ok();
}

constexpr Kernel<RoiAlign> kKernels[] = {{.name = "roi_align_f32", .fits = fits, .run = run}};

std::vector<Case> cases() {
  const Tensor x = Tensor::of<float>({1, 1, 2, 2}, {1, 2, 3, 4}),
               roi = Tensor::of<float>({1, 4}, {0, 0, 1, 1});
  const Tensor batch = Tensor::of<int64_t>({1}, {0});
  return {{.name = "opset10_does_not_shift",
           .opset = 10,
           .attrs = {{"sampling_ratio", int64_t{1}}},
           .inputs = {x, roi, batch},
           .expected = {Tensor::of<float>({1, 1, 1, 1}, {2.5f})}},
          {.name = "opset16_shifts_by_half_a_pixel",
           .opset = 16,
           .attrs = {{"sampling_ratio", int64_t{1}}},
           .inputs = {x, roi, batch},
           .expected = {Tensor::of<float>({1, 1, 1, 1}, {1})}},
          {.name = "regions_in_and_around_an_image",
           .opset = 16,
           .attrs = {{"output_height", int64_t{3}},
                     {"output_width", int64_t{4}},
                     {"sampling_ratio", int64_t{9}},
                     {"spatial_scale", 0.5f}},
           .inputs = {
               noise({2, 3, 9, 11}),
               Tensor::of<float>({4, 4}, {1, 2, 17, 15, -9, -7, 3, 40, 5, 5, 5, 5, 0, 0, 60, 60}),
               Tensor::of<int64_t>({4}, {0, 1, 1, 0})}}};
}

constexpr OpOf<RoiAlign> kRoiAlign{
    .name = "RoiAlign",
    .doc = "Bins of each region of interest, pooled over samples interpolated between elements.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .kernels = kKernels,
    .cases = cases,
};

}  // namespace

extern const Op roi_align = erase<kRoiAlign>();

}  // namespace sdx::ops
