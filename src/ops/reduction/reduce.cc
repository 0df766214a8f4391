// ReduceSum, ReduceMean, ReduceMax, ReduceMin, ReduceProd, ReduceL1, ReduceL2, ReduceLogSum,
// ReduceLogSumExp, ReduceSumSquare.
#include "ops/reduction/reduce.h"

#include <cmath>

#include "kernel/elementwise/loops.h"
#include "kernel/lanes.h"
#include "kernel/math/math.h"
#include "kernel/rows/number_folds.h"
#include "kernel/rows/rows.h"
#include "op/layout.h"
#include "op/streaming.h"
#include "ops/noise.h"
#include "ops/pool/pool.h"
#include "ops/reduction/reduced.h"
#include "ops/tensor/ints.h"
#include "ops/widened.h"

namespace sdx::ops {
namespace {

using How = Reduce::How;

constexpr std::string_view kNumbers =
    "(data: T) -> (reduced: T) {axes: ints, keepdims: int = 1} T in floats i32 i64 u32 u64";
constexpr std::string_view kAxesInput =
    "(data: T, axes?: i64) {noop_with_empty_axes: int = 0, -axes}";
constexpr Version kHistory[] = {{1, kNumbers}, {11, ""}, {13, "T += bf16"}, {18, kAxesInput}};
constexpr Version kSumHistory[] = {
    {1, kNumbers},
    {11, ""},
    {13, "(data: T, axes?: i64) {noop_with_empty_axes: int = 0, -axes} T += bf16"}};
constexpr Version kMaxHistory[] = {{1, kNumbers},     {11, ""},         {12, "T += i8 u8"},
                                   {13, "T += bf16"}, {18, kAxesInput}, {20, "T += bool"}};
constexpr Version kLogHistory[] = {
    {1, kNumbers}, {11, ""}, {13, "T += bf16"}, {18, kAxesInput}, {28, "T -= i32 i64 u32 u64"}};

template <How kHow>
Result<Reduce> read(const Node& node, const Facts& in) {
  Reduce a{kHow, node.i("keepdims") != 0, false, node.i_or("noop_with_empty_axes", 0) != 0,
           node.ints_or_empty("axes")};
  if (in.size() > 1 && in[1].present()) {
    if (const auto axes = in[1].constant_integers()) {
      a.axes = *axes;
    } else {
      a.dynamic = true;
    }
  }
  return a;
}

// Which axes go.
using AxisSet = std::array<bool, 64>;
Result<AxisSet> axis_set(const Reduce& a, std::span<const int64_t> axes, size_t rank) {
  AxisSet set{};
  if (axes.empty() && !a.noop) set.fill(true);
  SDX_ASSIGN(const SmallInts gone, resolve_axes(axes, rank));
  for (const int64_t axis : gone) set[size_t(axis)] = true;
  return set;
}

// Shape arithmetic folds the elements of a small vector.
std::optional<Dim> fold_symbols(const Reduce& a, const std::vector<Dim>& values) {
  std::optional<Dim> all;
  for (const Dim& x : values) {
    switch (a.how) {
      case How::sum:
        all = all ? *all + x : x;
        break;
      case How::prod:
        all = all ? *all * x : x;
        break;
      case How::max:
        all = all ? max(*all, x) : x;
        break;
      case How::min:
        all = all ? min(*all, x) : x;
        break;
      default:
        return std::nullopt;
    }
  }
  return all;
}

Result<Facts> infer(const Reduce& a, const Facts& in) {
  const Fact& x = in[0];
  if (!x.has_rank()) return Facts{Fact::tensor(x.type)};
  if (x.rank() > 64)
    return fail("SDX-T0340", "the input has rank {}, at most 64 is supported", x.rank());
  if (a.dynamic) {
    // Only the number of axes may be known, and only the run can tell them apart.
    if (a.keep) return Facts{Fact::tensor(x.type, Shape(x.rank(), Dim::unknown()))};
    const Fact& axes = in[1];
    const bool counted =
        axes.has_rank() && axes.rank() == 1 && axes.dim(0).is_const() && axes.dim(0).value() > 0;
    if (!counted || axes.dim(0).value() > int64_t(x.rank())) return Facts{Fact::tensor(x.type)};
    return Facts{
        Fact::tensor(x.type, Shape(x.rank() - size_t(axes.dim(0).value()), Dim::unknown()))};
  }
  SDX_ASSIGN(const AxisSet gone, axis_set(a, a.axes, x.rank()));
  Shape shape;
  for (size_t i = 0; i < x.rank(); ++i) {
    if (!gone[i]) shape.push_back(x.dim(i));
    if (gone[i] && a.keep) shape.push_back(Dim(1));
  }
  Fact y = Fact::tensor(x.type, std::move(shape));
  if (const auto values = x.integers(); values && x.rank() == 1 && gone[0]) {
    if (const auto folded = fold_symbols(a, *values)) y.symbolic = std::vector<Dim>{*folded};
  }
  return Facts{std::move(y)};
}

// Floating types. Sums are lane_sum of kernel/lanes.h, and ReduceProd is the same with * from 1.
//   Sum s = sum x;  Mean s / n;  L1 sum |x|;  SumSquare q = sum (x * x);  L2 sqrt(q);  LogSum
//   log(s) LogSumExp: m = max x, or 0 if that is infinite;  log(sum exp(x - m)) + m
template <class C, class Get>
C fold(How how, size_t n, Get x) {
  const auto max = [&] {
    C most = -std::numeric_limits<C>::infinity();
    for (size_t i = 0; i < n; ++i) most = above(x(i), most) ? x(i) : most;
    return most;
  };
  switch (how) {
    case How::sum:
      return lane_sum<C>(n, x);
    case How::mean:
      return lane_sum<C>(n, x) / C(n);
    case How::l1:
      return lane_sum<C>(n, [&](size_t i) { return std::fabs(x(i)); });
    case How::sum_square:
      return lane_sum<C>(n, [&](size_t i) { return x(i) * x(i); });
    case How::l2:
      return std::sqrt(lane_sum<C>(n, [&](size_t i) { return x(i) * x(i); }));
    case How::log_sum:
      return math::log(lane_sum<C>(n, x));
    case How::prod:
      return lane_fold(n, C(1), x, [](C a, C b) { return a * b; });
    case How::max:
      return max();
    case How::min: {
      C best = std::numeric_limits<C>::infinity();
      for (size_t i = 0; i < n && best == best; ++i)
        best = x(i) != x(i) || above(best, x(i)) ? x(i) : best;
      return best;
    }
    case How::log_sum_exp: {
      C m = max();
      if (std::isinf(m)) m = 0;
      return math::log(lane_sum<C>(n, [&](size_t i) { return math::exp(x(i) - m); })) + m;
    }
  }
  return 0;
}

// What n integers with this sum, or whatever it is, come to.
template <class T>
T ended_integer(How how, uint64_t acc, size_t n) {
  if (how == How::l2) return to_integer<T>(std::sqrt(double(acc)));
  if (how != How::mean) return T(acc);
  if (n == 0) return 0;
  return std::is_signed_v<T> ? T(int64_t(acc) / int64_t(n)) : T(acc / n);
}

// Integers: sums and products wrap modulo 2^64 before they are cut to the type; the mean and the
// root truncate towards zero; logarithms are computed in double.
template <class T, class Get>
T fold_integers(How how, size_t n, Get x) {
  uint64_t acc = how == How::prod ? 1 : 0;
  T best = how == How::max ? least<T>() : greatest<T>();
  for (size_t i = 0; i < n; ++i) {
    const T v = x(i);
    switch (how) {
      case How::max:
        best = std::max(best, v);
        break;
      case How::min:
        best = std::min(best, v);
        break;
      case How::prod:
        acc *= uint64_t(v);
        break;
      case How::l1:
        acc += v < 0 ? -uint64_t(v) : uint64_t(v);
        break;
      case How::l2:
      case How::sum_square:
        acc += uint64_t(v) * uint64_t(v);
        break;
      default:
        acc += uint64_t(v);
        break;
    }
  }
  if (how == How::max || how == How::min) return best;
  if (how == How::log_sum || how == How::log_sum_exp)
    return to_integer<T>(fold<double>(how, n, [&](size_t i) { return double(x(i)); }));
  return ended_integer<T>(how, acc, n);
}

Result<Reduced> split(const Reduce& a, Args& args) {
  std::span<const int64_t> axes = a.axes;
  if (a.dynamic) axes = args.in(1).values<const int64_t>();
  SDX_ASSIGN(const AxisSet gone, axis_set(a, axes, args.in(0).rank()));
  return split_reduced(args.in(0).dims, [&](size_t i) { return gone[i]; });
}

// The output; its shape is made here if the axes were not known before.
Result<View> output(const Reduce& a, Args& args) {
  if (args.wants(0)) return args.out();
  const View& x = args.in(0);
  SDX_ASSIGN(const AxisSet gone, axis_set(a, args.in(1).values<const int64_t>(), x.rank()));
  Dims dims;
  for (size_t i = 0; i < x.rank(); ++i) {
    if (!gone[i]) dims.push_back(x.dims[i]);
    if (gone[i] && a.keep) dims.push_back(1);
  }
  return args.make(0, std::move(dims));
}

Status reference(const Reduce& a, Args& args) {
  SDX_ASSIGN(const Reduced r, split(a, args));
  SDX_ASSIGN(const View y, output(a, args));
  const View& x = args.in(0);
  std::vector<size_t> offset(r.empty ? 0 : r.count);
  for (size_t i = 0; i < offset.size(); ++i) offset[i] = r.offset(i);
  const bool floats = visit_floats(x.type, [&]<class T>() {
    for (size_t o = 0; o < r.outputs; ++o) {
      const T* from = x.data<T>() + (r.empty ? 0 : r.base(o));
      y.data<T>()[o] = store<T>(
          fold<Compute<T>>(a.how, r.count, [&](size_t i) { return load(from[offset[i]]); }));
    }
  });
  const auto whole = [&]<class T>() {
    for (size_t o = 0; o < r.outputs; ++o) {
      const T* from = x.data<T>() + (r.empty ? 0 : r.base(o));
      y.data<T>()[o] = fold_integers<T>(a.how, r.count, [&](size_t i) { return from[offset[i]]; });
    }
  };
  if (floats || visit_integers(x.type, whole)) return ok();
  // Max and min of booleans; of no element: false and true.
  if (x.type != DType::boolean) return unsupported_type("reduction", x.type);
  for (size_t o = 0; o < r.outputs; ++o) {
    const uint8_t* from = x.data<uint8_t>() + (r.empty ? 0 : r.base(o));
    uint8_t best = a.how == How::max ? 0 : 1;
    for (size_t i = 0; i < r.count; ++i) {
      best = a.how == How::max ? best | uint8_t(from[offset[i]] != 0)
                               : best & uint8_t(from[offset[i]] != 0);
    }
    y.data<uint8_t>()[o] = best;
  }
  return ok();
}

// Shapes that the kernels take: reduced elements that lie in contiguous runs, or one reduced axis
// in front of contiguous kept elements.
bool in_runs(const Reduced& r) { return r.gone_axes > 0 && r.gone[r.gone_axes - 1].step == 1; }
bool in_columns(const Reduced& r) {
  return r.gone_axes == 1 && r.kept_axes > 0 && r.kept[r.kept_axes - 1].step == 1;
}
std::optional<Reduced> known_split(const Reduce& a, const Call& call) {
  if (a.dynamic) return std::nullopt;
  const Dims dims = call.in[0].dims();
  const Result<AxisSet> gone = axis_set(a, a.axes, dims.size());
  if (!gone) return std::nullopt;
  const Reduced r = split_reduced(dims, [&](size_t i) { return (*gone)[i]; });
  return r.empty ? std::nullopt : std::optional(r);
}
bool fits(const Reduce& a, const Call& call) {
  if (call.in[0].type != DType::f32) return false;
  const auto known = known_split(a, call);
  if (!known) return false;
  const Reduced& r = *known;
  if (a.how == How::log_sum_exp && in_runs(r)) return r.gone_axes == 1;
  return in_runs(r) || in_columns(r);
}

Fold fold_of(How how) {
  switch (how) {
    case How::max:
      return Fold::max;
    case How::min:
      return Fold::min;
    case How::prod:
      return Fold::prod;
    case How::l1:
      return Fold::sum_abs;
    case How::l2:
    case How::sum_square:
      return Fold::sum_square;
    default:
      return Fold::sum;
  }
}
float affine(How how, float x, size_t n) {
  switch (how) {
    case How::mean:
      return store<float>(x / float(n));
    case How::l2:
      return store<float>(std::sqrt(x));
    case How::log_sum:
      return math::log(x);
    default:
      return store<float>(x);
  }
}

// Rows that lie one behind the other.
void run_whole_rows(const Reduce& a, const Reduced& r, const float* x, float* y, Args& args) {
  const auto rows = SDX_PICK(fold_rows, args.isa);
  args.pool->parallel(r.outputs, 1 + 4096 / (r.count + 1), [&](size_t begin, size_t end, int) {
    rows(fold_of(a.how), x + begin * r.count, end - begin, r.count, y + begin);
    if (a.how == How::mean || a.how == How::l2 || a.how == How::log_sum) {
      for (size_t o = begin; o < end; ++o) y[o] = affine(a.how, y[o], r.count);
    }
  });
}

void run_rows(const Reduce& a, const Reduced& r, const float* x, float* y, Args& args) {
  if (r.gone_axes == 1 && r.kept_axes <= 1 && a.how != How::log_sum_exp)
    return run_whole_rows(a, r, x, y, args);
  const Fold fold = fold_of(a.how);
  const auto begin_fold = SDX_PICK(fold_begin, args.isa);
  const auto take = SDX_PICK(fold_take, args.isa);
  const auto end_fold = SDX_PICK(fold_end, args.isa);
  const auto exps = SDX_PICK(exp_sum, args.isa);
  const size_t run = r.gone[r.gone_axes - 1].size;
  args.pool->parallel(r.outputs, 1 + 4096 / (r.count + 1), [&](size_t begin, size_t end, int) {
    alignas(64) float lanes[kFoldLanes];
    for (size_t o = begin; o < end; ++o) {
      const float* from = x + r.base(o);
      if (a.how == How::log_sum_exp) {
        begin_fold(Fold::max, lanes);
        take(Fold::max, lanes, 0, from, run);
        float m = end_fold(Fold::max, lanes);
        if (std::isinf(m)) m = 0;
        y[o] = store<float>(math::log(exps(from, run, m)) + m);
        continue;
      }
      begin_fold(fold, lanes);
      for (size_t i = 0; i < r.count; i += run) take(fold, lanes, i, from + r.offset(i), run);
      y[o] = affine(a.how, end_fold(fold, lanes), r.count);
    }
  });
}

void run_columns(const Reduce& a, const Reduced& r, const float* x, float* y, Args& args) {
  const Fold fold = fold_of(a.how);
  const auto columns = SDX_PICK(fold_columns, args.isa);
  const auto sums = SDX_PICK(log_sum_exp_columns, args.isa);
  // Columns are cut into pieces so that threads share them, however few outer rows there are.
  const size_t width = r.kept[r.kept_axes - 1].size, piece = std::min<size_t>(width, 512);
  const size_t pieces = (width + piece - 1) / piece;
  args.pool->parallel(r.outputs / width * pieces, 1 + 4096 / (piece * r.count + 1),
                      [&](size_t begin, size_t end, int) {
                        for (size_t i = begin; i < end; ++i) {
                          const size_t first = i % pieces * piece, o = i / pieces * width + first,
                                       cols = std::min(piece, width - first);
                          if (a.how == How::log_sum_exp) {
                            sums(x + r.base(o), y + o, r.count, r.gone[0].step, cols);
                            continue;
                          }
                          columns(fold, x + r.base(o), r.count, r.gone[0].step, cols, y + o);
                          if (a.how == How::mean || a.how == How::l2 || a.how == How::log_sum) {
                            for (size_t c = 0; c < cols; ++c)
                              y[o + c] = affine(a.how, y[o + c], r.count);
                          }
                        }
                      });
}

Status run(const Reduce& a, Args& args) {
  SDX_ASSIGN(const Reduced r, split(a, args));
  const auto* x = args.in(0).data<const float>();
  auto* y = args.out().data<float>();
  in_runs(r) ? run_rows(a, r, x, y, args) : run_columns(a, r, x, y, args);
  return ok();
}

// Doubles and integers, whose rows lie one behind the other, or columns.
bool numbers_fit(const Reduce& a, const Call& call) {
  const auto type = number_type(call.in[0].type);
  if (!type || a.how == How::log_sum_exp || (a.how == How::log_sum && *type != NumberType::f64) ||
      SDX_PICK(number_fold, call.isa)(fold_of(a.how), *type).rows == nullptr)
    return false;
  const auto r = known_split(a, call);
  return r && (in_columns(*r) || (in_runs(*r) && r->gone_axes == 1 && r->kept_axes <= 1));
}

double affine(How how, double x, size_t n) {
  switch (how) {
    case How::mean:
      return store<double>(x / double(n));
    case How::l2:
      return store<double>(std::sqrt(x));
    case How::log_sum:
      return math::log(x);
    default:
      return store<double>(x);
  }
}

// From what a NumberFold hands out to the outputs.
void end_numbers(How how, size_t n, const uint64_t* sums, size_t outputs, DType type, void* y,
                 size_t at) {
  if (type == DType::f64) {
    for (size_t o = 0; o < outputs; ++o)
      static_cast<double*>(y)[at + o] = affine(how, std::bit_cast<double>(sums[o]), n);
    return;
  }
  visit_integers(type, [&]<class T>() {
    for (size_t o = 0; o < outputs; ++o)
      static_cast<T*>(y)[at + o] = ended_integer<T>(how, sums[o], n);
  });
}

Status run_numbers(const Reduce& a, Args& args) {
  SDX_ASSIGN(const Reduced r, split(a, args));
  const DType type = args.in(0).type;
  const NumberFold fold = SDX_PICK(number_fold, args.isa)(fold_of(a.how), *number_type(type));
  const auto* x = args.in(0).data<std::byte>();
  const size_t bytes = bytes_for(type, 1);
  constexpr size_t kPiece = 256;  // outputs at a time
  const bool rows = in_runs(r);
  const size_t width = rows ? r.outputs : r.kept[r.kept_axes - 1].size;
  const size_t piece = std::min(width, kPiece), pieces = (width + piece - 1) / piece;
  const size_t grain = 1 + 4096 / (piece * r.count + 1);
  args.pool->parallel(r.outputs / width * pieces, grain, [&](size_t begin, size_t end, int) {
    uint64_t sums[kPiece];
    for (size_t i = begin; i < end; ++i) {
      const size_t first = i % pieces * piece, o = i / pieces * width + first;
      const size_t some = std::min(piece, width - first);
      if (rows) {
        fold.rows(x + o * r.count * bytes, some, r.count, sums);
      } else {
        fold.columns(x + r.base(o) * bytes, r.count, r.gone[0].step, some, sums);
      }
      end_numbers(a.how, r.count, sums, some, type, args.out().raw, o);
    }
  });
  return ok();
}

constexpr Kernel<Reduce> kPlain = {.name = "reduce_f32", .fits = fits, .run = run};
constexpr Kernel<Reduce> kKernels[] = {
    kPlain,
    widened<kPlain>("reduce_f16"),
    {.name = "reduce_numbers", .fits = numbers_fit, .run = run_numbers},
};

// The reduced axes keep their order, and with it the sums theirs; an axis in blocks is not reduced.
std::optional<Relaid> layout(const Reduce& a, const Relay& asked) {
  const size_t rank = asked.layout.rank();
  const Result<AxisSet> gone = axis_set(a, a.axes, rank);
  if (asked.from != 0 || a.dynamic || !gone) return std::nullopt;
  if (const auto channels = asked.layout.blocked; channels && (!a.keep || (*gone)[*channels]))
    return std::nullopt;
  Relaid made = Relaid::newest(asked, *asked.use.op);
  made.use.attrs["keepdims"] = int64_t{a.keep};
  made.use.attrs["noop_with_empty_axes"] = int64_t{a.noop};
  std::vector<int64_t> axes;
  std::vector<size_t> name(rank);  // of axes in the output
  for (size_t i = 0, next = 0; i < rank; ++i) {
    if ((*gone)[i]) axes.push_back(int64_t(asked.layout.at(i)));
    name[i] = next;
    next += a.keep || !(*gone)[i] ? 1 : 0;
  }
  if (axes.empty() || !std::is_sorted(axes.begin(), axes.end())) return std::nullopt;
  made.inputs.push_back(Operand::of(axes));
  if (a.keep) return made;
  made.out.order.clear();
  for (const size_t axis : asked.layout.order) {
    if (!(*gone)[axis]) made.out.order.push_back(name[axis]);
  }
  return made;
}

const Tensor& sample() {
  static const Tensor x = Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  return x;
}

// Kernels against the reference, for every member of the family.
std::vector<Case> shapes() {
  return {{.name = "over_the_last_axis",
           .opset = 18,
           .attrs = {},
           .inputs = {noise({5, 77}), Tensor::of<int64_t>({1}, {1})}},
          {.name = "over_the_first_axis",
           .opset = 18,
           .attrs = {},
           .inputs = {noise({35, 77}), Tensor::of<int64_t>({1}, {0})}},
          {.name = "over_a_middle_axis",
           .opset = 18,
           .attrs = {},
           .inputs = {noise({2, 5, 9}), Tensor::of<int64_t>({1}, {1})}},
          {.name = "over_axes_around_a_kept_one",
           .opset = 18,
           .attrs = {},
           .inputs = {noise({4, 3, 5, 7}), Tensor::of<int64_t>({3}, {0, 2, 3})}},
          {.name = "of_halves",
           .opset = 18,
           .attrs = {},
           .inputs = {noise(DType::f16, {5, 40}), Tensor::of<int64_t>({1}, {1})}},
          {.name = "rows_of_doubles",
           .opset = 18,
           .attrs = {},
           .inputs = {noise(DType::f64, {7, 45}), Tensor::of<int64_t>({1}, {1})}},
          {.name = "columns_of_doubles",
           .opset = 18,
           .attrs = {},
           .inputs = {noise(DType::f64, {2, 19, 67}), Tensor::of<int64_t>({1}, {1})}},
          {.name = "rows_of_integers",
           .opset = 18,
           .attrs = {},
           .inputs = {noise(DType::i32, {7, 45}, 1, -99, 99), Tensor::of<int64_t>({1}, {1})}},
          {.name = "columns_of_long_integers",
           .opset = 18,
           .attrs = {},
           .inputs = {noise(DType::i64, {19, 67}, 1, -99, 99), Tensor::of<int64_t>({1}, {0})}}};
}
std::vector<Case> with_shapes(std::vector<Case> cases) {
  for (Case& c : shapes()) cases.push_back(std::move(c));
  return cases;
}

std::vector<Case> sum_cases() {
  return with_shapes({{.name = "opset1_axes_are_an_attribute",
                       .opset = 1,
                       .attrs = {{"axes", std::vector<int64_t>{1}}, {"keepdims", int64_t{0}}},
                       .inputs = {sample()},
                       .expected = {Tensor::of<float>({2}, {6, 15})}},
                      {.name = "opset13_axes_are_an_input",
                       .opset = 13,
                       .attrs = {},
                       .inputs = {sample(), Tensor::of<int64_t>({1}, {-2})},
                       .expected = {Tensor::of<float>({1, 3}, {5, 7, 9})}},
                      {.name = "no_axes_can_mean_none",
                       .opset = 13,
                       .attrs = {{"noop_with_empty_axes", int64_t{1}}},
                       .inputs = {sample()},
                       .expected = {sample()}},
                      {.name = "an_empty_set_sums_to_zero",
                       .opset = 13,
                       .attrs = {},
                       .inputs = {Tensor::make(DType::f32, {2, 0}), Tensor::of<int64_t>({1}, {1})},
                       .expected = {Tensor::of<float>({2, 1}, {0, 0})}},
                      {.name = "integers_wrap",
                       .opset = 13,
                       .attrs = {{"keepdims", int64_t{0}}},
                       .inputs = {Tensor::of<int32_t>({2}, {INT32_MAX, 1})},
                       .expected = {Tensor::of<int32_t>({}, {INT32_MIN})}}});
}
std::vector<Case> square_cases() {
  return with_shapes({{.name = "without_axes_to_reduce_squares",
                       .opset = 18,
                       .attrs = {{"noop_with_empty_axes", int64_t{1}}},
                       .inputs = {sample()},
                       .expected = {Tensor::of<float>({2, 3}, {1, 4, 9, 16, 25, 36})}}});
}
std::vector<Case> mean_cases() {
  return with_shapes({{.name = "over_the_outer_axis",
                       .opset = 11,
                       .attrs = {{"axes", std::vector<int64_t>{0}}},
                       .inputs = {sample()},
                       .expected = {Tensor::of<float>({1, 3}, {2.5f, 3.5f, 4.5f})}},
                      {.name = "of_integers_truncates",
                       .opset = 13,
                       .attrs = {{"keepdims", int64_t{0}}},
                       .inputs = {Tensor::of<int32_t>({2}, {-2, -1})},
                       .expected = {Tensor::of<int32_t>({}, {-1})}}});
}
std::vector<Case> max_cases() {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  return with_shapes(
      {{.name = "nan_wins",
        .opset = 18,
        .attrs = {},
        .inputs = {Tensor::of<float>({2, 2}, {1, nan, -0.f, 0.f}), Tensor::of<int64_t>({1}, {1})},
        .expected = {Tensor::of<float>({2, 1}, {nan, 0.f})}},
       {.name = "of_bytes",
        .opset = 12,
        .attrs = {{"keepdims", int64_t{0}}},
        .inputs = {Tensor::of<int8_t>({3}, {-5, -3, -4})},
        .expected = {Tensor::of<int8_t>({}, {-3})}}});
}

Streaming stream(const Reduce& a, const Streamed& s) {
  if (a.dynamic || !s.only_first()) return Streaming::refuse("its axes are known at run time only");
  const auto gone = axis_set(a, a.axes, s.in[0].rank());
  if (!gone || !(*gone)[*s.axes[0]]) return Streaming::ask();
  size_t others = 0;
  for (size_t i = 0; i < s.in[0].rank(); ++i) others += (*gone)[i] && !s.in[0].dim(i).is_const(1);
  Streaming how = Streaming::of(Streaming::Kind::whole);
  const DType type = s.in[0].type;
  // Rows can be folded as they come where they alone are numbered and nothing is rounded between.
  if (others != 1 || (type != DType::f32 && type != DType::f64)) return how;
  how.kind = Streaming::Kind::fold;
  switch (a.how) {
    case How::sum:
      how.fold = Streaming::Fold::sum;
      return how;
    case How::mean:
      how.fold = Streaming::Fold::mean;
      return how;
    case How::max:
      how.fold = Streaming::Fold::max;
      return how;
    case How::min:
      how.fold = Streaming::Fold::min;
      return how;
    case How::prod:
      how.fold = Streaming::Fold::product;
      return how;
    default:
      how.kind = Streaming::Kind::whole;
      return how;
  }
}

template <How kHow>
constexpr OpOf<Reduce> declare(std::string_view name, std::string_view doc,
                               std::span<const Version> history,
                               std::vector<Case> (*cases)() = shapes) {
  return {.name = name,
          .doc = doc,
          .history = history,
          .read = read<kHow>,
          .infer = infer,
          .reference = reference,
          .kernels = kKernels,
          .cases = cases,
          .layout = layout,
          .stream = stream};
}

constexpr auto kSum = declare<How::sum>("ReduceSum", "The sum over axes.", kSumHistory, sum_cases);
constexpr auto kMean =
    declare<How::mean>("ReduceMean", "The mean over axes.", kHistory, mean_cases);
constexpr auto kMax =
    declare<How::max>("ReduceMax", "The greatest element over axes.", kMaxHistory, max_cases);
constexpr auto kMin = declare<How::min>("ReduceMin", "The least element over axes.", kMaxHistory);
constexpr auto kProd = declare<How::prod>("ReduceProd", "The product over axes.", kHistory);
constexpr auto kL1 = declare<How::l1>("ReduceL1", "The sum of magnitudes over axes.", kHistory);
constexpr auto kL2 =
    declare<How::l2>("ReduceL2", "The root of the sum of squares over axes.", kHistory);
constexpr auto kLogSum =
    declare<How::log_sum>("ReduceLogSum", "The logarithm of the sum over axes.", kLogHistory);
constexpr auto kLogSumExp = declare<How::log_sum_exp>(
    "ReduceLogSumExp", "The logarithm of the sum of exponentials over axes.", kLogHistory);
constexpr auto kSumSquare = declare<How::sum_square>(
    "ReduceSumSquare", "The sum of squares over axes.", kHistory, square_cases);

}  // namespace

extern const Op reduce_sum = erase<kSum>();
extern const Op reduce_mean = erase<kMean>();
extern const Op reduce_max = erase<kMax>();
extern const Op reduce_min = erase<kMin>();
extern const Op reduce_prod = erase<kProd>();
extern const Op reduce_l1 = erase<kL1>();
extern const Op reduce_l2 = erase<kL2>();
extern const Op reduce_log_sum = erase<kLogSum>();
extern const Op reduce_log_sum_exp = erase<kLogSumExp>();
extern const Op reduce_sum_square = erase<kSumSquare>();

}  // namespace sdx::ops
