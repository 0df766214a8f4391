// Hardmax.
#include <algorithm>
#include <cmath>

#include "kernel/rows/arg.h"
#include "ops/noise.h"
#include "ops/pool/pool.h"
#include "ops/widened.h"

namespace sdx::ops {
namespace {

struct Hardmax {
  size_t first, count;  // one 1 over dims [first, first + count)
};

constexpr Version kHistory[] = {
    {1, "(input: T) -> (output: T) {axis: int = 1} T in floats"},
    {11, ""},  // axis may be negative
    {13, "{axis: int = -1} T += bf16"},
};

Result<Hardmax> read(const Node& node, const Facts& in) {
  // Read again when the rank is known.
  if (!in[0].has_rank()) return Hardmax{0, 0};
  const size_t rank = in[0].rank();
  if (node.opset < 13) {
    // The input is seen as a matrix [dims before axis, dims from axis]; axis == rank gives rows of
    // one element.
    if (node.i("axis") == int64_t(rank)) return Hardmax{rank, 0};
    SDX_ASSIGN(const size_t axis, resolve_axis(node.i("axis"), rank));
    return Hardmax{axis, rank - axis};
  }
  if (rank == 0) return Hardmax{0, 0};
  SDX_ASSIGN(const size_t axis, resolve_axis(node.i("axis"), rank));
  return Hardmax{axis, 1};
}

Result<Facts> infer(const Hardmax&, const Facts& in) { return Facts{like(in[0])}; }

// 1 at the first greatest element (the first NaN, if there is one), 0 elsewhere.
template <class T>
void mark(const Hardmax& a, const View& x, const View& y) {
  const AxisSplit at = split_at(x.dims, a.first, a.count);
  for (size_t outer = 0; outer < at.outer && at.size > 0; ++outer) {
    for (size_t inner = 0; inner < at.inner; ++inner) {
      const size_t base = outer * at.size * at.inner + inner;
      const auto in = [&](size_t i) { return load(x.data<T>()[base + i * at.inner]); };
      size_t best = 0;
      for (size_t i = 1; i < at.size && in(best) == in(best); ++i) {
        if (in(i) > in(best) || in(i) != in(i)) best = i;
      }
      for (size_t i = 0; i < at.size; ++i)
        y.data<T>()[base + i * at.inner] = store<T>(i == best ? 1.f : 0.f);
    }
  }
}

Status reference(const Hardmax& a, Args& args) {
  visit_floats(args.in(0).type, [&]<class T>() { mark<T>(a, args.in(0), args.out()); });
  return ok();
}

bool fits(const Hardmax& a, const Call& call) {
  if (call.in[0].type != DType::f32) return false;
  const size_t size = split_at(call.in[0].dims(), a.first, a.count).size;
  return size > 0 && size < size_t{1} << 31;
}

// Zeros, and then a 1 where the greatest lies: rows of neighbours by themselves, columns some side
// by side.
Status run(const Hardmax& a, Args& args) {
  const AxisSplit at = split_at(args.in(0).dims, a.first, a.count);
  const float* x = args.in(0).data<float>();
  float* y = args.out().data<float>();
  constexpr ArgKind kFirstGreatest{false, false};
  constexpr size_t kColumns = 128;
  const size_t pieces = (at.inner + kColumns - 1) / kColumns;
  const size_t grain = 1 + 8192 / (at.size * std::min(kColumns, std::max<size_t>(1, at.inner)));
  args.pool->parallel(at.outer * pieces, grain, [&](size_t begin, size_t end, int) {
    for (size_t piece = begin; piece < end; ++piece) {
      const size_t first = piece % pieces * kColumns, n = std::min(kColumns, at.inner - first);
      const size_t base = piece / pieces * at.size * at.inner + first;
      int64_t best[kColumns];
      if (at.inner == 1) {
        best[0] = SDX_PICK(arg_of_row, args.isa)(kFirstGreatest, x + base, at.size);
        std::fill_n(y + base, at.size, 0.0f);
      } else {
        SDX_PICK(arg_of_columns, args.isa)(kFirstGreatest, x + base, at.size, at.inner, n, best);
        for (size_t i = 0; i < at.size; ++i) std::fill_n(y + base + i * at.inner, n, 0.0f);
      }
      for (size_t c = 0; c < n; ++c) y[base + size_t(best[c]) * at.inner + c] = 1.0f;
    }
  });
  return ok();
}

constexpr Kernel<Hardmax> kPlain{.name = "hardmax_f32", .fits = fits, .run = run};
constexpr Kernel<Hardmax> kKernels[] = {kPlain, widened<kPlain>("hardmax_f16")};

std::vector<Case> cases() {
  const Tensor x = Tensor::of<float>({2, 3}, {3, 1, 3, 0, 5, 4});
  return {{.name = "opset1_flattens_from_axis",
           .opset = 1,
           .attrs = {{"axis", int64_t{0}}},
           .inputs = {x},
           .expected = {Tensor::of<float>({2, 3}, {0, 0, 0, 0, 1, 0})}},
          {.name = "rows", .opset = 13, .attrs = {}, .inputs = {noise({7, 45})}},
          {.name = "columns",
           .opset = 13,
           .attrs = {{"axis", int64_t{1}}},
           .inputs = {noise({2, 21, 131})}},
          {.name = "halves", .opset = 13, .attrs = {}, .inputs = {noise(DType::f16, {3, 40})}},
          {.name = "the_first_of_equals",
           .opset = 13,
           .attrs = {},
           .inputs = {x},
           .expected = {Tensor::of<float>({2, 3}, {1, 0, 0, 0, 1, 0})}}};
}

constexpr OpOf<Hardmax> kHardmax{
    .name = "Hardmax",
    .doc = "1 at the greatest element along an axis, 0 elsewhere.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .kernels = kKernels,
    .cases = cases,
};

}  // namespace

extern const Op hardmax = erase<kHardmax>();

}  // namespace sdx::ops
