// QLinearConvChannelsLast: QLinearConv on images whose channels come last, and perhaps the sum of
// its bytes and others as QuantisedElementwise makes it; made by a rewrite.
#include "base/aligned.h"
#include "base/slab.h"
#include "kernel/conv/int8_channels_last/conv_int8_channels_last.h"
#include "kernel/conv/int8_depthwise/conv_int8_depthwise.h"
#include "kernel/quant/sum.h"
#include "ops/conv/channels_last.h"
#include "ops/noise.h"
#include "ops/quant/quantised_conv.h"
#include "ops/quant/saturate.h"

namespace sdx::ops {
namespace {

constexpr size_t kX = 0, kXScale = 1, kXZero = 2, kW = 3, kWScale = 4, kYScale = 5, kYZero = 6,
                 kBias = 7, kOther = 8;

// Without `other`, the attributes of the sum are empty. They are what QuantisedElementwise would
// have for the inputs y and other.
struct QLinearConvChannelsLast {
  QuantisedConv conv;
  std::optional<AddBytes> sum;
};

// w is int8 with zero point 0, or uint8 with zero point 128.
constexpr Version kHistory[] = {
    {1,
     "(x: T1, x_scale: f32, x_zero_point: T1, w: T2, w_scale: f32, y_scale: f32, y_zero_point: T3, "
     "B?: T4, other?: T3) -> (y: T3) {auto_pad: string = \"NOTSET\", dilations: ints, group: int = "
     "1, kernel_shape: ints, pads: ints, strides: ints, sum_code: strings, sum_scales: floats, "
     "sum_zeros: ints} T1 in u8 T2 in i8 u8 T3 in i8 u8 T4 in i32"},
};

Result<QLinearConvChannelsLast> read(const Node& node, const Facts& in) {
  QLinearConvChannelsLast a;
  SDX_ASSIGN(a.conv, read_quantised_conv(node, with_channels_first(in[kX]), in[kW]));
  if (in.size() <= kOther || !in[kOther].present()) return a;
  if (node.has("sum_code") && node.has("sum_scales") &&
      node.ints_or_empty("sum_zeros").size() == 3) {
    SDX_ASSIGN(const Program program,
               Program::parse(2, node.get<std::vector<std::string>>("sum_code")));
    const auto& scales = node.get<std::vector<float>>("sum_scales");
    if (scales.size() == 3)
      a.sum = sum_of_bytes(program, scales, node.ints("sum_zeros"), in[kYZero].type == DType::i8);
  }
  if (!a.sum)
    return fail("SDX-O0012",
                "the sum of y and other bytes is not given, or none that has a kernel");
  return a;
}

Result<Facts> infer(const QLinearConvChannelsLast& a, const Facts& in) {
  if (!in[kX].has_rank() || in[kX].rank() != 4)
    return fail("SDX-T0321", "X is {}, expected rank 4", in[kX].text());
  SDX_ASSIGN(Facts y,
             infer_quantised_conv(a.conv, with_channels_first(in[kX]), in[kW], in[kYZero].type));
  Fact last = with_channels_last(y[0]);
  if (a.sum && last.has_rank() && in[kOther].has_rank() && !(*last.shape == *in[kOther].shape)) {
    return fail("SDX-T0329", "other is {}, expected {}, as y", in[kOther].text(), last.text());
  }
  return Facts{std::move(last)};
}

Int8ChannelsLastShape shape_of(const QuantisedConv& a, std::span<const int64_t> x,
                               std::span<const int64_t> w, std::span<const int64_t> y) {
  const WindowAxes axes = resolve(a.window, x.subspan(1, 2), y.subspan(1, 2), w.subspan(2));
  Int8ChannelsLastShape s;
  s.batch = size_t(x[0]);
  s.channels = size_t(x[3]);
  s.out_channels = size_t(w[0]);
  for (size_t i = 0; i < 2; ++i) {
    s.in[i] = size_t(axes.axis[i].in);
    s.out[i] = size_t(axes.axis[i].out);
    s.kernel[i] = size_t(axes.axis[i].kernel);
    s.stride[i] = size_t(axes.axis[i].stride);
    s.dilation[i] = size_t(axes.axis[i].dilation);
    s.pad[i] = size_t(axes.axis[i].begin);
  }
  window_must_fit(s, s.channels, s.out_channels, size_t(w[1] * w[2] * w[3]));
  return s;
}
Int8ChannelsLastShape shape_of(const QuantisedConv& a, const Call& call) {
  const Dims x = call.in[kX].dims(), w = call.in[kW].dims(), y = call.out[0].dims();
  return shape_of(a, x, w, y);
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

// One step after the other, each rounded: both bytes as floats, their sum, Relu, the quotient.
int64_t sum_with(const AddBytes& sum, int64_t byte, const View& other, size_t at) {
  const int32_t second =
      other.type == DType::i8 ? other.data<int8_t>()[at] : other.data<uint8_t>()[at];
  float both = float(int32_t(byte) - sum.zero[0]) * sum.scale[0] +
               float(second - sum.zero[1]) * sum.scale[1];
  if (sum.relu && both < 0) both = 0;
  return saturate_to(other.type, to_nearest(both / sum.scale[2]) + sum.zero[2]);
}

// As QLinearConv: s = the sum of w * (x - x_zero), + B, modulo 2^32; y = saturate(round half to
// even(float(s) * ratio) + y_zero).
Status reference(const QLinearConvChannelsLast& a, Args& args) {
  const View &x = args.in(kX), &w = args.in(kW), &y = args.out();
  const Int8ChannelsLastShape s = shape_of(a.conv, x.dims, w.dims, y.dims);
  const int32_t x_zero = *args.in(kXZero).data<uint8_t>(), zero = zero_of(args.in(kYZero));
  const size_t groups = size_t(a.conv.group), read = s.channels / groups;  // channels of a filter
  const auto weight = [&](size_t i) {
    return w.type == DType::i8 ? int32_t(w.data<int8_t>()[i]) : w.data<uint8_t>()[i] - 128;
  };
  size_t to = 0;
  for (size_t n = 0; n < s.batch; ++n) {
    for (size_t oy = 0; oy < s.out[0]; ++oy) {
      for (size_t ox = 0; ox < s.out[1]; ++ox) {
        for (size_t o = 0; o < s.out_channels; ++o) {
          uint32_t sum = args.has(kBias) ? uint32_t(args.in(kBias).data<int32_t>()[o]) : 0;
          for (size_t ky = 0; ky < s.kernel[0]; ++ky) {
            for (size_t kx = 0; kx < s.kernel[1]; ++kx) {
              const size_t iy = oy * s.stride[0] + ky * s.dilation[0] - s.pad[0];
              const size_t ix = ox * s.stride[1] + kx * s.dilation[1] - s.pad[1];
              if (iy >= s.in[0] || ix >= s.in[1]) continue;
              for (size_t c = 0; c < read; ++c) {
                const size_t from = o / (s.out_channels / groups) * read + c;
                const int32_t value =
                    x.data<uint8_t>()[((n * s.in[0] + iy) * s.in[1] + ix) * s.channels + from];
                const size_t at = ((o * read + c) * s.kernel[0] + ky) * s.kernel[1] + kx;
                sum += uint32_t(weight(at) * (value - x_zero));
              }
            }
          }
          const float scaled = float(int32_t(sum)) * ratio_of(args, o);
          int64_t byte = saturate_to(y.type, to_nearest(scaled) + zero);
          if (a.sum) byte = sum_with(*a.sum, byte, args.in(kOther), to);
          set_i64(y.type, y.raw, to++, byte);
        }
      }
    }
  }
  return ok();
}

bool has_known_weights(const Call& call) {
  for (const Fact* fact : {&call.in[kX], &call.out[0]}) {
    for (const int64_t d : fact->dims()) {
      if (d == 0) return false;
    }
  }
  return call.in[kW].value != nullptr;
}
bool fits(const QLinearConvChannelsLast& a, const Call& call) {
  return a.conv.group == 1 && has_known_weights(call);
}
bool fits_depthwise(const QLinearConvChannelsLast& a, const Call& call) {
  if (!has_known_weights(call)) return false;
  const Int8ChannelsLastShape s = shape_of(a.conv, call);
  return size_t(a.conv.group) == s.channels && conv_int8_depthwise_fits(s);
}

// Scratch memory: the ratios, then what the kernel needs.
size_t ratio_bytes(const Int8ChannelsLastShape& s) {
  return aligned_bytes(s.out_channels * sizeof(float));
}
size_t scratch(const QLinearConvChannelsLast& a, const Call& call) {
  const Int8ChannelsLastShape s = shape_of(a.conv, call);
  return ratio_bytes(s) + conv_int8_channels_last_scratch_bytes(s);
}

std::shared_ptr<const void> pack(const QLinearConvChannelsLast& a, const Call& call, Pool& pool) {
  const Int8ChannelsLastShape s = shape_of(a.conv, call);
  std::shared_ptr<void> packed = allocate_lasting(conv_int8_channels_last_packed_bytes(s));
  const Tensor& w = *call.in[kW].value;
  conv_int8_channels_last_pack(s, w.raw(), w.type() == DType::i8, packed.get(), pool, call.isa);
  return packed;
}

size_t scratch_depthwise(const QLinearConvChannelsLast& a, const Call& call) {
  const Int8ChannelsLastShape s = shape_of(a.conv, call);
  return ratio_bytes(s) + conv_int8_depthwise_scratch_bytes(s);
}

std::shared_ptr<const void> pack_depthwise(const QLinearConvChannelsLast& a, const Call& call,
                                           Pool&) {
  const Int8ChannelsLastShape s = shape_of(a.conv, call);
  std::shared_ptr<void> packed = allocate_lasting(conv_int8_depthwise_packed_bytes(s));
  const Tensor& w = *call.in[kW].value;
  conv_int8_depthwise_pack(s, w.raw(), w.type() == DType::i8, packed.get());
  return packed;
}

template <void (*kConv)(const Int8ChannelsLastArgs&, Pool&, Isa)>
Status run(const QLinearConvChannelsLast& a, Args& args) {
  const View &x = args.in(kX), &y = args.out();
  Int8ChannelsLastArgs c;
  c.shape = shape_of(a.conv, x.dims, args.in(kW).dims, y.dims);
  c.x = x.data<uint8_t>();
  c.x_zero = *args.in(kXZero).data<uint8_t>();
  c.weights = args.packed;
  if (args.has(kBias)) c.bias = args.in(kBias).data<int32_t>();
  auto* ratio = reinterpret_cast<float*>(args.scratch.data());
  for (size_t o = 0; o < c.shape.out_channels; ++o) ratio[o] = ratio_of(args, o);
  c.ratio = ratio;
  c.zero = zero_of(args.in(kYZero));
  c.y_signed = y.type == DType::i8;
  if (a.sum) {
    c.other = args.in(kOther).data<uint8_t>();
    c.sum = &*a.sum;
  }
  c.y = y.data<uint8_t>();
  c.scratch = args.scratch.data() + ratio_bytes(c.shape);
  kConv(c, *args.pool, args.isa);
  return ok();
}

constexpr Kernel<QLinearConvChannelsLast> kKernels[] = {{.name = "conv_int8_channels_last",
                                                         .fits = fits,
                                                         .run = run<conv_int8_channels_last>,
                                                         .scratch = scratch,
                                                         .pack = pack,
                                                         .packs = 1u << kW},
                                                        {.name = "conv_int8_depthwise",
                                                         .fits = fits_depthwise,
                                                         .run = run<conv_int8_depthwise>,
                                                         .scratch = scratch_depthwise,
                                                         .pack = pack_depthwise,
                                                         .packs = 1u << kW}};

uint64_t multiply_adds(const QLinearConvChannelsLast& a, const Call& call) {
  const Int8ChannelsLastShape s = shape_of(a.conv, call);
  return uint64_t(s.batch) * s.out[0] * s.out[1] * s.out_channels *
         (s.channels / size_t(a.conv.group)) * s.kernel[0] * s.kernel[1];
}

std::vector<Case> cases() {
  const auto conv = [](std::string name, Dims x, Dims w, AttrMap attrs, DType w_type, DType y) {
    const int64_t out = w[0];
    return Case{.name = std::move(name),
                .opset = 1,
                .attrs = std::move(attrs),
                .inputs = {noise(DType::u8, x, 1, 0, 256), Tensor::scalar<float>(.02f),
                           Tensor::scalar<uint8_t>(100),
                           noise(w_type, w, 2, w_type == DType::i8 ? -128 : 0,
                                 w_type == DType::i8 ? 128 : 256),
                           noise(DType::f32, {out}, 3, .001, .01), Tensor::scalar<float>(.1f),
                           y == DType::u8 ? Tensor::scalar<uint8_t>(7) : Tensor::scalar<int8_t>(-5),
                           noise(DType::i32, {out}, 4, -5000, 5000)}};
  };
  using Ints = std::vector<int64_t>;
  const auto summed = [](Case c, Dims y, std::vector<float> scales, Ints zeros, bool relu) {
    std::vector<std::string> code = {"add 0 1"};
    if (relu) code.push_back("relu 2 0 0");
    c.attrs["sum_code"] = code;
    c.attrs["sum_scales"] = std::move(scales);
    c.attrs["sum_zeros"] = std::move(zeros);
    const DType type = std::get<Tensor>(c.inputs[kYZero]).type();
    const bool is_signed = type == DType::i8;
    c.inputs.push_back(noise(type, y, 5, is_signed ? -128 : 0, is_signed ? 128 : 256));
    return c;
  };
  Case far =
      conv("ratios_beyond_all_bounds", {1, 5, 5, 8}, {64, 8, 1, 1}, {}, DType::i8, DType::u8);
  far.inputs[kYScale] = Tensor::scalar<float>(1e-38f);
  far.inputs[kWScale] = noise(DType::f32, {64}, 3, -1e30, 1e30);
  return {
      far,
      conv("pixels_by_themselves", {1, 7, 7, 64}, {80, 64, 1, 1}, {}, DType::i8, DType::u8),
      conv("a_padded_window", {2, 9, 8, 20}, {64, 20, 3, 3}, {{"pads", Ints{1, 1, 1, 1}}},
           DType::i8, DType::u8),
      conv("three_channels_with_strides", {1, 23, 21, 3}, {9, 3, 7, 7},
           {{"pads", Ints{3, 3, 3, 3}}, {"strides", Ints{2, 2}}}, DType::u8, DType::u8),
      conv("wide_steps", {1, 12, 13, 8}, {130, 8, 3, 2},
           {{"dilations", Ints{2, 3}}, {"pads", Ints{0, 2, 1, 1}}}, DType::i8, DType::i8),
      conv("every_second_pixel", {1, 14, 14, 32}, {64, 32, 1, 1}, {{"strides", Ints{2, 2}}},
           DType::i8, DType::u8),
      conv("a_filter_per_channel", {2, 9, 8, 70}, {70, 1, 3, 3},
           {{"group", int64_t{70}}, {"pads", Ints{1, 1, 1, 1}}}, DType::i8, DType::u8),
      conv("filters_with_strides_and_wide_steps", {1, 14, 13, 33}, {33, 1, 5, 2},
           {{"group", int64_t{33}},
            {"strides", Ints{2, 1}},
            {"dilations", Ints{1, 3}},
            {"pads", Ints{2, 0, 1, 3}}},
           DType::u8, DType::i8),
      conv("two_groups", {1, 5, 5, 8}, {6, 4, 3, 3}, {{"group", int64_t{2}}}, DType::i8, DType::u8),
      summed(conv("a_filter_per_channel_and_a_sum", {1, 9, 9, 64}, {64, 1, 3, 3},
                  {{"group", int64_t{64}}, {"pads", Ints{1, 1, 1, 1}}}, DType::i8, DType::u8),
             {1, 9, 9, 64}, {.1f, .07f, .12f}, {7, 100, 3}, true),
      summed(
          conv("a_sum_with_other_bytes", {1, 9, 9, 16}, {128, 16, 1, 1}, {}, DType::i8, DType::u8),
          {1, 9, 9, 128}, {.1f, .07f, .12f}, {7, 100, 3}, true),
      summed(conv("a_sum_that_meets_half_way", {2, 9, 9, 16}, {64, 16, 1, 1}, {}, DType::i8,
                  DType::u8),
             {2, 9, 9, 64}, {.125f, .125f, .25f}, {7, 0, 0}, false),
      summed(conv("a_sum_of_another_zero_point", {1, 9, 9, 16}, {64, 16, 1, 1}, {}, DType::i8,
                  DType::u8),
             {1, 9, 9, 64}, {.1f, .07f, .12f}, {9, 100, 3}, true),
      summed(conv("a_sum_of_signed_bytes_in_part_of_a_panel", {1, 9, 9, 16}, {70, 16, 1, 1}, {},
                  DType::i8, DType::i8),
             {1, 9, 9, 70}, {.1f, .07f, .12f}, {-5, 100, 3}, true)};
}

constexpr OpOf<QLinearConvChannelsLast> kQLinearConvChannelsLast{
    .name = "QLinearConvChannelsLast",
    .doc = "QLinearConv on images whose channels come last, and perhaps a sum with other bytes.",
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

extern const Op qlinear_conv_channels_last = erase<kQLinearConvChannelsLast>();

}  // namespace sdx::ops
