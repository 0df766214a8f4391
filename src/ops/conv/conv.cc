// Conv.
#include "ops/conv/conv.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/aligned.h"
#include "base/slab.h"
#include "kernel/conv/blocked/conv_blocked.h"
#include "kernel/conv/channels_last/conv_channels_last.h"
#include "kernel/conv/planes/conv_planes.h"
#include "kernel/epilogue/program.h"
#include "op/layout.h"
#include "ops/conv/blocked.h"
#include "ops/conv/channels_last.h"
#include "ops/conv/groups.h"
#include "ops/noise.h"
#include "ops/widened.h"

namespace sdx::ops {
namespace {

constexpr Version kHistory[] = {
    {1,
     "(X: T, W: T, B?: T) -> (Y: T) {auto_pad: string = \"NOTSET\", dilations: ints, group: int = "
     "1, kernel_shape: ints, "
     "pads: ints, strides: ints} T in floats"},
    {11, ""},
    {22, "T += bf16"},
};

Result<Conv> read(const Node& node, const Facts& in) {
  SDX_ASSIGN(Window window, read_conv_window(node, in));
  SDX_ASSIGN(const int64_t group, read_group(node));
  return Conv{std::move(window), group};
}

Result<Facts> infer(const Conv& a, const Facts& in) {
  SDX_TRY(check_conv_shapes(a.window, in, Dim(a.group), 1));
  Shape shape(a.window.spatial + 2, Dim::unknown());
  if (in[0].has_rank()) shape[0] = in[0].dim(0);
  if (in[1].has_rank()) {
    shape[1] = in[1].dim(0);
    SDX_TRY(divides("output", shape[1], a.group));
  }
  SDX_TRY(check_conv_bias(in, 2, shape[1]));
  for (size_t i = 0; in[0].has_rank() && i < a.window.spatial; ++i) {
    if (a.window.kernel.empty() && !in[1].has_rank()) continue;
    const Dim kernel = a.window.kernel.empty() ? in[1].dim(i + 2) : Dim(a.window.kernel[i]);
    SDX_ASSIGN(shape[i + 2], output_size(a.window, i, in[0].dim(i + 2), kernel));
  }
  return Facts{Fact::tensor(in[0].type, std::move(shape))};
}

// y = (((w0 x0) + w1 x1) + ...) + b: one chain of fma from +0 over the group's input channels and
// the taps in the order (channel / 16, tap, channel % 16); a tap in the padding takes part with x =
// +0. The bias is added with a rounding of its own.
template <class T>
void convolve(const Conv& a, Args& args) {
  using C = Compute<T>;
  const View &x = args.in(0), &w = args.in(1), &y = args.out();
  const WindowAxes axes =
      resolve(a.window, x.dims.subspan(2), y.dims.subspan(2), w.dims.subspan(2));
  const size_t batch = size_t(x.dims[0]), channels = size_t(x.dims[1]),
               out_channels = size_t(w.dims[0]);
  const size_t in_group = size_t(w.dims[1]), out_group = out_channels / size_t(a.group);
  T* to = y.data<T>();
  for (size_t n = 0; n < batch; ++n) {
    for (size_t o = 0; o < out_channels; ++o) {
      const T* planes = x.data<T>() + (n * channels + o / out_group * in_group) * axes.in;
      const T* weights = w.data<T>() + o * in_group * axes.taps;
      for (size_t at = 0; at < axes.out; ++at) {
        const Position p =
            position_of(at, axes.spatial, [&](size_t i) { return axes.axis[i].out; });
        C acc = 0;
        for (size_t block = 0; block < in_group; block += kConvChannels) {
          each_tap(axes, p, [&](size_t tap, int64_t index) {
            for (size_t c = block; c < std::min(in_group, block + kConvChannels); ++c) {
              const C value = index < 0 ? C(0) : load(planes[c * axes.in + size_t(index)]);
              acc = std::fma(load(weights[c * axes.taps + tap]), value, acc);
            }
          });
        }
        if (args.has(2)) acc = acc + load(args.in(2).data<T>()[o]);
        *to++ = store<T>(acc);
      }
    }
  }
}

Status reference(const Conv& a, Args& args) {
  visit_floats(args.in(0).type, [&]<class T>() { convolve<T>(a, args); });
  return ok();
}

ConvShape kernel_shape(const Conv& a, std::span<const int64_t> x, std::span<const int64_t> w,
                       std::span<const int64_t> y) {
  ConvShape s = kernel_shape(resolve(a.window, x.subspan(2), y.subspan(2), w.subspan(2)));
  s.batch = size_t(x[0]);
  s.groups = size_t(a.group);
  s.in_channels = size_t(x[1]);
  s.out_channels = size_t(w[0]);
  return within_memory(s);
}
ConvShape kernel_shape(const Conv& a, const Call& call) {
  return kernel_shape(a, call.in[0].dims(), call.in[1].dims(), call.out[0].dims());
}

bool fits(const Conv& a, const Call& call) {
  return call.in[0].type == DType::f32 && a.window.spatial <= 3 && conv_has_work(call);
}
bool fits_packed(const Conv& a, const Call& call) {
  return fits(a, call) && call.in[1].value != nullptr;
}

size_t scratch_packed(const Conv& a, const Call& call) {
  return conv_planes_scratch_bytes(kernel_shape(a, call), call.threads);
}
// Some groups of a convolution as one of their own.
ConvShape shape_of_groups(const ConvShape& all, size_t groups) {
  ConvShape s = all;
  s.batch = 1;
  s.groups = groups;
  s.in_channels = all.in_channels / all.groups * groups;
  s.out_channels = all.out_channels / all.groups * groups;
  return s;
}

// Of weights that only the run knows some groups are packed after the others: so many that what is
// packed of them is still in the second-level cache when it is read, and one for each thread. All,
// where they are few or belong to one channel each.
size_t groups_together(const ConvShape& s, int threads) {
  constexpr size_t kNear = 262144;  // floats
  const size_t each = s.out_channels / s.groups * conv_depth(s);
  if (each * s.groups <= 2 * kNear || s.in_channels == s.groups) return s.groups;
  return std::clamp(kNear / each, std::min(s.groups, size_t(threads)), s.groups);
}

// Weights that only the run knows are packed before each product, behind the kernel's own scratch.
struct RunScratch {
  size_t packed_at = 0, bytes = 0;
};
RunScratch run_scratch(const ConvShape& s, int threads) {
  const size_t together = groups_together(s, threads);
  RunScratch room;
  size_t floats = 0;
  for (const size_t groups : {together, s.groups % together}) {
    if (groups == 0) continue;
    const ConvShape some = groups == s.groups ? s : shape_of_groups(s, groups);
    room.packed_at = std::max(room.packed_at, conv_planes_scratch_bytes(some, threads));
    floats = std::max(floats, conv_planes_packed_size(some));
  }
  room.packed_at = aligned_bytes(room.packed_at);
  room.bytes = room.packed_at + floats * sizeof(float);
  return room;
}
size_t scratch(const Conv& a, const Call& call) {
  const ConvShape s = kernel_shape(a, call);
  return conv_planes_reads_as_given(s) ? conv_planes_scratch_bytes(s, call.threads)
                                       : run_scratch(s, call.threads).bytes;
}

// conv_planes with weights as the model has them, without an epilogue.
void run_by_groups(const ConvArgs& all, const float* weights, Pool& pool, Isa isa) {
  const ConvShape& s = all.shape;
  const size_t together = groups_together(s, pool.threads());
  auto* packed = reinterpret_cast<float*>(static_cast<std::byte*>(all.scratch) +
                                          run_scratch(s, pool.threads()).packed_at);
  const size_t in_group = s.in_channels / s.groups, out_group = s.out_channels / s.groups;
  for (size_t group = 0; group < s.groups; group += together) {
    ConvArgs some = all;
    if (together < s.groups) some.shape = shape_of_groups(s, std::min(together, s.groups - group));
    some.weights = packed;
    if (all.bias != nullptr) some.bias = all.bias + group * out_group;
    conv_planes_pack(some.shape, weights + group * out_group * conv_depth(s), packed, pool);
    for (size_t n = 0; n < s.batch; n += some.shape.batch) {
      some.x = all.x + (n * s.in_channels + group * in_group) * conv_input_positions(s);
      some.y = all.y + (n * s.out_channels + group * out_group) * conv_positions(s);
      conv_planes(some, pool, isa);
    }
  }
}

std::shared_ptr<const void> pack(const Conv& a, const Call& call, Pool& pool) {
  const ConvShape s = kernel_shape(a, call);
  if (conv_planes_reads_as_given(s) && LastingUse::stays(true)) return nullptr;
  std::shared_ptr<void> packed = allocate_lasting(conv_planes_packed_size(s) * sizeof(float));
  conv_planes_pack(s, call.in[1].value->data<float>(), static_cast<float*>(packed.get()), pool);
  return packed;
}

Status run(const Conv& a, Args& args) {
  ConvArgs c;
  c.shape = kernel_shape(a, args.in(0).dims, args.in(1).dims, args.out().dims);
  c.x = args.in(0).data<float>();
  c.bias = args.has(2) ? args.in(2).data<float>() : nullptr;
  c.y = args.out().data<float>();
  c.scratch = args.scratch.data();
  c.weights = static_cast<const float*>(args.packed);
  c.as_given = args.in(1).data<float>();
  if (c.weights == nullptr && !conv_planes_reads_as_given(c.shape)) {
    run_by_groups(c, c.as_given, *args.pool, args.isa);
    return ok();
  }
  EpilogueCall after{args.epilogue, args.epilogue_inputs, args.isa};
  c.epilogue = after.block();
  conv_planes(c, *args.pool, args.isa);
  return ok();
}

size_t epilogue(const Conv&, const Call& call) { return call.out[0].type == DType::f32 ? 2 : 0; }

constexpr Kernel<Conv> kPacked = {.name = "conv_f32_packed",
                                  .fits = fits_packed,
                                  .run = run,
                                  .scratch = scratch_packed,
                                  .pack = pack,
                                  .packs = 1u << 1,
                                  .epilogue = epilogue};
constexpr Kernel<Conv> kPlain = {.name = "conv_f32", .fits = fits, .run = run, .scratch = scratch};
constexpr Kernel<Conv> kKernels[] = {kPacked, kPlain, widened<kPacked>("conv_f16_packed"),
                                     widened<kPlain>("conv_f16")};

uint64_t multiply_adds(const Conv&, const Call& call) {
  uint64_t count = 1;
  for (const int64_t d : call.out[0].dims()) count *= uint64_t(d);
  const Dims w = call.in[1].dims();
  for (size_t i = 1; i < w.size(); ++i) count *= uint64_t(w[i]);
  return count;
}

// The kernels' view without the sizes of images.
ConvShape kernel_shape(const Conv& a, const Fact& w) {
  ConvShape s;
  s.groups = size_t(a.group);
  s.in_channels = size_t(w.dim(1).value() * a.group);
  s.out_channels = size_t(w.dim(0).value());
  for (size_t i = 0; i < a.window.spatial; ++i) {
    const size_t to = 3 - a.window.spatial + i;
    s.kernel[to] = size_t(w.dim(i + 2).value());
    s.stride[to] = size_t(a.window.strides[i]);
    s.dilation[to] = size_t(a.window.dilations[i]);
  }
  return s;
}

// What channels last is worth to a convolution, in bytes that need not be moved. Images: it is only
// a way to spare a Transpose. Signals: as planes their rows fill the lanes of vectors, and where
// there are few of them, channels do it better.
int64_t gain_of_channels_last(const Fact& x, const Fact& y) {
  constexpr int64_t kFewRows = 64;
  const int64_t bytes = image_bytes(x) + image_bytes(y);
  const bool short_signal = y.rank() == 3 && y.dim(2).is_const() && y.dim(2).value() <= kFewRows;
  return short_signal ? bytes : -bytes / 16;
}

// What blocks are worth, in the same measure: half of a tensor's move for each. Groups are small
// products, which fill the tiles of planes badly, and have no other layout: a part of the time of
// their products too.
int64_t gain_of_blocks(const ConvShape& s, const Fact& x, const Fact& y) {
  const int64_t bytes = image_bytes(x) + image_bytes(y);
  if (s.groups == 1 || s.groups == s.in_channels) return bytes / 4;
  const double products = double(image_bytes(y)) / sizeof(float) * double(conv_depth(s));
  constexpr double kMost = double(int64_t{1} << 34), kInTheTimeOfAByte = 12;
  return bytes / 4 + int64_t(std::min(kMost, products / kInTheTimeOfAByte));
}

// By an operator of its own.
std::optional<Relaid> layout(const Conv& a, const Relay& asked) {
  constexpr int64_t kFewestChannels = 8;  // fewer leave most lanes of a block empty
  const Fact &x = asked.x(), &w = asked.in[1], &y = asked.out[0];
  if (asked.from != 0 || a.window.spatial < 1 || a.window.spatial > 2 || x.type != DType::f32 ||
      !w.value || !y.has_rank()) {
    return std::nullopt;
  }
  const ConvShape s = kernel_shape(a, w);
  const bool blocked = asked.layout == channels_blocked(4);
  if (blocked) {
    const bool bias_known = asked.in.size() < 3 || !asked.in[2].present() || asked.in[2].value;
    const bool vectors = y.dim(2).is_const(1) && y.dim(3).is_const(1);
    if (!bias_known || !conv_blocked_fits(s, false) ||
        (!vectors && w.dim(0).value() < kFewestChannels)) {
      return std::nullopt;
    }
  } else if (!(asked.layout == channels_last(x.rank())) || !conv_channels_last_fits(s)) {
    return std::nullopt;
  }
  Relaid made = Relaid::same(asked);
  made.use.op = blocked ? &conv_blocked : &conv_channels_last;
  made.use.opset = made.use.op->signatures().back().since;
  if (!blocked) made.inputs.resize(3);  // more parts of X may follow the bias
  made.inputs[0].plain_too = blocked && s.in_channels < kBlockLanes && s.groups == 1;
  made.gain = blocked ? gain_of_blocks(s, x, y) : gain_of_channels_last(x, y);
  return made;
}

std::vector<Case> cases() {
  const Tensor x = Tensor::of<float>({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  const Tensor ones = Tensor::of<float>({1, 1, 2, 2}, {1, 1, 1, 1});
  return {
      {.name = "opset1_sums_windows",
       .opset = 1,
       .attrs = {},
       .inputs = {x, ones},
       .expected = {Tensor::of<float>({1, 1, 2, 2}, {12, 16, 24, 28})}},
      {.name = "same_lower_pads_at_the_beginning",
       .opset = 11,
       .attrs = {{"auto_pad", std::string("SAME_LOWER")}},
       .inputs = {x, ones, Tensor::of<float>({1}, {.5f})},
       .expected = {Tensor::of<float>(
           {1, 1, 3, 3}, {1.5f, 3.5f, 5.5f, 5.5f, 12.5f, 16.5f, 11.5f, 24.5f, 28.5f})}},
      {.name = "large_groups_with_weights_of_the_run",
       .opset = 11,
       .attrs = {{"group", int64_t{3}}},
       .inputs = {noise({2, 120, 104}), noise({135, 40, 100}), noise({135})}},
      {.name = "groups_in_one_dimension",
       .opset = 11,
       .attrs = {{"group", int64_t{2}}, {"dilations", std::vector<int64_t>{2}}},
       .inputs = {Tensor::of<float>({1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}),
                  Tensor::of<float>({2, 1, 2}, {1, 2, 3, 4})},
       .expected = {Tensor::of<float>({1, 2, 2}, {7, 10, 43, 50})}},
      {.name = "doubles",
       .opset = 11,
       .attrs = {},
       .inputs = {Tensor::of<double>({1, 1, 3}, {1, 2, 3}), Tensor::of<double>({1, 1, 2}, {1, 10})},
       .expected = {Tensor::of<double>({1, 1, 2}, {21, 32})}},
      {.name = "padded_with_stride",
       .opset = 11,
       .attrs = {{"pads", std::vector<int64_t>{1, 2, 1, 0}},
                 {"strides", std::vector<int64_t>{2, 3}}},
       .inputs = {noise({2, 19, 13, 17}), noise({21, 19, 3, 4}, 2), noise({21}, 3)}},
      {.name = "depthwise",
       .opset = 11,
       .attrs = {{"group", int64_t{6}}, {"pads", std::vector<int64_t>{1, 1, 1, 1}}},
       .inputs = {noise({1, 6, 9, 20}), noise({6, 1, 3, 3}, 2)}},
      {.name = "three_dimensions_with_dilation",
       .opset = 11,
       .attrs = {{"dilations", std::vector<int64_t>{1, 2, 2}}},
       .inputs = {noise({1, 3, 4, 7, 8}), noise({5, 3, 2, 3, 2}, 2)}},
      {.name = "pointwise",
       .opset = 11,
       .attrs = {},
       .inputs = {noise({1, 40, 5, 7}), noise({33, 40, 1, 1}, 2), noise({33}, 3)}},
      {.name = "halves",
       .opset = 11,
       .attrs = {},
       .inputs = {noise(DType::f16, {1, 20, 5, 7}), noise(DType::f16, {9, 20, 3, 3}, 2),
                  noise(DType::f16, {9}, 3)}}};
}

Streaming stream(const Conv& a, const Streamed& s) {
  const auto kernel = constant_dims(*s.in[1].shape);
  if (!kernel) return Streaming::refuse("its weights change along the axis");
  return stream_window(a.window, s, std::span(*kernel).subspan(2));
}

constexpr OpOf<Conv> kConv{
    .name = "Conv",
    .doc = "Each output is the sum of products of a kernel's weights and the input under it.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .kernels = kKernels,
    .cases = cases,
    .layout = layout,
    .multiply_adds = multiply_adds,
    .stream = stream,
};

}  // namespace

extern const Op conv = erase<kConv>();

}  // namespace sdx::ops
