// ConvInteger.
#include "ops/noise.h"
#include "ops/quant/quantised_conv.h"

namespace sdx::ops {
namespace {

constexpr ConvInputs kInputs{.x = 0, .x_zero = 2, .w = 1, .w_zero = 3};

constexpr Version kHistory[] = {
    {10,
     "(x: T1, w: T2, x_zero_point?: T1, w_zero_point?: T2) -> (y: T3) {auto_pad: string = "
     "\"NOTSET\", "
     "dilations: ints, group: int = 1, kernel_shape: ints, pads: ints, strides: ints} T1 in i8 u8 "
     "T2 in i8 "
     "u8 T3 in i32"},
};

Result<QuantisedConv> read(const Node& node, const Facts& in) {
  return read_quantised_conv(node, in[0], in[1]);
}

Result<Facts> infer(const QuantisedConv& a, const Facts& in) {
  return infer_quantised_conv(a, in[0], in[1], DType::i32);
}

// y = the sum over the group's channels and taps of (w - w_zero) * (x - x_zero), modulo 2^32;
// padding adds nothing.
Status reference(const QuantisedConv& a, Args& args) {
  SDX_TRY(check_conv_zeros(args, kInputs));
  int32_t* y = args.out().data<int32_t>();
  each_sum(a, args, kInputs, [&](size_t at, size_t, int32_t sum) { y[at] = sum; });
  return ok();
}

bool fits(const QuantisedConv& a, const Call& call) {
  return fits_conv_sums(a, call.in[0], call.in[1], call.out[0]);
}

size_t scratch(const QuantisedConv& a, const Call& call) {
  return conv_sums_scratch(a, call.in[0], call.in[1], call.out[0], call.threads);
}

std::shared_ptr<const void> pack(const QuantisedConv& a, const Call& call, Pool& pool) {
  return pack_conv_weights(a, call.in[0], call.in[1], call.out[0], pool, call.isa);
}

Status run(const QuantisedConv& a, Args& args) {
  SDX_TRY(check_conv_zeros(args, kInputs));
  conv_sums(a, args, kInputs, nullptr);
  return ok();
}

constexpr Kernel<QuantisedConv> kKernels[] = {{.name = "conv_int8",
                                               .fits = fits,
                                               .run = run,
                                               .scratch = scratch,
                                               .pack = pack,
                                               .packs = 1u << 1}};

std::vector<Case> cases() {
  const Tensor x = Tensor::of<uint8_t>({1, 1, 3, 3}, {2, 3, 4, 5, 6, 7, 8, 9, 10});
  return {
      {.name = "padding_counts_as_the_zero_point",
       .opset = 10,
       .attrs = {{"pads", std::vector<int64_t>{1, 1, 1, 1}}},
       .inputs = {x, Tensor::of<uint8_t>({1, 1, 2, 2}, {1, 1, 1, 1}), Tensor::scalar<uint8_t>(1)},
       .expected = {Tensor::of<int32_t>({1, 1, 4, 4},
                                        {1, 3, 5, 3, 5, 12, 16, 9, 11, 24, 28, 15, 7, 15, 17, 9})}},
      {.name = "each_output_channel_has_a_zero_point",
       .opset = 10,
       .attrs = {},
       .inputs = {Tensor::of<int8_t>({1, 1, 2}, {1, -2}),
                  Tensor::of<int8_t>({4, 1, 1}, {1, 2, 3, 4}), Tensor::scalar<int8_t>(0),
                  Tensor::of<int8_t>({4}, {0, 1, 2, 5})},
       .expected = {Tensor::of<int32_t>({1, 4, 2}, {1, -2, 1, -2, 1, -2, -1, 2})}},
      {.name = "two_groups_dilated",
       .opset = 10,
       .attrs = {{"group", int64_t{2}},
                 {"dilations", std::vector<int64_t>{1, 2}},
                 {"pads", std::vector<int64_t>{1, 0, 0, 2}},
                 {"strides", std::vector<int64_t>{2, 1}}},
       .inputs = {noise(DType::u8, {2, 6, 9, 11}, 1, 0, 256),
                  noise(DType::i8, {10, 3, 3, 3}, 2, -128, 128), Tensor::scalar<uint8_t>(131),
                  noise(DType::i8, {10}, 3, -20, 20)}}};
}

Streaming stream(const QuantisedConv& a, const Streamed& s) {
  const auto kernel = constant_dims(*s.in[kInputs.w].shape);
  if (!kernel) return Streaming::refuse("its weights change along the axis");
  Streaming how = stream_window(a.window, s, std::span(*kernel).subspan(2));
  if (s.in.size() > kInputs.x_zero && s.in[kInputs.x_zero].present())
    how.value_input = kInputs.x_zero;
  return how;
}

constexpr OpOf<QuantisedConv> kConvInteger{
    .name = "ConvInteger",
    .doc = "A convolution of 8-bit integers, less their zero points, in 32 bits.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .kernels = kKernels,
    .cases = cases,
    .stream = stream,
};

}  // namespace

extern const Op conv_integer = erase<kConvInteger>();

}  // namespace sdx::ops
