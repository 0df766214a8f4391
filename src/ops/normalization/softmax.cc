// Softmax and LogSoftmax.
#include "ops/normalization/softmax.h"

#include <algorithm>

#include "base/aligned.h"
#include "kernel/elementwise/halves.h"
#include "kernel/math/math.h"
#include "kernel/rows/rows.h"
#include "kernel/softmax/softmax.h"
#include "ops/common.h"
#include "ops/noise.h"
#include "ops/normalization/softmax_row.h"

namespace sdx::ops {
namespace {

constexpr Version kHistory[] = {
    {1, "(input: T) -> (output: T) {axis: int = 1} T in floats"},
    {11, ""},  // axis may be negative
    {13, "{axis: int = -1} T += bf16"},
};

template <bool kLog>
Result<Softmax> read(const Node& node, const Facts& in) {
  // Read again when the rank is known.
  if (!in[0].has_rank()) return Softmax{0, 0, kLog};
  const size_t rank = in[0].rank();
  if (node.opset < 13) {
    // The input is seen as a matrix [dims before axis, dims from axis]; axis == rank gives rows of
    // one element.
    if (node.i("axis") == int64_t(rank)) return Softmax{rank, 0, kLog};
    SDX_ASSIGN(const size_t axis, resolve_axis(node.i("axis"), rank));
    return Softmax{axis, rank - axis, kLog};
  }
  if (rank == 0) return Softmax{0, 0, kLog};
  SDX_ASSIGN(const size_t axis, resolve_axis(node.i("axis"), rank));
  return Softmax{axis, 1, kLog};
}

Result<Facts> infer(const Softmax&, const Facts& in) { return Facts{like(in[0])}; }

// m = max x;  e = exp(x - m);  s = sum e (by lanes);  y = e / s, or for LogSoftmax y = (x - m) -
// log s. Each step is rounded to the type.
template <class T>
void rows(const Softmax& a, const View& x, const View& y) {
  using C = Compute<T>;
  const AxisSplit at = split_at(x.dims, a.first, a.count);
  for (size_t outer = 0; outer < at.outer; ++outer) {
    for (size_t inner = 0; inner < at.inner; ++inner) {
      const size_t base = outer * at.size * at.inner + inner;
      const auto in = [&](size_t i) { return load(x.data<T>()[base + i * at.inner]); };
      C most = -std::numeric_limits<C>::infinity();
      for (size_t i = 0; i < at.size; ++i) most = in(i) > most || in(i) != in(i) ? in(i) : most;
      const auto d = [&](size_t i) { return rounded<T>(in(i)-most); };
      const auto e = [&](size_t i) { return rounded<T>(math::exp(d(i))); };
      const C sum = rounded_sum<T>(at.size, e);
      const C log_sum = rounded<T>(math::log(sum));
      for (size_t i = 0; i < at.size; ++i)
        y.data<T>()[base + i * at.inner] = store<T>(a.log ? d(i) - log_sum : e(i) / sum);
    }
  }
}

Status reference(const Softmax& a, Args& args) {
  visit_floats(args.in(0).type, [&]<class T>() { rows<T>(a, args.in(0), args.out()); });
  return ok();
}

bool fits(const Softmax&, const Call& call) { return call.in[0].type == DType::f32; }

void run_rows(const AxisSplit& at, Args& args) {
  const size_t n = at.size;
  const auto softmax = SDX_PICK(softmax_apart, args.isa);
  args.pool->parallel(at.outer, 1 + 4096 / (n + 1), [&](size_t begin, size_t end, int) {
    softmax(args.in(0).data<float>() + begin * n, args.out().data<float>() + begin * n, end - begin,
            n);
  });
}

// Contiguous rows some at a time; otherwise columns, sixteen at a time.
Status run(const Softmax& a, Args& args) {
  const float* x = args.in(0).data<float>();
  float* y = args.out().data<float>();
  const AxisSplit at = split_at(args.in(0).dims, a.first, a.count);
  const size_t grain = 1 + 4096 / (at.size + 1);
  if (at.inner == 1 && !a.log) {
    run_rows(at, args);
    return ok();
  }
  if (at.inner == 1) {
    const auto rows = SDX_PICK(log_softmax_rows, args.isa);
    args.pool->parallel(at.outer, grain, [&](size_t begin, size_t end, int) {
      rows(x + begin * at.size, y + begin * at.size, end - begin, at.size);
    });
    return ok();
  }
  constexpr size_t kColumns = 64;
  const size_t pieces = (at.inner + kColumns - 1) / kColumns;
  const auto columns = SDX_PICK(softmax_columns, args.isa);
  args.pool->parallel(at.outer * pieces, 1 + grain / kColumns, [&](size_t begin, size_t end, int) {
    for (size_t i = begin; i < end; ++i) {
      const size_t first = i % pieces * kColumns, base = i / pieces * at.size * at.inner + first;
      columns(a.log, x + base, y + base, at.size, at.inner, std::min(kColumns, at.inner - first));
    }
  });
  return ok();
}

// Rows of a 16-bit type, each step over a whole row of floats in scratch memory, then rounded.
bool fits_narrow(const Softmax& a, const Call& call) {
  return bits(call.in[0].type) == 16 && split_at(call.in[0].dims(), a.first, a.count).inner == 1;
}
size_t row_bytes(size_t n) { return (n + 31) / 32 * 32 * (sizeof(float) + sizeof(uint16_t)); }
size_t scratch_narrow(const Softmax& a, const Call& call) {
  return size_t(call.threads) * row_bytes(split_at(call.in[0].dims(), a.first, a.count).size);
}
template <class T>
void run_narrow_rows(const Softmax& a, Args& args) {
  const auto widen = widening(args.in(0).type, args.isa);
  const auto narrow = narrowing(args.in(0).type, args.isa);
  const AxisSplit at = split_at(args.in(0).dims, a.first, a.count);
  const size_t n = at.size;
  args.pool->parallel(at.outer, 1 + 4096 / (n + 1), [&](size_t begin, size_t end, int thread) {
    auto* d = reinterpret_cast<float*>(args.scratch.data() + size_t(thread) * row_bytes(n));
    auto* bits = reinterpret_cast<uint16_t*>(d + (n + 31) / 32 * 32);
    for (size_t row = begin; row < end; ++row) {
      widen(args.in(0).data<uint16_t>() + row * n, d, n);
      uint16_t* y = args.out().data<uint16_t>() + row * n;
      if (!a.log && std::is_same_v<T, F16>) {
        SDX_PICK(softmax_rows, args.isa)({.x = d, .ld = n, .rows = 1, .n = n, .halves = true});
        narrow(d, y, n);
        continue;
      }
      if (!a.log) {
        softmax_bf16_row(d, y, n, args.isa);
        continue;
      }
      const float most = SDX_PICK(array_max, args.isa)(d, n);
      const float sum = exp_narrow_row<T>(d, bits, n, args.isa);
      const float log_sum = rounded<T>(math::log(sum));
      widen(args.in(0).data<uint16_t>() + row * n, d, n);
      for (const float* less : {&most, &log_sum}) {
        SDX_PICK(array_binary, args.isa)(BinaryOp::sub, d, 1, less, 0, d, n);
        narrow(d, y, n);
        widen(y, d, n);
      }
    }
  });
}
Status run_narrow(const Softmax& a, Args& args) {
  args.in(0).type == DType::f16 ? run_narrow_rows<F16>(a, args) : run_narrow_rows<BF16>(a, args);
  return ok();
}

constexpr Kernel<Softmax> kKernels[] = {
    {.name = "softmax_f32", .fits = fits, .run = run},
    {.name = "softmax_f16", .fits = fits_narrow, .run = run_narrow, .scratch = scratch_narrow},
};

std::vector<Case> cases() {
  const Tensor x = Tensor::of<float>({2, 3}, {-1, 0, 1, 1, 1, 1});
  return {
      {.name = "opset1_flattens_from_axis",
       .opset = 1,
       .attrs = {{"axis", int64_t{0}}},
       .inputs = {Tensor::of<float>({2, 2}, {0, 0, 0, 0})},
       .expected = {Tensor::of<float>({2, 2}, {.25f, .25f, .25f, .25f})}},
      {.name = "opset13_takes_the_last_axis",
       .opset = 13,
       .attrs = {},
       .inputs = {x},
       .expected = {Tensor::of<float>(
           {2, 3}, {.09003057f, .24472848f, .66524094f, 1 / 3.f, 1 / 3.f, 1 / 3.f})},
       .rtol = 1e-6},
      {.name = "long_rows", .opset = 13, .attrs = {}, .inputs = {noise({5, 77})}},
      {.name = "many_short_rows", .opset = 13, .attrs = {}, .inputs = {noise({37, 21})}},
      {.name = "an_inner_axis",
       .opset = 13,
       .attrs = {{"axis", int64_t{1}}},
       .inputs = {noise({2, 21, 70})}},
      {.name = "halves", .opset = 13, .attrs = {}, .inputs = {noise(DType::f16, {3, 40})}},
      {.name = "brain_floats", .opset = 13, .attrs = {}, .inputs = {noise(DType::bf16, {3, 77})}}};
}

std::vector<Case> log_cases() {
  return {
      {.name = "equal_elements",
       .opset = 13,
       .attrs = {},
       .inputs = {Tensor::of<float>({1, 2}, {3, 3})},
       .expected = {Tensor::of<float>({1, 2}, {-0.6931472f, -0.6931472f})},
       .rtol = 1e-6},
      {.name = "long_rows", .opset = 13, .attrs = {}, .inputs = {noise({5, 77})}},
      {.name = "many_short_rows", .opset = 13, .attrs = {}, .inputs = {noise({37, 21})}},
      {.name = "halves", .opset = 13, .attrs = {}, .inputs = {noise(DType::f16, {3, 40})}},
      {.name = "brain_floats", .opset = 13, .attrs = {}, .inputs = {noise(DType::bf16, {3, 77})}}};
}

constexpr OpOf<Softmax> kSoftmax{
    .name = "Softmax",
    .doc = "Exponentials of the elements along an axis, divided by their sum.",
    .history = kHistory,
    .read = read<false>,
    .infer = infer,
    .reference = reference,
    .kernels = kKernels,
    .cases = cases,
    .by_equality = true,
};
constexpr OpOf<Softmax> kLogSoftmax{
    .name = "LogSoftmax",
    .doc = "The logarithm of Softmax, computed without forming Softmax.",
    .history = kHistory,
    .read = read<true>,
    .infer = infer,
    .reference = reference,
    .kernels = kKernels,
    .cases = log_cases,
    .by_equality = true,
};

}  // namespace

extern const Op softmax = erase<kSoftmax>();
extern const Op log_softmax = erase<kLogSoftmax>();

}  // namespace sdx::ops
