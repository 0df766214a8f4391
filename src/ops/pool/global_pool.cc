// GlobalAveragePool, GlobalMaxPool, GlobalLpPool.
#include "kernel/lanes.h"
#include "kernel/rows/rows.h"
#include "op/streaming.h"
#include "ops/noise.h"
#include "ops/pool/norm.h"
#include "ops/pool/pool.h"
#include "ops/widened.h"

namespace sdx::ops {

extern const Op reduce_max;
extern const Op reduce_mean;

namespace {

enum class How : uint8_t { average, max, lp };

struct GlobalPool {
  How how;
  float p = 2;
};

constexpr Version kHistory[] = {{1, "(X: T) -> (Y: T) T in floats"}, {22, "T += bf16"}};
constexpr Version kLpHistory[] = {
    {1, "(X: T) -> (Y: T) {p: float = 2} T in floats"}, {2, "{p: int = 2}"}, {22, "T += bf16"}};

template <How kHow>
Result<GlobalPool> read(const Node& node, const Facts&) {
  if (kHow != How::lp) return GlobalPool{kHow};
  SDX_ASSIGN(const float p, read_norm(node));
  return GlobalPool{kHow, p};
}

Result<Facts> infer(const GlobalPool&, const Facts& in) {
  const Fact& x = in[0];
  if (!x.has_rank()) return Facts{Fact::tensor(x.type)};
  if (x.rank() < 2)
    return fail("SDX-T0335", "the input has rank {}, expected at least 2", x.rank());
  Shape shape(x.rank(), Dim(1));
  shape[0] = x.dim(0);
  shape[1] = x.dim(1);
  return Facts{Fact::tensor(x.type, std::move(shape))};
}

// Over the elements of a plane, by lanes: average sum x / n;  Lp (sum |x|^p)^(1/p).
template <class T>
void pool(const GlobalPool& a, Args& args) {
  using C = Compute<T>;
  const View &x = args.in(0), &y = args.out();
  const size_t n = split_at(x.dims, 2, x.rank() - 2).size;
  for (size_t plane = 0; plane < y.count; ++plane) {
    const auto at = [&](size_t i) { return load(x.data<T>()[plane * n + i]); };
    C result = -std::numeric_limits<C>::infinity();
    switch (a.how) {
      case How::average:
        result = lane_sum<C>(n, at) / C(n);
        break;
      case How::lp:
        result =
            norm_end(lane_sum<C>(n, [&](size_t i) { return norm_term(at(i), C(a.p)); }), C(a.p));
        break;
      case How::max:
        for (size_t i = 0; i < n; ++i) result = above(at(i), result) ? at(i) : result;
        break;
    }
    y.data<T>()[plane] = store<T>(result);
  }
}

Status reference(const GlobalPool& a, Args& args) {
  visit_floats(args.in(0).type, [&]<class T>() { pool<T>(a, args); });
  return ok();
}

bool fits(const GlobalPool& a, const Call& call) {
  return call.in[0].type == DType::f32 && (a.how != How::lp || a.p == 1 || a.p == 2);
}
Status run(const GlobalPool& a, Args& args) {
  const View &x = args.in(0), &y = args.out();
  const size_t n = split_at(x.dims, 2, x.rank() - 2).size;
  const Fold fold = a.how == How::max       ? Fold::max
                    : a.how == How::average ? Fold::sum
                    : a.p == 1              ? Fold::sum_abs
                                            : Fold::sum_square;
  const auto rows = SDX_PICK(fold_rows, args.isa);
  args.pool->parallel(y.count, 1 + 4096 / (n + 1), [&](size_t begin, size_t end, int) {
    rows(fold, x.data<float>() + begin * n, end - begin, n, y.data<float>() + begin);
    for (float& all : std::span(y.data<float>() + begin, end - begin)) {
      all = store<float>(a.how == How::average ? all / float(n)
                         : a.how == How::lp    ? norm_end(all, a.p)
                                               : all);
    }
  });
  return ok();
}
constexpr Kernel<GlobalPool> kPlain = {.name = "global_pool_f32", .fits = fits, .run = run};
constexpr Kernel<GlobalPool> kKernels[] = {kPlain, widened<kPlain>("global_pool_f16")};

// A reduction over the planes' axes, wherever they are.
std::optional<Relaid> layout(const GlobalPool& a, const Relay& asked) {
  const size_t rank = asked.layout.rank();
  if (a.how == How::lp || asked.layout.blocked.value_or(1) != 1) return std::nullopt;
  std::vector<int64_t> axes;
  for (size_t i = 2; i < rank; ++i) axes.push_back(int64_t(asked.layout.at(i)));
  if (axes.empty() || !std::is_sorted(axes.begin(), axes.end())) return std::nullopt;
  Relaid made = Relaid::newest(asked, a.how == How::max ? reduce_max : reduce_mean);
  made.inputs.push_back(Operand::of(axes));
  return made;
}

const Tensor& sample() {
  static const Tensor x = Tensor::of<float>({1, 2, 2}, {3, -4, 1, 2});
  return x;
}
std::vector<Case> average_cases() {
  return {{.name = "of_each_plane",
           .opset = 1,
           .attrs = {},
           .inputs = {sample()},
           .expected = {Tensor::of<float>({1, 2, 1}, {-.5f, 1.5f})}},
          {.name = "of_larger_planes", .opset = 22, .attrs = {}, .inputs = {noise({2, 5, 7, 7})}}};
}
std::vector<Case> max_cases() {
  return {{.name = "of_each_plane",
           .opset = 1,
           .attrs = {},
           .inputs = {sample()},
           .expected = {Tensor::of<float>({1, 2, 1}, {3, 2})}},
          {.name = "of_larger_planes", .opset = 22, .attrs = {}, .inputs = {noise({2, 5, 7, 7})}}};
}
std::vector<Case> lp_cases() {
  return {{.name = "opset1_takes_a_float_p",
           .opset = 1,
           .attrs = {{"p", 1.f}},
           .inputs = {sample()},
           .expected = {Tensor::of<float>({1, 2, 1}, {7, 3})}},
          {.name = "the_default_is_two",
           .opset = 2,
           .attrs = {},
           .inputs = {sample()},
           .expected = {Tensor::of<float>({1, 2, 1}, {5, 2.236068f})},
           .rtol = 1e-6},
          {.name = "of_larger_planes", .opset = 22, .attrs = {}, .inputs = {noise({2, 5, 7, 7})}}};
}

Streaming stream(const GlobalPool& a, const Streamed& s) {
  if (*s.axes[0] < 2) return Streaming::ask();
  Streaming how = Streaming::of(Streaming::Kind::whole);
  const DType type = s.in[0].type;
  if (s.in[0].rank() != 3 || (type != DType::f32 && type != DType::f64) || a.how == How::lp)
    return how;
  how.kind = Streaming::Kind::fold;
  how.fold = a.how == How::average ? Streaming::Fold::mean : Streaming::Fold::max;
  return how;
}

constexpr OpOf<GlobalPool> kAverage{
    .name = "GlobalAveragePool",
    .doc = "The mean of each channel's plane.",
    .history = kHistory,
    .read = read<How::average>,
    .infer = infer,
    .reference = reference,
    .kernels = kKernels,
    .cases = average_cases,
    .layout = layout,
    .stream = stream,
};
constexpr OpOf<GlobalPool> kMax{
    .name = "GlobalMaxPool",
    .doc = "The greatest element of each channel's plane.",
    .history = kHistory,
    .read = read<How::max>,
    .infer = infer,
    .reference = reference,
    .kernels = kKernels,
    .cases = max_cases,
    .layout = layout,
    .stream = stream,
};
constexpr OpOf<GlobalPool> kLp{
    .name = "GlobalLpPool",
    .doc = "The p-norm of each channel's plane.",
    .history = kLpHistory,
    .read = read<How::lp>,
    .infer = infer,
    .reference = reference,
    .kernels = kKernels,
    .cases = lp_cases,
    .stream = stream,
};

}  // namespace

extern const Op global_average_pool = erase<kAverage>();
extern const Op global_max_pool = erase<kMax>();
extern const Op global_lp_pool = erase<kLp>();

}  // namespace sdx::ops
