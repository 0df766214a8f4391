// MatMul.
#include <cmath>

#include "base/deadline.h"
#include "base/slab.h"
#include "kernel/epilogue/program.h"
#include "kernel/gemm/gemm.h"
#include "ops/matmul/batch.h"
#include "ops/noise.h"

namespace sdx::ops {
namespace {

struct MatMul {};

constexpr Version kHistory[] = {
    {1, "(A: T, B: T) -> (Y: T) T in floats"},
    {9, "T += i32 i64 u32 u64"},
    {13, "T += bf16"},
};

Result<MatMul> read(const Node&, const Facts&) { return MatMul{}; }

// A vector on the left is a row, one on the right a column; that axis is not in the result.
Result<Facts> infer(const MatMul&, const Facts& in) {
  const Fact &a = in[0], &b = in[1];
  if (!a.has_rank() || !b.has_rank()) return Facts{Fact::tensor(a.type)};
  if (a.rank() == 0 || b.rank() == 0)
    return fail("SDX-T0310", "an input is a scalar, expected rank 1 or more");
  if (std::max(a.rank(), b.rank()) > kMostBatchAxes + 2) {
    return fail("SDX-T0310", "ranks {} and {}, at most {} is supported", a.rank(), b.rank(),
                kMostBatchAxes + 2);
  }
  const Dim& inner_a = a.shape->back();
  const Dim& inner_b = b.dim(b.rank() == 1 ? 0 : b.rank() - 2);
  if (inner_a.is_const() && inner_b.is_const() && !(inner_a == inner_b)) {
    return fail(
        "SDX-T0311",
        "shapes {} and {} do not multiply: the last of A is {}, the second to last of B is {}",
        to_string(*a.shape), to_string(*b.shape), inner_a.text(), inner_b.text());
  }
  Shape shape;
  if (a.rank() > 2 || b.rank() > 2) {
    const auto batch = [](const Fact& f) {
      return f.rank() > 2 ? Shape(f.shape->begin(), f.shape->end() - 2) : Shape{};
    };
    SDX_ASSIGN(shape, broadcast(batch(a), batch(b)));
  }
  if (a.rank() > 1) shape.push_back(a.dim(a.rank() - 2));
  if (b.rank() > 1) shape.push_back(b.shape->back());
  return Facts{Fact::tensor(a.type, std::move(shape))};
}

// y[i, j] = one chain acc = fma(a[i, k], b[k, j], acc) from +0, k ascending. Integers wrap.
template <class T>
void multiply(const View& a, const View& b, const View& y) {
  const MatMulShape s = matmul_shape(a.dims, b.dims);
  for (size_t batch = 0; batch < s.batches; ++batch) {
    const auto [at_a, at_b] = s.offsets(batch);
    const T *pa = a.data<T>() + at_a, *pb = b.data<T>() + at_b;
    T* to = y.data<T>() + batch * s.m * s.n;
    for (size_t i = 0; i < s.m; ++i) {
      for (size_t j = 0; j < s.n; ++j) {
        Deadline::step(s.k);
        *to++ = dot<T>(s.k, pa + i * s.k, 1, pb + j, s.n);
      }
    }
  }
}

Status reference(const MatMul&, Args& args) {
  const auto run = [&]<class T>() { multiply<T>(args.in(0), args.in(1), args.out()); };
  if (visit_floats(args.in(0).type, run) || visit_integers(args.in(0).type, run)) return ok();
  return unsupported_type("MatMul", args.in(0).type);
}

bool is_narrow_or_f32(DType type) {
  return type == DType::f32 || type == DType::f16 || type == DType::bf16;
}
bool fits(const MatMul&, const Call& call) { return is_narrow_or_f32(call.in[0].type); }
bool fits_packed(const MatMul& a, const Call& call) {
  return fits(a, call) && call.in[1].value != nullptr;
}
bool fits_f64(const MatMul&, const Call& call) { return call.in[0].type == DType::f64; }

// The products of all batches that one call of gemm can make: those along the last batch axes whose
// steps are even.
GemmArgs gemm_args(const MatMulShape& s, DType type) {
  GemmArgs g;
  g.m = s.m;
  g.n = s.n;
  g.k = s.k;
  g.lda = s.k;
  g.ldb = g.ldc = s.n;
  g.a_type = g.b_type = g.c_type = type;
  g.batch = s.run;
  g.a_batch = s.run_a;
  g.b_batch = s.run_b;
  g.c_batch = s.m * s.n;
  return g;
}

size_t scratch(const MatMul&, const Call& call) {
  const Dims a = call.in[0].dims(), b = call.in[1].dims();
  return gemm_scratch_bytes(gemm_args(matmul_shape(a, b), call.in[0].type), call.threads);
}
size_t scratch_packed(const MatMul&, const Call& call) {
  const Dims a = call.in[0].dims(), b = call.in[1].dims();
  GemmArgs g = gemm_args(matmul_shape(a, b), call.in[0].type);
  const size_t in_place = gemm_reads_in_place(g) ? gemm_scratch_bytes(g, call.threads) : 0;
  constexpr float kSome = 0;
  g.b_packed = &kSome;
  return std::max(in_place, gemm_scratch_bytes(g, call.threads));
}

std::shared_ptr<const void> pack(const MatMul&, const Call& call, Pool& pool) {
  const Tensor& b = *call.in[1].value;
  const Dims a = call.in[0].dims();
  const MatMulShape s = matmul_shape(a, b.dims());
  const GemmArgs plain = gemm_args(s, b.type());
  if (gemm_reads_in_place(plain) && LastingUse::stays(gemm_gains_in_place(plain))) return nullptr;
  const size_t one = gemm_packed_b_size(s.k, s.n),
               count = s.k * s.n == 0 ? 0 : b.count() / (s.k * s.n);
  std::shared_ptr<void> packed = allocate_lasting(std::max<size_t>(1, count * one) * sizeof(float));
  for (size_t i = 0; i < count; ++i) {
    const auto* from =
        static_cast<const std::byte*>(b.raw()) + i * s.k * s.n * (bits(b.type()) / 8);
    gemm_pack_b(from, b.type(), s.n, false, s.k, s.n, static_cast<float*>(packed.get()) + i * one,
                pool, call.isa);
  }
  return packed;
}

Status run(const MatMul&, Args& args) {
  const View &a = args.in(0), &b = args.in(1), &y = args.out();
  const MatMulShape s = matmul_shape(a.dims, b.dims);
  const size_t bytes = bits(a.type) / 8;
  GemmArgs g = gemm_args(s, a.type);
  g.scratch = args.scratch.data();
  EpilogueCall after{args.epilogue, args.epilogue_inputs, args.isa};
  after.open_in(g.affine);
  const float* other = g.affine.other;
  g.epilogue = after.block();
  const size_t packed_b = gemm_packed_b_size(s.k, s.n), plain_b = std::max<size_t>(1, s.k * s.n);
  if (args.packed != nullptr) g.b_batch = s.run_b / plain_b * packed_b;
  for (size_t batch = 0; batch < s.batches; batch += s.run) {
    const auto [at_a, at_b] = s.offsets(batch);
    g.a = a.data<std::byte>() + at_a * bytes;
    g.b = b.data<std::byte>() + at_b * bytes;
    g.c = y.data<std::byte>() + batch * s.m * s.n * bytes;
    if (args.packed != nullptr)
      g.b_packed = static_cast<const float*>(args.packed) + at_b / plain_b * packed_b;
    after.first_row = batch * s.m;
    if (other != nullptr) g.affine.other = other + batch * s.m * g.affine.other_row;
    sdx::gemm(g, *args.pool, args.isa);
  }
  return ok();
}

Status run_f64(const MatMul&, Args& args) {
  const View &a = args.in(0), &b = args.in(1), &y = args.out();
  const MatMulShape s = matmul_shape(a.dims, b.dims);
  GemmF64Args g;
  g.m = s.m;
  g.n = s.n;
  g.k = s.k;
  g.lda = s.k;
  g.ldb = g.ldc = s.n;
  g.batch = s.run;
  g.a_batch = s.run_a;
  g.b_batch = s.run_b;
  g.c_batch = s.m * s.n;
  for (size_t batch = 0; batch < s.batches; batch += s.run) {
    const auto [at_a, at_b] = s.offsets(batch);
    g.a = a.data<double>() + at_a;
    g.b = b.data<double>() + at_b;
    g.c = y.data<double>() + batch * s.m * s.n;
    gemm_f64(g, *args.pool, args.isa);
  }
  return ok();
}

// Rows are all axes but the last; a vector on either side has no such matrix.
size_t epilogue(const MatMul&, const Call& call) {
  const bool matrices = call.in[0].rank() > 1 && call.in[1].rank() > 1;
  return matrices ? call.out[0].rank() - 1 : 0;
}

constexpr Kernel<MatMul> kKernels[] = {
    {.name = "matmul_packed",
     .fits = fits_packed,
     .run = run,
     .scratch = scratch_packed,
     .pack = pack,
     .packs = 1u << 1,
     .epilogue = epilogue},
    {.name = "matmul", .fits = fits, .run = run, .scratch = scratch, .epilogue = epilogue},
    {.name = "matmul_f64", .fits = fits_f64, .run = run_f64},
};

uint64_t multiply_adds(const MatMul&, const Call& call) {
  const Dims a = call.in[0].dims(), b = call.in[1].dims();
  const MatMulShape s = matmul_shape(a, b);
  return uint64_t(s.batches) * s.m * s.n * s.k;
}

std::vector<Case> cases() {
  const Tensor a = Tensor::of<float>({2, 2}, {1, 2, 3, 4});
  return {
      {.name = "a_vector_on_each_side_gives_a_scalar",
       .opset = 1,
       .attrs = {},
       .inputs = {Tensor::of<float>({2}, {1, 2}), Tensor::of<float>({2}, {3, 4})},
       .expected = {Tensor::of<float>({}, {11})}},
      {.name = "batches_broadcast",
       .opset = 13,
       .attrs = {},
       .inputs = {Tensor::of<float>({2, 1, 1, 2}, {1, 2, 3, 4}),
                  Tensor::of<float>({2, 2, 1}, {1, 1, 1, -1})},
       .expected = {Tensor::of<float>({2, 2, 1, 1}, {3, -1, 7, -1})}},
      {.name = "unsigned_integers_wrap",
       .opset = 9,
       .attrs = {},
       .inputs = {Tensor::of<uint32_t>({1, 2}, {0x80000000u, 1}),
                  Tensor::of<uint32_t>({2, 1}, {2, 5})},
       .expected = {Tensor::of<uint32_t>({1, 1}, {5})}},
      {.name = "an_empty_sum_is_zero",
       .opset = 13,
       .attrs = {},
       .inputs = {Tensor::make(DType::f32, {2, 0}), Tensor::make(DType::f32, {0, 1})},
       .expected = {Tensor::of<float>({2, 1}, {0, 0})}},
      {.name = "matrices",
       .opset = 13,
       .attrs = {},
       .inputs = {a, a},
       .expected = {Tensor::of<float>({2, 2}, {7, 10, 15, 22})}},
      {.name = "wide_matrices",
       .opset = 13,
       .attrs = {},
       .inputs = {noise({2, 3, 37, 65}), noise({3, 65, 45}, 2)}},
      {.name = "one_row",
       .opset = 13,
       .attrs = {},
       .inputs = {noise({1, 130}), noise({130, 70}, 2)}},
      {.name = "a_column", .opset = 13, .attrs = {}, .inputs = {noise({4, 9, 33}), noise({33}, 2)}},
      {.name = "shared_weights",
       .opset = 13,
       .attrs = {},
       .inputs = {noise({3, 5, 20}), noise({20, 18}, 2)}},
      {.name = "steps_that_do_not_continue",
       .opset = 13,
       .attrs = {},
       .inputs = {noise({2, 1, 3, 4}), noise({1, 3, 4, 5}, 2)}},
      {.name = "halves",
       .opset = 13,
       .attrs = {},
       .inputs = {noise(DType::f16, {2, 7, 33}), noise(DType::f16, {33, 19}, 2)}},
      {.name = "bfloats",
       .opset = 13,
       .attrs = {},
       .inputs = {noise(DType::bf16, {7, 33}), noise(DType::bf16, {2, 33, 19}, 2)}},
      {.name = "wide_doubles",
       .opset = 13,
       .attrs = {},
       .inputs = {noise(DType::f64, {2, 7, 33}), noise(DType::f64, {33, 19}, 2)}}};
}

constexpr OpOf<MatMul> kMatMul{
    .name = "MatMul",
    .doc = "The product of matrices; leading axes are batches that broadcast.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .kernels = kKernels,
    .cases = cases,
    .by_equality = true,
    .multiply_adds = multiply_adds,
};

}  // namespace

extern const Op matmul = erase<kMatMul>();

}  // namespace sdx::ops
