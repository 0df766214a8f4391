// MatMulInteger.
#include "ops/noise.h"
#include "ops/quant/integer_matmul.h"

namespace sdx::ops {
namespace {

struct MatMulInteger {};
using Product = IntegerMatMul<MatMulInteger, int32_t>;

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

constexpr Kernel<MatMulInteger> kKernels[] = {
    {.name = "gemm_int8_packed",
     .fits = Product::fits<true>,
     .run = Product::run,
     .scratch = Product::scratch<true>,
     .pack = Product::pack,
     .packs = 1 << 1},
    {.name = "gemm_int8",
     .fits = Product::fits<false>,
     .run = Product::run,
     .scratch = Product::scratch<false>},
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

constexpr OpOf<MatMulInteger> kMatMulInteger{
    .name = "MatMulInteger",
    .doc = "The product of 8-bit integer matrices, less their zero points, in 32 bits.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = Product::reference,
    .kernels = kKernels,
    .cases = cases,
    .multiply_adds = Product::multiply_adds,
};

}  // namespace

extern const Op matmul_integer = erase<kMatMulInteger>();

}  // namespace sdx::ops
