// Operators on quantised tensors element by element: dequantise, compute in float, quantise.
#include "ops/microsoft/microsoft.h"
#include "ops/noise.h"

namespace sdx::ops::microsoft {
namespace {

constexpr Version kBinaryHistory[] = {
    {1,
     "(A: T, A_scale: f32, A_zero_point?: T, B: T, B_scale: f32, B_zero_point?: T, C_scale: f32, "
     "C_zero_point?: T) -> (C: T) T in u8 i8"}};
constexpr Version kSigmoidHistory[] = {
    {1,
     "(X: T, X_scale: f32, X_zero_point?: T, Y_scale: f32, Y_zero_point?: T) -> (Y: T) T in u8 "
     "i8"}};
constexpr Version kLeakyReluHistory[] = {
    {1,
     "(X: T, X_scale: f32, X_zero_point?: T, Y_scale: f32, Y_zero_point?: T) -> (Y: T) {alpha: "
     "float = 0.01} T in u8 i8"}};
constexpr Version kSoftmaxHistory[] = {
    {1,
     "(X: T, X_scale: f32, x_zero_point?: T, y_scale: f32, y_zero_point: T) -> (Y: T) {axis: int = "
     "-1, opset!: int} T in u8 i8"}};
constexpr Version kWhereHistory[] = {
    {1,
     "(condition: B, X: T, x_scale: TF, x_zero_point: T, Y: T, y_scale: TF, y_zero_point: T, "
     "z_scale: TF, z_zero_point: T) -> (Z: T) B in bool TF in f32 T in u8 i8"}};
constexpr Version kConcatHistory[] = {
    {1,
     "(Y_scale: TF, Y_zero_point: T8, inputs...~: TV) -> (Y: T8) {axis!: int} T8 in u8 i8 TF in "
     "f32 TV in u8 i8 f32"}};
constexpr Version kQuantizeHistory[] = {
    {1,
     "(x: T1, y_scale: T1, y_zero_point?: T2) -> (y: T2) {axis: int} T1 in f16 f32 T2 in i8 u8 i16 "
     "u16 i4 u4"}};
constexpr Version kDequantizeHistory[] = {
    {1,
     "(x: T1, x_scale: T2, x_zero_point?: T1) -> (y: T2) {axis: int} T1 in i8 u8 i16 u16 i32 i4 u4 "
     "T2 in f16 f32"}};

template <const Op& kOp>
Result<Wires> compose_binary(Composer& c) {
  const Wire a = dequantised(c, c.in(0), c.in(1), c.in(2));
  const Wire b = dequantised(c, c.in(3), c.in(4), c.in(5));
  return Wires{quantised(c, c.add(kOp, {a, b}), c.in(6), c.in(7), c.fact(c.in(0)).type)};
}

Wire quantised_again(Composer& c, Wire y) {
  return quantised(c, y, c.in(3), c.in(4), c.fact(c.in(0)).type);
}

Result<Wires> compose_sigmoid(Composer& c) {
  const Wire x = dequantised(c, c.in(0), c.in(1), c.in(2));
  return Wires{quantised_again(c, c.add(sigmoid, {x}))};
}

Result<Wires> compose_leaky_relu(Composer& c) {
  const Wire x = dequantised(c, c.in(0), c.in(1), c.in(2));
  return Wires{quantised_again(c, c.add(leaky_relu, {x}, {{"alpha", c.node().f("alpha")}}))};
}

// Before version 13 of ai.onnx, which the attribute names, Softmax takes all axes from `axis` on.
Result<Wires> compose_softmax(Composer& c) {
  Wire x = dequantised(c, c.in(0), c.in(1), c.in(2));
  if (c.failed()) return Wires{};
  const size_t rank = c.fact(x).rank();
  SDX_ASSIGN(const size_t axis, resolve_axis(c.node().i("axis"), rank));
  if (c.node().i("opset") >= 13 || axis + 1 == rank) {
    return Wires{quantised_again(c, c.add(softmax, {x}, {{"axis", int64_t(axis)}}))};
  }
  const Wire dims = c.add(shape, {x});
  std::vector<int64_t> rows(axis, 0);
  rows.push_back(-1);
  x = c.add(reshape, {c.add(softmax, {c.reshape(x, rows)}), dims});
  return Wires{quantised_again(c, x)};
}

Result<Wires> compose_where(Composer& c) {
  const Wire x = dequantised(c, c.in(1), c.in(2), c.in(3));
  const Wire y = dequantised(c, c.in(4), c.in(5), c.in(6));
  const Wire z = c.add(where, {c.in(0), x, y});
  return Wires{quantised(c, z, c.in(7), c.in(8), c.fact(c.in(1)).type)};
}

// Whether two known scalars are equal.
bool same(const Fact& a, const Fact& b) {
  return a.value != nullptr && b.value != nullptr && a.type == b.type && a.value->count() == 1 &&
         b.value->count() == 1 &&
         std::memcmp(a.value->raw(), b.value->raw(), a.value->bytes()) == 0;
}

// Each input is a tensor, its scale and its zero point. One whose scale and zero point are the
// output's passes as it is: dequantising and quantising gives every byte again.
Result<Wires> compose_concat(Composer& c) {
  const size_t count = c.node().formal_inputs;
  if (!c.require(count >= 5 && (count - 2) % 3 == 0, "SDX-T1059",
                 "{} inputs: expected a scale and a zero point, then three for each tensor",
                 count)) {
    return Wires{};
  }
  const DType type = c.fact(c.in(1)).type;
  Wires parts;
  for (size_t i = 2; i < count; i += 3) {
    const Fact &x = c.fact(c.in(i)), &scale = c.fact(c.in(i + 1)), &zero = c.fact(c.in(i + 2));
    if (!c.require(x.type == type && zero.type == type && scale.type == DType::f32, "SDX-T1060",
                   "inputs {} to {} are {}, {}, {}; expected {}, f32 and {}", i, i + 2, x.text(),
                   scale.text(), zero.text(), short_name(type), short_name(type))) {
      return Wires{};
    }
    if (same(scale, c.fact(c.in(0))) && same(zero, c.fact(c.in(1)))) {
      parts.push_back(c.in(i));
    } else {
      const Wire wide = dequantised(c, c.in(i), c.in(i + 1), c.in(i + 2));
      parts.push_back(quantised(c, wide, c.in(0), c.in(1), type));
    }
  }
  return Wires{c.add(concat, parts, {{"axis", c.node().i("axis")}})};
}

Result<Wires> compose_quantize(Composer& c) {
  const int64_t type = c.has(2) ? int64_t(c.fact(c.in(2)).type) : int64_t(DType::u8);
  return Wires{c.add(quantize_linear, {c.in(0), c.in(1), c.in(2)},
                     {{"axis", c.node().i_or("axis", 1)}, {"output_dtype", type}})};
}
Result<Wires> compose_dequantize(Composer& c) {
  return Wires{
      c.add(dequantize_linear, {c.in(0), c.in(1), c.in(2)}, {{"axis", c.node().i_or("axis", 1)}})};
}

Tensor f(float x) { return Tensor::scalar(x); }
Tensor u(uint8_t x) { return Tensor::scalar(x); }

std::vector<Case> cases_add() {
  return {{.name = "saturates",
           .opset = 1,
           .attrs = {},
           .inputs = {Tensor::of<uint8_t>({4}, {0, 1, 255, 2}), f(1), u(0),
                      Tensor::of<uint8_t>({4}, {10, 13, 255, 0}), f(.5f), u(10), f(1), u(3)},
           .expected = {Tensor::of<uint8_t>({4}, {3, 5, 255, 0})}},
          {.name = "broadcasts_without_zero_points",
           .opset = 1,
           .attrs = {},
           .inputs = {noise(DType::i8, {2, 3, 40}, 1, -128, 128), f(.02f), Value{},
                      noise(DType::i8, {3, 1}, 2, -128, 128), f(.03f), Value{}, f(.04f)}}};
}
std::vector<Case> cases_mul() {
  return {{.name = "of_dequantised_numbers",
           .opset = 1,
           .attrs = {},
           .inputs = {Tensor::of<uint8_t>({3}, {1, 2, 255}), f(2), u(1),
                      Tensor::of<uint8_t>({3}, {3, 3, 3}), f(1), u(0), f(1), u(7)},
           .expected = {Tensor::of<uint8_t>({3}, {7, 13, 255})}}};
}
std::vector<Case> cases_sigmoid() {
  return {{.name = "of_zero_is_a_half",
           .opset = 1,
           .attrs = {},
           .inputs = {Tensor::of<uint8_t>({2}, {128, 255}), f(.5f), u(128), f(1 / 256.f), u(0)},
           .expected = {Tensor::of<uint8_t>({2}, {128, 255})}}};
}
std::vector<Case> cases_leaky_relu() {
  return {{.name = "of_both_signs",
           .opset = 1,
           .attrs = {{"alpha", .5f}},
           .inputs = {Tensor::of<int8_t>({2}, {-8, 8}), f(1), Tensor::scalar<int8_t>(0), f(1),
                      Tensor::scalar<int8_t>(1)},
           .expected = {Tensor::of<int8_t>({2}, {-3, 9})}}};
}
std::vector<Case> cases_softmax() {
  return {{.name = "of_equal_elements",
           .opset = 1,
           .attrs = {{"opset", int64_t{13}}},
           .inputs = {Tensor::of<uint8_t>({1, 4}, {9, 9, 9, 9}), f(.1f), u(0), f(1 / 256.f), u(0)},
           .expected = {Tensor::of<uint8_t>({1, 4}, {64, 64, 64, 64})}},
          {.name = "over_all_axes_of_old_versions",
           .opset = 1,
           .attrs = {{"opset", int64_t{12}}, {"axis", int64_t{1}}},
           .inputs = {noise(DType::u8, {2, 3, 5}, 1, 0, 256), f(.05f), u(0), f(1 / 256.f), u(0)}}};
}
std::vector<Case> cases_where() {
  return {{.name = "quantises_both_anew",
           .opset = 1,
           .attrs = {},
           .inputs = {Tensor::of<bool>({2}, {true, false}), Tensor::of<uint8_t>({2}, {10, 10}),
                      f(1), u(0), Tensor::of<uint8_t>({2}, {10, 10}), f(2), u(5), f(2), u(1)},
           .expected = {Tensor::of<uint8_t>({2}, {6, 6})}}};
}
std::vector<Case> cases_concat() {
  return {{.name = "each_part_has_its_scale",
           .opset = 1,
           .attrs = {{"axis", int64_t{0}}},
           .inputs = {f(1), u(0), Tensor::of<uint8_t>({2}, {1, 255}), f(1), u(0),
                      Tensor::of<uint8_t>({2}, {3, 255}), f(2), u(1)},
           .expected = {Tensor::of<uint8_t>({4}, {1, 255, 4, 255})}}};
}
std::vector<Case> cases_quantize() {
  return {{.name = "to_sixteen_bits",
           .opset = 1,
           .attrs = {},
           .inputs = {Tensor::of<float>({3}, {-1e9f, .5f, 300}), f(.5f),
                      Tensor::scalar<uint16_t>(32768)},
           .expected = {Tensor::of<uint16_t>({3}, {0, 32769, 33368})}}};
}
std::vector<Case> cases_dequantize() {
  return {{.name = "from_sixteen_bits",
           .opset = 1,
           .attrs = {},
           .inputs = {Tensor::of<int16_t>({2}, {-300, 300}), f(.5f), Tensor::scalar<int16_t>(100)},
           .expected = {Tensor::of<float>({2}, {-200, 100})}}};
}

constexpr OpOf<Composition> kAdd = composed<compose_binary<add>>(
    kDomain, "QLinearAdd", "A + B of quantised tensors.", kBinaryHistory, cases_add);
constexpr OpOf<Composition> kMul = composed<compose_binary<mul>>(
    kDomain, "QLinearMul", "A * B of quantised tensors.", kBinaryHistory, cases_mul);
constexpr OpOf<Composition> kSigmoid = composed<compose_sigmoid>(
    kDomain, "QLinearSigmoid", "Sigmoid of a quantised tensor.", kSigmoidHistory, cases_sigmoid);
constexpr OpOf<Composition> kLeakyRelu =
    composed<compose_leaky_relu>(kDomain, "QLinearLeakyRelu", "LeakyRelu of a quantised tensor.",
                                 kLeakyReluHistory, cases_leaky_relu);
constexpr OpOf<Composition> kSoftmax = composed<compose_softmax>(
    kDomain, "QLinearSoftmax", "Softmax of a quantised tensor.", kSoftmaxHistory, cases_softmax);
constexpr OpOf<Composition> kWhere = composed<compose_where>(
    kDomain, "QLinearWhere", "Where of quantised tensors.", kWhereHistory, cases_where);
constexpr OpOf<Composition> kConcat =
    composed<compose_concat>(kDomain, "QLinearConcat", "Quantised tensors joined along an axis.",
                             kConcatHistory, cases_concat);
constexpr OpOf<Composition> kQuantize = composed<compose_quantize>(
    kDomain, "QuantizeLinear", "x / scale + zero point, rounded to an integer type.",
    kQuantizeHistory, cases_quantize);
constexpr OpOf<Composition> kDequantize = composed<compose_dequantize>(
    kDomain, "DequantizeLinear", "(x - zero point) * scale.", kDequantizeHistory, cases_dequantize);

}  // namespace

extern const Op qlinear_add = erase<kAdd>();
extern const Op qlinear_mul = erase<kMul>();
extern const Op qlinear_sigmoid = erase<kSigmoid>();
extern const Op qlinear_leaky_relu = erase<kLeakyRelu>();
extern const Op qlinear_softmax = erase<kSoftmax>();
extern const Op qlinear_where = erase<kWhere>();
extern const Op qlinear_concat = erase<kConcat>();
extern const Op ms_quantize_linear = erase<kQuantize>();
extern const Op ms_dequantize_linear = erase<kDequantize>();

}  // namespace sdx::ops::microsoft
