// Means over quantised images, and QLinearConv of images whose channels may lie last.
#include "ops/microsoft/images.h"
#include "ops/noise.h"

namespace sdx::ops::microsoft {
namespace {

constexpr Version kAveragePoolHistory[] = {
    {1,
     "(X: T, x_scale: f32, x_zero_point?: T, y_scale: f32, y_zero_point?: T) -> (Y: T) {auto_pad: "
     "string = \"NOTSET\", ceil_mode: int = 0, channels_last: int = 0, count_include_pad: int = 0, "
     "kernel_shape!: ints, pads: ints, strides: ints} T in u8 i8"}};
constexpr Version kGlobalAveragePoolHistory[] = {
    {1,
     "(X: T, x_scale: f32, x_zero_point: T, y_scale: f32, y_zero_point: T) -> (Y: T) "
     "{channels_last: int = 0} T in u8 i8"}};
constexpr Version kReduceMeanHistory[] = {
    {1,
     "(data: T, data_scale: f32, data_zero_point?: T, reduced_scale: f32, reduced_zero_point?: T) "
     "-> (reduced: T) {axes!: ints, keepdims!: int} T in u8 i8"}};
constexpr Version kConvHistory[] = {
    {1,
     "(x: T1, x_scale: f32, x_zero_point: T1, w: T2, w_scale: f32, w_zero_point: T2, y_scale: f32, "
     "y_zero_point: T3, B?: T4) -> (y: T3) {auto_pad: string = \"NOTSET\", channels_last: int = 0, "
     "dilations: ints, group: int = 1, kernel_shape: ints, pads: ints, strides: ints} T1 in i8 u8 "
     "T2 in i8 u8 T3 in i8 u8 T4 in i32"}};

// Quantise(operation(Dequantise(x))), channels first in between.
template <class F>
Result<Wires> on_images(Composer& c, F&& operation) {
  const bool last = c.node().i("channels_last") != 0;
  const DType type = c.fact(c.in(0)).type;
  Wire x = last ? channels_first(c, c.in(0)) : c.in(0);
  x = operation(dequantised(c, x, c.in(1), c.in(2)));
  x = quantised(c, x, c.in(3), c.in(4), type);
  return Wires{last ? channels_last(c, x) : x};
}

Result<Wires> compose_average_pool(Composer& c) {
  return on_images(c,
                   [&](Wire x) { return c.add(average_pool, {x}, window_attributes(c.node())); });
}

Result<Wires> compose_global_average_pool(Composer& c) {
  return on_images(c, [&](Wire x) { return c.add(global_average_pool, {x}); });
}

Result<Wires> compose_reduce_mean(Composer& c) {
  const Wire x = dequantised(c, c.in(0), c.in(1), c.in(2));
  const Wire y = c.add(reduce_mean, {x, c.ints(c.node().ints("axes"))},
                       {{"keepdims", c.node().i("keepdims")}});
  return Wires{quantised(c, y, c.in(3), c.in(4), c.fact(c.in(0)).type)};
}

Result<Wires> compose_conv(Composer& c) {
  const bool last = c.node().i("channels_last") != 0;
  Wires inputs;
  for (size_t i = 0; i < 9; ++i) inputs.push_back(c.in(i));
  if (last) inputs[0] = channels_first(c, inputs[0]);
  for (const size_t i : {1, 2, 6, 7}) inputs[i] = scalar(c, inputs[i], "a scale or zero point");
  const Wire y = c.add(qlinear_conv, inputs, window_attributes(c.node()));
  return Wires{last ? channels_last(c, y) : y};
}

Tensor f(float x) { return Tensor::scalar(x); }
Tensor u(uint8_t x) { return Tensor::scalar(x); }

std::vector<Case> cases_average_pool() {
  return {{.name = "pairs",
           .opset = 1,
           .attrs = {{"kernel_shape", std::vector<int64_t>{1, 2}}},
           .inputs = {Tensor::of<uint8_t>({1, 1, 1, 3}, {2, 4, 8}), f(1), u(0), f(.5f), u(1)},
           .expected = {Tensor::of<uint8_t>({1, 1, 1, 2}, {7, 13})}},
          {.name = "channels_last",
           .opset = 1,
           .attrs = {{"kernel_shape", std::vector<int64_t>{2, 2}}, {"channels_last", int64_t{1}}},
           .inputs = {noise(DType::u8, {1, 5, 6, 7}, 1, 0, 256), f(.1f), u(9), f(.11f), u(3)}}};
}
std::vector<Case> cases_global_average_pool() {
  return {{.name = "of_each_channel",
           .opset = 1,
           .attrs = {},
           .inputs = {Tensor::of<uint8_t>({1, 2, 1, 2}, {2, 4, 10, 30}), f(1), u(0), f(1), u(1)},
           .expected = {Tensor::of<uint8_t>({1, 2, 1, 1}, {4, 21})}},
          {.name = "channels_last",
           .opset = 1,
           .attrs = {{"channels_last", int64_t{1}}},
           .inputs = {noise(DType::i8, {2, 7, 7, 20}, 1, -128, 128), f(.1f),
                      Tensor::scalar<int8_t>(-4), f(.05f), Tensor::scalar<int8_t>(3)}}};
}
std::vector<Case> cases_reduce_mean() {
  return {{.name = "along_the_last_axis",
           .opset = 1,
           .attrs = {{"axes", std::vector<int64_t>{-1}}, {"keepdims", int64_t{0}}},
           .inputs = {Tensor::of<uint8_t>({2, 2}, {2, 4, 10, 30}), f(1), u(0), f(2), u(0)},
           .expected = {Tensor::of<uint8_t>({2}, {2, 10})}}};
}
std::vector<Case> cases_conv() {
  return {{.name = "channels_last",
           .opset = 1,
           .attrs = {{"channels_last", int64_t{1}}},
           .inputs = {Tensor::of<uint8_t>({1, 1, 2, 2}, {1, 2, 3, 4}), f(1), u(0),
                      Tensor::of<int8_t>({1, 2, 1, 1}, {1, 10}), f(1), Tensor::scalar<int8_t>(0),
                      f(1), u(5)},
           .expected = {Tensor::of<uint8_t>({1, 1, 2, 1}, {26, 48})}},
          {.name = "a_scale_per_channel",
           .opset = 1,
           .attrs = {{"channels_last", int64_t{1}}, {"pads", std::vector<int64_t>{1, 1, 1, 1}}},
           .inputs = {noise(DType::u8, {1, 6, 6, 8}, 1, 0, 256), f(.02f), u(120),
                      noise(DType::i8, {12, 8, 3, 3}, 2, -128, 128),
                      noise(DType::f32, {12}, 3, .001, .01), Tensor::make(DType::i8, {12}), f(.05f),
                      u(128), noise(DType::i32, {12}, 4, -500, 500)}}};
}

constexpr OpOf<Composition> kAveragePool = composed<compose_average_pool>(
    kDomain, "QLinearAveragePool", "AveragePool of a quantised tensor.", kAveragePoolHistory,
    cases_average_pool);
constexpr OpOf<Composition> kGlobalAveragePool = composed<compose_global_average_pool>(
    kDomain, "QLinearGlobalAveragePool", "GlobalAveragePool of a quantised tensor.",
    kGlobalAveragePoolHistory, cases_global_average_pool);
constexpr OpOf<Composition> kReduceMean =
    composed<compose_reduce_mean>(kDomain, "QLinearReduceMean", "ReduceMean of a quantised tensor.",
                                  kReduceMeanHistory, cases_reduce_mean);
constexpr OpOf<Composition> kQLinearConv = composed<compose_conv>(
    kDomain, "QLinearConv", "QLinearConv of images whose channels may lie last.", kConvHistory,
    cases_conv);

}  // namespace

extern const Op qlinear_average_pool = erase<kAveragePool>();
extern const Op qlinear_global_average_pool = erase<kGlobalAveragePool>();
extern const Op qlinear_reduce_mean = erase<kReduceMean>();
extern const Op ms_qlinear_conv = erase<kQLinearConv>();

}  // namespace sdx::ops::microsoft
