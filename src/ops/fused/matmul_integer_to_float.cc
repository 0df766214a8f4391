// MatMulIntegerToFloat: MatMulInteger whose sums are floats, made by a rewrite from the product and
// the Cast after it, so that what follows runs on blocks in cache.
#include "ops/noise.h"
#include "ops/quant/integer_sums.h"

namespace sdx::ops {
namespace {

struct MatMulIntegerToFloat {};

constexpr Version kHistory[] = {
    {1,
     "(A: T1, B: T2, a_zero_point?: T1, b_zero_point?: T2) -> (Y: T3) T1 in i8 u8 T2 in i8 u8 T3 "
     "in f32"},
};

Result<MatMulIntegerToFloat> read(const Node&, const Facts&) { return MatMulIntegerToFloat{}; }

Result<Facts> infer(const MatMulIntegerToFloat&, const Facts& in) {
  return infer_product(in[0], in[1], DType::f32);
}

// y[i][j] = float(sum over k of (a[i][k] - a_zero[i]) * (b[k][j] - b_zero[j]), modulo 2^32).
Status reference(const MatMulIntegerToFloat&, Args& args) {
  const View &a = args.in(0), &b = args.in(1);
  SDX_ASSIGN(const ProductSizes p, product_sizes(a.dims, b.dims));
  PerLine a_zero, b_zero;
  if (args.has(2)) {
    SDX_ASSIGN(a_zero, per_line(args.in(2), p.m, p.a, "a_zero_point"));
  }
  if (args.has(3)) {
    SDX_ASSIGN(b_zero, per_line(args.in(3), p.n, p.b, "b_zero_point"));
  }
  float* y = args.out().data<float>();
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
        *y++ = float(int32_t(sum));
      }
    }
  }
  return ok();
}

template <bool kPacked>
bool fits(const MatMulIntegerToFloat&, const Call& call) {
  return !kPacked || can_pack(call.in[1]);
}

template <bool kPacked>
size_t scratch(const MatMulIntegerToFloat&, const Call& call) {
  return sums_scratch(call.in[0], call.in[1], kPacked, call.threads);
}

std::shared_ptr<const void> pack(const MatMulIntegerToFloat&, const Call& call, Pool& pool) {
  return pack_right(call.in[1], pool);
}

// Rows are all axes but the last; a vector on either side has no such matrix.
size_t epilogue(const MatMulIntegerToFloat&, const Call& call) {
  return call.in[0].rank() > 1 && call.in[1].rank() > 1 ? call.out[0].rank() - 1 : 0;
}

Status run(const MatMulIntegerToFloat&, Args& args) {
  SDX_ASSIGN(const ProductSizes p, product_sizes(args.in(0).dims, args.in(1).dims));
  EpilogueCall fused{args.fused, args.fused_inputs};
  IntegerSums s;
  s.a = args.in(0);
  s.b = args.in(1);
  s.packed = args.packed;
  s.scratch = args.scratch.data();
  s.floats = args.out().data<float>();
  s.fused = &fused;
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

constexpr Kernel<MatMulIntegerToFloat> kKernels[] = {
    {.name = "gemm_int8_packed",
     .fits = fits<true>,
     .run = run,
     .scratch = scratch<true>,
     .pack = pack,
     .packs = 1 << 1,
     .epilogue = epilogue},
    {.name = "gemm_int8",
     .fits = fits<false>,
     .run = run,
     .scratch = scratch<false>,
     .epilogue = epilogue},
};

std::vector<Case> cases() {
  const auto bytes = [](DType type, Dims dims, uint32_t seed) {
    return type == DType::u8 ? noise(type, dims, seed, 0, 256) : noise(type, dims, seed, -128, 128);
  };
  return {{.name = "each_row_and_column_has_a_zero_point",
           .opset = 1,
           .attrs = {},
           .inputs = {Tensor::of<uint8_t>({2, 2}, {1, 2, 3, 4}),
                      Tensor::of<int8_t>({2, 2}, {1, -1, 0, 2}), Tensor::of<uint8_t>({2}, {1, 0}),
                      Tensor::of<int8_t>({2}, {1, 0})},
           .expected = {Tensor::of<float>({2, 2}, {-1, 2, -4, 5})}},
          {.name = "sums_beyond_what_a_float_holds_are_rounded",
           .opset = 1,
           .attrs = {},
           .inputs = {bytes(DType::u8, {13, 1600}, 1), bytes(DType::u8, {1600, 45}, 2)}},
          {.name = "one_zero_point_for_all",
           .opset = 1,
           .attrs = {},
           .inputs = {bytes(DType::u8, {2, 29, 132}, 1), bytes(DType::u8, {132, 83}, 2),
                      Tensor::of<uint8_t>({}, {117}), Tensor::of<uint8_t>({}, {99})}},
          {.name = "rows_a_page_apart",
           .opset = 1,
           .attrs = {},
           .inputs = {bytes(DType::u8, {14, 4096}, 1), bytes(DType::i8, {4096, 18}, 2),
                      Tensor::of<uint8_t>({}, {117}), Tensor::of<int8_t>({}, {-3})}},
          {.name = "signs_the_other_way_round",
           .opset = 1,
           .attrs = {},
           .inputs = {bytes(DType::i8, {15, 37}, 1), bytes(DType::u8, {37, 33}, 2),
                      Tensor::of<int8_t>({1}, {5}), Tensor::of<uint8_t>({1}, {128})}}};
}

uint64_t multiply_adds(const MatMulIntegerToFloat&, const Call& call) {
  const Dims a = call.in[0].dims(), b = call.in[1].dims();
  const auto p = product_sizes(a, b);
  return p ? p->batches * p->m * p->n * p->k : 0;
}

constexpr OpOf<MatMulIntegerToFloat> kMatMulIntegerToFloat{
    .name = "MatMulIntegerToFloat",
    .doc = "The product of 8-bit integer matrices, less their zero points, as floats.",
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

extern const Op matmul_integer_to_float = erase<kMatMulIntegerToFloat>();

}  // namespace sdx::ops
