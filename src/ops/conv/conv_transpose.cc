// ConvTranspose.
#include "ops/conv/conv_transpose.h"

#include <cmath>

#include "base/aligned.h"
#include "base/deadline.h"
#include "base/fitting.h"
#include "base/slab.h"
#include "kernel/conv/transposed/conv_transposed.h"
#include "kernel/gemm/gemm.h"
#include "ops/conv/conv.h"
#include "ops/conv/groups.h"
#include "ops/noise.h"
#include "ops/tensor/strided_copy.h"
#include "ops/widened.h"

namespace sdx::ops {
namespace {

constexpr Version kHistory[] = {
    {1,
     "(X: T, W: T, B?: T) -> (Y: T) {auto_pad: string = \"NOTSET\", dilations: ints, group: int = "
     "1, kernel_shape: ints, "
     "output_padding: ints, output_shape: ints, pads: ints, strides: ints} T in floats"},
    {11, ""},
    {22, "T += bf16"},
};

Result<std::vector<int64_t>> spatial_sizes(const Node& node, std::string_view name,
                                           size_t spatial) {
  std::vector<int64_t> sizes = node.ints_or_empty(name);
  // Some exporters write batch and channels as well.
  if (name == "output_shape" && sizes.size() == spatial + 2)
    sizes.erase(sizes.begin(), sizes.begin() + 2);
  if (!sizes.empty() && sizes.size() != spatial) {
    return fail("SDX-T0330", "{} has {} values, expected {}", name, sizes.size(), spatial);
  }
  for (const int64_t x : sizes) {
    if (x < 0 || x > (int64_t{1} << 30))
      return fail("SDX-T0331", "{} holds {}, expected 0 to 2^30", name, x);
  }
  return sizes;
}

Result<ConvTranspose> read(const Node& node, const Facts& in) {
  ConvTranspose a;
  SDX_ASSIGN(a.window, read_conv_window(node, in));
  SDX_ASSIGN(a.group, read_group(node));
  SDX_ASSIGN(a.output_padding, spatial_sizes(node, "output_padding", a.window.spatial));
  SDX_ASSIGN(a.output_shape, spatial_sizes(node, "output_shape", a.window.spatial));
  a.output_padding.resize(a.window.spatial, 0);
  // The first version's text says it the other way round than later ones; everybody implements the
  // later text.
  a.extra_first = a.window.pad != Window::Pad::same_upper;
  return a;
}

bool same(const ConvTranspose& a) {
  return a.window.pad == Window::Pad::same_upper || a.window.pad == Window::Pad::same_lower;
}

// All positions that the input reaches along axis i.
Dim full_size(const ConvTranspose& a, size_t i, const Dim& in, const Dim& kernel) {
  return (in - Dim(1)) * Dim(a.window.strides[i]) + (kernel - Dim(1)) * Dim(a.window.dilations[i]) +
         Dim(1 + a.output_padding[i]);
}

Result<Facts> infer(const ConvTranspose& a, const Facts& in) {
  const Window& w = a.window;
  SDX_TRY(check_conv_shapes(w, in, Dim(a.group), 0));
  Shape shape(w.spatial + 2, Dim::unknown());
  if (in[0].has_rank()) shape[0] = in[0].dim(0);
  if (in[1].has_rank()) {
    shape[1] = in[1].dim(1) * Dim(a.group);
    SDX_TRY(divides("input", in[1].dim(0), a.group));
  }
  SDX_TRY(check_conv_bias(in, 2, shape[1]));
  for (size_t i = 0; i < w.spatial; ++i) {
    if (!a.output_shape.empty()) {
      shape[i + 2] = Dim(a.output_shape[i]);
    } else if (in[0].has_rank() && same(a)) {
      shape[i + 2] = in[0].dim(i + 2) * Dim(w.strides[i]);
    } else if (in[0].has_rank() && (in[1].has_rank() || !w.kernel.empty())) {
      const Dim kernel = w.kernel.empty() ? in[1].dim(i + 2) : Dim(w.kernel[i]);
      shape[i + 2] = full_size(a, i, in[0].dim(i + 2), kernel) - Dim(w.begin[i] + w.end[i]);
    }
    if (shape[i + 2].is_const() && shape[i + 2].value() < 0) {
      return fail("SDX-T0334", "spatial axis {}: padding leaves {} elements", i,
                  shape[i + 2].text());
    }
  }
  return Facts{Fact::tensor(in[0].type, std::move(shape))};
}

// Axes as of the convolution that this transposes: `in` and `out` are ConvTranspose's own input and
// output.
WindowAxes axes_of(const ConvTranspose& a, std::span<const int64_t> x, std::span<const int64_t> w,
                   std::span<const int64_t> y) {
  WindowAxes axes = resolve(a.window, x.subspan(2), y.subspan(2), w.subspan(2));
  if (!same(a) && a.output_shape.empty()) return axes;
  for (size_t i = 0; i < axes.spatial; ++i) {
    WindowAxis& axis = axes.axis[i];
    const int64_t total =
        std::max<int64_t>(0, full_size(a, i, axis.in, axis.kernel).value() - axis.out);
    axis.begin = a.extra_first ? total - total / 2 : total / 2;
    axis.end = total - axis.begin;
  }
  return axes;
}

// Output o of an axis meets kernel position k at input (o + begin - k * dilation) / stride, if that
// is an integer inside of the input. y = one chain of fma from +0 over what meets, in the order
// (channel / 16, tap, channel % 16); there is no padding to take part. The bias is added with a
// rounding of its own.
int64_t met_by(const WindowAxes& axes, const Position& out, size_t tap) {
  const Position k = position_of(tap, axes.spatial, [&](size_t i) { return axes.axis[i].kernel; });
  int64_t index = 0;
  for (size_t i = 0; i < axes.spatial; ++i) {
    const WindowAxis& axis = axes.axis[i];
    const int64_t reach = out[i] + axis.begin - k[i] * axis.dilation;
    if (reach < 0 || reach % axis.stride != 0 || reach / axis.stride >= axis.in) return -1;
    index = index * axis.in + reach / axis.stride;
  }
  return index;
}

template <class T>
void convolve(const ConvTranspose& a, Args& args) {
  using C = Compute<T>;
  const View &x = args.in(0), &w = args.in(1), &y = args.out();
  const WindowAxes axes = axes_of(a, x.dims, w.dims, y.dims);
  const size_t batch = size_t(x.dims[0]), channels = size_t(x.dims[1]),
               out_group = size_t(w.dims[1]);
  const size_t in_group = channels / size_t(a.group), out_channels = out_group * size_t(a.group);
  T* to = y.data<T>();
  for (size_t n = 0; n < batch; ++n) {
    for (size_t o = 0; o < out_channels; ++o) {
      const size_t first = o / out_group * in_group;
      for (size_t at = 0; at < axes.out; ++at) {
        const Position p =
            position_of(at, axes.spatial, [&](size_t i) { return axes.axis[i].out; });
        C acc = 0;
        for (size_t block = 0; block < in_group; block += kConvChannels) {
          for (size_t tap = 0; tap < axes.taps; ++tap) {
            Deadline::step();
            const int64_t index = met_by(axes, p, tap);
            for (size_t c = block; index >= 0 && c < std::min(in_group, block + kConvChannels);
                 ++c) {
              const T value = x.data<T>()[(n * channels + first + c) * axes.in + size_t(index)];
              const T weight =
                  w.data<T>()[((first + c) * out_group + o % out_group) * axes.taps + tap];
              acc = std::fma(load(weight), load(value), acc);
            }
          }
        }
        if (args.has(2)) acc = acc + load(args.in(2).data<T>()[o]);
        *to++ = store<T>(acc);
      }
    }
  }
}

Status reference(const ConvTranspose& a, Args& args) {
  visit_floats(args.in(0).type, [&]<class T>() { convolve<T>(a, args); });
  return ok();
}

ConvShape kernel_shape(const ConvTranspose& a, std::span<const int64_t> x,
                       std::span<const int64_t> w, std::span<const int64_t> y) {
  ConvShape s = kernel_shape(axes_of(a, x, w, y));
  s.batch = size_t(x[0]);
  s.groups = size_t(a.group);
  s.in_channels = size_t(x[1]);
  s.out_channels = size_t(y[1]);
  must_fit((double(s.out_channels) + 64) * (double(conv_depth(s)) + 64));  // weights in vectors
  return s;
}
ConvShape kernel_shape(const ConvTranspose& a, const Call& call) {
  return kernel_shape(a, call.in[0].dims(), call.in[1].dims(), call.out[0].dims());
}

bool fits(const ConvTranspose& a, const Call& call) {
  return call.in[0].type == DType::f32 && a.window.spatial <= 3 && conv_has_work(call);
}
bool fits_packed(const ConvTranspose& a, const Call& call) {
  return fits(a, call) && call.in[1].value != nullptr;
}

size_t scratch(const ConvTranspose& a, const Call& call) {
  return conv_transposed_scratch_bytes(kernel_shape(a, call), call.threads);
}
// Behind it the weights, where only the run knows them.
size_t scratch_with_weights(const ConvTranspose& a, const Call& call) {
  return aligned_bytes(scratch(a, call)) +
         conv_transposed_packed_size(kernel_shape(a, call)) * sizeof(float);
}
std::shared_ptr<const void> pack(const ConvTranspose& a, const Call& call, Pool& pool) {
  const ConvShape s = kernel_shape(a, call);
  std::shared_ptr<void> packed = allocate_lasting(conv_transposed_packed_size(s) * sizeof(float));
  conv_transposed_pack(s, call.in[1].value->data<float>(), static_cast<float*>(packed.get()), pool);
  return packed;
}

Status run(const ConvTranspose& a, Args& args) {
  ConvArgs c;
  c.shape = kernel_shape(a, args.in(0).dims, args.in(1).dims, args.out().dims);
  c.x = args.in(0).data<float>();
  c.bias = args.has(2) ? args.in(2).data<float>() : nullptr;
  c.y = args.out().data<float>();
  c.weights = static_cast<const float*>(args.packed);
  c.scratch = args.scratch.data();
  if (c.weights == nullptr) {
    const size_t own = conv_transposed_scratch_bytes(c.shape, args.pool->threads());
    auto* packed = reinterpret_cast<float*>(args.scratch.data() + aligned_bytes(own));
    conv_transposed_pack(c.shape, args.in(1).data<float>(), packed, *args.pool);
    c.weights = packed;
  }
  conv_transposed(c, *args.pool, args.isa);
  return ok();
}

// Kernels as large as the strides, without padding: each output meets one input, and a tap of all
// outputs is a row of a product of matrices. The rows are then put where they belong.
bool fits_blocks(const ConvTranspose& a, const Call& call) {
  if (!fits(a, call)) return false;
  const ConvShape s = kernel_shape(a, call);
  for (int i = 0; i < 3; ++i) {
    const bool touching = s.kernel[i] == s.stride[i] && (s.dilation[i] == 1 || s.kernel[i] == 1);
    if (!touching || s.pad[i] != 0 || s.out[i] != s.in[i] * s.stride[i]) return false;
  }
  return true;
}
GemmArgs block_product(const ConvShape& s) {
  GemmArgs g;
  g.m = s.out_channels / s.groups * conv_taps(s);
  g.n = g.ldb = g.ldc = conv_input_positions(s);
  g.k = s.in_channels / s.groups;
  g.trans_a = true;
  g.lda = g.m;
  return g;
}
// Scratch: the product, a bias for each of its rows, what the product needs.
size_t product_floats(const GemmArgs& g) { return aligned_floats(g.m * g.n); }
size_t scratch_blocks(const ConvTranspose& a, const Call& call) {
  const GemmArgs g = block_product(kernel_shape(a, call));
  return (product_floats(g) + aligned_floats(g.m)) * sizeof(float) +
         gemm_scratch_bytes(g, call.threads);
}

// From [channel][tap][input position] to [channel][output position].
Loops placed(const ConvShape& s) {
  Loops loops;
  const auto taps = int64_t(conv_taps(s)), positions = int64_t(conv_input_positions(s));
  loops.add(int64_t(s.out_channels / s.groups), taps * positions, taps * positions);
  int64_t tap = taps * positions, in = positions, out = taps * positions;
  for (int i = 0; i < 3; ++i) {
    tap /= int64_t(s.kernel[i]);
    in /= int64_t(s.in[i]);
    out /= int64_t(s.out[i]);
    loops.add(int64_t(s.in[i]), in, out * int64_t(s.stride[i]));
    loops.add(int64_t(s.kernel[i]), tap, out);
  }
  return loops;
}

Status run_blocks(const ConvTranspose& a, Args& args) {
  const ConvShape s = kernel_shape(a, args.in(0).dims, args.in(1).dims, args.out().dims);
  const size_t in_group = s.in_channels / s.groups, out_group = s.out_channels / s.groups;
  const size_t taps = conv_taps(s);
  GemmArgs g = block_product(s);
  auto* product = reinterpret_cast<float*>(args.scratch.data());
  float* bias = product + product_floats(g);
  g.c = product;
  g.scratch = bias + aligned_floats(g.m);
  if (args.has(2)) {
    g.affine.bias = bias;
    g.affine.bias_row = 1;
  }
  const Loops loops = placed(s);
  for (size_t i = 0; i < s.batch * s.groups; ++i) {
    const size_t group = i % s.groups;
    g.a = args.in(1).data<float>() + group * in_group * g.m;
    g.b = args.in(0).data<float>() + i * in_group * g.n;
    for (size_t row = 0; args.has(2) && row < g.m; ++row)
      bias[row] = args.in(2).data<float>()[group * out_group + row / taps];
    sdx::gemm(g, *args.pool, args.isa);
    strided_copy(loops, DType::f32, product, 0, args.out().raw, int64_t(i * g.m * g.n), args.pool,
                 args.isa);
  }
  return ok();
}
constexpr Kernel<ConvTranspose> kBlocks = {.name = "conv_transpose_f32_blocks",
                                           .fits = fits_blocks,
                                           .run = run_blocks,
                                           .scratch = scratch_blocks};

constexpr Kernel<ConvTranspose> kPacked = {.name = "conv_transpose_f32_packed",
                                           .fits = fits_packed,
                                           .run = run,
                                           .scratch = scratch,
                                           .pack = pack,
                                           .packs = 1u << 1};
constexpr Kernel<ConvTranspose> kPlain = {
    .name = "conv_transpose_f32", .fits = fits, .run = run, .scratch = scratch_with_weights};
constexpr Kernel<ConvTranspose> kKernels[] = {kBlocks, kPacked, kPlain,
                                              widened<kPacked>("conv_transpose_f16_packed"),
                                              widened<kPlain>("conv_transpose_f16")};

uint64_t multiply_adds(const ConvTranspose&, const Call& call) {
  uint64_t count = 1;
  for (const int64_t d : call.in[0].dims()) count *= uint64_t(d);
  const Dims w = call.in[1].dims();
  for (size_t i = 1; i < w.size(); ++i) count *= uint64_t(w[i]);
  return count;
}

std::vector<Case> cases() {
  const Tensor x = Tensor::of<float>({1, 1, 2}, {1, 10}),
               w = Tensor::of<float>({1, 1, 3}, {1, 2, 3});
  const std::vector<int64_t> two{2};
  return {{.name = "opset1_overlaps_add",
           .opset = 1,
           .attrs = {},
           .inputs = {x, w, Tensor::of<float>({1}, {.5f})},
           .expected = {Tensor::of<float>({1, 1, 4}, {1.5f, 12.5f, 23.5f, 30.5f})}},
          {.name = "output_shape_beyond_the_reach_is_zero",
           .opset = 11,
           .attrs = {{"strides", two}, {"output_shape", std::vector<int64_t>{6}}},
           .inputs = {x, w},
           .expected = {Tensor::of<float>({1, 1, 6}, {1, 2, 13, 20, 30, 0})}},
          {.name = "same_upper_cuts_the_end",
           .opset = 11,
           .attrs = {{"strides", two}, {"auto_pad", std::string("SAME_UPPER")}},
           .inputs = {x, w},
           .expected = {Tensor::of<float>({1, 1, 4}, {1, 2, 13, 20})}},
          {.name = "two_groups_with_dilation",
           .opset = 11,
           .attrs = {{"group", int64_t{2}}, {"dilations", two}},
           .inputs = {Tensor::of<float>({1, 2, 2}, {1, 2, 3, 4}),
                      Tensor::of<float>({2, 1, 2}, {1, 10, 2, 20})},
           .expected = {Tensor::of<float>({1, 2, 4}, {1, 2, 10, 20, 6, 8, 60, 80})}},
          {.name = "padded_with_stride",
           .opset = 11,
           .attrs = {{"pads", std::vector<int64_t>{1, 0, 1, 2}},
                     {"strides", std::vector<int64_t>{2, 3}},
                     {"output_padding", std::vector<int64_t>{1, 1}}},
           .inputs = {noise({2, 19, 5, 7}), noise({19, 21, 3, 4}, 2), noise({21}, 3)}},
          {.name = "kernels_side_by_side",
           .opset = 11,
           .attrs = {{"strides", std::vector<int64_t>{2, 3}}, {"group", int64_t{2}}},
           .inputs = {noise({2, 6, 5, 7}), noise({6, 7, 2, 3}, 2), noise({14}, 3)}},
          {.name = "overlapping_by_half",
           .opset = 11,
           .attrs = {{"strides", std::vector<int64_t>{2, 2}},
                     {"pads", std::vector<int64_t>{1, 1, 1, 1}}},
           .inputs = {noise({1, 33, 6, 37}), noise({33, 26, 4, 4}, 2), noise({26}, 3)}},
          {.name = "three_dimensions_in_groups",
           .opset = 11,
           .attrs = {{"group", int64_t{2}}},
           .inputs = {noise({1, 4, 3, 4, 5}), noise({4, 3, 2, 2, 3}, 2)}}};
}

// Row f of the uncut output meets input rows ceil((f - reach + 1) / stride) to floor(f / stride).
Streaming stream(const ConvTranspose& a, const Streamed& s) {
  if (!s.only_first()) return Streaming::refuse("its weights change along the axis");
  if (*s.axes[0] < 2) return Streaming::ask();
  if (!a.output_shape.empty()) return Streaming::refuse("output_shape fixes its length");
  const size_t along = *s.axes[0] - 2, n = a.window.spatial;
  std::vector<int64_t> pads(2 * n);
  const auto reach = [&](size_t i) {
    const int64_t size = a.window.kernel.empty() ? s.in[1].dim(i + 2).value() : a.window.kernel[i];
    return (size - 1) * a.window.dilations[i] + 1;
  };
  for (size_t i = 0; i < n; ++i) {
    pads[i] = a.window.begin[i];
    pads[n + i] = a.window.end[i];
    if (!same(a)) continue;
    const int64_t total = reach(i) + a.output_padding[i] - a.window.strides[i];
    if (total < 0) return Streaming::refuse("with auto_pad its output reaches beyond the input");
    pads[i] = a.extra_first ? total - total / 2 : total / 2;
    pads[n + i] = total - pads[i];
  }
  const int64_t stride = a.window.strides[along];
  Streaming how = Streaming::of(Streaming::Kind::spread);
  how.before = pads[along];
  // A row that no input meets stands behind the one before it.
  const int64_t overlap = std::max<int64_t>(0, reach(along) - stride);
  how.reach = {1, stride, how.before - overlap, how.before};
  // The padding at the end cuts rows off.
  how.longer = reach(along) + a.output_padding[along] - stride - how.before - pads[n + along];
  pads[along] = pads[n + along] = 0;
  std::vector<int64_t> extra = a.output_padding;
  how.last_attrs.emplace("output_padding", extra);
  extra[along] = std::max<int64_t>(0, stride - reach(along));  // rows that no input meets
  how.attrs.emplace("output_padding", std::move(extra));
  how.attrs.emplace("auto_pad", std::string("NOTSET"));
  how.attrs.emplace("pads", std::move(pads));
  return how;
}

constexpr OpOf<ConvTranspose> kConvTranspose{
    .name = "ConvTranspose",
    .doc =
        "The transpose of a convolution: each input element adds the kernel, times itself, to the "
        "output.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .kernels = kKernels,
    .cases = cases,
    .multiply_adds = multiply_adds,
    .stream = stream,
};

}  // namespace

extern const Op conv_transpose = erase<kConvTranspose>();

}  // namespace sdx::ops
