// AveragePool.
#include "ops/pool/average_pool.h"

#include <algorithm>

#include "base/aligned.h"
#include "ops/noise.h"
#include "ops/pool/pool.h"
#include "ops/widened.h"

namespace sdx::ops {
namespace {

constexpr Version kHistory[] = {
    {1,
     "(X: T) -> (Y: T) {auto_pad: string = \"NOTSET\", kernel_shape!: ints, pads: ints, strides: "
     "ints} T in floats"},
    {7, "{count_include_pad: int = 0}"},
    {10, "{ceil_mode: int = 0}"},
    {11, ""},
    {19, "{dilations: ints}"},
    {22, "T += bf16"},
};

Result<AveragePool> read(const Node& node, const Facts& in) {
  SDX_ASSIGN(Window window, read_pool_window(node, in[0]));
  return AveragePool{std::move(window), node.i_or("count_include_pad", 0) != 0};
}

Result<Facts> infer(const AveragePool& a, const Facts& in) {
  SDX_ASSIGN(Fact y, infer_pool(a.window, in[0]));
  return Facts{std::move(y)};
}

// The positions of output `o`'s window along one axis that count: those in the input, or those in
// the padded input.
int64_t counted(const WindowAxis& axis, int64_t o, bool padding) {
  if (!padding) return axis.last(o) - axis.first(o);
  const int64_t room = axis.in + axis.begin + axis.end - o * axis.stride;
  return std::clamp<int64_t>((room + axis.dilation - 1) / axis.dilation, 0, axis.kernel);
}

// s = x[0] + x[1] + ... from +0, over the window's elements in row-major order, padding left out;
// y = s / count.
template <class T>
void pool(const AveragePool& a, Args& args) {
  using C = Compute<T>;
  const View &x = args.in(0), &y = args.out(0);
  const WindowAxes w = resolve(a.window, x.dims.subspan(2), y.dims.subspan(2), {});
  const size_t planes = size_t(x.dims[0] * x.dims[1]);
  for (size_t plane = 0; plane < planes; ++plane) {
    const T* from = x.data<T>() + plane * w.in;
    for (size_t o = 0; o < w.out; ++o) {
      const Position at = position_of(o, w.spatial, [&](size_t i) { return w.axis[i].out; });
      C sum = 0;
      each_tap(w, at, [&](size_t, int64_t index) {
        if (index >= 0) sum = sum + load(from[index]);
      });
      int64_t count = 1;
      for (size_t i = 0; i < w.spatial; ++i) count *= counted(w.axis[i], at[i], a.count_padding);
      y.data<T>()[plane * w.out + o] = store<T>(sum / C(count));
    }
  }
}

Status reference(const AveragePool& a, Args& args) {
  visit_floats(args.in(0).type, [&]<class T>() { pool<T>(a, args); });
  return ok();
}

bool fits(const AveragePool& a, const Call& call) {
  constexpr size_t kMostTaps = size_t{1} << 24;  // counts are whole numbers of floats
  if (!plane_fits(a.window, call)) return false;
  const Dims x = call.in[0].dims(), y = call.out[0].dims();
  return resolve(a.window, std::span(x).subspan(2), std::span(y).subspan(2), {}).taps <= kMostTaps;
}

// Scratch: one count per output, those of one axis, then what all poolings need.
size_t axis_floats(const WindowAxes& w) {
  int64_t most = 0;
  for (size_t i = 0; i < w.spatial; ++i) most = std::max<int64_t>(most, w.axis[i].out);
  return aligned_floats(size_t(most));
}
size_t count_floats(const WindowAxes& w) { return aligned_floats(w.out) + axis_floats(w); }

// The count of an output is the product of those of its axes. They are small integers, so that
// products of floats are exact.
void find_counts(const AveragePool& a, const WindowAxes& w, float* counts) {
  float* along = counts + aligned_floats(w.out);
  size_t rows = 1;
  counts[0] = 1;
  for (size_t i = 0; i < w.spatial; ++i) {
    const auto out = size_t(w.axis[i].out);
    for (size_t o = 0; o < out; ++o)
      along[o] = float(counted(w.axis[i], int64_t(o), a.count_padding));
    // From behind: a row is read before its place is written to.
    for (size_t row = rows; row-- > 0;) {
      const float before = counts[row];
      for (size_t o = 0; o < out; ++o) counts[row * out + o] = before * along[o];
    }
    rows *= out;
  }
}
size_t scratch(const AveragePool& a, const Call& call) {
  const Dims x = call.in[0].dims(), y = call.out[0].dims();
  const WindowAxes w = resolve(a.window, std::span(x).subspan(2), std::span(y).subspan(2), {});
  return count_floats(w) * sizeof(float) + planes_scratch(plane_shape(w), call.threads);
}
Status run(const AveragePool& a, Args& args) {
  const View &x = args.in(0), &y = args.out();
  const WindowAxes w = resolve(a.window, x.dims.subspan(2), y.dims.subspan(2), {});
  const PoolShape shape = plane_shape(w);
  auto* counts = reinterpret_cast<float*>(args.scratch.data());
  if (w.out > 0) find_counts(a, w, counts);
  const bool equal = std::all_of(counts, counts + w.out, [&](float n) { return n == *counts; });
  const auto pool = SDX_PICK(average_pool_planes, args.isa);
  share_planes(shape, size_t(x.dims[0] * x.dims[1]), *args.pool,
               args.scratch.data() + count_floats(w) * sizeof(float),
               [&](const PoolWork& work, size_t first, size_t count, float* staged) {
                 pool(work, x.data<float>() + first * w.in, {counts, equal},
                      y.data<float>() + first * w.out, count, staged);
               });
  return ok();
}
constexpr Kernel<AveragePool> kPlain = {
    .name = "average_pool_f32", .fits = fits, .run = run, .scratch = scratch};
constexpr Kernel<AveragePool> kKernels[] = {kPlain, widened<kPlain>("average_pool_f16")};

std::vector<Case> cases() {
  const Tensor x = Tensor::of<float>({1, 1, 4}, {1, 2, 3, 4});
  const std::vector<int64_t> three{3}, ones{1, 1};
  return {{.name = "opset1_leaves_padding_out",
           .opset = 1,
           .attrs = {{"kernel_shape", three}, {"pads", ones}},
           .inputs = {x},
           .expected = {Tensor::of<float>({1, 1, 4}, {1.5f, 2, 3, 3.5f})}},
          {.name = "opset7_counts_padding",
           .opset = 7,
           .attrs = {{"kernel_shape", three}, {"pads", ones}, {"count_include_pad", int64_t{1}}},
           .inputs = {x},
           .expected = {Tensor::of<float>({1, 1, 4}, {1, 2, 3, 7 / 3.f})}},
          {.name = "ceil_mode_does_not_count_beyond_the_padding",
           .opset = 10,
           .attrs = {{"kernel_shape", three},
                     {"strides", std::vector<int64_t>{2}},
                     {"ceil_mode", int64_t{1}},
                     {"count_include_pad", int64_t{1}}},
           .inputs = {x},
           .expected = {Tensor::of<float>({1, 1, 2}, {2, 3.5f})}},
          {.name = "padded_with_stride",
           .opset = 22,
           .attrs = {{"kernel_shape", std::vector<int64_t>{3, 3}},
                     {"pads", std::vector<int64_t>{1, 1, 1, 1}},
                     {"strides", std::vector<int64_t>{2, 2}}},
           .inputs = {noise({2, 3, 13, 41})}},
          {.name = "dilated_with_ceil",
           .opset = 22,
           .attrs = {{"kernel_shape", std::vector<int64_t>{2, 3}},
                     {"dilations", std::vector<int64_t>{2, 3}},
                     {"strides", std::vector<int64_t>{1, 3}},
                     {"ceil_mode", int64_t{1}}},
           .inputs = {noise({1, 2, 9, 40})}},
          {.name = "channels_in_blocks",
           .opset = 22,
           .attrs = {{"kernel_shape", std::vector<int64_t>{3, 3, 1}},
                     {"pads", std::vector<int64_t>{1, 1, 0, 1, 1, 0}},
                     {"strides", std::vector<int64_t>{2, 2, 1}}},
           .inputs = {noise({1, 2, 9, 14, 16})}},
          {.name = "many_small_images",
           .opset = 22,
           .attrs = {{"kernel_shape", std::vector<int64_t>{2, 2}},
                     {"strides", std::vector<int64_t>{2, 2}}},
           .inputs = {noise({7, 19, 5, 4})}},
          {.name = "threes_over_narrow_images",
           .opset = 22,
           .attrs = {{"kernel_shape", std::vector<int64_t>{3, 3}},
                     {"pads", std::vector<int64_t>{1, 1, 1, 1}},
                     {"count_include_pad", int64_t{1}}},
           .inputs = {noise({1, 5, 17, 17})}},
          {.name = "of_no_images",
           .opset = 22,
           .attrs = {{"kernel_shape", std::vector<int64_t>{2, 2}}},
           .inputs = {noise({0, 3, 5, 7})}},
          {.name = "three_dimensions",
           .opset = 22,
           .attrs = {{"kernel_shape", std::vector<int64_t>{2, 2, 2}},
                     {"auto_pad", std::string("SAME_LOWER")}},
           .inputs = {noise({1, 2, 3, 4, 19})}}};
}

Streaming stream(const AveragePool& a, const Streamed& s) {
  Streaming how = stream_window(a.window, s);
  how.leaves_padding_out = !a.count_padding;
  return how;
}

constexpr OpOf<AveragePool> kAveragePool{
    .name = "AveragePool",
    .doc = "The mean of each window.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .kernels = kKernels,
    .cases = cases,
    .layout = [](const AveragePool&, const Relay& asked) { return pool_layout(asked); },
    .stream = stream,
};

}  // namespace

extern const Op average_pool = erase<kAveragePool>();

}  // namespace sdx::ops
