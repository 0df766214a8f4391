// MatMulQ4: the product with a constant matrix of 4-bit integers, which is dequantised on the way.
#include "kernel/epilogue/program.h"
#include "kernel/gemm_q4/gemm_q4.h"
#include "ops/common.h"
#include "ops/matmul/batch.h"
#include "ops/noise.h"

namespace sdx::ops {
namespace {

struct MatMulQ4 {
  size_t block;
};

constexpr Version kHistory[] = {
    {1, "(A: f32, W: T, scales: f32, zero_points?: T) -> (Y: f32) {block_size!: int} T in i4 u4"}};

Result<MatMulQ4> read(const Node& node, const Facts&) {
  const int64_t block = node.i("block_size");
  if (block < 1) return fail("SDX-T0301", "block_size is {}; it must be positive", block);
  return MatMulQ4{size_t(block)};
}

Result<Facts> infer(const MatMulQ4& a, const Facts& in) {
  if (!in[1].is_concrete() || in[1].rank() != 2) {
    return fail("SDX-T0312", "W is {}, expected a matrix of known size", in[1].text());
  }
  const int64_t k = in[1].dims()[0], n = in[1].dims()[1], block = int64_t(a.block);
  const Dims scales{k / block + (k % block != 0), n};
  for (size_t i = 2; i < in.size(); ++i) {
    if (in[i].present() && (!in[i].is_concrete() || in[i].dims() != scales)) {
      return fail("SDX-T0312", "input {} is {}, expected shape {}: blocks of {} along axis 0 of {}",
                  i, in[i].text(), to_string(scales), block, in[1].text());
    }
  }
  if (!in[0].has_rank()) return Facts{Fact::tensor(DType::f32)};
  if (in[0].rank() == 0 || (in[0].shape->back().is_const() && !(in[0].shape->back() == Dim(k)))) {
    return fail("SDX-T0311", "A is {}, expected {} as its last size", in[0].text(), k);
  }
  Shape shape = *in[0].shape;
  shape.back() = Dim(n);
  return Facts{Fact::tensor(DType::f32, std::move(shape))};
}

// w[k, j] = float(W[k, j] - zero point) * scale, rounded, both of block k / block_size; then
// y[i, j] = one chain acc = fma(a[i, k], w[k, j], acc) from +0, k ascending.
Status reference(const MatMulQ4& a, Args& args) {
  const View &x = args.in(0), &w = args.in(1), &y = args.out();
  const size_t k = size_t(w.dims[0]), n = size_t(w.dims[1]), m = n == 0 ? 0 : y.count / n;
  std::vector<float> column(k);
  for (size_t j = 0; j < n; ++j) {
    for (size_t i = 0; i < k; ++i) {
      const size_t scale = i / a.block * n + j;
      const int64_t zero = args.has(3) ? get_i64(w.type, args.in(3).raw, scale) : 0;
      const auto difference = float(get_i64(w.type, w.raw, i * n + j) - zero);
      column[i] = store<float>(difference * args.in(2).data<float>()[scale]);
    }
    for (size_t i = 0; i < m; ++i) {
      y.data<float>()[i * n + j] = dot<float>(k, x.data<float>() + i * k, 1, column.data(), 1);
    }
  }
  return ok();
}

bool fits(const MatMulQ4&, const Call& call) {
  const bool zeros = call.in.size() > 3 && call.in[3].present();
  return call.in[1].value && call.in[2].value && (!zeros || call.in[3].value);
}

size_t rows_of(const Call& call) {
  size_t rows = 1;
  const Dims dims = call.in[0].dims();
  for (size_t i = 0; i + 1 < dims.size(); ++i) rows *= size_t(dims[i]);
  return rows;
}

size_t scratch(const MatMulQ4&, const Call& call) {
  const Dims w = call.in[1].dims();
  return gemm_q4_scratch_bytes(rows_of(call), size_t(w[0]), size_t(w[1]), call.threads);
}

std::shared_ptr<const void> pack(const MatMulQ4& a, const Call& call, Pool& pool) {
  const Tensor& w = *call.in[1].value;
  Q4Source source;
  source.k = size_t(w.dims()[0]);
  source.n = size_t(w.dims()[1]);
  source.block = a.block;
  source.is_signed = w.type() == DType::i4;
  source.q = static_cast<const uint8_t*>(w.raw());
  source.scale = call.in[2].value->data<float>();
  if (call.in.size() > 3 && call.in[3].present()) {
    source.zero = static_cast<const uint8_t*>(call.in[3].value->raw());
  }
  return pack_q4(source, pool);
}

Status run(const MatMulQ4&, Args& args) {
  GemmQ4Args g;
  g.b = static_cast<const Q4Packed*>(args.packed);
  g.m = g.b->n == 0 ? 0 : args.out().count / g.b->n;
  g.a = args.in(0).data<float>();
  g.c = args.out().data<float>();
  g.scratch = args.scratch.data();
  EpilogueCall after{args.epilogue, args.epilogue_inputs, args.isa};
  g.epilogue = after.block();
  gemm_q4(g, *args.pool, args.isa);
  return ok();
}

// Rows are all axes but the last; a vector has no such matrix.
size_t epilogue(const MatMulQ4&, const Call& call) { return call.in[0].rank() - 1; }

constexpr Kernel<MatMulQ4> kKernels[] = {
    {.name = "matmul_q4",
     .fits = fits,
     .run = run,
     .scratch = scratch,
     .pack = pack,
     .packs = 1u << 1 | 1u << 2 | 1u << 3,
     .epilogue = epilogue},
};

uint64_t multiply_adds(const MatMulQ4&, const Call& call) {
  const Dims w = call.in[1].dims();
  return uint64_t(rows_of(call)) * uint64_t(w[0]) * uint64_t(w[1]);
}

std::vector<Case> cases() {
  Tensor w = Tensor::make(DType::i4, {3, 2}), zeros = Tensor::make(DType::i4, {2, 2});
  for (size_t i = 0; i < 6; ++i) set_i64(DType::i4, w.raw(), i, int64_t(i) - 3);
  for (size_t i = 0; i < 4; ++i) set_i64(DType::i4, zeros.raw(), i, int64_t(i));
  const auto blocks = [](int64_t size) { return AttrMap{{"block_size", size}}; };
  return {{.name = "each_block_has_its_scale_and_zero_point",
           .opset = 1,
           .attrs = blocks(2),
           // W less its zero points, times its scales: -3 -30, -1 -10, -100 -1000.
           .inputs = {Tensor::of<float>({1, 3}, {1, 10, 0.5f}), w,
                      Tensor::of<float>({2, 2}, {1, 10, 100, 1000}), zeros},
           .expected = {Tensor::of<float>({1, 2}, {-63, -630})}},
          {.name = "one_row",
           .opset = 1,
           .attrs = blocks(32),
           .inputs = {noise(DType::f32, {1, 1, 96}, 1), noise(DType::i4, {96, 83}, 2, -8, 8),
                      noise(DType::f32, {3, 83}, 3)}},
          {.name = "many_rows_with_zero_points",
           .opset = 1,
           .attrs = blocks(16),
           .inputs = {noise(DType::f32, {3, 9, 40}, 1), noise(DType::u4, {40, 50}, 2, 0, 16),
                      noise(DType::f32, {3, 50}, 3), noise(DType::u4, {3, 50}, 4, 0, 16)}},
          {.name = "a_vector",
           .opset = 1,
           .attrs = blocks(5),
           .inputs = {noise(DType::f32, {13}, 1), noise(DType::u4, {13, 7}, 2, 0, 16),
                      noise(DType::f32, {3, 7}, 3)}}};
}

constexpr OpOf<MatMulQ4> kMatMulQ4{
    .name = "MatMulQ4",
    .doc = "The product of matrices, the second of 4-bit integers with a scale per block of rows.",
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

extern const Op matmul_q4 = erase<kMatMulQ4>();

}  // namespace sdx::ops
