// CumSum and CumProd.
#include "ops/tensor/cumulative.h"

#include "kernel/elementwise/arrays.h"
#include "kernel/elementwise/loops.h"
#include "op/streaming.h"
#include "ops/noise.h"
#include "ops/tensor/ints.h"

namespace sdx::ops {
namespace {

constexpr Version kSumHistory[] = {
    {11,
     "(x: T, axis: T2) -> (y: T) {exclusive: int = 0, reverse: int = 0} T in f32 f64 i32 i64 u32 "
     "u64 T2 in i32 i64"},
    {14, "T += bf16 f16"},
};
constexpr Version kProductHistory[] = {
    {26,
     "(x: T, axis: T2) -> (y: T) {exclusive: int = 0, reverse: int = 0} T in floats bf16 i32 i64 "
     "u32 u64 T2 in i32 i64"},
};

template <bool kProduct>
Result<Cumulative> read(const Node& node, const Facts&) {
  return Cumulative{kProduct, node.i("exclusive") != 0, node.i("reverse") != 0};
}

Result<Facts> infer(const Cumulative&, const Facts& in) {
  if (const auto axis = in[1].constant_integers(); axis && in[0].has_rank()) {
    if (axis->size() != 1) return fail("SDX-T0230", "axis has {} elements, not one", axis->size());
    SDX_TRY(resolve_axis((*axis)[0], in[0].rank()));
  }
  return Facts{like(in[0])};
}

// One chain's next step: what it comes to, and what is written.
template <bool kProduct, bool kExclusive, class T, class C, class Load, class Store>
inline void take(T from, T& to, C& state, Load in, Store out) {
  const C next = kProduct ? C(state * in(from)) : C(state + in(from));
  to = out(kExclusive ? state : next);
  state = next;
}

// One chain along the axis, element after element, from 0 (or 1). Narrow floats are kept as float
// along the chain and rounded where they are written.
template <bool kProduct, bool kExclusive, class T, class C, class Load, class Store>
void chains(bool reverse, const View& x, const View& y, size_t axis, Pool* pool, Load in,
            Store out) {
  const AxisSplit at = split_at(x.dims, axis);
  // Neighbouring chains take their steps together: elements are met in the order of memory. Of
  // chains that lie one behind the other some take turns, so that none waits for itself.
  constexpr size_t kTogether = 128, kTurns = 4;
  const size_t pieces = (at.inner + kTogether - 1) / kTogether;
  const auto place = [&](size_t i) { return (reverse ? at.size - 1 - i : i) * at.inner; };
  const auto some = [&](size_t begin, size_t end, int) {
    for (size_t piece = begin; piece < end;) {
      const size_t first = piece % pieces * kTogether, n = std::min(kTogether, at.inner - first);
      const size_t base = piece / pieces * at.size * at.inner + first;
      const T* __restrict from = x.data<T>() + base;
      T* __restrict to = y.data<T>() + base;
      C state[kTogether];
      std::fill_n(state, kTogether, C(kProduct ? 1 : 0));
      if (at.inner == 1 && piece + kTurns <= end) {
        for (size_t i = 0; i < at.size; ++i) {
          for (size_t j = 0; j < kTurns; ++j) {
            const size_t k = j * at.size + place(i);
            take<kProduct, kExclusive>(from[k], to[k], state[j], in, out);
          }
        }
        piece += kTurns;
        continue;
      }
      for (size_t i = 0; i < at.size; ++i) {
        const size_t row = place(i);
        size_t j = 0;
        for (; j + 16 <= n; j += 16) {  // a number of steps that the compiler knows
          for (size_t k = j; k < j + 16; ++k)
            take<kProduct, kExclusive>(from[row + k], to[row + k], state[k], in, out);
        }
        for (; j < n; ++j)
          take<kProduct, kExclusive>(from[row + j], to[row + j], state[j], in, out);
      }
      ++piece;
    }
  };
  if (pool == nullptr) return some(0, at.outer * pieces, 0);
  const size_t each = at.size * std::min(kTogether, at.inner);
  pool->parallel(at.outer * pieces, std::max<size_t>(1, 8192 / std::max<size_t>(1, each)), some);
}

template <class T, class C, class Load, class Store>
void chains(const Cumulative& a, const View& x, const View& y, size_t axis, Pool* pool, Load in,
            Store out) {
  const auto run = a.product     ? a.exclusive ? chains<true, true, T, C, Load, Store>
                                               : chains<true, false, T, C, Load, Store>
                       : a.exclusive ? chains<false, true, T, C, Load, Store>
                                 : chains<false, false, T, C, Load, Store>;
  run(a.reverse, x, y, axis, pool, in, out);
}

Status reference(const Cumulative& a, Args& args) {
  const View &x = args.in(0), &y = args.out();
  if (args.in(1).count != 1)
    return fail("SDX-T0230", "axis has {} elements, not one", args.in(1).count);
  SDX_ASSIGN(const size_t axis,
             resolve_axis(get_i64(args.in(1).type, args.in(1).raw, 0), x.rank()));
  visit_integers(x.type, [&]<class T>() {
    // Modulo 2^32 at least, of which a narrower type keeps the low bits.
    using Wrapping = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
    chains<T, Wrapping>(
        a, x, y, axis, args.pool, [](T v) { return Wrapping(v); }, [](Wrapping v) { return T(v); });
  });
  visit_floats(x.type, [&]<class T>() {
    chains<T, Compute<T>>(
        a, x, y, axis, args.pool, [](T v) { return load(v); },
        [](Compute<T> v) { return store<T>(v); });
  });
  return ok();
}

// Rows of chains side by side: each row is the one before it and its own input, joined.
bool fits_rows(const Cumulative&, const Call& call) {
  constexpr int64_t kFew = 16;
  const auto axis = call.in[1].constant_integers();
  if (!axis || axis->size() != 1) return false;
  const DType type = call.in[0].type;
  if (type != DType::f32 && type != DType::f64 && type != DType::i32 && type != DType::i64)
    return false;
  const auto along = resolve_axis((*axis)[0], call.in[0].rank());
  if (!along) return false;
  const Dims dims = call.in[0].dims();
  return int64_t(split_at(dims, *along).inner) >= kFew;
}

Status run_rows(const Cumulative& a, Args& args) {
  const View &x = args.in(0), &y = args.out();
  SDX_ASSIGN(const size_t axis,
             resolve_axis(get_i64(args.in(1).type, args.in(1).raw, 0), x.rank()));
  const AxisSplit at = split_at(x.dims, axis);
  if (x.count == 0) return ok();
  const PairLoop numbers =
      pair_loop(a.product ? NumberPair::mul : NumberPair::add, x.type, args.isa);
  const auto floats = SDX_PICK(array_binary, args.isa);
  const size_t bytes = bytes_for(x.type, 1);
  // to = before and from, joined; `before` is one element for all if its step is 0.
  const auto join = [&](const void* before, size_t step, const std::byte* from, std::byte* to,
                        size_t n) {
    if (numbers != nullptr) return numbers(before, step, from, 1, to, n);
    floats(a.product ? BinaryOp::mul : BinaryOp::add, static_cast<const float*>(before), step,
           reinterpret_cast<const float*>(from), 1, reinterpret_cast<float*>(to), n);
  };
  std::array<std::byte, 8> start{};
  set_i64(x.type, start.data(), 0, a.product ? 1 : 0);
  constexpr size_t kWide = 1024;
  const size_t pieces = (at.inner + kWide - 1) / kWide;
  const size_t each = at.size * std::min(kWide, at.inner);
  args.pool->parallel(at.outer * pieces, 1 + 8192 / each, [&](size_t begin, size_t end, int) {
    for (size_t piece = begin; piece < end; ++piece) {
      const size_t first = piece % pieces * kWide, n = std::min(kWide, at.inner - first);
      const size_t base = piece / pieces * at.size * at.inner + first;
      const auto row = [&](const View& v, size_t i) {
        const size_t place = a.reverse ? at.size - 1 - i : i;
        return v.data<std::byte>() + (base + place * at.inner) * bytes;
      };
      if (a.exclusive) {
        for (size_t j = 0; j < n; ++j) std::copy_n(start.data(), bytes, row(y, 0) + j * bytes);
      } else {
        join(start.data(), 0, row(x, 0), row(y, 0), n);
      }
      for (size_t i = 1; i < at.size; ++i)
        join(row(y, i - 1), 1, row(x, a.exclusive ? i - 1 : i), row(y, i), n);
    }
  });
  return ok();
}

constexpr Kernel<Cumulative> kKernels[] = {{.name = "rows", .fits = fits_rows, .run = run_rows}};

std::vector<Case> wide_cases(int opset) {
  std::vector<Case> cases;
  for (const DType type : {DType::f32, DType::f64, DType::i32, DType::i64}) {
    for (const int64_t way : {0, 1, 2, 3}) {
      cases.push_back({.name = fmt::format("rows_of_{}_way_{}", short_name(type), way),
                       .opset = opset,
                       .attrs = {{"exclusive", way & 1}, {"reverse", way >> 1}},
                       .inputs = {noise(type, {2, 9, 37}, 1, -9, 9), Tensor::scalar<int32_t>(1)}});
    }
  }
  return cases;
}
std::vector<Case> with_wide(std::vector<Case> cases, int64_t opset) {
  for (Case& c : wide_cases(opset)) cases.push_back(std::move(c));
  return cases;
}

std::vector<Case> cases_sum() {
  return {{.name = "exclusive_and_reverse",
           .opset = 11,
           .attrs = {{"exclusive", int64_t{1}}, {"reverse", int64_t{1}}},
           .inputs = {Tensor::of<uint32_t>({3}, {1, 2, 3}), Tensor::scalar<int32_t>(-1)},
           .expected = {Tensor::of<uint32_t>({3}, {5, 3, 0})}},
          {.name = "many_chains_with_turns",
           .opset = 14,
           .attrs = {{"reverse", int64_t{1}}},
           .inputs = {Tensor::of<int32_t>({6, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}),
                      Tensor::scalar<int32_t>(1)},
           .expected = {Tensor::of<int32_t>({6, 2}, {3, 2, 7, 4, 11, 6, 15, 8, 19, 10, 23, 12})}},
          {.name = "along_the_first_axis",
           .opset = 11,
           .attrs = {},
           .inputs = {Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6}), Tensor::scalar<int32_t>(0)},
           .expected = {Tensor::of<float>({2, 3}, {1, 2, 3, 5, 7, 9})}}};
}
std::vector<Case> cases_product() {
  return {{.name = "integers_wrap",
           .opset = 26,
           .attrs = {},
           .inputs = {Tensor::of<int32_t>({3}, {65536, 65536, 3}), Tensor::scalar<int64_t>(0)},
           .expected = {Tensor::of<int32_t>({3}, {65536, 0, 0})}}};
}

Streaming stream(const Cumulative& a, const Streamed& s) {
  const auto axis = s.in[1].constant_integers();
  if (!axis || axis->size() != 1 || !s.only_first())
    return Streaming::refuse("its axis is known at run time only");
  const auto along = resolve_axis((*axis)[0], s.in[0].rank());
  if (!along || *along != *s.axes[0]) return Streaming::ask();
  if (a.reverse) return Streaming::refuse("it runs from the stream's end to its beginning");
  if (s.in[0].type == DType::f16 || s.in[0].type == DType::bf16)
    return Streaming::refuse("between rows it keeps more digits than its rows have");
  Streaming how = Streaming::of(Streaming::Kind::running);
  how.exclusive = a.exclusive;
  how.product = a.product;
  how.attrs.emplace("exclusive", int64_t{0});
  return how;
}

constexpr OpOf<Cumulative> kCumSum{
    .name = "CumSum",
    .doc = "The sum of each element and all before it along an axis.",
    .history = kSumHistory,
    .read = read<false>,
    .infer = infer,
    .reference = reference,
    .kernels = kKernels,
    .cases = [] { return with_wide(cases_sum(), 14); },
    .stream = stream,
};
constexpr OpOf<Cumulative> kCumProd{
    .name = "CumProd",
    .doc = "The product of each element and all before it along an axis.",
    .history = kProductHistory,
    .read = read<true>,
    .infer = infer,
    .reference = reference,
    .kernels = kKernels,
    .cases = [] { return with_wide(cases_product(), 26); },
    .stream = stream,
};

}  // namespace

extern const Op cum_prod = erase<kCumProd>();
extern const Op cum_sum = erase<kCumSum>();

}  // namespace sdx::ops
