// MatMulIntegerToFloat: MatMulInteger whose sums are floats, made by a rewrite from the product and
// the Cast after it, so that what follows runs on blocks in cache.
#include "ops/noise.h"
#include "ops/quant/integer_matmul.h"

namespace sdx::ops {
namespace {

struct MatMulIntegerToFloat {};
using Product = IntegerMatMul<MatMulIntegerToFloat, float>;

constexpr Version kHistory[] = {
    {1,
     "(A: T1, B: T2, a_zero_point?: T1, b_zero_point?: T2) -> (Y: T3) T1 in i8 u8 T2 in i8 u8 T3 "
     "in f32"},
};

Result<MatMulIntegerToFloat> read(const Node&, const Facts&) { return MatMulIntegerToFloat{}; }

Result<Facts> infer(const MatMulIntegerToFloat&, const Facts& in) {
  return infer_product(in[0], in[1], DType::f32);
}

// Rows are all axes but the last; a vector on either side has no such matrix.
size_t epilogue(const MatMulIntegerToFloat&, const Call& call) {
  return call.in[0].rank() > 1 && call.in[1].rank() > 1 ? call.out[0].rank() - 1 : 0;
}

constexpr Kernel<MatMulIntegerToFloat> kKernels[] = {
    {.name = "gemm_int8_packed",
     .fits = Product::fits<true>,
     .run = Product::run,
     .scratch = Product::scratch<true>,
     .pack = Product::pack,
     .packs = 1 << 1,
     .epilogue = epilogue},
    {.name = "gemm_int8",
     .fits = Product::fits<false>,
     .run = Product::run,
     .scratch = Product::scratch<false>,
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

constexpr OpOf<MatMulIntegerToFloat> kMatMulIntegerToFloat{
    .name = "MatMulIntegerToFloat",
    .doc = "The product of 8-bit integer matrices, less their zero points, as floats.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = Product::reference,
    .kernels = kKernels,
    .cases = cases,
    .domain = "sardonyx",
    .multiply_adds = Product::multiply_adds,
};

}  // namespace

extern const Op matmul_integer_to_float = erase<kMatMulIntegerToFloat>();

}  // namespace sdx::ops
