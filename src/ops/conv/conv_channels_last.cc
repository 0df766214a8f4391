// ConvChannelsLast: Conv of one or two spatial dimensions on signals or images whose channels come
// last, [N, T, C] or [N, H, W, C]; made by the rewrite that keeps them so between products of
// matrices.
#include "kernel/conv/channels_last/conv_channels_last.h"

#include <array>
#include <cmath>

#include "base/slab.h"
#include "kernel/epilogue/program.h"
#include "ops/conv/channels_last.h"
#include "ops/conv/conv.h"
#include "ops/conv/groups.h"
#include "ops/noise.h"

namespace sdx::ops {
namespace {

struct ConvChannelsLast {
  Window window;
  int64_t group;
  // As the kernels see it, if all sizes were known when the node was made: a short signal is
  // convolved in less time than it takes to gather this.
  std::optional<ConvShape> shape;
};

// `more` are further channels of X, in order.
constexpr Version kHistory[] = {
    {1,
     "(X: T, W: T, B?: T, more...0: T) -> (Y: T) {auto_pad: string = \"NOTSET\", dilations: ints, "
     "group: int = 1, kernel_shape: ints, pads: ints, strides: ints} T in f32"}};

constexpr size_t kFirstPart = 3;
constexpr size_t kMostParts = 16;

Result<ConvChannelsLast> read_attributes(const Node& node, const Facts& in) {
  const size_t rank = in[0].has_rank() ? in[0].rank() : 0;
  for (size_t i = 0; i < in.size(); ++i) {
    if (i != 2 && (!in[i].has_rank() || in[i].rank() != rank || rank < 3 || rank > 4)) {
      return fail("SDX-T0321", "expected images and weights of rank 3 or 4, found {} and {}",
                  in[0].text(), in[i].text());
    }
  }
  SDX_ASSIGN(Window window, read_window(node, rank - 2));
  SDX_ASSIGN(const int64_t group, read_group(node));
  ConvChannelsLast a{std::move(window), group, {}};
  if (in.size() > kFirstPart + kMostParts - 1)
    return fail("SDX-T0321", "an image in more than {} parts", kMostParts);
  return a;
}

// X as Conv has it.
Fact whole_first(const Facts& in) {
  Fact x = with_channels_first(in[0]);
  for (size_t i = kFirstPart; i < in.size(); ++i)
    (*x.shape)[1] = (*x.shape)[1] + in[i].dim(in[i].rank() - 1);
  return x;
}

Result<Facts> infer(const ConvChannelsLast& a, const Facts& in) {
  const Fact x = whole_first(in);
  SDX_TRY(check_conv_shapes(a.window, Facts{x, in[1]}, Dim(a.group), 1));
  SDX_TRY(check_conv_bias(in, 2, in[1].dim(0)));
  SDX_TRY(divides("output", in[1].dim(0), a.group));
  for (size_t i = kFirstPart; i < in.size(); ++i) {
    for (size_t axis = 0; axis + 1 < in[0].rank(); ++axis) {
      if (!(in[i].dim(axis) == in[0].dim(axis)))
        return fail("SDX-T0323", "{} and {} are no parts of one image", in[0].text(), in[i].text());
    }
  }
  Shape shape{x.dim(0)};
  for (size_t i = 0; i < a.window.spatial; ++i) {
    SDX_ASSIGN(const Dim size, output_size(a.window, i, x.dim(i + 2), in[1].dim(i + 2)));
    shape.push_back(size);
  }
  shape.push_back(in[1].dim(0));
  return Facts{Fact::tensor(x.type, std::move(shape))};
}

WindowAxes axes_of(const ConvChannelsLast& a, std::span<const int64_t> x,
                   std::span<const int64_t> w, std::span<const int64_t> y) {
  const size_t spatial = a.window.spatial;
  return resolve(a.window, x.subspan(1, spatial), y.subspan(1, spatial), w.subspan(2));
}

// Asked in every run, of signals of a few rows too: only what is needed is computed.
ConvShape kernel_shape(const ConvChannelsLast& a, std::span<const int64_t> x,
                       std::span<const int64_t> w, std::span<const int64_t> y) {
  ConvShape s;
  const Window& window = a.window;
  if (window.pad != Window::Pad::given) {
    s = kernel_shape(axes_of(a, x, w, y));
  } else {
    for (size_t i = 0; i < window.spatial; ++i) {
      const size_t to = 3 - window.spatial + i;
      s.in[to] = size_t(x[i + 1]);
      s.out[to] = size_t(y[i + 1]);
      s.kernel[to] = size_t(w[i + 2]);
      s.stride[to] = size_t(window.strides[i]);
      s.dilation[to] = size_t(window.dilations[i]);
      s.pad[to] = size_t(window.begin[i]);
    }
  }
  s.batch = size_t(x[0]);
  s.groups = size_t(a.group);
  s.in_channels = size_t(w[1] * a.group);
  s.out_channels = size_t(w[0]);
  return within_memory(s);
}
ConvShape kernel_shape(const ConvChannelsLast& a, const Call& call) {
  return kernel_shape(a, call.in[0].dims(), call.in[1].dims(), call.out[0].dims());
}

Result<ConvChannelsLast> read(const Node& node, const Facts& in) {
  SDX_ASSIGN(ConvChannelsLast a, read_attributes(node, in));
  if (!in[0].is_concrete() || !in[1].is_concrete()) return a;
  if (const auto y = infer(a, in); y && (*y)[0].is_concrete())
    a.shape = kernel_shape(a, in[0].dims(), in[1].dims(), (*y)[0].dims());
  return a;
}

// Whether the shape that was known beforehand is that of a run.
bool has_shape(const ConvChannelsLast& a, std::span<const int64_t> x) {
  if (!a.shape || a.shape->batch != size_t(x[0])) return false;
  bool same = true;
  for (size_t i = 0; i < a.window.spatial; ++i)
    same &= a.shape->in[3 - a.window.spatial + i] == size_t(x[i + 1]);
  return same;
}

using Parts = std::array<ChannelsLastPart, kMostParts>;

std::span<const ChannelsLastPart> parts_of(const Args& args, Parts& parts) {
  size_t count = 0;
  for (size_t i = 0; i < args.ins.size(); i = i == 0 ? kFirstPart : i + 1)
    parts[count++] = {args.in(i).data<float>(), size_t(args.in(i).dims.back())};
  return std::span(parts).first(count);
}
std::vector<size_t> channels_of(const Call& call) {
  std::vector<size_t> channels;
  for (size_t i = 0; i < call.in.size(); i = i == 0 ? kFirstPart : i + 1)
    channels.push_back(size_t(call.in[i].shape->back().value()));
  return channels;
}

// As Conv: one chain of fma from +0 in the order (channel / 16, tap, channel % 16), the padding
// taking part as +0; then the bias.
Status reference(const ConvChannelsLast& a, Args& args) {
  const View &w = args.in(1), &y = args.out();
  const ConvShape s = kernel_shape(a, args.in(0).dims, w.dims, y.dims);
  const WindowAxes axes = axes_of(a, args.in(0).dims, w.dims, y.dims);
  const size_t in_group = s.in_channels / s.groups, out_group = s.out_channels / s.groups;
  Parts room;
  const std::span<const ChannelsLastPart> parts = parts_of(args, room);
  const auto input = [&](size_t pixel, size_t c) {
    size_t part = 0;
    for (; c >= parts[part].channels; ++part) c -= parts[part].channels;
    return parts[part].x[pixel * parts[part].channels + c];
  };
  float* to = y.data<float>();
  for (size_t at = 0; at < s.batch * axes.out; ++at) {
    const Position p =
        position_of(at % axes.out, axes.spatial, [&](size_t d) { return axes.axis[d].out; });
    for (size_t o = 0; o < s.out_channels; ++o) {
      float acc = 0;
      for (size_t first = 0; first < in_group; first += kConvChannels) {
        each_tap(axes, p, [&](size_t tap, int64_t index) {
          for (size_t c = first; c < std::min(in_group, first + kConvChannels); ++c) {
            const float value = index < 0 ? 0.f
                                          : input(at / axes.out * axes.in + size_t(index),
                                                  o / out_group * in_group + c);
            acc = std::fma(w.data<float>()[(o * in_group + c) * axes.taps + tap], value, acc);
          }
        });
      }
      if (args.has(2)) acc = acc + args.in(2).data<float>()[o];
      *to++ = store<float>(acc);
    }
  }
  return ok();
}

bool fits(const ConvChannelsLast& a, const Call& call) {
  if (call.in[1].value == nullptr || !conv_has_work(call)) return false;
  const std::vector<size_t> parts = channels_of(call);
  if (parts.size() > 1 && std::any_of(parts.begin(), parts.end(), [](size_t channels) {
        return channels % kConvChannels != 0;
      })) {
    return false;
  }
  return conv_channels_last_fits(kernel_shape(a, call));
}

size_t scratch(const ConvChannelsLast& a, const Call& call) {
  return conv_channels_last_scratch_bytes(kernel_shape(a, call), channels_of(call), call.threads);
}

std::shared_ptr<const void> pack(const ConvChannelsLast& a, const Call& call, Pool& pool) {
  const ConvShape s = kernel_shape(a, call);
  std::shared_ptr<void> packed =
      allocate_lasting(conv_channels_last_packed_size(s) * sizeof(float));
  conv_channels_last_pack(s, channels_of(call), call.in[1].value->data<float>(),
                          static_cast<float*>(packed.get()), pool);
  return packed;
}

Status run_on(const ConvChannelsLast& a, std::span<const ChannelsLastPart> parts, Args& args) {
  const std::span<const int64_t> x = args.in(0).dims;
  ChannelsLastConvArgs c;
  c.shape = has_shape(a, x) ? *a.shape : kernel_shape(a, x, args.in(1).dims, args.out().dims);
  c.x = parts;
  c.weights = static_cast<const float*>(args.packed);
  c.bias = args.has(2) ? args.in(2).data<float>() : nullptr;
  c.y = args.out().data<float>();
  c.scratch = args.scratch.data();
  EpilogueCall after{args.epilogue, args.epilogue_inputs, args.isa};
  c.epilogue = after.block();
  sdx::conv_channels_last(c, *args.pool, args.isa);
  return ok();
}

Status run(const ConvChannelsLast& a, Args& args) {
  if (args.ins.size() <= kFirstPart) {
    const ChannelsLastPart whole[] = {{args.in(0).data<float>(), size_t(args.in(0).dims.back())}};
    return run_on(a, whole, args);
  }
  Parts parts;
  return run_on(a, parts_of(args, parts), args);
}

constexpr Kernel<ConvChannelsLast> kKernels[] = {
    {.name = "conv_channels_last",
     .fits = fits,
     .run = run,
     .scratch = scratch,
     .pack = pack,
     .packs = 1u << 1,
     .epilogue = [](const ConvChannelsLast& a, const Call&) { return a.window.spatial + 1; }}};

uint64_t multiply_adds(const ConvChannelsLast&, const Call& call) {
  const Dims w = call.in[1].dims(), y = call.out[0].dims();
  uint64_t count = 1;
  for (const int64_t d : y) count *= uint64_t(d);
  for (size_t i = 1; i < w.size(); ++i) count *= uint64_t(w[i]);
  return count;
}

std::vector<Case> cases() {
  return {{.name = "padded_with_stride",
           .opset = 1,
           .attrs = {{"pads", std::vector<int64_t>{1, 2, 1, 0}},
                     {"strides", std::vector<int64_t>{3, 2}}},
           .inputs = {noise({2, 13, 17, 19}), noise({21, 19, 3, 4}, 2), noise({21}, 3)}},
          {.name = "depthwise",
           .opset = 1,
           .attrs = {{"group", int64_t{32}}, {"pads", std::vector<int64_t>{1, 1, 1, 1}}},
           .inputs = {noise({1, 9, 20, 32}), noise({32, 1, 3, 3}, 2), Value()}},
          {.name = "groups_that_no_kernel_takes",
           .opset = 1,
           .attrs = {{"group", int64_t{2}}},
           .inputs = {noise({1, 5, 4, 6}), noise({4, 3, 2, 2}, 2), noise({4}, 3)}},
          {.name = "an_image_in_parts",
           .opset = 1,
           .attrs = {},
           .inputs = {noise({1, 5, 7, 16}), noise({33, 64, 1, 1}, 2), noise({33}, 3),
                      noise({1, 5, 7, 32}, 4), noise({1, 5, 7, 16}, 5)}},
          {.name = "pointwise",
           .opset = 1,
           .attrs = {},
           .inputs = {noise({1, 5, 7, 40}), noise({33, 40, 1, 1}, 2), Value()}},
          {.name = "a_signal_dilated_and_padded_in_front",
           .opset = 1,
           .attrs = {{"dilations", std::vector<int64_t>{4}}, {"pads", std::vector<int64_t>{3, 0}}},
           .inputs = {noise({2, 23, 20}), noise({33, 20, 3}, 2), noise({33}, 3)}},
          {.name = "a_signal_channel_by_channel",
           .opset = 1,
           .attrs = {{"group", int64_t{32}}, {"pads", std::vector<int64_t>{1, 1}}},
           .inputs = {noise({1, 9, 32}), noise({32, 1, 3}, 2), noise({32}, 3)}}};
}

constexpr OpOf<ConvChannelsLast> kConvChannelsLast{
    .name = "ConvChannelsLast",
    .doc = "Conv on images whose channels come last.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .kernels = kKernels,
    .cases = cases,
    .domain = "sardonyx",
    .multiply_adds = multiply_adds,
};

}  // namespace

extern const Op conv_channels_last = erase<kConvChannelsLast>();

}  // namespace sdx::ops
