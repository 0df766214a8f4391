// GridSample.
#include "kernel/window/grid_sample.h"

#include <cmath>

#include "ops/noise.h"
#include "ops/tensor/ints.h"
#include "ops/tensor/pick.h"

namespace sdx::ops {
namespace {

struct GridSample {
  enum class Mode { nearest, linear, cubic } mode;
  enum class Padding { zeros, border, reflection } padding;
  bool align_corners;
};

constexpr Version kHistory[] = {
    {16,
     "(X: T1, grid: T2) -> (Y: T1) {align_corners: int = 0, mode: string = \"bilinear\", "
     "padding_mode: string = "
     "\"zeros\"} T1 in all T2 in floats"},
    {20, "{mode: string = \"linear\"}"},
    {22, "T1 += bf16 T2 += bf16"},
};

Result<GridSample> read(const Node& node, const Facts& in) {
  GridSample a{GridSample::Mode::linear, GridSample::Padding::zeros, node.i("align_corners") != 0};
  const std::string &mode = node.s("mode"), &padding = node.s("padding_mode");
  if (mode == "nearest") {
    a.mode = GridSample::Mode::nearest;
  } else if (mode == "cubic" || mode == "bicubic") {
    a.mode = GridSample::Mode::cubic;
  } else if (mode != "linear" && mode != "bilinear") {
    return fail("SDX-T0242", "mode \"{}\" is not defined", mode);
  }
  if (padding == "border") {
    a.padding = GridSample::Padding::border;
  } else if (padding == "reflection") {
    a.padding = GridSample::Padding::reflection;
  } else if (padding != "zeros") {
    return fail("SDX-T0242", "padding_mode \"{}\" is not defined", padding);
  }
  if (in[0].type == DType::string && a.mode != GridSample::Mode::nearest)
    return unsupported_type("GridSample", in[0].type);
  return a;
}

Result<Facts> infer(const GridSample&, const Facts& in) {
  if (!in[0].has_rank() && !in[1].has_rank()) return Facts{Fact::tensor(in[0].type)};
  const size_t rank = in[0].has_rank() ? in[0].rank() : in[1].rank();
  if (rank < 3 || (in[0].has_rank() && in[1].has_rank() && in[1].rank() != rank)) {
    return fail("SDX-T0243",
                "the input {} must be [N,C,D1,...] and the grid {} [N,D1_out,...,number of D]",
                in[0].text(), in[1].text());
  }
  if (in[1].has_rank()) {
    const Dim& axes = in[1].shape->back();
    if (axes.is_const() && axes.value() != int64_t(rank) - 2) {
      return fail("SDX-T0243", "grid positions have {} numbers, the input {} spatial axes",
                  axes.value(), rank - 2);
    }
    if (in[0].has_rank() && in[0].dim(0).is_const() && in[1].dim(0).is_const() &&
        !(in[0].dim(0) == in[1].dim(0))) {
      return fail("SDX-T0243", "the input {} and the grid {} differ in batch size", in[0].text(),
                  in[1].text());
    }
  }
  Shape shape(rank, Dim::unknown());
  if (in[0].has_rank()) {
    shape[0] = in[0].dim(0);
    shape[1] = in[0].dim(1);
  }
  for (size_t i = 2; in[1].has_rank() && i < rank; ++i) shape[i] = in[1].dim(i - 1);
  return Facts{Fact::tensor(in[0].type, std::move(shape))};
}

// Mirrored at the borders until it lies between them.
template <class C>
C reflect(C x, C low, C high) {
  const C range = high - low;
  if (range <= 0) return low;
  if (x >= low && x <= high) return x;
  const C past = x < low ? low - x : x - high;
  const C turns = std::floor(past / range);
  const C rest = past - turns * range;
  const bool back = std::fmod(turns, C(2)) == 0;
  return (x < low) == back ? low + rest : high - rest;
}

// One axis at one position: up to four elements and their weights; -1 where there is no element.
template <class C>
struct Taps {
  int count = 0;
  int64_t index[4] = {};
  C weight[4] = {};
};

template <class C>
Taps<C> taps_at(const GridSample& a, C position, int64_t size) {
  // A NaN stands for the first border.
  if (position != position) position = -1;
  const C n = C(size);
  C x = a.align_corners ? (position + 1) / 2 * (n - 1) : ((position + 1) * n - 1) / 2;
  // An infinity times the 0 of an axis of one element is NaN: it lies before the first border.
  x = x > C(-0x1p30) ? std::min(x, C(0x1p30)) : C(-0x1p30);
  if (a.mode == GridSample::Mode::nearest) x = std::nearbyint(x);
  const C low = a.align_corners ? C(0) : C(-0.5), high = a.align_corners ? n - 1 : n - C(0.5);
  if (x < low || x > high) {
    if (a.padding == GridSample::Padding::border) x = std::clamp<C>(x, 0, n - 1);
    if (a.padding == GridSample::Padding::reflection) x = reflect(x, low, high);
  }
  Taps<C> taps;
  const auto add = [&](C at, C weight) {
    if (a.padding == GridSample::Padding::reflection) at = std::trunc(reflect(at, low, high));
    const bool inside = at >= 0 && at <= n - 1;
    if (a.padding == GridSample::Padding::zeros && !inside) {
      taps.index[taps.count] = -1;
    } else {
      taps.index[taps.count] = int64_t(std::clamp<C>(at, 0, n - 1));
    }
    taps.weight[taps.count++] = weight;
  };
  if (a.mode == GridSample::Mode::nearest) {
    add(x, 1);
    return taps;
  }
  const C base = std::floor(x), t = x - base;
  if (a.mode == GridSample::Mode::linear) {
    add(base, 1 - t);
    add(base + 1, t);
    return taps;
  }
  const C alpha = C(-0.75);
  const auto near = [&](C d) { return ((alpha + 2) * d - (alpha + 3)) * d * d + 1; };
  const auto far = [&](C d) { return ((alpha * d - 5 * alpha) * d + 8 * alpha) * d - 4 * alpha; };
  add(base - 1, far(t + 1));
  add(base, near(t));
  add(base + 1, near(1 - t));
  add(base + 2, far(2 - t));
  return taps;
}

// The weighted sum over all axes, the last axis first; products and sums are each rounded, absent
// elements take no part.
template <class C, class Get>
C sample(std::span<const Taps<C>> taps, std::span<const int64_t> strides, int64_t base,
         const Get& get) {
  if (taps.empty()) return get(size_t(base));
  C sum = 0;
  for (int k = 0; k < taps[0].count; ++k) {
    if (taps[0].index[k] < 0 || taps[0].weight[k] == 0) continue;
    sum += taps[0].weight[k] *
           sample(taps.subspan(1), strides.subspan(1), base + taps[0].index[k] * strides[0], get);
  }
  return sum;
}

template <class C>
void run_points(const GridSample& a, const View& x, const View& grid, const View& y, Pool* pool) {
  const size_t axes = x.rank() - 2, channels = size_t(x.dims[1]);
  const SmallInts strides = strides_of(x.dims.subspan(2));
  const size_t plane = split_at(x.dims, 0, 2).inner, points = split_at(y.dims, 0, 2).inner;
  const bool pairs = is_complex(x.type);
  const DType part = x.type == DType::c64    ? DType::f32
                     : x.type == DType::c128 ? DType::f64
                                             : x.type;
  const size_t parts = pairs ? 2 : 1;
  share_rows(pool, size_t(x.dims[0]) * points, channels, x.type, [&](size_t begin, size_t end) {
    std::vector<Taps<C>> taps(axes);
    for (size_t i = begin; i < end; ++i) {
      const size_t batch = i / points, point = i % points;
      // Positions name the last axis first.
      for (size_t k = 0; k < axes; ++k) {
        taps[k] =
            taps_at(a, C(get_f64(grid.type, grid.raw, i * axes + axes - 1 - k)), x.dims[2 + k]);
      }
      for (size_t c = 0; c < channels; ++c) {
        const size_t from = (batch * channels + c) * plane,
                     to = (batch * channels + c) * points + point;
        if (a.mode == GridSample::Mode::nearest) {
          int64_t at = 0;
          bool inside = true;
          for (size_t k = 0; k < axes; ++k) {
            inside &= taps[k].index[0] >= 0;
            at += taps[k].index[0] * strides[k];
          }
          if (inside) {
            copy_row(x.type, x.raw, from + size_t(at), y.raw, to, 1);
          } else if (x.type == DType::string) {
            y.data<std::string>()[to].clear();
          } else {
            for (size_t p = 0; p < parts; ++p) set_f64(part, y.raw, to * parts + p, 0);
          }
          continue;
        }
        for (size_t p = 0; p < parts; ++p) {
          const C value = sample<C>(taps, strides, 0, [&](size_t at) {
            if (part == DType::f32)
              return C(static_cast<const float*>(x.raw)[(from + at) * parts + p]);
            return C(get_f64(part, x.raw, (from + at) * parts + p));
          });
          const C number = value == value ? value : std::numeric_limits<C>::quiet_NaN();
          if (is_integer(part)) {
            visit_integers(
                part, [&]<class T>() { y.data<T>()[to] = to_integer<T>(std::nearbyint(number)); });
          } else {
            set_f64(part, y.raw, to * parts + p, number);
          }
        }
      }
    }
  });
}

Status reference(const GridSample& a, Args& args) {
  const View &x = args.in(0), &grid = args.in(1), &y = args.out();
  if (y.count == 0) return ok();
  for (const int64_t size : x.dims.subspan(2)) {
    if (size == 0)
      return fail("SDX-R0105", "the input {} has no element to sample", to_string(x.dims));
  }
  const auto wide = [](DType type) {
    return type == DType::f64 || type == DType::c128 || (is_integer(type) && bits(type) >= 32);
  };
  if (wide(x.type) || grid.type == DType::f64) {
    run_points<double>(a, x, grid, y, args.pool);
  } else {
    run_points<float>(a, x, grid, y, args.pool);
  }
  return ok();
}

// Images of floats, linearly: a point's taps are found once for all channels.
bool fits(const GridSample& a, const Call& call) {
  if (a.mode != GridSample::Mode::linear || call.in[0].type != DType::f32 ||
      call.in[1].type != DType::f32 || call.in[0].rank() != 4) {
    return false;
  }
  // Positions within are whole numbers of float.
  const Dims dims = call.in[0].dims();
  return dims[2] < 1 << 24 && dims[3] < 1 << 24;
}

// Reflections may go back and forth many times: each point by itself.
void reflected_taps(const GridSample& a, const float* position, int64_t size, size_t count,
                    GridTaps* to) {
  for (size_t i = 0; i < (count + 15) / 16 * 16; ++i) {
    Taps<float> taps;
    if (i < count) taps = taps_at(a, position[2 * i], size);
    for (const int k : {0, 1})
      to->set(i, k, k < taps.count, int32_t(std::max<int64_t>(0, taps.index[k])), taps.weight[k]);
  }
}

void find_taps(const GridSample& a, const float* position, int64_t size, size_t count, Isa isa,
               GridTaps* to) {
  if (a.padding == GridSample::Padding::reflection)
    return reflected_taps(a, position, size, count, to);
  const GridAxis axis{int32_t(size), a.align_corners, a.padding == GridSample::Padding::border};
  SDX_PICK(grid_taps, isa)(axis, position, 2, count, to);
}

Status run(const GridSample& a, Args& args) {
  const View &x = args.in(0), &y = args.out();
  const float* grid = args.in(1).data<float>();
  if (y.count == 0) return ok();
  const int64_t height = x.dims[2], width = x.dims[3];
  if (height == 0 || width == 0)
    return fail("SDX-R0105", "the input {} has no element to sample", to_string(x.dims));
  const auto channels = size_t(x.dims[1]), plane = size_t(height * width);
  const auto points = size_t(y.dims[2] * y.dims[3]);
  const size_t grain = 1024 / (channels + 1) + 1;
  args.pool->parallel(size_t(x.dims[0]) * points, grain, [&](size_t begin, size_t end, int) {
    GridTaps rows, columns;
    while (begin < end) {
      const size_t image = begin / points * channels, first = begin % points;
      const size_t most = channels == 1 ? end - begin : std::min(end - begin, points - first);
      const size_t count = std::min(GridTaps::kMost, most);
      // Positions name the last axis first.
      find_taps(a, grid + 2 * begin, width, count, args.isa, &columns);
      find_taps(a, grid + 2 * begin + 1, height, count, args.isa, &rows);
      const GridImages images{
          x.data<float>() + image * plane,         channels, plane, size_t(width), points, first,
          y.data<float>() + image * points + first};
      SDX_PICK(grid_blend, args.isa)(images, rows, columns, count);
      begin += count;
    }
  });
  return ok();
}

constexpr Kernel<GridSample> kKernels[] = {{.name = "grid_sample_f32", .fits = fits, .run = run}};

// Points all over an image of 5 x 7 and around it.
Case image_case(std::string name, AttrMap attrs) {
  Tensor grid = noise({2, 3, 11, 2});
  set_f64(DType::f32, grid.raw(), 4, std::numeric_limits<double>::quiet_NaN());
  set_f64(DType::f32, grid.raw(), 7, 1);
  set_f64(DType::f32, grid.raw(), 9, -std::numeric_limits<double>::infinity());
  return {.name = std::move(name),
          .opset = 20,
          .attrs = std::move(attrs),
          .inputs = {noise({2, 3, 5, 7}), std::move(grid)}};
}

std::vector<Case> cases() {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  return {image_case("an_image_with_zeros_around", {}),
          image_case("an_image_by_its_corners", {{"align_corners", int64_t{1}}}),
          image_case("an_image_that_goes_on", {{"padding_mode", std::string("border")}}),
          image_case("an_image_mirrored", {{"padding_mode", std::string("reflection")}}),
          // Blocks of points begin and end within images.
          {.name = "small_images_of_one_channel",
           .opset = 20,
           .attrs = {},
           .inputs = {noise({9, 1, 4, 3}), noise({9, 5, 7, 2}, 2)}},
          {.name = "many_points_of_some_channels",
           .opset = 20,
           .attrs = {{"padding_mode", std::string("border")}},
           .inputs = {noise({2, 3, 6, 5}), noise({2, 13, 11, 2}, 2)}},
          {.name = "an_axis_of_one_element_has_one_border",
           .opset = 20,
           .attrs = {{"align_corners", int64_t{1}}, {"padding_mode", std::string("border")}},
           .inputs = {Tensor::of<float>({1, 1, 1, 2}, {3, 5}),
                      Tensor::of<float>({1, 1, 2, 2}, {-1, -infinity, 1, infinity})},
           .expected = {Tensor::of<float>({1, 1, 1, 2}, {3, 5})}},
          {.name = "nan_is_the_first_border",
           .opset = 16,
           .attrs = {{"mode", std::string("nearest")}, {"padding_mode", std::string("border")}},
           .inputs = {Tensor::of<std::string>({1, 1, 1, 2}, {"a", "b"}),
                      Tensor::of<float>({1, 1, 2, 2}, {nan, 0, 1, 0})},
           .expected = {Tensor::of<std::string>({1, 1, 1, 2}, {"a", "b"})}},
          {.name = "one_axis_is_enough",
           .opset = 20,
           .attrs = {{"align_corners", int64_t{1}}},
           .inputs = {Tensor::of<float>({1, 1, 3}, {0, 1, 4}),
                      Tensor::of<float>({1, 2, 1}, {-.5f, .5f})},
           .expected = {Tensor::of<float>({1, 1, 2}, {.5f, 2.5f})}}};
}

constexpr OpOf<GridSample> kGridSample{
    .name = "GridSample",
    .doc = "The input read at the positions that a grid names, between its elements.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .kernels = kKernels,
    .cases = cases,
};

}  // namespace

extern const Op grid_sample = erase<kGridSample>();

}  // namespace sdx::ops
