// QLinearMatMul.
#include "base/aligned.h"
#include "kernel/quant/quant.h"
#include "ops/noise.h"
#include "ops/quant/integer_sums.h"
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

// Integers with one ratio for all, or one per column.
template <bool kPacked>
bool fits(const QLinearMatMul&, const Call& call) {
  const Facts& in = call.in;
  for (const size_t i : {0, 3, 7}) {
    if (in[i].type != DType::i8 && in[i].type != DType::u8) return false;
  }
  for (const size_t i : {1, 4, 6}) {
    if (in[i].type != DType::f32) return false;
  }
  for (const size_t i : {1, 4, 6, 7}) {
    if (!in[i].is_concrete()) return false;
    const auto count = element_count(in[i].dims());
    const bool per_column =
        i == 4 && in[3].rank() >= 2 && in[3].dim(in[3].rank() - 1) == Dim(int64_t(*count));
    if (*count != 1 && !per_column) return false;
  }
  return !kPacked || can_pack(in[3]);
}

size_t output_bytes(size_t count) { return aligned_bytes(count * 4); }

template <bool kPacked>
size_t scratch(const QLinearMatMul&, const Call& call) {
  const auto count = element_count(call.out[0].dims());
  const size_t ratios = size_t(call.in[4].rank() == 0 ? 1 : call.in[3].dims().back());
  return output_bytes(*count) + output_bytes(ratios) +
         sums_scratch(call.in[0], call.in[3], kPacked, call.threads);
}

std::shared_ptr<const void> pack(const QLinearMatMul&, const Call& call, Pool& pool) {
  return pack_right(call.in[3], pool, call.isa);
}

Status run(const QLinearMatMul&, Args& args) {
  SDX_ASSIGN(const ProductSizes p, product_sizes(args.in(0).dims, args.in(3).dims));
  SDX_TRY(per_line(args.in(2), p.m, p.a, "a_zero_point"));
  SDX_TRY(per_line(args.in(5), p.n, p.b, "b_zero_point"));
  const View& y = args.out();
  auto* sums = reinterpret_cast<int32_t*>(args.scratch.data());
  auto* ratio = reinterpret_cast<float*>(args.scratch.data() + output_bytes(y.count));
  const View& b_scale = args.in(4);
  for (size_t i = 0; i < b_scale.count; ++i) {
    ratio[i] = *args.in(1).data<float>() * b_scale.data<float>()[i] / *args.in(6).data<float>();
  }
  integer_sums({args.in(0), args.in(3), args.in(2), args.in(5), args.packed, sums,
                args.scratch.data() + output_bytes(y.count) + output_bytes(b_scale.count)},
               p, *args.pool, args.isa);
  const auto requantize = SDX_PICK(requantize_32_8, args.isa);
  const size_t step = b_scale.count > 1 ? 1 : 0;
  const int32_t zero = int_at(args.in(7), 0);
  const size_t rows = p.batches * p.m;
  args.pool->parallel(rows, 16384 / (p.n + 1) + 1, [&](size_t begin, size_t end, int) {
    for (size_t row = begin; row < end; ++row) {
      requantize(sums + row * p.n, y.data<uint8_t>() + row * p.n, p.n, ratio, step, zero,
                 y.type == DType::i8);
    }
  });
  return ok();
}

constexpr Kernel<QLinearMatMul> kKernels[] = {
    {.name = "qlinear_gemm_int8_packed",
     .fits = fits<true>,
     .run = run,
     .scratch = scratch<true>,
     .pack = pack,
     .packs = 1 << 3},
    {.name = "qlinear_gemm_int8", .fits = fits<false>, .run = run, .scratch = scratch<false>},
};

std::vector<Case> cases() {
  return {{.name = "rounds_half_to_even_then_adds_the_zero_point",
           .opset = 10,
           .attrs = {},
           .inputs = {Tensor::of<uint8_t>({1, 2}, {3, 5}), Tensor::scalar<float>(.5f),
                      Tensor::scalar<uint8_t>(2), Tensor::of<int8_t>({2, 2}, {1, 2, 3, -100}),
                      Tensor::scalar<float>(1), Tensor::scalar<int8_t>(1), Tensor::scalar<float>(2),
                      Tensor::scalar<int8_t>(1)},
           .expected = {Tensor::of<int8_t>({1, 2}, {3, -75})}},
          {.name = "a_scale_per_column",
           .opset = 10,
           .attrs = {},
           .inputs = {noise(DType::u8, {2, 7, 37}, 1, 0, 256), Tensor::scalar<float>(.01f),
                      Tensor::scalar<uint8_t>(120), noise(DType::i8, {37, 33}, 2, -128, 128),
                      noise(DType::f32, {33}, 3, .001, .1), noise(DType::i8, {33}, 4, -10, 10),
                      Tensor::scalar<float>(.3f), Tensor::scalar<uint8_t>(99)}}};
}

constexpr OpOf<QLinearMatMul> kQLinearMatMul{
    .name = "QLinearMatMul",
    .doc = "The product of quantised matrices, quantised again.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .kernels = kKernels,
    .cases = cases,
};

}  // namespace

extern const Op qlinear_matmul = erase<kQLinearMatMul>();

}  // namespace sdx::ops
