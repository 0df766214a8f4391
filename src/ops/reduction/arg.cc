// ArgMax and ArgMin.
#include "kernel/rows/arg.h"

#include <algorithm>

#include "ops/noise.h"
#include "ops/pool/pool.h"

namespace sdx::ops {
namespace {

struct Arg {
  size_t axis;
  bool least, last, keep;
};

constexpr Version kHistory[] = {
    {1, "(data: T) -> (reduced: i64) {axis: int = 0, keepdims: int = 1} T in num"},
    {11, ""},  // axis may be negative
    {12, "{select_last_index: int = 0}"},
    {13, "T += bf16"},
};

template <bool kLeast>
Result<Arg> read(const Node& node, const Facts& in) {
  Arg a{0, kLeast, node.i_or("select_last_index", 0) != 0, node.i("keepdims") != 0};
  if (!in[0].has_rank()) return a;  // read again when it is known
  if (in[0].rank() == 0 && (node.i("axis") == 0 || node.i("axis") == -1)) return a;
  SDX_ASSIGN(a.axis, resolve_axis(node.i("axis"), in[0].rank()));
  return a;
}

Result<Facts> infer(const Arg& a, const Facts& in) {
  if (!in[0].has_rank()) return Facts{Fact::tensor(DType::i64)};
  Shape shape = *in[0].shape;
  if (shape.empty()) return Facts{Fact::tensor(DType::i64, {})};
  if (shape[a.axis].is_const(0))
    return fail("SDX-T0341", "axis {} has size 0: it has no greatest element", a.axis);
  if (a.keep) {
    shape[a.axis] = Dim(1);
  } else {
    shape.erase(shape.begin() + ptrdiff_t(a.axis));
  }
  return Facts{Fact::tensor(DType::i64, std::move(shape))};
}

// The first (or last) index of the greatest (least) element; the first (last) NaN, if there is one.
template <class T>
void find(const Arg& a, const View& x, const View& y) {
  const AxisSplit at = split_at(x.dims, a.axis);
  const auto beats = [&](T candidate, T best) {
    if constexpr (std::is_integral_v<T>) {
      if (candidate == best) return a.last;
      return a.least ? candidate < best : candidate > best;
    } else {
      const auto c = load(candidate), b = load(best);
      if (b != b) return a.last && c != c;
      if (c != c) return true;
      if (c == b) return a.last;
      return a.least ? c < b : c > b;
    }
  };
  for (size_t outer = 0; outer < at.outer; ++outer) {
    for (size_t inner = 0; inner < at.inner; ++inner) {
      const T* from = x.data<T>() + outer * at.size * at.inner + inner;
      size_t best = 0;
      T value = from[0];
      for (size_t i = 1; i < at.size; ++i) {
        const T candidate = from[i * at.inner];
        if (!beats(candidate, value)) continue;
        best = i;
        value = candidate;
      }
      y.data<int64_t>()[outer * at.inner + inner] = int64_t(best);
    }
  }
}

Status reference(const Arg& a, Args& args) {
  const auto run = [&]<class T>() { find<T>(a, args.in(0), args.out()); };
  if (visit_floats(args.in(0).type, run) || visit_integers(args.in(0).type, run)) return ok();
  return unsupported_type("ArgMax", args.in(0).type);
}

bool fits(const Arg& a, const Call& call) {
  if (call.in[0].type != DType::f32) return false;
  const size_t size = split_at(call.in[0].dims(), a.axis).size;
  return size > 0 && size < size_t{1} << 31;
}

// Rows of neighbours by themselves; else columns, some side by side.
Status run(const Arg& a, Args& args) {
  const AxisSplit at = split_at(args.in(0).dims, a.axis);
  const float* x = args.in(0).data<float>();
  int64_t* y = args.out().data<int64_t>();
  const ArgKind kind{a.least, a.last};
  constexpr size_t kColumns = 256;
  const size_t pieces = (at.inner + kColumns - 1) / kColumns;
  const size_t each = std::max<size_t>(1, at.size * std::min(kColumns, at.inner));
  args.pool->parallel(at.outer * pieces, 1 + 8192 / each, [&](size_t begin, size_t end, int) {
    for (size_t i = begin; i < end; ++i) {
      const size_t outer = i / pieces, first = i % pieces * kColumns;
      const float* from = x + outer * at.size * at.inner + first;
      int64_t* to = y + outer * at.inner + first;
      if (at.inner == 1) {
        *to = SDX_PICK(arg_of_row, args.isa)(kind, from, at.size);
      } else {
        SDX_PICK(arg_of_columns, args.isa)
        (kind, from, at.size, at.inner, std::min(kColumns, at.inner - first), to);
      }
    }
  });
  return ok();
}

constexpr Kernel<Arg> kKernels[] = {{.name = "arg_f32", .fits = fits, .run = run}};

std::vector<Case> max_cases() {
  const Tensor x = Tensor::of<float>({2, 3}, {1, 3, 3, 5, 2, 5});
  const float nan = std::numeric_limits<float>::quiet_NaN();
  return {{.name = "opset1_over_the_first_axis",
           .opset = 1,
           .attrs = {},
           .inputs = {x},
           .expected = {Tensor::of<int64_t>({1, 3}, {1, 0, 1})}},
          {.name = "the_last_of_equals",
           .opset = 12,
           .attrs = {{"axis", int64_t{-1}},
                     {"keepdims", int64_t{0}},
                     {"select_last_index", int64_t{1}}},
           .inputs = {x},
           .expected = {Tensor::of<int64_t>({2}, {2, 2})}},
          {.name = "the_first_nan",
           .opset = 13,
           .attrs = {},
           .inputs = {Tensor::of<float>({4}, {1, nan, 9, nan})},
           .expected = {Tensor::of<int64_t>({1}, {1})}},
          {.name = "long_rows",
           .opset = 13,
           .attrs = {{"axis", int64_t{-1}}},
           .inputs = {noise({5, 77})}},
          {.name = "columns",
           .opset = 13,
           .attrs = {{"axis", int64_t{1}}},
           .inputs = {noise({2, 21, 70})}}};
}
std::vector<Case> min_cases() {
  return {{.name = "of_bytes",
           .opset = 13,
           .attrs = {{"keepdims", int64_t{0}}},
           .inputs = {Tensor::of<int8_t>({3}, {1, -7, 3})},
           .expected = {Tensor::of<int64_t>({}, {1})}},
          {.name = "columns",
           .opset = 13,
           .attrs = {{"axis", int64_t{0}}},
           .inputs = {noise({9, 4, 30})}}};
}

constexpr OpOf<Arg> kArgMax{
    .name = "ArgMax",
    .doc = "The index of the greatest element along an axis.",
    .history = kHistory,
    .read = read<false>,
    .infer = infer,
    .reference = reference,
    .kernels = kKernels,
    .cases = max_cases,
};
constexpr OpOf<Arg> kArgMin{
    .name = "ArgMin",
    .doc = "The index of the least element along an axis.",
    .history = kHistory,
    .read = read<true>,
    .infer = infer,
    .reference = reference,
    .kernels = kKernels,
    .cases = min_cases,
};

}  // namespace

extern const Op arg_max = erase<kArgMax>();
extern const Op arg_min = erase<kArgMin>();

}  // namespace sdx::ops
