// LRN: local response normalization.
#include <algorithm>
#include <cmath>

#include "kernel/math/math.h"
#include "kernel/rows/rows.h"
#include "ops/common.h"
#include "ops/noise.h"
#include "ops/widened.h"

namespace sdx::ops {
namespace {

struct Lrn {
  float alpha, beta, bias;
  int64_t size;
};

constexpr Version kHistory[] = {
    {1,
     "(X: T) -> (Y: T) {alpha: float = 0.0001, beta: float = 0.75, bias: float = 1, size!: int} T "
     "in floats"},
    {13, "T += bf16"},
};

Result<Lrn> read(const Node& node, const Facts&) {
  if (node.i("size") < 1)
    return fail("SDX-T0356", "size is {}, expected at least 1", node.i("size"));
  return Lrn{node.f("alpha"), node.f("beta"), node.f("bias"), node.i("size")};
}

Result<Facts> infer(const Lrn&, const Facts& in) {
  if (in[0].has_rank() && in[0].rank() < 2) {
    return fail("SDX-T0353", "the input has rank {}, expected at least 2", in[0].rank());
  }
  return Facts{like(in[0])};
}

// s = x[c0]^2 + ... + x[c1]^2 from +0 over the channels c - floor((size-1)/2) .. c +
// ceil((size-1)/2), ascending; y = x / pow(bias + (alpha / size) * s, beta), every operation
// rounded on its own.
template <class T>
void normalize(const Lrn& a, const View& x, const View& y) {
  using C = Compute<T>;
  const AxisSplit at = split_at(x.dims, 1);
  const int64_t before = (a.size - 1) / 2, after = a.size - 1 - before;
  const C factor = C(a.alpha) / C(a.size);
  for (size_t outer = 0; outer < at.outer; ++outer) {
    const T* from = x.data<T>() + outer * at.size * at.inner;
    T* to = y.data<T>() + outer * at.size * at.inner;
    for (int64_t c = 0; c < int64_t(at.size); ++c) {
      const int64_t begin = std::max<int64_t>(0, c - before);
      const int64_t end = after >= int64_t(at.size) - c ? int64_t(at.size) : c + after + 1;
      for (size_t i = 0; i < at.inner; ++i) {
        C sum = 0;
        for (int64_t k = begin; k < end; ++k) {
          const C v = load(from[size_t(k) * at.inner + i]);
          sum = sum + v * v;
        }
        const size_t here = size_t(c) * at.inner + i;
        to[here] = store<T>(load(from[here]) / math::pow(C(a.bias) + factor * sum, C(a.beta)));
      }
    }
  }
}

Status reference(const Lrn& a, Args& args) {
  visit_floats(args.in(0).type, [&]<class T>() { normalize<T>(a, args.in(0), args.out()); });
  return ok();
}

bool fits(const Lrn&, const Call& call) { return call.in[0].type == DType::f32; }

Status run(const Lrn& a, Args& args) {
  const AxisSplit at = split_at(args.in(0).dims, 1);
  const int64_t before = (a.size - 1) / 2, after = a.size - 1 - before, channels = int64_t(at.size);
  const auto row = SDX_PICK(lrn_row, args.isa);
  args.pool->parallel(
      at.outer * at.size, 1 + 1024 / (at.inner + 1), [&](size_t begin, size_t end, int) {
        for (size_t i = begin; i < end; ++i) {
          const auto c = int64_t(i % at.size);
          const int64_t first = std::max<int64_t>(0, c - before),
                        last = after >= channels - c ? channels : c + after + 1;
          const float* sample = args.in(0).data<float>() + i / at.size * at.size * at.inner;
          row(sample + size_t(c) * at.inner, args.out().data<float>() + i * at.inner, at.inner,
              sample + size_t(first) * at.inner, size_t(last - first), at.inner, a.bias,
              a.alpha / float(a.size), a.beta);
        }
      });
  return ok();
}
constexpr Kernel<Lrn> kPlain = {.name = "lrn_f32", .fits = fits, .run = run};
constexpr Kernel<Lrn> kKernels[] = {kPlain, widened<kPlain>("lrn_f16")};

std::vector<Case> cases() {
  return {{.name = "an_even_size_reaches_further_up",
           .opset = 1,
           .attrs = {{"alpha", 2.f}, {"beta", 1.f}, {"bias", 0.f}, {"size", int64_t{2}}},
           .inputs = {Tensor::of<float>({1, 3, 1, 1}, {1, 2, 4})},
           .expected = {Tensor::of<float>({1, 3, 1, 1}, {.2f, .1f, .25f})},
           .rtol = 1e-6},
          {.name = "of_larger_planes",
           .opset = 13,
           .attrs = {{"size", int64_t{5}}},
           .inputs = {noise({2, 7, 5, 7})}}};
}

constexpr OpOf<Lrn> kLrn{
    .name = "LRN",
    .doc =
        "Each element divided by a power of the sum of squares of its neighbours in other "
        "channels.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .kernels = kKernels,
    .cases = cases,
};

}  // namespace

extern const Op lrn = erase<kLrn>();

}  // namespace sdx::ops
