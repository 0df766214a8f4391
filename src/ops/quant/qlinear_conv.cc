// QLinearConv.
#include "kernel/conv/int8_depthwise/conv_int8_depthwise.h"
#include "op/layout.h"
#include "ops/conv/channels_last.h"
#include "ops/noise.h"
#include "ops/quant/quantised_conv.h"
#include "ops/quant/saturate.h"

namespace sdx::ops {
namespace {

constexpr ConvInputs kInputs{.x = 0, .x_zero = 2, .w = 3, .w_zero = 5};
constexpr size_t kXScale = 1, kWScale = 4, kYScale = 6, kYZero = 7, kBias = 8;

constexpr Version kHistory[] = {
    {10,
     "(x: T1, x_scale: f32, x_zero_point: T1, w: T2, w_scale: f32, w_zero_point: T2, y_scale: f32, "
     "y_zero_point: T3, B?: T4) -> (y: T3) {auto_pad: string = \"NOTSET\", dilations: ints, group: "
     "int = 1, "
     "kernel_shape: ints, pads: ints, strides: ints} T1 in i8 u8 T2 in i8 u8 T3 in i8 u8 T4 in "
     "i32"},
};

Result<QuantisedConv> read(const Node& node, const Facts& in) {
  return read_quantised_conv(node, in[0], in[3]);
}

Result<Facts> infer(const QuantisedConv& a, const Facts& in) {
  return infer_quantised_conv(a, in[0], in[3], in[kYZero].type);
}

Status check(const Args& args) {
  SDX_TRY(check_conv_zeros(args, kInputs));
  const auto channels = size_t(args.in(kInputs.w).dims[0]);
  for (const size_t i : {kXScale, kYScale, kYZero}) {
    if (args.in(i).count != 1) {
      return fail("SDX-T0315", "input {} has shape {}; it must be a scalar", i,
                  to_string(args.in(i).dims));
    }
  }
  if (args.in(kWScale).count != 1 && args.in(kWScale).count != channels) {
    return fail("SDX-T0316", "w_scale has shape {}; there are {} output channels",
                to_string(args.in(kWScale).dims), channels);
  }
  if (args.has(kBias) && args.in(kBias).count != channels) {
    return fail("SDX-T0317", "B has shape {}; there are {} output channels",
                to_string(args.in(kBias).dims), channels);
  }
  return ok();
}

// (x_scale * w_scale) / y_scale, each step rounded to float.
float ratio_of(const Args& args, size_t channel) {
  const View& w_scale = args.in(kWScale);
  return *args.in(kXScale).data<float>() * w_scale.data<float>()[w_scale.count > 1 ? channel : 0] /
         *args.in(kYScale).data<float>();
}

int32_t zero_of(const View& v) {
  return v.type == DType::i8 ? *v.data<int8_t>() : *v.data<uint8_t>();
}

// s = the sum of (w - w_zero) * (x - x_zero), + B, modulo 2^32; y = saturate(round half to
// even(float(s) * ratio) + y_zero).
Status reference(const QuantisedConv& a, Args& args) {
  SDX_TRY(check(args));
  const View& y = args.out();
  const int32_t zero = zero_of(args.in(kYZero));
  each_sum(a, args, kInputs, [&](size_t at, size_t channel, int32_t sum) {
    const int32_t bias = args.has(kBias) ? args.in(kBias).data<int32_t>()[channel] : 0;
    const float scaled = float(int32_t(uint32_t(sum) + uint32_t(bias))) * ratio_of(args, channel);
    set_i64(y.type, y.raw, at, saturate_to(y.type, to_nearest(scaled) + zero));
  });
  return ok();
}

bool fits(const QuantisedConv& a, const Call& call) {
  return fits_conv_sums(a, call.in[0], call.in[3], call.out[0]);
}

size_t scratch(const QuantisedConv& a, const Call& call) {
  return conv_sums_scratch(a, call.in[0], call.in[3], call.out[0], call.threads);
}

std::shared_ptr<const void> pack(const QuantisedConv& a, const Call& call, Pool& pool) {
  return pack_conv_weights(a, call.in[0], call.in[3], call.out[0], pool, call.isa);
}

Status run(const QuantisedConv& a, Args& args) {
  SDX_TRY(check(args));
  const SumsToBytes to_bytes{ratio_of, args.has(kBias) ? args.in(kBias).data<int32_t>() : nullptr,
                             zero_of(args.in(kYZero))};
  conv_sums(a, args, kInputs, &to_bytes);
  return ok();
}

constexpr Kernel<QuantisedConv> kKernels[] = {{.name = "qlinear_conv_int8",
                                               .fits = fits,
                                               .run = run,
                                               .scratch = scratch,
                                               .pack = pack,
                                               .packs = 1u << 3}};

bool all_equal(const Tensor& t, int value) {
  const auto* bytes = static_cast<const uint8_t*>(t.raw());
  return std::all_of(bytes, bytes + t.count(), [&](uint8_t b) { return b == uint8_t(value); });
}

// One group, or a filter per channel that the kernel for such has room for.
bool has_channels_last(const QuantisedConv& a, const Fact& x, const Tensor& w) {
  if (a.group == 1) return true;
  return w.rank() == 4 && x.has_rank() && x.rank() == 4 && x.dim(1).is_const(a.group) &&
         w.dims()[0] == a.group && w.dims()[1] == 1 &&
         size_t(w.dims()[2] * w.dims()[3]) <= kDepthwiseMostTaps;
}

// Channels last, by an operator of its own, are worth turning the images before and behind:
// unsigned x, weights that are signed or count as such.
std::optional<Relaid> layout(const QuantisedConv& a, const Relay& asked) {
  const Fact &x = asked.x(), &w = asked.in[kInputs.w], &w_zero = asked.in[kInputs.w_zero];
  if (asked.from != 0 || !(asked.layout == channels_last(4)) || x.type != DType::u8 || !w.value ||
      !has_channels_last(a, x, *w.value) || !w_zero.value ||
      !all_equal(*w_zero.value, w.type == DType::i8 ? 0 : 128)) {
    return std::nullopt;
  }
  Relaid made = Relaid::same(asked);
  for (const size_t i : {kXScale, kInputs.x_zero, kWScale, kYScale, kYZero}) {
    if (!asked.in[i].value) return std::nullopt;
  }
  made.use.op = &qlinear_conv_channels_last;
  made.use.opset = made.use.op->signatures().back().since;
  made.inputs.erase(made.inputs.begin() + kInputs.w_zero);
  made.gain = image_bytes(x) + image_bytes(asked.out[0]) + 1;
  return made;
}

std::vector<Case> cases() {
  return {{.name = "depthwise_with_bias",
           .opset = 10,
           .attrs = {{"group", int64_t{2}}, {"pads", std::vector<int64_t>{1, 0}}},
           .inputs = {Tensor::of<uint8_t>({1, 2, 3}, {10, 12, 14, 1, 2, 3}),
                      Tensor::scalar<float>(.5f), Tensor::scalar<uint8_t>(10),
                      Tensor::of<int8_t>({2, 1, 2}, {1, 2, -1, 1}), Tensor::of<float>({2}, {1, 2}),
                      Tensor::of<int8_t>({2}, {0, 0}), Tensor::scalar<float>(1),
                      Tensor::scalar<uint8_t>(5), Tensor::of<int32_t>({2}, {0, 7})},
           .expected = {Tensor::of<uint8_t>({1, 2, 3}, {5, 7, 10, 3, 13, 13})}},
          {.name = "depthwise_with_strides",
           .opset = 10,
           .attrs = {{"group", int64_t{5}},
                     {"pads", std::vector<int64_t>{1, 1, 1, 1}},
                     {"strides", std::vector<int64_t>{1, 2}}},
           .inputs = {noise(DType::i8, {2, 5, 9, 12}, 1, -128, 128), Tensor::scalar<float>(.02f),
                      Tensor::scalar<int8_t>(-3), noise(DType::u8, {5, 1, 3, 3}, 2, 0, 256),
                      noise(DType::f32, {5}, 3, .01, .1), Tensor::scalar<uint8_t>(128),
                      Tensor::scalar<float>(.1f), Tensor::scalar<int8_t>(5)}},
          {.name = "channels_mixed_with_bias",
           .opset = 10,
           .attrs = {{"pads", std::vector<int64_t>{1, 1, 1, 1}}},
           .inputs = {noise(DType::u8, {2, 5, 8, 7}, 1, 0, 256), Tensor::scalar<float>(.02f),
                      Tensor::scalar<uint8_t>(100), noise(DType::i8, {9, 5, 3, 3}, 2, -128, 128),
                      noise(DType::f32, {9}, 3, .001, .01), Tensor::scalar<int8_t>(0),
                      Tensor::scalar<float>(.1f), Tensor::scalar<uint8_t>(7),
                      noise(DType::i32, {9}, 4, -5000, 5000)}}};
}

Streaming stream(const QuantisedConv& a, const Streamed& s) {
  const auto kernel = constant_dims(*s.in[kInputs.w].shape);
  if (!kernel) return Streaming::refuse("its weights change along the axis");
  Streaming how = stream_window(a.window, s, std::span(*kernel).subspan(2));
  if (s.in.size() > kInputs.x_zero && s.in[kInputs.x_zero].present())
    how.value_input = kInputs.x_zero;
  return how;
}

constexpr OpOf<QuantisedConv> kQLinearConv{
    .name = "QLinearConv",
    .doc = "A convolution of quantised tensors, quantised again.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .kernels = kKernels,
    .cases = cases,
    .layout = layout,
    .stream = stream,
};

}  // namespace

extern const Op qlinear_conv = erase<kQLinearConv>();

}  // namespace sdx::ops
