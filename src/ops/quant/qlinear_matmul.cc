// QLinearMatMul.
#include "ops/list.h"
#include "ops/quant/integer_product.h"
#include "ops/quant/saturate.h"

namespace sdx::ops {
namespace {

struct QLinearMatMul {};

constexpr Version kHistory[] = {
    {10,
     "(a: T1, a_scale: f32, a_zero_point: T1, b: T2, b_scale: f32, b_zero_point: T2, y_scale: f32, "
     "y_zero_point: T3) -> (y: T3) T1 in i8 u8 T2 in i8 u8 T3 in i8 u8"},
    {21,
     "(a: T1, a_scale: TS, a_zero_point: T1, b: T2, b_scale: TS, b_zero_point: T2, y_scale: TS, "
     "y_zero_point: T3) TS in bf16 f16 f32 T1 += f8 T2 += f8 T3 += f8"},
};

Result<QLinearMatMul> read(const Node&, const Facts&) { return QLinearMatMul{}; }

Result<Facts> infer(const QLinearMatMul&, const Facts& in) {
  return infer_product(in[0], in[3], in[7].type);
}

// c[i][j] = sum over k of (a - a_zero)(b - b_zero): exact in 32-bit integers (modulo 2^32) or, if
// an operand is a float8, a chain of fma in float, k ascending. Then y = saturate(round half to
// even(float(c) * r) + y_zero) with r = (a_scale * b_scale) / y_scale in float; a float8 y is c * r
// + y_zero (left out where it is zero).
Status reference(const QLinearMatMul&, Args& args) {
  const View &a = args.in(0), &b = args.in(3), &y = args.out();
  SDX_ASSIGN(const ProductSizes p, product_sizes(a.dims, b.dims));
  SDX_ASSIGN(const PerLine a_scale, per_line(args.in(1), p.m, p.a, "a_scale"));
  SDX_ASSIGN(const PerLine a_zero, per_line(args.in(2), p.m, p.a, "a_zero_point"));
  SDX_ASSIGN(const PerLine b_scale, per_line(args.in(4), p.n, p.b, "b_scale"));
  SDX_ASSIGN(const PerLine b_zero, per_line(args.in(5), p.n, p.b, "b_zero_point"));
  SDX_ASSIGN(const PerLine y_scale, per_line(args.in(6), p.m, p.a, "y_scale"));
  SDX_ASSIGN(const PerLine y_zero, per_line(args.in(7), p.m, p.a, "y_zero_point"));
  const bool integers = is_integer(a.type) && is_integer(b.type);
  const auto number = [](const View& v, size_t i) { return float(get_f64(v.type, v.raw, i)); };
  for (size_t batch = 0, at = 0; batch < p.batches; ++batch) {
    const size_t in_a = p.batch_of(p.a, batch), in_b = p.batch_of(p.b, batch);
    for (size_t i = 0; i < p.m; ++i) {
      for (size_t j = 0; j < p.n; ++j, ++at) {
        const size_t row = in_a * p.m + i;
        float c;
        if (integers) {
          const int32_t za = int_at(args.in(2), a_zero.at(in_a, i));
          const int32_t zb = int_at(args.in(5), b_zero.at(in_b, j));
          uint32_t sum = 0;
          for (size_t k = 0; k < p.k; ++k) {
            sum += uint32_t((int_at(a, row * p.k + k) - za) *
                            (int_at(b, (in_b * p.k + k) * p.n + j) - zb));
          }
          c = float(int32_t(sum));
        } else {
          const float za = number(args.in(2), a_zero.at(in_a, i));
          const float zb = number(args.in(5), b_zero.at(in_b, j));
          c = 0;
          for (size_t k = 0; k < p.k; ++k) {
            c = std::fma(number(a, row * p.k + k) - za, number(b, (in_b * p.k + k) * p.n + j) - zb,
                         c);
          }
        }
        const float ratio = number(args.in(1), a_scale.at(in_a, i)) *
                            number(args.in(4), b_scale.at(in_b, j)) /
                            number(args.in(6), y_scale.at(in_a, i));
        const size_t z = y_zero.at(in_a, i);
        if (is_integer(y.type)) {
          const int64_t zero = get_i64(y.type, args.in(7).raw, z);
          set_i64(y.type, y.raw, at, saturate_to(y.type, to_nearest(c * ratio) + zero));
        } else {
          const float zero = number(args.in(7), z);
          const float x = c * ratio;
          set_bits(y.type, y.raw, at, encode_float(y.type, zero != 0 ? x + zero : x, true));
        }
      }
    }
  }
  return ok();
}

std::vector<Case> cases() {
  return {{.name = "rounds_half_to_even_then_adds_the_zero_point",
           .opset = 10,
           .attrs = {},
           .inputs = {Tensor::of<uint8_t>({1, 2}, {3, 5}), Tensor::scalar<float>(.5f),
                      Tensor::scalar<uint8_t>(2), Tensor::of<int8_t>({2, 2}, {1, 2, 3, -100}),
                      Tensor::scalar<float>(1), Tensor::scalar<int8_t>(1), Tensor::scalar<float>(2),
                      Tensor::scalar<int8_t>(1)},
           .expected = {Tensor::of<int8_t>({1, 2}, {3, -75})}}};
}

constexpr OpOf<QLinearMatMul> kQLinearMatMul{
    .name = "QLinearMatMul",
    .doc = "The product of quantised matrices, quantised again.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .cases = cases,
};

}  // namespace

const Op qlinear_matmul = erase<kQLinearMatMul>();

}  // namespace sdx::ops
