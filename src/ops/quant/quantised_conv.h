// What ConvInteger and QLinearConv share: the window, the output's shape, exact sums, and their
// fast form by gemm_int8.
#pragma once

#include "ops/conv/conv.h"

namespace sdx::ops {

struct QuantisedConv {
  Window window;
  int64_t group;
};

// Where an operator has its operands: x, its zero point, w, its zero point.
struct ConvInputs {
  size_t x, x_zero, w, w_zero;
};

Result<QuantisedConv> read_quantised_conv(const Node&, const Fact& x, const Fact& w);
Result<Facts> infer_quantised_conv(const QuantisedConv&, const Fact& x, const Fact& w, DType type);
// Zero points have one element, or w's one per output channel.
Status check_conv_zeros(const Args&, const ConvInputs&);

// f(output index, output channel, sum) for every output: the sum over the group's channels and taps
// of (w - w_zero) * (x - x_zero), modulo 2^32; a tap in the padding counts as x = x_zero, so it
// adds nothing.
template <class F>
void each_sum(const QuantisedConv& a, const Args& args, const ConvInputs& in, F&& f) {
  const View &x = args.in(in.x), &w = args.in(in.w), &y = args.out();
  const auto value = [](const View& v, size_t i) {
    return v.type == DType::i8 ? int32_t(v.data<int8_t>()[i]) : int32_t(v.data<uint8_t>()[i]);
  };
  const WindowAxes axes =
      resolve(a.window, x.dims.subspan(2), y.dims.subspan(2), w.dims.subspan(2));
  const size_t channels = size_t(x.dims[1]), out_channels = size_t(w.dims[0]),
               in_group = size_t(w.dims[1]);
  const size_t out_group = out_channels / size_t(a.group);
  const int32_t x_zero = args.has(in.x_zero) ? value(args.in(in.x_zero), 0) : 0;
  size_t to = 0;
  for (size_t n = 0; n < size_t(x.dims[0]); ++n) {
    for (size_t o = 0; o < out_channels; ++o) {
      const size_t plane = (n * channels + o / out_group * in_group) * axes.in;
      const int32_t w_zero =
          args.has(in.w_zero) ? value(args.in(in.w_zero), args.in(in.w_zero).count > 1 ? o : 0) : 0;
      for (size_t at = 0; at < axes.out; ++at) {
        const Position p =
            position_of(at, axes.spatial, [&](size_t i) { return axes.axis[i].out; });
        uint32_t sum = 0;
        each_tap(axes, p, [&](size_t tap, int64_t index) {
          if (index < 0) return;
          for (size_t c = 0; c < in_group; ++c) {
            sum += uint32_t((value(w, (o * in_group + c) * axes.taps + tap) - w_zero) *
                            (value(x, plane + c * axes.in + size_t(index)) - x_zero));
          }
        });
        f(to++, o, int32_t(sum));
      }
    }
  }
}

// The fast form, by kernel/conv/int8_planes; constant weights are packed once.
bool fits_conv_sums(const QuantisedConv&, const Fact& x, const Fact& w, const Fact& y);
std::shared_ptr<const void> pack_conv_weights(const QuantisedConv&, const Fact& x, const Fact& w,
                                              const Fact& y, Pool&, Isa);
size_t conv_sums_scratch(const QuantisedConv&, const Fact& x, const Fact& w, const Fact& y,
                         int threads);

// How sums become bytes: saturate(nearest(float(sum + bias[channel]) * ratio(args, channel)) +
// zero).
struct SumsToBytes {
  float (*ratio)(const Args&, size_t channel);
  const int32_t* bias;  // or null
  int32_t zero;
};
// Writes the output: sums, or bytes made of them.
void conv_sums(const QuantisedConv&, const Args&, const ConvInputs&, const SumsToBytes*);

}  // namespace sdx::ops
