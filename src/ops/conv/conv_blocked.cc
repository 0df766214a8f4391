// ConvBlocked: Conv of two spatial dimensions on channels in blocks of 16, [N, ceil(C / 16), H, W,
// 16]; made by the rewrite that chooses layouts.
#include "kernel/conv/blocked/conv_blocked.h"

#include <algorithm>
#include <cmath>

#include "base/slab.h"
#include "kernel/conv/interleave.h"
#include "kernel/epilogue/program.h"
#include "ops/conv/blocked.h"
#include "ops/conv/conv.h"
#include "ops/conv/groups.h"
#include "ops/noise.h"

namespace sdx::ops {
namespace {

constexpr Version kHistory[] = {
    {1,
     "(X: T, W: T, B?: T) -> (Y: T) {auto_pad: string = \"NOTSET\", dilations: ints, group: int = "
     "1, kernel_shape: ints, pads: ints, strides: ints} T in f32"}};

Result<ConvBlocked> read(const Node& node, const Facts& in) {
  SDX_ASSIGN(Window window, read_window(node, 2));
  SDX_ASSIGN(const int64_t group, read_group(node));
  ConvBlocked a{std::move(window), group, in[0].has_rank() && in[0].rank() == 4};
  if (!in[0].has_rank() || in[0].rank() != (a.plain ? 4 : 5) || !in[1].is_concrete() ||
      in[1].rank() != 4) {
    return fail("SDX-T0321", "expected X of rank 4 or 5 and a known W of rank 4, found {} and {}",
                in[0].text(), in[1].text());
  }
  return a;
}

Result<Facts> infer(const ConvBlocked& a, const Facts& in) {
  const Dims w = in[1].dims();
  const int64_t channels = w[1] * a.group;
  const auto blocks = int64_t(channel_blocks(size_t(channels)));
  const bool matches =
      a.plain ? in[0].dim(1).is_const(channels)
              : in[0].dim(1).is_const(blocks) && in[0].dim(4).is_const(int64_t(kBlockLanes));
  if (!matches) {
    return fail("SDX-T0323", "X is {}; W of shape {} in {} groups takes {} channels", in[0].text(),
                to_string(w), a.group, channels);
  }
  SDX_TRY(check_conv_bias(in, 2, Dim(w[0])));
  Shape shape{in[0].dim(0), Dim(int64_t(channel_blocks(size_t(w[0])))), Dim::unknown(),
              Dim::unknown(), Dim(int64_t(kBlockLanes))};
  for (size_t i = 0; i < 2; ++i) {
    SDX_ASSIGN(shape[i + 2], output_size(a.window, i, in[0].dim(i + 2), Dim(w[i + 2])));
  }
  return Facts{Fact::tensor(in[0].type, std::move(shape))};
}

ConvShape kernel_shape(const ConvBlocked& a, std::span<const int64_t> x, std::span<const int64_t> w,
                       std::span<const int64_t> y) {
  ConvShape s = kernel_shape(resolve(a.window, x.subspan(2, 2), y.subspan(2, 2), w.subspan(2)));
  s.batch = size_t(x[0]);
  s.groups = size_t(a.group);
  s.in_channels = size_t(w[1] * a.group);
  s.out_channels = size_t(w[0]);
  return within_memory(s);
}

// As Conv: one chain of fma from +0 in the order (channel / 16, tap, channel % 16), the padding
// taking part as +0; then the bias. Lanes behind the last output channel have weights of 0, and
// read the lanes behind the last input channel if every channel is a group.
Status reference(const ConvBlocked& a, Args& args) {
  const View &x = args.in(0), &w = args.in(1), &y = args.out();
  const ConvShape s = kernel_shape(a, x.dims, w.dims, y.dims);
  const WindowAxes axes =
      resolve(a.window, x.dims.subspan(2, 2), y.dims.subspan(2, 2), w.dims.subspan(2));
  const size_t in_group = s.in_channels / s.groups, out_group = s.out_channels / s.groups;
  const size_t in_blocks = channel_blocks(s.in_channels), blocks = channel_blocks(s.out_channels);
  const auto input = [&](size_t n, size_t c, size_t at) {
    return a.plain
               ? x.data<float>()[(n * s.in_channels + c) * axes.in + at]
               : x.data<float>()[((n * in_blocks + c / kBlockLanes) * axes.in + at) * kBlockLanes +
                                 c % kBlockLanes];
  };
  float* to = y.data<float>();
  for (size_t i = 0; i < s.batch * blocks * axes.out * kBlockLanes; ++i) {
    const size_t lane = i % kBlockLanes, at = i / kBlockLanes % axes.out;
    const size_t block = i / kBlockLanes / axes.out % blocks;
    const size_t n = i / kBlockLanes / axes.out / blocks, o = block * kBlockLanes + lane;
    const Position p = position_of(at, 2, [&](size_t d) { return axes.axis[d].out; });
    float acc = 0;
    for (size_t first = 0; first < in_group; first += kConvChannels) {
      each_tap(axes, p, [&](size_t tap, int64_t index) {
        for (size_t c = first; c < std::min(in_group, first + kConvChannels); ++c) {
          const size_t channel = s.groups == 1 ? c : o / out_group * in_group + c;
          const float value = index < 0 ? 0.f : input(n, channel, size_t(index));
          const float weight =
              o < s.out_channels ? w.data<float>()[(o * in_group + c) * axes.taps + tap] : 0.f;
          acc = std::fma(weight, value, acc);
        }
      });
    }
    if (args.has(2)) acc = acc + (o < s.out_channels ? args.in(2).data<float>()[o] : 0.f);
    to[i] = store<float>(acc);
  }
  return ok();
}

ConvShape kernel_shape(const ConvBlocked& a, const Call& call) {
  return kernel_shape(a, call.in[0].dims(), call.in[1].dims(), call.out[0].dims());
}

bool fits(const ConvBlocked& a, const Call& call) {
  const bool constant =
      call.in[1].value != nullptr &&
      (call.in.size() < 3 || !call.in[2].present() || call.in[2].value != nullptr);
  return constant && conv_has_work(call) && conv_blocked_fits(kernel_shape(a, call), a.plain);
}

size_t scratch(const ConvBlocked& a, const Call& call) {
  return conv_blocked_scratch_bytes(kernel_shape(a, call), a.plain);
}

std::shared_ptr<const void> pack(const ConvBlocked& a, const Call& call, Pool& pool) {
  const ConvShape s = kernel_shape(a, call);
  std::shared_ptr<void> packed = allocate_lasting(conv_blocked_packed_size(s) * sizeof(float));
  const bool bias = call.in.size() > 2 && call.in[2].present();
  conv_blocked_pack(s, call.in[1].value->data<float>(),
                    bias ? call.in[2].value->data<float>() : nullptr,
                    static_cast<float*>(packed.get()), pool);
  return packed;
}

bool fits_inside(const ConvBlocked& a, const Call& call) {
  if (a.plain || !fits(a, call) || !conv_blocked_inside_fits(kernel_shape(a, call), call.isa))
    return false;
  const Tensor& w = *call.in[1].value;
  return all_finite(w.data<float>(), w.count());
}

size_t scratch_inside(const ConvBlocked& a, const Call& call) {
  return conv_blocked_inside_scratch_bytes(kernel_shape(a, call));
}

template <void (*kConv)(const BlockedConvArgs&, Pool&, Isa)>
Status run(const ConvBlocked& a, Args& args) {
  BlockedConvArgs c;
  c.shape = kernel_shape(a, args.in(0).dims, args.in(1).dims, args.out().dims);
  c.plain = a.plain;
  c.x = args.in(0).data<float>();
  c.weights = static_cast<const float*>(args.packed);
  c.bias = args.has(2);
  c.y = args.out().data<float>();
  c.scratch = args.scratch.data();
  EpilogueCall after{args.epilogue, args.epilogue_inputs, args.isa};
  if (const auto clamp = after.clamp()) {
    c.clamp = *clamp;
  } else {
    c.epilogue = after.block();
  }
  kConv(c, *args.pool, args.isa);
  return ok();
}

constexpr Kernel<ConvBlocked> kKernels[] = {
    {.name = "conv_blocked_inside",
     .fits = fits_inside,
     .run = run<sdx::conv_blocked_inside>,
     .scratch = scratch_inside,
     .pack = pack,
     .packs = (1u << 1) | (1u << 2),
     .epilogue = [](const ConvBlocked&, const Call&) -> size_t { return 2; }},
    {.name = "conv_blocked",
     .fits = fits,
     .run = run<sdx::conv_blocked>,
     .scratch = scratch,
     .pack = pack,
     .packs = (1u << 1) | (1u << 2),
     .epilogue = [](const ConvBlocked&, const Call&) -> size_t { return 2; }}};

uint64_t multiply_adds(const ConvBlocked&, const Call& call) {
  const Dims w = call.in[1].dims(), y = call.out[0].dims();
  uint64_t count = uint64_t(y[0] * y[2] * y[3]);
  for (const int64_t d : w) count *= uint64_t(d);
  return count;
}

std::vector<Case> cases() {
  return {{.name = "padded_with_stride",
           .opset = 1,
           .attrs = {{"pads", std::vector<int64_t>{1, 2, 1, 0}},
                     {"strides", std::vector<int64_t>{3, 2}}},
           .inputs = {noise({2, 2, 13, 17, 16}), noise({21, 19, 3, 4}, 2), noise({21}, 3)}},
          {.name = "depthwise",
           .opset = 1,
           .attrs = {{"group", int64_t{20}}, {"pads", std::vector<int64_t>{1, 1, 1, 1}}},
           .inputs = {noise({1, 2, 9, 20, 16}), noise({20, 1, 3, 3}, 2)}},
          {.name = "dilated_depthwise",
           .opset = 1,
           .attrs = {{"group", int64_t{20}},
                     {"dilations", std::vector<int64_t>{2, 3}},
                     {"pads", std::vector<int64_t>{2, 3, 2, 3}}},
           .inputs = {noise({1, 2, 9, 20, 16}), noise({20, 1, 3, 3}, 2), noise({20}, 3)}},
          {.name = "groups_of_blocks",
           .opset = 1,
           .attrs = {{"group", int64_t{2}}, {"pads", std::vector<int64_t>{1, 1, 1, 1}}},
           .inputs = {noise({1, 2, 9, 11, 16}), noise({64, 16, 3, 3}, 2), noise({64}, 3)}},
          {.name = "groups_within_blocks",
           .opset = 1,
           .attrs = {{"group", int64_t{3}}, {"pads", std::vector<int64_t>{1, 1, 1, 1}}},
           .inputs = {noise({1, 2, 9, 11, 16}), noise({24, 8, 3, 3}, 2), noise({24}, 3)}},
          {.name = "dilations_beyond_the_image",
           .opset = 1,
           .attrs = {{"dilations", std::vector<int64_t>{6, 9}},
                     {"pads", std::vector<int64_t>{6, 9, 6, 9}}},
           .inputs = {noise({2, 2, 9, 8, 16}), noise({37, 21, 3, 3}, 2), noise({37}, 3)}},
          {.name = "of_planes",
           .opset = 1,
           .attrs = {{"strides", std::vector<int64_t>{2, 2}}},
           .inputs = {noise({1, 3, 9, 20}), noise({33, 3, 3, 3}, 2), noise({33}, 3)}},
          {.name = "pointwise",
           .opset = 1,
           .attrs = {},
           .inputs = {noise({1, 3, 5, 7, 16}), noise({33, 40, 1, 1}, 2), noise({33}, 3)}}};
}

constexpr OpOf<ConvBlocked> kConvBlocked{
    .name = "ConvBlocked",
    .doc = "Conv on channels in blocks of 16.",
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

extern const Op conv_blocked = erase<kConvBlocked>();

}  // namespace sdx::ops
