// Max, Min, Sum and Mean of any number of broadcast inputs, taken from the first to the last.
#include <algorithm>
#include <array>
#include <cstring>

#include "op/layout.h"
#include "ops/elementwise/binary.h"

namespace sdx::ops {
namespace {

struct Variadic {};

constexpr Version kMaxHistory[] = {
    {1, "(data_0...: T) -> (max: T) {consumed_inputs: ints} T in floats"},
    {6, "{-consumed_inputs}"},
    {8, ""},  // broadcasting
    {12, "T += ints uints"},
    {13, "T += bf16"},
};
constexpr Version kMinHistory[] = {
    {1, "(data_0...: T) -> (min: T) {consumed_inputs: ints} T in floats"},
    {6, "{-consumed_inputs}"},
    {8, ""},
    {12, "T += ints uints"},
    {13, "T += bf16"},
};
constexpr Version kMeanHistory[] = {
    {1, "(data_0...: T) -> (mean: T) {consumed_inputs: ints} T in floats"},
    {6, "{-consumed_inputs}"},
    {8, ""},
    {13, "T += bf16"},
};
constexpr Version kSumHistory[] = {
    {1, "(data_0...: T) -> (sum: T) {consumed_inputs: ints} T in floats"},
    {6, "{-consumed_inputs}"},
    {8, ""},
    {13, "T += bf16"},
};

Result<Variadic> read(const Node& node, const Facts& in) {
  if (node.opset >= 8) return Variadic{};
  for (size_t k = 1; k < in.size(); ++k) {
    if (!in[0].has_rank() || !in[k].has_rank()) continue;
    bool same = in[0].rank() == in[k].rank();
    for (size_t i = 0; same && i < in[0].rank(); ++i) {
      same = !in[0].dim(i).is_const() || !in[k].dim(i).is_const() || in[0].dim(i) == in[k].dim(i);
    }
    if (!same) {
      return fail("SDX-T0206",
                  "input {} has shape {}, the first one {}; before opset 8 they must be equal", k,
                  to_string(*in[k].shape), to_string(*in[0].shape));
    }
  }
  return Variadic{};
}

template <class M>
Result<Facts> infer(const Variadic&, const Facts& in) {
  Fact out = Fact::tensor(in[0].type);
  SDX_ASSIGN(out.shape, broadcast_all(in));
  if constexpr (requires(const Dim& d) { M::dim(d, d); }) {
    if (in.size() == 2 && is_integer(in[0].type)) {
      track<2>(out, in, [](const auto& d) -> std::optional<Dim> { return M::dim(*d[0], *d[1]); });
    }
  }
  return Facts{std::move(out)};
}

// Input k over output elements [begin, end): f(offset from begin, first element, step, length).
template <class T, class F>
void each_piece(const Args& args, size_t k, size_t begin, size_t end, F&& f) {
  const Broadcast<1> walk(args.out().dims, {args.in(k).dims});
  walk.pieces(begin, end, [&](size_t at, const auto& from, size_t length) {
    f(at - begin, args.in(k).data<T>() + from[0], walk.step(0), length);
  });
}

// acc[j] = apply(acc[j], x[j * step]); for the first input acc[j] = x[j * step].
template <class M, class T>
void take_input(bool first, const T* x, size_t step, size_t length,
                typename Element<T>::Compute* acc) {
  using E = Element<T>;
  // So many at a time that the loop vectorises.
  constexpr size_t kTogether = 32;
  size_t j = 0;
  for (; step == 1 && j + kTogether <= length; j += kTogether) {
    for (size_t i = j; i < j + kTogether; ++i) {
      acc[i] = first ? E::get(x[i]) : M::apply(acc[i], E::get(x[i]));
    }
  }
  for (; j < length; ++j) {
    const auto next = E::get(x[j * step]);
    acc[j] = first ? next : M::apply(acc[j], next);
  }
}

// y[i] = apply(a[i], b[i]): so many at a time, and results that cannot be an input, so that the
// loop vectorises.
template <class M, class T>
void pair_range(const T* a, const T* b, T* y, size_t n) {
  using E = Element<T>;
  constexpr size_t kTogether = 64;
  size_t i = 0;
  for (; i + kTogether <= n; i += kTogether) {
    std::array<T, kTogether> made;
    for (size_t j = 0; j < kTogether; ++j) {
      made[j] = E::put(M::apply(E::get(a[i + j]), E::get(b[i + j])));
    }
    std::memcpy(y + i, made.data(), sizeof made);
  }
  for (; i < n; ++i) y[i] = E::put(M::apply(E::get(a[i]), E::get(b[i])));
}

bool are_two_alike(const Args& args) {
  return args.ins.size() == 2 && std::ranges::equal(args.in(0).dims, args.out().dims) &&
         std::ranges::equal(args.in(1).dims, args.out().dims);
}

// acc = x0; acc = apply(acc, x1); ...; y = acc, for Mean acc / n. Narrow floats round once, at the
// end.
template <class M, class T>
void range(const Args& args, size_t begin, size_t end) {
  using E = Element<T>;
  if (!M::kMean && are_two_alike(args)) {
    return pair_range<M, T>(args.in(0).data<T>() + begin, args.in(1).data<T>() + begin,
                            args.out().data<T>() + begin, end - begin);
  }
  typename E::Compute acc[kChunk];
  for (size_t i = begin; i < end; i += kChunk) {
    const size_t n = std::min(kChunk, end - i);
    for (size_t k = 0; k < args.ins.size(); ++k) {
      each_piece<T>(args, k, i, i + n, [&](size_t at, const T* x, size_t step, size_t length) {
        take_input<M, T>(k == 0, x, step, length, acc + at);
      });
    }
    T* y = args.out().data<T>() + i;
    for (size_t j = 0; j < n; ++j) {
      if constexpr (M::kMean) acc[j] = acc[j] / typename E::Compute(args.ins.size());
      y[j] = E::put(acc[j]);
    }
  }
}

template <class M>
Status over_types(Args& args, auto&& spread) {
  const auto run = [&]<class T>() {
    spread([&](size_t begin, size_t end, int) { range<M, T>(args, begin, end); });
  };
  if (visit_floats(args.in(0).type, run)) return ok();
  if constexpr (M::kIntegers) {
    if (visit_integers(args.in(0).type, run)) return ok();
  }
  return unsupported_type(M::name, args.in(0).type);
}

template <class M>
Status reference(const Variadic&, Args& args) {
  return over_types<M>(args, [&](auto&& body) { body(0, args.out().count, 0); });
}
template <class M>
Status threads(const Variadic&, Args& args) {
  return over_types<M>(
      args, [&](auto&& body) { args.pool->parallel(args.out().count, kElementGrain / 4, body); });
}

// f32 through vector registers. The sum stays in a buffer of its own: the output may lie over one
// of the inputs.
template <class M>
Status tiles(const Variadic&, Args& args) {
  const auto tile = SDX_PICK(array_binary, args.isa);
  args.pool->parallel(args.out().count, kElementGrain / 4, [&](size_t begin, size_t end, int) {
    alignas(kAlignment) float acc[kChunk];
    for (size_t i = begin; i < end; i += kChunk) {
      const size_t n = std::min(kChunk, end - i);
      for (size_t k = 0; k < args.ins.size(); ++k) {
        each_piece<float>(args, k, i, i + n,
                          [&](size_t at, const float* x, size_t step, size_t length) {
                            if (k > 0)
                              return tile(M::kCode, acc + at, 1, x, step, acc + at, length);
                            if (step == 1) {
                              std::memcpy(acc + at, x, length * sizeof(float));
                            } else {
                              for (size_t j = 0; j < length; ++j) acc[at + j] = x[j * step];
                            }
                          });
      }
      float* y = args.out().data<float>() + i;
      if (M::kMean) {
        const float inputs = float(args.ins.size());
        tile(BinaryOp::div, acc, 1, &inputs, 0, y, n);
      } else {
        std::copy(acc, acc + n, y);
      }
    }
  });
  return ok();
}

// Inputs of the output's shape, through the loop of two: piece by piece, so that what the next
// input joins is still near. False if there is no such loop.
bool numbers_alike(NumberPair op, Args& args) {
  const DType type = args.in(0).type;
  const PairLoop loop = pair_loop(op, type, args.isa);
  if (loop == nullptr) return false;
  for (const View& x : args.ins) {
    // The output may lie over one input alone, and that must have been read by then.
    if (!std::ranges::equal(x.dims, args.out().dims)) return false;
    if (x.raw == args.out().raw && &x != args.ins.data() && &x != args.ins.data() + 1) return false;
  }
  const size_t bytes = bytes_for(type, 1);
  args.pool->parallel(args.out().count, kElementGrain / 4, [&](size_t begin, size_t end, int) {
    for (size_t i = begin; i < end; i += kChunk) {
      const size_t n = std::min(kChunk, end - i), at = i * bytes;
      auto* y = args.out().data<std::byte>() + at;
      for (size_t k = 1; k < args.ins.size(); ++k) {
        const auto* before = k == 1 ? args.in(0).data<std::byte>() + at : y;
        loop(before, 1, args.in(k).data<std::byte>() + at, 1, y, n);
      }
    }
  });
  return true;
}

template <class M>
constexpr Kernel<Variadic> kKernels[] = {
    {"pair",
     [](const Variadic&, const Call& call) {
       return !M::kMean && call.in.size() == 2 && binary_tiles_fit(0, call);
     },
     [](const Variadic&, Args& args) {
       binary_tiles(M::kCode, 0, args);
       return ok();
     }},
    {"tiles",
     [](const Variadic&, const Call& call) {
       return call.in.size() > 1 && call.in[0].type == DType::f32;
     },
     tiles<M>},
    {"threads", [](const Variadic&, const Call&) { return true; },
     [](const Variadic& a, Args& args) {
       if constexpr (requires { M::kNumbers; }) {
         if (args.ins.size() == 2 && binary_numbers(M::kNumbers, 0, args)) return ok();
         if (args.ins.size() > 2 && numbers_alike(M::kNumbers.op, args)) return ok();
       }
       return threads<M>(a, args);
     }},
};

template <class M>
std::optional<Pointwise> pointwise(const Variadic&, const Facts& in) {
  if (M::kMean || in.size() != 2 || !is_array_type(in[0].type)) return std::nullopt;
  return Pointwise{Pointwise::Kind::binary, int(M::kCode)};
}

struct Max {
  static constexpr std::string_view name = "Max", doc = "The greatest of the inputs' elements.";
  static constexpr std::span<const Version> history = kMaxHistory;
  static constexpr BinaryOp kCode = BinaryOp::max;
  static constexpr Numbers kNumbers{NumberPair::max};
  static constexpr bool kMean = false, kIntegers = true;
  template <class C>
  static C apply(C a, C b) {
    return max_of(a, b);
  }
  static std::optional<Dim> dim(const Dim& a, const Dim& b) { return sdx::max(a, b); }
  static std::vector<Case> cases() {
    return {{.name = "nan_wins_and_plus_zero_is_greater",
             .opset = 8,
             .attrs = {},
             .inputs = {Tensor::of<float>({3}, {NAN, -0.f, 1}), Tensor::of<float>({1}, {0.f}),
                        Tensor::of<float>({3}, {5, -1, -1})},
             .expected = {Tensor::of<float>({3}, {NAN, 0.f, 1})}},
            {.name = "integers_broadcast",
             .opset = 12,
             .attrs = {},
             .inputs = {Tensor::of<uint64_t>({2, 1}, {1, UINT64_MAX}),
                        Tensor::of<uint64_t>({2}, {3, 0})},
             .expected = {Tensor::of<uint64_t>({2, 2}, {3, 1, UINT64_MAX, UINT64_MAX})}}};
  }
};
struct Min {
  static constexpr std::string_view name = "Min", doc = "The least of the inputs' elements.";
  static constexpr std::span<const Version> history = kMinHistory;
  static constexpr BinaryOp kCode = BinaryOp::min;
  static constexpr Numbers kNumbers{NumberPair::min};
  static constexpr bool kMean = false, kIntegers = true;
  template <class C>
  static C apply(C a, C b) {
    return min_of(a, b);
  }
  static std::optional<Dim> dim(const Dim& a, const Dim& b) { return sdx::min(a, b); }
};
struct Mean {
  static constexpr std::string_view name = "Mean", doc = "The mean of the inputs' elements.";
  static constexpr std::span<const Version> history = kMeanHistory;
  static constexpr BinaryOp kCode = BinaryOp::add;
  static constexpr bool kMean = true, kIntegers = false;
  template <class C>
  static C apply(C a, C b) {
    return a + b;
  }
  static std::vector<Case> cases() {
    return {{.name = "float16_rounds_once",
             .opset = 13,
             .attrs = {},
             .inputs = {Tensor::of<F16>({1}, {F16::from(60000)}),
                        Tensor::of<F16>({1}, {F16::from(60000)})},
             .expected = {Tensor::of<F16>({1}, {F16::from(60000)})}}};
  }
};
struct Sum {
  static constexpr std::string_view name = "Sum",
                                    doc =
                                        "The sum of the inputs' elements, from the first input on.";
  static constexpr std::span<const Version> history = kSumHistory;
  static constexpr BinaryOp kCode = BinaryOp::add;
  static constexpr Numbers kNumbers{NumberPair::add};
  static constexpr bool kMean = false, kIntegers = false;
  template <class C>
  static C apply(C a, C b) {
    return a + b;
  }
  static std::vector<Case> cases() {
    Tensor x = Tensor::make(DType::f32, {3, 2000});
    for (size_t i = 0; i < x.count(); ++i) x.data<float>()[i] = float(i) * 1e-3f;
    Tensor row = Tensor::make(DType::f32, {2000});
    for (size_t i = 0; i < row.count(); ++i) row.data<float>()[i] = float(i) - 1e3f;
    return {{.name = "three_of_different_shapes",
             .opset = 13,
             .attrs = {},
             .inputs = {Tensor::of<float>({3, 1}, {1, 2, 3}), x, row}}};
  }
};

template <class M>
std::vector<Case> cases() {
  if constexpr (requires { M::cases(); }) return with_samples(M::history, M::cases());
  return with_samples(M::history);
}

template <class M>
constexpr OpOf<Variadic> kVariadic{
    .name = M::name,
    .doc = M::doc,
    .history = M::history,
    .read = read,
    .infer = infer<M>,
    .reference = reference<M>,
    .kernels = kKernels<M>,
    .cases = cases<M>,
    .inplace = true,
    .pointwise = pointwise<M>,
    .layout = each_element<Variadic>,
};

}  // namespace

extern const Op max_ = erase<kVariadic<Max>>();
extern const Op mean = erase<kVariadic<Mean>>();
extern const Op min_ = erase<kVariadic<Min>>();
extern const Op sum = erase<kVariadic<Sum>>();

}  // namespace sdx::ops
