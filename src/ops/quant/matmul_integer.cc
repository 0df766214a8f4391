// MatMulInteger.
#include "ops/noise.h"
#include "ops/quant/integer_sums.h"

namespace sdx::ops {
namespace {

struct MatMulInteger {};

constexpr Version kHistory[] = {
    {10,
     "(A: T1, B: T2, a_zero_point?: T1, b_zero_point?: T2) -> (Y: T3) T1 in i8 u8 T2 in i8 u8 T3 "
     "in "
     "i32"},
};

Result<MatMulInteger> read(const Node&, const Facts&) { return MatMulInteger{}; }

Result<Facts> infer(const MatMulInteger&, const Facts& in) {
  return infer_product(in[0], in[1], DType::i32);
}

// y[i][j] = sum over k of (a[i][k] - a_zero[i]) * (b[k][j] - b_zero[j]), modulo 2^32.
Status reference(const MatMulInteger&, Args& args) {
  const View &a = args.in(0), &b = args.in(1);
  SDX_ASSIGN(const ProductSizes p, product_sizes(a.dims, b.dims));
  PerLine a_zero, b_zero;
  if (args.has(2)) {
    SDX_ASSIGN(a_zero, per_line(args.in(2), p.m, p.a, "a_zero_point"));
  }
  if (args.has(3)) {
    SDX_ASSIGN(b_zero, per_line(args.in(3), p.n, p.b, "b_zero_point"));
  }
  int32_t* y = args.out().data<int32_t>();
  for (size_t batch = 0; batch < p.batches; ++batch) {
    const size_t in_a = p.batch_of(p.a, batch), in_b = p.batch_of(p.b, batch);
    for (size_t i = 0; i < p.m; ++i) {
      const int32_t za = args.has(2) ? int_at(args.in(2), a_zero.at(in_a, i)) : 0;
      for (size_t j = 0; j < p.n; ++j) {
        const int32_t zb = args.has(3) ? int_at(args.in(3), b_zero.at(in_b, j)) : 0;
        uint32_t sum = 0;
        for (size_t k = 0; k < p.k; ++k) {
          sum += uint32_t((int_at(a, (in_a * p.m + i) * p.k + k) - za) *
                          (int_at(b, (in_b * p.k + k) * p.n + j) - zb));
        }
        *y++ = int32_t(sum);
      }
    }
  }
  return ok();
}

template <bool kPacked>
bool fits(const MatMulInteger&, const Call& call) {
  return !kPacked || can_pack(call.in[1]);
}

template <bool kPacked>
size_t scratch(const MatMulInteger&, const Call& call) {
  return sums_scratch(call.in[0], call.in[1], kPacked, call.threads);
}

std::shared_ptr<const void> pack(const MatMulInteger&, const Call& call, Pool& pool) {
  return pack_right(call.in[1], pool);
}

Status run(const MatMulInteger&, Args& args) {
  SDX_ASSIGN(const ProductSizes p, product_sizes(args.in(0).dims, args.in(1).dims));
  IntegerSums s;
  s.a = args.in(0);
  s.b = args.in(1);
  s.packed = args.packed;
  s.scratch = args.scratch.data();
  s.sums = args.out().data<int32_t>();
  if (args.has(2)) {
    s.a_zero = args.in(2);
    SDX_TRY(per_line(s.a_zero, p.m, p.a, "a_zero_point"));
  }
  if (args.has(3)) {
    s.b_zero = args.in(3);
    SDX_TRY(per_line(s.b_zero, p.n, p.b, "b_zero_point"));
  }
  integer_sums(s, p, *args.pool);
  return ok();
}

constexpr Kernel<MatMulInteger> kKernels[] = {
    {.name = "gemm_int8_packed",
     .fits = fits<true>,
     .run = run,
     .scratch = scratch<true>,
     .pack = pack,
     .packs = 1 << 1},
    {.name = "gemm_int8", .fits = fits<false>, .run = run, .scratch = scratch<false>},
};

std::vector<Case> cases() {
  return {
      {.name = "each_row_and_column_has_a_zero_point",
       .opset = 10,
       .attrs = {},
       .inputs = {Tensor::of<uint8_t>({2, 2}, {1, 2, 3, 4}),
                  Tensor::of<int8_t>({2, 2}, {1, -1, 0, 2}), Tensor::of<uint8_t>({2}, {1, 0}),
                  Tensor::of<int8_t>({2}, {1, 0})},
       .expected = {Tensor::of<int32_t>({2, 2}, {-1, 2, -4, 5})}},
      {.name = "a_vector_times_a_batch",
       .opset = 10,
       .attrs = {},
       .inputs = {Tensor::of<uint8_t>({2}, {1, 2}), Tensor::of<uint8_t>({2, 2, 1}, {1, 1, 3, 4})},
       .expected = {Tensor::of<int32_t>({2, 1}, {3, 11})}},
      {.name = "batches_with_remainders",
       .opset = 10,
       .attrs = {},
       .inputs = {noise(DType::u8, {2, 7, 37}, 1, 0, 256), noise(DType::i8, {37, 33}, 2, -128, 128),
                  noise(DType::u8, {7}, 3, 0, 256), noise(DType::i8, {33}, 4, -128, 128)}},
      {.name = "a_matrix_per_batch",
       .opset = 10,
       .attrs = {},
       .inputs = {
           noise(DType::i8, {2, 1, 3, 9}, 1, -128, 128), noise(DType::u8, {3, 9, 5}, 2, 0, 256),
           noise(DType::i8, {2, 1, 3, 1}, 3, -128, 128), noise(DType::u8, {3, 1, 5}, 4, 0, 256)}}};
}

uint64_t multiply_adds(const MatMulInteger&, const Call& call) {
  const Dims a = call.in[0].dims(), b = call.in[1].dims();
  const auto p = product_sizes(a, b);
  return p ? p->batches * p->m * p->n * p->k : 0;
}

constexpr OpOf<MatMulInteger> kMatMulInteger{
    .name = "MatMulInteger",
    .doc = "The product of 8-bit integer matrices, less their zero points, in 32 bits.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .kernels = kKernels,
    .cases = cases,
    .multiply_adds = multiply_adds,
};

}  // namespace

extern const Op matmul_integer = erase<kMatMulInteger>();

}  // namespace sdx::ops
