// Operators of two broadcast inputs of one type: a member says name, history and the function of
// two elements.
//
//   struct Add {
//     static constexpr std::string_view name = "Add", doc = "...";
//     static constexpr std::span<const Version> history = kArithmetic;
//     template <class C> static C apply(C a, C b, const Binary&);   // for each C it is defined on
//   };
//   const Op add = binary<Add>();
//
// Optional: read(Node, Facts, Binary&), check(shapes of the inputs and the output), dim(Dim, Dim)
// for shape arithmetic, kCode or code(Binary), kNumbers, cases(), sample_attrs(), kSingles. A
// member whose apply gives bool while its inputs are not bool is a comparison: its output is bool.
#pragma once

#include <array>
#include <cstring>

#include "kernel/elementwise/arrays.h"
#include "kernel/elementwise/loops.h"
#include "op/layout.h"
#include "ops/elementwise/broadcast.h"
#include "ops/elementwise/element.h"
#include "ops/elementwise/parameters.h"
#include "ops/elementwise/samples.h"

namespace sdx::ops {

// What the opsets before 7 say with `broadcast` and `axis`: the second input is a part of the first
// one's shape.
Result<size_t> read_legacy_broadcast(const Node& node, const Facts& in);

template <class M>
Result<Binary> read_binary(const Node& node, const Facts& in) {
  Binary a;
  if (node.has("broadcast")) {
    SDX_ASSIGN(a.trail, read_legacy_broadcast(node, in));
  }
  if constexpr (requires { M::read(node, in, a); }) SDX_TRY(M::read(node, in, a));
  return a;
}

template <class M, class C>
inline constexpr bool applies = requires(const C& x, const Binary& a) {
  M::apply(x, x, a);
};
template <class M>
inline constexpr bool gives_bool = [] {
  if constexpr (applies<M, bool>) {
    return true;
  } else if constexpr (applies<M, float>) {
    return std::is_same_v<decltype(M::apply(0.f, 0.f, Binary{})), bool>;
  } else {
    return false;
  }
}();

template <class M>
Result<Facts> infer_binary(const Binary& a, const Facts& in) {
  Fact out = Fact::tensor(gives_bool<M> ? DType::boolean : in[0].type);
  if (!in[0].has_rank() || !in[1].has_rank()) return Facts{out};
  Shape second = *in[1].shape;
  second.insert(second.end(), a.trail, Dim(1));
  SDX_ASSIGN(out.shape, broadcast(*in[0].shape, second));
  if constexpr (requires { M::check; }) SDX_TRY(M::check(*in[0].shape, *in[1].shape, *out.shape));
  if constexpr (requires(const Dim& d) { M::dim(d, d); }) {
    if (a.trail == 0 && (is_integer(in[0].type) || in[0].type == DType::boolean)) {
      track<2>(out, in, [](const auto& d) -> std::optional<Dim> { return M::dim(*d[0], *d[1]); });
    }
  }
  return Facts{std::move(out)};
}

// A run of `length` results; a step is 1, or 0 for an input that stays.
using BinaryRun = void (*)(const Binary&, const void* a, size_t step_a, const void* b,
                           size_t step_b, void* y, size_t length);

template <class M, class T>
void binary_run(const Binary& attrs, const void* first, size_t step_a, const void* second,
                size_t step_b, void* out, size_t length) {
  using In = Element<T>;
  using Result = std::conditional_t<gives_bool<M>, Bool, T>;
  const T *a = static_cast<const T*>(first), *b = static_cast<const T*>(second);
  Result* y = static_cast<Result*>(out);
  // The steps and the inner loop's length as constants, and results that cannot be an input, so
  // that it vectorises.
  const auto loop = [&](auto step_a, auto step_b) {
    const auto one = [&](size_t i) {
      return Element<Result>::put(
          M::apply(In::get(a[i * step_a()]), In::get(b[i * step_b()]), attrs));
    };
    size_t i = 0;
    if constexpr (std::is_trivially_copyable_v<Result>) {
      constexpr size_t kChunk = 64;
      for (; i + kChunk <= length; i += kChunk) {
        std::array<Result, kChunk> made;
        for (size_t j = 0; j < kChunk; ++j) made[j] = one(i + j);
        std::memcpy(y + i, made.data(), sizeof made);
      }
    }
    for (; i < length; ++i) y[i] = one(i);
  };
  using One = std::integral_constant<size_t, 1>;
  using Zero = std::integral_constant<size_t, 0>;
  // Where both stay there is one element.
  if (step_a == step_b) return loop(One(), One());
  step_a == 0 ? loop(Zero(), One()) : loop(One(), Zero());
}

// The member's loop for elements of this type; null if it has none.
template <class M>
BinaryRun binary_run_of(DType type) {
  BinaryRun found = nullptr;
  visit_elements(type, [&]<class T>() {
    if constexpr (applies<M, typename Element<T>::Compute>) found = binary_run<M, T>;
  });
  return found;
}

// y[i] = apply(a[i], b[i]) with missing axes and axes of size 1 repeated: by this thread alone, or
// by all.
Status binary_runs(std::string_view name, BinaryRun run, const Binary& a, Args& args, bool threads);

template <class M>
Status binary_reference(const Binary& a, Args& args) {
  return binary_runs(M::name, binary_run_of<M>(args.in(0).type), a, args, false);
}

// A member's kNumbers: the kernel that does the same to integers and doubles, `swapped` if it takes
// the second input first.
struct Numbers {
  NumberPair op;
  bool swapped = false;
};
// Through that kernel, by all threads; false if it has no loop for the inputs' type.
bool binary_numbers(Numbers numbers, size_t trail, Args& args);

template <class M>
Status binary_threads(const Binary& a, Args& args) {
  if constexpr (requires { M::kNumbers; }) {
    if (binary_numbers(M::kNumbers, a.trail, args)) return ok();
  }
  return binary_runs(M::name, binary_run_of<M>(args.in(0).type), a, args, true);
}

template <class M>
BinaryOp code_of(const Binary& a) {
  if constexpr (requires { M::code(a); }) {
    return M::code(a);
  } else {
    return M::kCode;
  }
}
template <class M>
inline constexpr bool has_code = requires {
  M::kCode;
}
|| requires(const Binary& a) { M::code(a); };

// One operation through vector registers on f32, f16 or bf16, inputs 0 and 1 broadcast, by all
// threads.
void binary_tiles(BinaryOp code, size_t trail, Args& args);
bool binary_tiles_fit(size_t trail, const Call& call);

template <class M>
inline constexpr auto kBinaryKernels = [] {
  constexpr Kernel<Binary> threads{"threads", [](const Binary&, const Call&) { return true; },
                                   binary_threads<M>};
  if constexpr (has_code<M>) {
    constexpr Kernel<Binary> tiles{
        "tiles", [](const Binary& a, const Call& call) { return binary_tiles_fit(a.trail, call); },
        [](const Binary& a, Args& args) {
          binary_tiles(code_of<M>(a), a.trail, args);
          return ok();
        }};
    return std::array{tiles, threads};
  } else {
    return std::array{threads};
  }
}();

template <class M>
std::optional<Pointwise> binary_pointwise(const Binary& a, const Facts& in) {
  if constexpr (has_code<M>) {
    if (a.trail == 0 && is_array_type(in[0].type) && in[0].type == in[1].type) {
      return Pointwise{Pointwise::Kind::binary, int(code_of<M>(a))};
    }
  }
  return std::nullopt;
}

inline std::optional<Relaid> binary_layout(const Binary& a, const Relay& asked) {
  if (a.trail != 0) return std::nullopt;
  return relay_elements(asked);
}

// The member's own cases and the samples, under the attributes that the member asks for.
template <class M>
std::vector<Case> binary_cases() {
  std::vector<Case> own;
  if constexpr (requires { M::cases(); }) own = M::cases();
  AttrMap attrs;
  if constexpr (requires { M::sample_attrs(); }) attrs = M::sample_attrs();
  unsigned singles = 3;
  if constexpr (requires { M::kSingles; }) singles = M::kSingles;
  return with_samples(M::history, std::move(own), std::move(attrs), singles);
}

template <class M>
inline constexpr OpOf<Binary> kBinary{
    .name = M::name,
    .doc = M::doc,
    .history = M::history,
    .read = read_binary<M>,
    .infer = infer_binary<M>,
    .reference = binary_reference<M>,
    .kernels = kBinaryKernels<M>,
    .cases = binary_cases<M>,
    .inplace = true,
    .by_equality = true,
    .pointwise = binary_pointwise<M>,
    .layout = binary_layout,
};

template <class M>
constexpr Op binary() {
  return erase<kBinary<M>>();
}

}  // namespace sdx::ops
