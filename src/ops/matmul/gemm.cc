// Gemm.
#include "ops/matmul/gemm.h"

#include "base/deadline.h"
#include "base/slab.h"
#include "kernel/epilogue/program.h"
#include "kernel/gemm/gemm.h"
#include "ops/matmul/batch.h"
#include "ops/noise.h"

namespace sdx::ops {
namespace {

constexpr Version kHistory[] = {
    {1,
     "(A: T, B: T, C: T) -> (Y: T) {alpha: float = 1, beta: float = 1, broadcast: int = 0, transA: "
     "int = 0, transB: int "
     "= 0} T in floats"},
    {6, ""},
    {7, "{-broadcast}"},
    {9, "T += i32 i64 u32 u64"},
    {11, "(A: T, B: T, C?: T)"},
    {13, "T += bf16"},
};

// `broadcast` of the first versions only says whether C's shape may differ from the product's; the
// shapes say it as well.
Result<Gemm> read(const Node& node, const Facts&) {
  return Gemm{node.f("alpha"), node.f("beta"), node.i("transA") != 0, node.i("transB") != 0};
}

Result<Facts> infer(const Gemm& a, const Facts& in) {
  Dim sizes[2][2] = {{Dim::unknown(), Dim::unknown()}, {Dim::unknown(), Dim::unknown()}};
  for (size_t i = 0; i < 2; ++i) {
    if (!in[i].has_rank()) continue;
    if (in[i].rank() != 2)
      return fail("SDX-T0312", "{} has rank {}, expected 2", i == 0 ? "A" : "B", in[i].rank());
    const bool swap = i == 0 ? a.trans_a : a.trans_b;
    sizes[i][0] = in[i].dim(swap ? 1 : 0);
    sizes[i][1] = in[i].dim(swap ? 0 : 1);
  }
  if (sizes[0][1].is_const() && sizes[1][0].is_const() && !(sizes[0][1] == sizes[1][0])) {
    return fail("SDX-T0311",
                "shapes {} and {} (transA {}, transB {}) do not multiply: {} against {}",
                to_string(*in[0].shape), to_string(*in[1].shape), int(a.trans_a), int(a.trans_b),
                sizes[0][1].text(), sizes[1][0].text());
  }
  Shape shape{sizes[0][0], sizes[1][1]};
  if (in.size() > 2 && in[2].present() && in[2].has_rank()) {
    const Fact& c = in[2];
    bool fits = c.rank() <= 2;
    for (size_t i = 0; fits && i < c.rank(); ++i) {
      const Dim &from = c.dim(c.rank() - 1 - i), &to = shape[1 - i];
      fits = !from.is_const() || from.is_const(1) || !to.is_const() || from == to;
    }
    if (!fits) {
      return fail("SDX-T0313", "C of shape {} does not broadcast to {}", to_string(*c.shape),
                  to_string(shape));
    }
  }
  return Facts{Fact::tensor(in[0].type, std::move(shape))};
}

struct Sizes {
  size_t m, n, k, lda, ldb;
  size_t a_row, a_k, b_k, b_col;  // steps in elements
  size_t c_row = 0, c_col = 0;    // 0 where C broadcasts
};
Sizes sizes_of(const Gemm& g, std::span<const int64_t> a, std::span<const int64_t> b,
               std::span<const int64_t> c) {
  Sizes s{};
  s.lda = size_t(a[1]);
  s.ldb = size_t(b[1]);
  s.m = size_t(a[g.trans_a ? 1 : 0]);
  s.k = size_t(a[g.trans_a ? 0 : 1]);
  s.n = size_t(b[g.trans_b ? 0 : 1]);
  s.a_row = g.trans_a ? 1 : s.lda;
  s.a_k = g.trans_a ? s.lda : 1;
  s.b_k = g.trans_b ? 1 : s.ldb;
  s.b_col = g.trans_b ? s.ldb : 1;
  if (!c.empty()) s.c_col = c.back() == 1 ? 0 : 1;
  if (c.size() == 2) s.c_row = c[0] == 1 ? 0 : size_t(c[1]);
  return s;
}

// p = one chain acc = fma(a[i, k], b[k, j], acc) from +0;  y = (p * alpha) + (c * beta), each
// operation rounded on its own; a factor of 1 is no operation. Integers wrap; a factor that is not
// 1 is applied in double and the result truncated.
template <class T>
void multiply(const Gemm& g, Args& args) {
  const View &a = args.in(0), &b = args.in(1);
  const Sizes s =
      sizes_of(g, a.dims, b.dims, args.has(2) ? args.in(2).dims : std::span<const int64_t>{});
  using C = std::conditional_t<std::is_integral_v<T>, T, Compute<T>>;
  const auto scaled = [](C x, float factor) -> C {
    if (factor == 1) return x;
    if constexpr (std::is_integral_v<T>) {
      return to_integer<T>(double(x) * double(factor));
    } else {
      return x * C(factor);
    }
  };
  for (size_t i = 0; i < s.m; ++i) {
    for (size_t j = 0; j < s.n; ++j) {
      Deadline::step(s.k);
      const T *row = a.data<T>() + i * s.a_row, *col = b.data<T>() + j * s.b_col;
      C x = 0;
      if constexpr (std::is_integral_v<T>) {
        x = dot<T>(s.k, row, s.a_k, col, s.b_k);
      } else {
        for (size_t k = 0; k < s.k; ++k)
          x = std::fma(load(row[k * s.a_k]), load(col[k * s.b_k]), x);
      }
      x = scaled(x, g.alpha);
      if (args.has(2)) {
        const T c = args.in(2).data<T>()[i * s.c_row + j * s.c_col];
        if constexpr (std::is_integral_v<T>) {
          x = C(uint64_t(x) + uint64_t(scaled(c, g.beta)));
        } else {
          x = x + scaled(load(c), g.beta);
        }
      }
      if constexpr (std::is_integral_v<T>) {
        args.out().data<T>()[i * s.n + j] = x;
      } else {
        args.out().data<T>()[i * s.n + j] = store<T>(x);
      }
    }
  }
}

Status reference(const Gemm& g, Args& args) {
  const auto run = [&]<class T>() { multiply<T>(g, args); };
  if (visit_floats(args.in(0).type, run) || visit_integers(args.in(0).type, run)) return ok();
  return unsupported_type("Gemm", args.in(0).type);
}

bool fits(const Gemm&, const Call& call) {
  const DType type = call.in[0].type;
  return type == DType::f32 || type == DType::f16 || type == DType::bf16;
}
bool fits_packed(const Gemm& g, const Call& call) {
  return fits(g, call) && call.in[1].value != nullptr;
}
bool fits_f64(const Gemm&, const Call& call) { return call.in[0].type == DType::f64; }

GemmArgs gemm_args(const Gemm& g, const Sizes& s, DType type) {
  GemmArgs args;
  args.m = s.m;
  args.n = s.n;
  args.k = s.k;
  args.lda = s.lda;
  args.ldb = s.ldb;
  args.ldc = s.n;
  args.trans_a = g.trans_a;
  args.trans_b = g.trans_b;
  args.a_type = args.b_type = args.c_type = type;
  args.affine.alpha = g.alpha;
  args.affine.beta = g.beta;
  args.affine.bias_row = s.c_row;
  args.affine.bias_col = s.c_col;
  return args;
}

size_t scratch(const Gemm& g, const Call& call) {
  return gemm_scratch_bytes(
      gemm_args(g, sizes_of(g, call.in[0].dims(), call.in[1].dims(), {}), call.in[0].type),
      call.threads);
}
size_t scratch_packed(const Gemm& g, const Call& call) {
  GemmArgs args =
      gemm_args(g, sizes_of(g, call.in[0].dims(), call.in[1].dims(), {}), call.in[0].type);
  const size_t in_place = gemm_reads_in_place(args) ? gemm_scratch_bytes(args, call.threads) : 0;
  constexpr float kSome = 0;
  args.b_packed = &kSome;
  return std::max(in_place, gemm_scratch_bytes(args, call.threads));
}

std::shared_ptr<const void> pack(const Gemm& g, const Call& call, Pool& pool) {
  const Tensor& b = *call.in[1].value;
  const Sizes s = sizes_of(g, call.in[0].dims(), b.dims(), {});
  const GemmArgs plain = gemm_args(g, s, b.type());
  if (gemm_reads_in_place(plain) && LastingUse::stays(gemm_gains_in_place(plain))) return nullptr;
  std::shared_ptr<void> packed =
      allocate_lasting(std::max<size_t>(1, gemm_packed_b_size(s.k, s.n)) * sizeof(float));
  gemm_pack_b(b.raw(), b.type(), s.ldb, g.trans_b, s.k, s.n, static_cast<float*>(packed.get()),
              pool, call.isa);
  return packed;
}

Status run(const Gemm& g, Args& args) {
  const View &a = args.in(0), &b = args.in(1);
  const Sizes s =
      sizes_of(g, a.dims, b.dims, args.has(2) ? args.in(2).dims : std::span<const int64_t>{});
  GemmArgs call = gemm_args(g, s, a.type);
  call.a = a.raw;
  call.b = b.raw;
  call.b_packed = static_cast<const float*>(args.packed);
  call.c = args.out().raw;
  if (args.has(2)) {
    if (a.type == DType::f32) {
      call.affine.bias = args.in(2).data<float>();
    } else {
      call.bias_16 = args.in(2).raw;
    }
  }
  call.scratch = args.scratch.data();
  EpilogueCall after{args.epilogue, args.epilogue_inputs, args.isa};
  if (!args.has(2)) after.open_in(call.affine);
  call.epilogue = after.block();
  sdx::gemm(call, *args.pool, args.isa);
  return ok();
}

Status run_f64(const Gemm& g, Args& args) {
  const View &a = args.in(0), &b = args.in(1);
  const Sizes s =
      sizes_of(g, a.dims, b.dims, args.has(2) ? args.in(2).dims : std::span<const int64_t>{});
  GemmF64Args call;
  call.m = s.m;
  call.n = s.n;
  call.k = s.k;
  call.a = a.data<double>();
  call.lda = s.lda;
  call.trans_a = g.trans_a;
  call.b = b.data<double>();
  call.ldb = s.ldb;
  call.trans_b = g.trans_b;
  call.c = args.out().data<double>();
  call.ldc = s.n;
  call.alpha = g.alpha;
  call.beta = g.beta;
  call.bias = args.has(2) ? args.in(2).data<double>() : nullptr;
  call.bias_row = s.c_row;
  call.bias_col = s.c_col;
  gemm_f64(call, *args.pool, args.isa);
  return ok();
}

size_t epilogue(const Gemm&, const Call&) { return 1; }

constexpr Kernel<Gemm> kKernels[] = {
    {.name = "gemm_packed",
     .fits = fits_packed,
     .run = run,
     .scratch = scratch_packed,
     .pack = pack,
     .packs = 1u << 1,
     .epilogue = epilogue},
    {.name = "gemm", .fits = fits, .run = run, .scratch = scratch, .epilogue = epilogue},
    {.name = "gemm_f64", .fits = fits_f64, .run = run_f64},
};

uint64_t multiply_adds(const Gemm& g, const Call& call) {
  const Sizes s = sizes_of(g, call.in[0].dims(), call.in[1].dims(), {});
  return uint64_t(s.m) * s.n * s.k;
}

std::vector<Case> cases() {
  const Tensor a = Tensor::of<float>({2, 2}, {1, 2, 3, 4});
  return {{.name = "opset1_with_broadcast",
           .opset = 1,
           .attrs = {{"broadcast", int64_t{1}}, {"beta", 2.f}},
           .inputs = {a, a, Tensor::of<float>({2}, {1, -1})},
           .expected = {Tensor::of<float>({2, 2}, {9, 8, 17, 20})}},
          {.name = "transposed_without_c",
           .opset = 13,
           .attrs = {{"transA", int64_t{1}}, {"transB", int64_t{1}}, {"alpha", .5f}},
           .inputs = {a, Tensor::of<float>({1, 2}, {1, 1})},
           .expected = {Tensor::of<float>({2, 1}, {2, 3})}},
          {.name = "a_column_broadcasts",
           .opset = 7,
           .attrs = {},
           .inputs = {a, a, Tensor::of<float>({2, 1}, {1, -1})},
           .expected = {Tensor::of<float>({2, 2}, {8, 11, 14, 21})}},
          {.name = "integers_scale_in_double",
           .opset = 9,
           .attrs = {{"alpha", .5f}},
           .inputs = {Tensor::of<int32_t>({1, 1}, {-3}), Tensor::of<int32_t>({1, 1}, {1}),
                      Tensor::of<int32_t>({}, {10})},
           .expected = {Tensor::of<int32_t>({1, 1}, {9})}},
          {.name = "both_transposed_with_a_row",
           .opset = 13,
           .attrs = {{"transA", int64_t{1}}, {"transB", int64_t{1}}, {"alpha", .3f}, {"beta", .7f}},
           .inputs = {noise({65, 37}), noise({45, 65}, 2), noise({45}, 3)}},
          {.name = "with_a_scalar_of_rank_two",
           .opset = 13,
           .attrs = {},
           .inputs = {noise({3, 65}), noise({65, 45}, 2), noise({1, 1}, 3)}},
          {.name = "halves_with_a_column",
           .opset = 13,
           .attrs = {{"beta", .7f}},
           .inputs = {noise(DType::f16, {9, 33}), noise(DType::f16, {33, 17}, 2),
                      noise(DType::f16, {9, 1}, 3)}},
          {.name = "wide_doubles",
           .opset = 13,
           .attrs = {{"transB", int64_t{1}}, {"alpha", .3f}},
           .inputs = {noise(DType::f64, {9, 33}), noise(DType::f64, {17, 33}, 2),
                      noise(DType::f64, {9, 17}, 3)}},
          {.name = "an_empty_sum_leaves_c",
           .opset = 13,
           .attrs = {},
           .inputs = {Tensor::make(DType::f32, {2, 0}), Tensor::make(DType::f32, {0, 1}),
                      Tensor::of<float>({1}, {3})},
           .expected = {Tensor::of<float>({2, 1}, {3, 3})}}};
}

constexpr OpOf<Gemm> kGemm{
    .name = "Gemm",
    .doc = "alpha * A * B + beta * C for matrices, each perhaps transposed.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .kernels = kKernels,
    .cases = cases,
    .multiply_adds = multiply_adds,
};

}  // namespace

extern const Op gemm = erase<kGemm>();

}  // namespace sdx::ops
