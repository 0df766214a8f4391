// LpNormalization.
#include "ops/normalization/lp_normalization.h"

#include <algorithm>
#include <cmath>

#include "kernel/elementwise/arrays.h"
#include "kernel/lanes.h"
#include "kernel/rows/rows.h"
#include "ops/noise.h"
#include "ops/widened.h"

namespace sdx::ops {
namespace {

constexpr Version kHistory[] = {
    {1, "(input: T) -> (output: T) {axis: int = -1, p: int = 2} T in floats"},
    {22, "T += bf16"},
};

Result<LpNorm> read(const Node& node, const Facts& in) {
  if (node.i("p") != 1 && node.i("p") != 2)
    return fail("SDX-T0355", "p is {}, expected 1 or 2", node.i("p"));
  // Without a rank it is read again when that is known.
  if (!in[0].has_rank() || in[0].rank() == 0) return LpNorm{0, node.i("p") == 2};
  SDX_ASSIGN(const size_t axis, resolve_axis(node.i("axis"), in[0].rank()));
  return LpNorm{axis, node.i("p") == 2};
}

Result<Facts> infer(const LpNorm&, const Facts& in) { return Facts{like(in[0])}; }

// norm = sum |x|, or sqrt(sum (x * x)), by lanes;  y = x / norm, or 0 where the norm is 0.
template <class T>
void normalize(const LpNorm& a, const View& x, const View& y) {
  using C = Compute<T>;
  const AxisSplit at = split_at(x.dims, a.axis);
  for (size_t outer = 0; outer < at.outer; ++outer) {
    for (size_t inner = 0; inner < at.inner; ++inner) {
      const size_t base = outer * at.size * at.inner + inner;
      const auto in = [&](size_t i) { return load(x.data<T>()[base + i * at.inner]); };
      const C sum =
          lane_sum<C>(at.size, [&](size_t i) { return a.euclid ? in(i)*in(i) : std::fabs(in(i)); });
      const C norm = a.euclid ? std::sqrt(sum) : sum;
      for (size_t i = 0; i < at.size; ++i) {
        y.data<T>()[base + i * at.inner] = store<T>(norm == 0 ? C(0) : in(i) / norm);
      }
    }
  }
}

Status reference(const LpNorm& a, Args& args) {
  visit_floats(args.in(0).type, [&]<class T>() { normalize<T>(a, args.in(0), args.out()); });
  return ok();
}

bool fits(const LpNorm&, const Call& call) { return call.in[0].type == DType::f32; }

// Rows by themselves; else columns, some side by side.
Status run(const LpNorm& a, Args& args) {
  const AxisSplit at = split_at(args.in(0).dims, a.axis);
  if (args.out().count == 0) return ok();
  const float* x = args.in(0).data<float>();
  float* y = args.out().data<float>();
  const Fold fold = a.euclid ? Fold::sum_square : Fold::sum_abs;
  const auto divide = SDX_PICK(array_binary, args.isa);
  constexpr size_t kColumns = 128;
  const size_t pieces = (at.inner + kColumns - 1) / kColumns;
  const size_t grain = 1 + 4096 / (at.size * std::min(kColumns, at.inner));
  args.pool->parallel(at.outer * pieces, grain, [&](size_t begin, size_t end, int) {
    alignas(kAlignment) float norm[kColumns];
    for (size_t piece = begin; piece < end; ++piece) {
      const size_t first = piece % pieces * kColumns, n = std::min(kColumns, at.inner - first);
      const size_t base = piece / pieces * at.size * at.inner + first;
      if (at.inner == 1) {
        SDX_PICK(fold_rows, args.isa)(fold, x + base, 1, at.size, norm);
      } else {
        SDX_PICK(fold_columns, args.isa)(fold, x + base, at.size, at.inner, n, norm);
      }
      if (a.euclid) {
        for (size_t c = 0; c < n; ++c) norm[c] = std::sqrt(norm[c]);
      }
      if (at.inner == 1) {
        divide(BinaryOp::div, x + base, 1, norm, 0, y + base, at.size);
        if (norm[0] == 0) std::fill_n(y + base, at.size, 0.0f);
        continue;
      }
      for (size_t i = 0; i < at.size; ++i)
        divide(BinaryOp::div, x + base + i * at.inner, 1, norm, 1, y + base + i * at.inner, n);
      for (size_t c = 0; c < n; ++c) {
        if (norm[c] != 0) continue;
        for (size_t i = 0; i < at.size; ++i) y[base + i * at.inner + c] = 0;
      }
    }
  });
  return ok();
}

constexpr Kernel<LpNorm> kPlain{.name = "lp_normalization_f32", .fits = fits, .run = run};
constexpr Kernel<LpNorm> kKernels[] = {kPlain, widened<kPlain>("lp_normalization_f16")};

std::vector<Case> cases() {
  return {{.name = "zeros_stay_zero",
           .opset = 1,
           .attrs = {},
           .inputs = {Tensor::of<float>({2, 2}, {3, 4, 0, 0})},
           .expected = {Tensor::of<float>({2, 2}, {.6f, .8f, 0, 0})}},
          {.name = "rows", .opset = 22, .attrs = {}, .inputs = {noise({5, 77})}},
          {.name = "columns_with_one_of_zeros",
           .opset = 22,
           .attrs = {{"axis", int64_t{0}}},
           .inputs = {Tensor::of<float>({2, 3}, {3, 0, 1, 4, -0.0f, 2})}},
          {.name = "columns",
           .opset = 22,
           .attrs = {{"axis", int64_t{1}}, {"p", int64_t{1}}},
           .inputs = {noise({2, 19, 131})}},
          {.name = "halves", .opset = 22, .attrs = {}, .inputs = {noise(DType::bf16, {3, 40})}},
          {.name = "by_the_sum_of_magnitudes",
           .opset = 22,
           .attrs = {{"axis", int64_t{0}}, {"p", int64_t{1}}},
           .inputs = {Tensor::of<float>({2}, {-1, 3})},
           .expected = {Tensor::of<float>({2}, {-.25f, .75f})}}};
}

constexpr OpOf<LpNorm> kLpNorm{
    .name = "LpNormalization",
    .doc = "Vectors along an axis divided by their 1- or 2-norm.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .kernels = kKernels,
    .cases = cases,
};

}  // namespace

extern const Op lp_normalization = erase<kLpNorm>();

}  // namespace sdx::ops
