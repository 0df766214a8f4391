// com.microsoft.nchwc: what onnxruntime's optimiser leaves in a model that it saves: convolutions
// and poolings on images whose channels lie in blocks of 8 or 16, as its own machine liked them.
//
// Between ReorderInput and ReorderOutput nothing tells how such an image lies in memory, so here it
// is an image as any other, whose channels are padded to whole blocks; only the weights, which the
// model holds in blocks, are put back in order. A block is 16 channels unless the sizes say 8.
#include "ops/microsoft/images.h"
#include "ops/noise.h"

namespace sdx::ops::microsoft {
namespace {

constexpr std::string_view kNchwc = "com.microsoft.nchwc";

constexpr Version kReorderInputHistory[] = {
    {1, "(X: T) -> (Y: T) {channels_last: int = 0} T in f32"}};
constexpr Version kReorderOutputHistory[] = {
    {1, "(X: T) -> (Y: T) {channels: int = 0, channels_last: int = 0} T in f32"}};
constexpr Version kConvHistory[] = {
    {1,
     "(X: T, W: T, B?: T, Sum?: T) -> (Y: T) {activation: string, activation_params: floats, "
     "auto_pad: string = \"NOTSET\", dilations: ints, group: int = 1, kernel_shape: ints, pads: "
     "ints, strides: ints} T in f32"}};
constexpr Version kMaxPoolHistory[] = {
    {1,
     "(X: T) -> (Y: T) {auto_pad: string = \"NOTSET\", ceil_mode: int = 0, dilations: ints, "
     "kernel_shape!: ints, pads: ints, storage_order: int = 0, strides: ints} T in f32"}};
constexpr Version kAveragePoolHistory[] = {
    {1,
     "(X: T) -> (Y: T) {auto_pad: string = \"NOTSET\", ceil_mode: int = 0, count_include_pad: int "
     "= 0, dilations: ints, kernel_shape!: ints, pads: ints, strides: ints} T in f32"}};
constexpr Version kGlobalPoolHistory[] = {{1, "(X: T) -> (Y: T) T in f32"}};
constexpr Version kUpsampleHistory[] = {
    {1,
     "(X: T) -> (Y: T) {coordinate_transformation_mode: string = \"asymmetric\", mode: string = "
     "\"nearest\", scales: ints} T in f32"}};

int64_t block_of(int64_t channels) { return channels % 16 == 0 ? 16 : 8; }

// Weights [O, I, ...] whose elements lie as [O / b, I / b, window, b of I, b of O], or, where I is
// no whole number of blocks, as [O / b, I, window, b of O], in the order that their shape says.
Result<Wire> in_order(Composer& c, Wire w) {
  const Dims dims = c.fact(w).dims();
  const int64_t outs = dims[0], ins = dims[1], block = block_of(outs);
  if (outs % block != 0) {
    return fail("SDX-T1090", "{} output channels are no whole number of blocks of {}", outs, block);
  }
  int64_t window = 1;
  for (size_t i = 2; i < dims.size(); ++i) window *= dims[i];
  const int64_t inner = ins % block == 0 ? block : 1;
  const Wire blocks = c.reshape(w, {outs / block, ins / inner, window, inner, block});
  return c.reshape(c.transpose(blocks, {0, 4, 1, 3, 2}), {dims.begin(), dims.end()});
}

Result<Wires> compose_conv(Composer& c) {
  const Fact& w = c.fact(c.in(1));
  if (w.rank() < 3)
    return fail("SDX-T1091", "W is {}; it must have 3 dimensions or more", w.text());
  if (!w.is_concrete()) return c.later();
  SDX_ASSIGN(const Wire weights, in_order(c, c.in(1)));
  Wire y = c.add(conv, {c.in(0), weights, c.in(2)}, window_attributes(c.node()));
  if (c.has(3)) y = c.add(add, {y, c.in(3)});
  std::vector<float> params;
  if (c.node().has("activation_params"))
    params = c.node().get<std::vector<float>>("activation_params");
  return Wires{activated(c, y, c.node().has("activation") ? c.node().s("activation") : "", params)};
}

// Channels that are missing in the last block are 0.
Result<Wires> compose_reorder_input(Composer& c) {
  const Wire x = c.node().i("channels_last") != 0 ? channels_first(c, c.in(0)) : c.in(0);
  if (!c.require(c.fact(x).rank() >= 3, "SDX-T1056", "the input is {}", c.fact(x).text()))
    return Wires{};
  const int64_t channels = c.size(x, 1, "the input");
  const int64_t missing = (8 - channels % 8) % 8;
  if (missing == 0) return Wires{c.add(identity, {x})};
  std::vector<int64_t> pads(c.fact(x).rank() * 2, 0);
  pads[c.fact(x).rank() + 1] = missing;
  return Wires{c.add(pad, {x, c.ints(pads)})};
}

Result<Wires> compose_reorder_output(Composer& c) {
  const int64_t channels = c.node().i("channels");
  c.require(channels > 0 && c.fact(c.in(0)).rank() >= 3, "SDX-T1092", "{} channels of an input {}",
            channels, c.fact(c.in(0)).text());
  if (c.failed()) return Wires{};
  const Wire y = c.slice(c.in(0), 1, 0, channels);
  return Wires{c.node().i("channels_last") != 0 ? channels_last(c, y) : y};
}

template <const Op& kOp>
Result<Wires> compose_pool(Composer& c) {
  return Wires{c.add(kOp, {c.in(0)}, window_attributes(c.node()))};
}

Result<Wires> compose_upsample(Composer& c) {
  std::vector<float> scales;
  for (const int64_t scale : c.node().ints_or_empty("scales")) scales.push_back(float(scale));
  c.require(scales.size() == c.fact(c.in(0)).rank(), "SDX-T1093", "{} scales for an input {}",
            scales.size(), c.fact(c.in(0)).text());
  const auto n = int64_t(scales.size());
  const Wire factors = c.constant(Tensor::of<float>({n}, std::span<const float>(scales)));
  AttrMap attrs{{"mode", c.node().s("mode")},
                {"coordinate_transformation_mode", c.node().s("coordinate_transformation_mode")}};
  if (c.node().s("mode") == "nearest") attrs.emplace("nearest_mode", std::string("floor"));
  return Wires{c.add(resize, {c.in(0), Wire{}, factors}, attrs)};
}

std::vector<Case> cases_conv() {
  // One input channel and eight output channels, whose weights are 1 to 8.
  return {{.name = "weights_in_blocks_of_eight",
           .opset = 1,
           .attrs = {{"activation", std::string("Relu")}},
           .inputs = {Tensor::of<float>({1, 1, 1, 1}, {2}),
                      Tensor::of<float>({8, 1, 1, 1}, {1, 2, 3, 4, -5, 6, 7, 8})},
           .expected = {}},
          {.name = "blocks_on_both_sides",
           .opset = 1,
           .attrs = {},
           .inputs = {noise({1, 16, 4, 4}), noise({32, 16, 3, 3}, 2), noise({32}, 3),
                      noise({1, 32, 2, 2}, 4)}}};
}
std::vector<Case> cases_reorder_input() {
  return {{.name = "fills_the_last_block",
           .opset = 1,
           .attrs = {{"channels_last", int64_t{1}}},
           .inputs = {Tensor::of<float>({1, 1, 1, 4}, {1, 2, 3, 4})},
           .expected = {Tensor::of<float>({1, 8, 1, 1}, {1, 2, 3, 4, 0, 0, 0, 0})}}};
}
std::vector<Case> cases_reorder_output() {
  return {{.name = "drops_what_fills_the_last_block",
           .opset = 1,
           .attrs = {{"channels", int64_t{3}}},
           .inputs = {Tensor::of<float>({1, 8, 1, 1}, {1, 2, 3, 4, 5, 6, 7, 8})},
           .expected = {Tensor::of<float>({1, 3, 1, 1}, {1, 2, 3})}}};
}
std::vector<Case> cases_max_pool() {
  return {{.name = "pairs",
           .opset = 1,
           .attrs = {{"kernel_shape", std::vector<int64_t>{1, 2}}},
           .inputs = {Tensor::of<float>({1, 1, 1, 3}, {1, 3, 2})},
           .expected = {Tensor::of<float>({1, 1, 1, 2}, {3, 3})}}};
}
std::vector<Case> cases_average_pool() {
  return {{.name = "pairs",
           .opset = 1,
           .attrs = {{"kernel_shape", std::vector<int64_t>{1, 2}}},
           .inputs = {Tensor::of<float>({1, 1, 1, 3}, {1, 3, 2})},
           .expected = {Tensor::of<float>({1, 1, 1, 2}, {2, 2.5f})}}};
}
std::vector<Case> cases_global_max() {
  return {{.name = "of_a_row",
           .opset = 1,
           .attrs = {},
           .inputs = {Tensor::of<float>({1, 1, 1, 3}, {1, 3, 2})},
           .expected = {Tensor::of<float>({1, 1, 1, 1}, {3})}}};
}
std::vector<Case> cases_global_average() {
  return {{.name = "of_a_row",
           .opset = 1,
           .attrs = {},
           .inputs = {Tensor::of<float>({1, 1, 1, 3}, {1, 3, 2})},
           .expected = {Tensor::of<float>({1, 1, 1, 1}, {2})}}};
}
std::vector<Case> cases_upsample() {
  return {{.name = "doubles_a_row",
           .opset = 1,
           .attrs = {{"scales", std::vector<int64_t>{1, 1, 1, 2}}},
           .inputs = {Tensor::of<float>({1, 1, 1, 2}, {1, 3})},
           .expected = {Tensor::of<float>({1, 1, 1, 4}, {1, 1, 3, 3})}}};
}

constexpr OpOf<Composition> kConv = composed<compose_conv>(
    kNchwc, "Conv", "Conv whose weights lie in blocks, plus Sum, and an activation.", kConvHistory,
    cases_conv);
constexpr OpOf<Composition> kReorderInput = composed<compose_reorder_input>(
    kNchwc, "ReorderInput", "An image whose channels fill whole blocks.", kReorderInputHistory,
    cases_reorder_input);
constexpr OpOf<Composition> kReorderOutput = composed<compose_reorder_output>(
    kNchwc, "ReorderOutput", "The first channels of an image in blocks.", kReorderOutputHistory,
    cases_reorder_output);
constexpr OpOf<Composition> kMaxPool = composed<compose_pool<max_pool>>(
    kNchwc, "MaxPool", "MaxPool of an image in blocks.", kMaxPoolHistory, cases_max_pool);
constexpr OpOf<Composition> kAveragePool = composed<compose_pool<average_pool>>(
    kNchwc, "AveragePool", "AveragePool of an image in blocks.", kAveragePoolHistory,
    cases_average_pool);
constexpr OpOf<Composition> kGlobalMax = composed<compose_pool<global_max_pool>>(
    kNchwc, "GlobalMaxPool", "GlobalMaxPool of an image in blocks.", kGlobalPoolHistory,
    cases_global_max);
constexpr OpOf<Composition> kGlobalAverage = composed<compose_pool<global_average_pool>>(
    kNchwc, "GlobalAveragePool", "GlobalAveragePool of an image in blocks.", kGlobalPoolHistory,
    cases_global_average);
constexpr OpOf<Composition> kUpsample = composed<compose_upsample>(
    kNchwc, "Upsample", "An image in blocks, enlarged.", kUpsampleHistory, cases_upsample);

}  // namespace

extern const Op nchwc_conv = erase<kConv>();
extern const Op nchwc_reorder_input = erase<kReorderInput>();
extern const Op nchwc_reorder_output = erase<kReorderOutput>();
extern const Op nchwc_max_pool = erase<kMaxPool>();
extern const Op nchwc_average_pool = erase<kAveragePool>();
extern const Op nchwc_global_max_pool = erase<kGlobalMax>();
extern const Op nchwc_global_average_pool = erase<kGlobalAverage>();
extern const Op nchwc_upsample = erase<kUpsample>();

}  // namespace sdx::ops::microsoft
