// Products of 8-bit matrices whose result is scaled: QGemm, MatMulIntegerToFloat,
// DynamicQuantizeMatMul, and the small operators on integers around them.
#include "ops/microsoft/microsoft.h"
#include "ops/noise.h"

namespace sdx::ops::microsoft {
namespace {

constexpr Version kQGemmHistory[] = {
    {1,
     "(A: TA, a_scale: T, a_zero_point: TA, B: TB, b_scale: T, b_zero_point: TB, C?: TC, y_scale?: "
     "T, y_zero_point?: TYZ) -> (Y: TY) {alpha: float = 1, transA: int = 0, transB: int = 0} T in "
     "f32 TA in u8 i8 TB in u8 i8 TC in i32 TYZ in u8 i8 TY in f32 u8 i8"}};
constexpr Version kToFloatHistory[] = {
    {1,
     "(A: T1, B: T2, a_scale: T3, b_scale: T3, a_zero_point?: T1, b_zero_point?: T2, bias?: T3) -> "
     "(Y: T3) T1 in i8 u8 T2 in i8 u8 T3 in f32 f16"}};
constexpr Version kDynamicHistory[] = {
    {1,
     "(A: T1, B: T2, b_scale: T1, b_zero_point?: T2, bias?: T1) -> (Y: T1) T1 in f32 T2 in i8 u8"}};
constexpr Version kMulIntegerHistory[] = {
    {1, "(A: T, A_zero_point?: T, B: T, B_zero_point?: T) -> (C: T1) T in u8 i8 T1 in i32"}};
constexpr Version kReduceSumIntegerHistory[] = {
    {1, "(data: T1) -> (reduced: T2) {axes!: ints, keepdims!: int} T1 in i8 u8 T2 in i32 u32"}};

// A zero point of one element as a scalar; one per row or column stays a vector.
Wire zero_point(Composer& c, Wire x) {
  const Fact& fact = c.fact(x);
  const bool one = x.present() && fact.rank() == 1 && fact.dim(0).is_const(1);
  return one ? c.reshape(x, {}) : x;
}

// float(sum of (a - a_zero) * (b - b_zero) + addend) * ((a_scale * b_scale) * alpha)
Wire scaled_product(Composer& c, Wire a, Wire b, Wire a_scale, Wire b_scale, Wire a_zero,
                    Wire b_zero, Wire addend = {}, float alpha = 1) {
  Wire sum = c.add(matmul_integer, {a, b, zero_point(c, a_zero), zero_point(c, b_zero)});
  if (addend.present()) sum = c.add(add, {sum, addend});
  const Wire s = scalar(c, c.cast(a_scale, DType::f32), "the scale of A");
  Wire scale = c.add(mul, {s, c.cast(b_scale, DType::f32)});
  if (alpha != 1) scale = c.add(mul, {scale, c.number(DType::f32, double(alpha))});
  return c.add(mul, {c.cast(sum, DType::f32), scale});
}

Wire turned(Composer& c, Wire x, std::string_view flag) {
  return c.node().i(flag) != 0 ? c.transpose(x, {1, 0}) : x;
}

Result<Wires> compose_qgemm(Composer& c) {
  for (const size_t i : {0, 3}) {
    c.require(c.fact(c.in(i)).rank() == 2, "SDX-T1056", "{} is {}; it must be a matrix",
              i == 0 ? "A" : "B", c.fact(c.in(i)).text());
  }
  c.require(!c.has(8) || c.has(7), "SDX-T1061", "y_zero_point is given without y_scale");
  const Wire a = turned(c, c.in(0), "transA"), b = turned(c, c.in(3), "transB");
  const Wire y =
      scaled_product(c, a, b, c.in(1), c.in(4), c.in(2), c.in(5), c.in(6), c.node().f("alpha"));
  if (!c.has(7)) return Wires{y};
  const DType type = c.has(8) ? c.fact(c.in(8)).type : c.fact(c.in(0)).type;
  return Wires{quantised(c, y, c.in(7), c.in(8), type)};
}

Result<Wires> compose_to_float(Composer& c) {
  Wire y = scaled_product(c, c.in(0), c.in(1), c.in(2), c.in(3), c.in(4), c.in(5));
  if (c.has(6)) y = c.add(add, {y, c.cast(c.in(6), DType::f32)});
  return Wires{c.cast(y, c.fact(c.in(2)).type)};
}

// A is quantised as DynamicQuantizeLinear does.
Result<Wires> compose_dynamic(Composer& c) {
  const Wires a = c.add(dynamic_quantize_linear, {c.in(0)}, {}, 3);
  Wire y = scaled_product(c, a[0], c.in(1), a[1], c.in(2), a[2], c.in(3));
  if (c.has(4)) y = c.add(add, {y, c.in(4)});
  return Wires{y};
}

Result<Wires> compose_mul_integer(Composer& c) {
  const auto centred = [&](size_t x, size_t zero) {
    const Wire wide = c.cast(c.in(x), DType::i32);
    if (!c.has(zero)) return wide;
    return c.add(sub, {wide, c.cast(scalar(c, c.in(zero), "a zero point"), DType::i32)});
  };
  return Wires{c.add(mul, {centred(0, 1), centred(2, 3)})};
}

Result<Wires> compose_reduce_sum_integer(Composer& c) {
  const DType type = c.fact(c.in(0)).type == DType::u8 ? DType::u32 : DType::i32;
  return Wires{c.add(reduce_sum, {c.cast(c.in(0), type), c.ints(c.node().ints("axes"))},
                     {{"keepdims", c.node().i("keepdims")}})};
}

Tensor f(float x) { return Tensor::scalar(x); }
Tensor u(uint8_t x) { return Tensor::scalar(x); }

std::vector<Case> cases_qgemm() {
  const Tensor a = Tensor::of<uint8_t>({1, 2}, {3, 5}),
               b = Tensor::of<int8_t>({2, 2}, {1, -1, 2, 3}), z = Tensor::scalar<int8_t>(0);
  return {{.name = "to_floats",
           .opset = 1,
           .attrs = {{"alpha", 2.f}},
           .inputs = {a, f(.5f), u(1), b, f(.25f), z, Tensor::of<int32_t>({2}, {10, 20})},
           .expected = {Tensor::of<float>({1, 2}, {5, 7.5f})}},
          {.name = "to_bytes_with_a_turned_matrix",
           .opset = 1,
           .attrs = {{"transB", int64_t{1}}},
           .inputs = {a, f(1), u(1), b, Tensor::of<float>({2}, {1, 2}),
                      Tensor::of<int8_t>({2}, {0, 0}), Value{}, f(2), u(100)},
           .expected = {Tensor::of<uint8_t>({1, 2}, {99, 116})}},
          {.name = "long_rows",
           .opset = 1,
           .attrs = {{"transB", int64_t{1}}},
           .inputs = {noise(DType::u8, {5, 130}, 1, 0, 256), f(.01f), u(113),
                      noise(DType::i8, {33, 130}, 2, -128, 128),
                      noise(DType::f32, {33}, 3, .001, .1), Tensor::make(DType::i8, {33}),
                      noise(DType::i32, {33}, 4, -9999, 9999), f(.1f), u(7)}}};
}
std::vector<Case> cases_to_float() {
  return {
      {.name = "with_zero_points_and_a_bias",
       .opset = 1,
       .attrs = {},
       .inputs = {Tensor::of<uint8_t>({1, 2}, {3, 5}), Tensor::of<uint8_t>({2, 1}, {1, 2}), f(.5f),
                  Tensor::of<float>({1}, {4}), u(1), u(2), Tensor::of<float>({1}, {1})},
       .expected = {Tensor::of<float>({1, 1}, {-3})}},
      {.name = "long_rows",
       .opset = 1,
       .attrs = {},
       .inputs = {noise(DType::u8, {2, 5, 130}, 1, 0, 256),
                  noise(DType::i8, {130, 33}, 2, -128, 128), f(.01f),
                  noise(DType::f32, {33}, 3, .001, .1), u(113), Tensor::make(DType::i8, {33})}}};
}
std::vector<Case> cases_dynamic() {
  return {{.name = "of_what_bytes_can_hold",
           .opset = 1,
           .attrs = {},
           .inputs = {Tensor::of<float>({1, 2}, {0, 255}), Tensor::of<int8_t>({2, 1}, {1, 2}),
                      f(.5f), Value{}, Tensor::of<float>({1}, {1})},
           .expected = {Tensor::of<float>({1, 1}, {256})}},
          {.name = "long_rows",
           .opset = 1,
           .attrs = {},
           .inputs = {noise({2, 5, 130}), noise(DType::i8, {130, 33}, 2, -128, 128),
                      noise(DType::f32, {33}, 3, .001, .1), noise(DType::i8, {33}, 4, -5, 5)}}};
}
std::vector<Case> cases_mul_integer() {
  return {{.name = "less_the_zero_points",
           .opset = 1,
           .attrs = {},
           .inputs = {Tensor::of<uint8_t>({2}, {0, 255}), u(1),
                      Tensor::of<uint8_t>({2}, {255, 255}), u(0)},
           .expected = {Tensor::of<int32_t>({2}, {-255, 254 * 255})}}};
}
std::vector<Case> cases_reduce_sum_integer() {
  return {{.name = "beyond_a_byte",
           .opset = 1,
           .attrs = {{"axes", std::vector<int64_t>{1}}, {"keepdims", int64_t{1}}},
           .inputs = {Tensor::of<uint8_t>({1, 2}, {255, 255})},
           .expected = {Tensor::of<uint32_t>({1, 1}, {510})}}};
}

constexpr OpOf<Composition> kQGemm = composed<compose_qgemm>(
    kDomain, "QGemm", "Gemm of 8-bit matrices, to floats or quantised again.", kQGemmHistory,
    cases_qgemm);
constexpr OpOf<Composition> kToFloat = composed<compose_to_float>(
    kDomain, "MatMulIntegerToFloat", "The product of 8-bit matrices, scaled, plus a bias.",
    kToFloatHistory, cases_to_float);
constexpr OpOf<Composition> kDynamic = composed<compose_dynamic>(
    kDomain, "DynamicQuantizeMatMul", "The product with an 8-bit matrix of A quantised to bytes.",
    kDynamicHistory, cases_dynamic);
constexpr OpOf<Composition> kMulInteger =
    composed<compose_mul_integer>(kDomain, "MulInteger", "A * B of bytes, less their zero points.",
                                  kMulIntegerHistory, cases_mul_integer);
constexpr OpOf<Composition> kReduceSumInteger = composed<compose_reduce_sum_integer>(
    kDomain, "ReduceSumInteger", "The sum of bytes along axes, in 32 bits.",
    kReduceSumIntegerHistory, cases_reduce_sum_integer);

}  // namespace

extern const Op qgemm = erase<kQGemm>();
extern const Op matmul_integer_to_scaled = erase<kToFloat>();
extern const Op dynamic_quantize_matmul = erase<kDynamic>();
extern const Op mul_integer = erase<kMulInteger>();
extern const Op reduce_sum_integer = erase<kReduceSumInteger>();

}  // namespace sdx::ops::microsoft
