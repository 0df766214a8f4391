// MatMulTransposed: A times the transpose of a constant matrix, read as it lies in its file; made
// by a rewrite.
#include <cmath>

#include "base/slab.h"
#include "kernel/epilogue/program.h"
#include "kernel/gemm/gemm.h"
#include "ops/common.h"

namespace sdx::ops {
namespace {

struct MatMulTransposed {};

constexpr Version kHistory[] = {{1, "(A: T, B: T) -> (Y: T) T in f32"}};

Result<MatMulTransposed> read(const Node&, const Facts&) { return MatMulTransposed{}; }

Result<Facts> infer(const MatMulTransposed&, const Facts& in) {
  if (!in[0].has_rank() || in[0].rank() < 2 || !in[1].has_rank() || in[1].rank() != 2) {
    return fail("SDX-T0310", "expected A of rank 2 or more and B of rank 2, found {} and {}",
                in[0].text(), in[1].text());
  }
  if (in[0].shape->back().is_const() && in[1].dim(1).is_const() &&
      !(in[0].shape->back() == in[1].dim(1))) {
    return fail("SDX-T0311", "shapes {} and {} do not multiply: the last dimensions are {} and {}",
                to_string(*in[0].shape), to_string(*in[1].shape), in[0].shape->back().text(),
                in[1].dim(1).text());
  }
  Shape shape = *in[0].shape;
  shape.back() = in[1].dim(0);
  return Facts{Fact::tensor(in[0].type, std::move(shape))};
}

// y[i, j] = one chain acc = fma(a[i, k], b[j, k], acc) from +0, k ascending: the bits of MatMul(A,
// Transpose(B)).
Status reference(const MatMulTransposed&, Args& args) {
  const View &a = args.in(0), &b = args.in(1);
  const auto n = size_t(b.dims[0]), k = size_t(b.dims[1]);
  float* y = args.out().data<float>();
  for (size_t i = 0; n != 0 && i < args.out().count / n; ++i) {
    for (size_t j = 0; j < n; ++j) {
      float acc = 0;
      for (size_t p = 0; p < k; ++p)
        acc = std::fma(a.data<float>()[i * k + p], b.data<float>()[j * k + p], acc);
      *y++ = store<float>(acc);
    }
  }
  return ok();
}

GemmArgs gemm_args(size_t rows, std::span<const int64_t> b) {
  GemmArgs g;
  g.m = rows;
  g.n = g.ldc = size_t(b[0]);
  g.k = g.lda = g.ldb = size_t(b[1]);
  g.trans_b = true;
  return g;
}
size_t rows_of(size_t count, std::span<const int64_t> b) {
  return b[0] == 0 ? 0 : count / size_t(b[0]);
}

bool fits(const MatMulTransposed&, const Call& call) { return call.in[1].value != nullptr; }

size_t scratch(const MatMulTransposed&, const Call& call) {
  const Dims b = call.in[1].dims();
  GemmArgs g = gemm_args(rows_of(*element_count(call.out[0].dims()), b), b);
  const size_t in_place = gemm_reads_in_place(g) ? gemm_scratch_bytes(g, call.threads) : 0;
  constexpr float kSome = 0;
  g.b_packed = &kSome;
  return std::max(in_place, gemm_scratch_bytes(g, call.threads));
}

std::shared_ptr<const void> pack(const MatMulTransposed&, const Call& call, Pool& pool) {
  const Tensor& b = *call.in[1].value;
  const auto n = size_t(b.dims()[0]), k = size_t(b.dims()[1]);
  const size_t rows = rows_of(*element_count(call.out[0].dims()), b.dims());
  const GemmArgs plain = gemm_args(rows, b.dims());
  if (gemm_reads_in_place(plain) && LastingUse::stays(gemm_gains_in_place(plain))) return nullptr;
  std::shared_ptr<void> packed = allocate_lasting(gemm_packed_b_size(k, n) * sizeof(float));
  gemm_pack_b(b.raw(), b.type(), k, true, k, n, static_cast<float*>(packed.get()), pool, call.isa);
  return packed;
}

Status run(const MatMulTransposed&, Args& args) {
  const View& b = args.in(1);
  GemmArgs g = gemm_args(rows_of(args.out().count, b.dims), b.dims);
  g.a = args.in(0).raw;
  g.b = b.raw;
  g.b_packed = static_cast<const float*>(args.packed);
  g.c = args.out().raw;
  g.scratch = args.scratch.data();
  EpilogueCall after{args.epilogue, args.epilogue_inputs, args.isa};
  after.open_in(g.affine);
  g.epilogue = after.block();
  sdx::gemm(g, *args.pool, args.isa);
  return ok();
}

size_t epilogue(const MatMulTransposed&, const Call& call) { return call.out[0].rank() - 1; }

constexpr Kernel<MatMulTransposed> kKernels[] = {
    {.name = "matmul_transposed_packed",
     .fits = fits,
     .run = run,
     .scratch = scratch,
     .pack = pack,
     .packs = 1u << 1,
     .epilogue = epilogue},
};

uint64_t multiply_adds(const MatMulTransposed&, const Call& call) {
  return *element_count(call.out[0].dims()) * uint64_t(call.in[1].dims()[1]);
}

constexpr OpOf<MatMulTransposed> kMatMulTransposed{
    .name = "MatMulTransposed",
    .doc = "The product with the transpose of a constant matrix.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .kernels = kKernels,
    .domain = "sardonyx",
    .multiply_adds = multiply_adds,
};

}  // namespace

extern const Op matmul_transposed = erase<kMatMulTransposed>();

}  // namespace sdx::ops
