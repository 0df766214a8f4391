// Operators of one input, element by element: a member says name, history and the function of one
// element.
//
//   struct Exp {
//     static constexpr std::string_view name = "Exp", doc = "...";
//     static constexpr std::span<const Version> history = kHistory;
//     static constexpr UnaryOp kCode = UnaryOp::exp;         // optional: as an instruction
//     template <class C> static C apply(C x, const Unary&);  // for each C it is defined on
//   };
//   const Op exp = unary<Exp>();
//
// Optional: read(Node, Unary&), code(Unary) instead of kCode, kNumbers (the kernel that does the
// same to integers and doubles), dim(Dim) for shape arithmetic, cases(), sample_attrs().
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

template <class M>
Result<Unary> read_unary(const Node& node, const Facts&) {
  Unary a;
  if constexpr (requires { M::read(node, a); }) SDX_TRY(M::read(node, a));
  return a;
}

template <class M>
Result<Facts> infer_unary(const Unary&, const Facts& in) {
  Fact out = like(in[0]);
  if constexpr (requires(const Dim& d) { M::dim(d); }) {
    if (is_integer(in[0].type) || in[0].type == DType::boolean) {
      track<1>(out, in, [](const auto& d) -> std::optional<Dim> { return M::dim(*d[0]); });
    }
  }
  return Facts{std::move(out)};
}

using UnaryRun = void (*)(const Unary&, const void* x, void* y, size_t length);

template <class M, class T>
void unary_run(const Unary& a, const void* in, void* out, size_t length) {
  using E = Element<T>;
  const T* x = static_cast<const T*>(in);
  T* y = static_cast<T*>(out);
  size_t i = 0;
  // So many at a time, and results that cannot be an input, so that the loop vectorises.
  if constexpr (std::is_trivially_copyable_v<T>) {
    constexpr size_t kTogether = 64;
    for (; i + kTogether <= length; i += kTogether) {
      std::array<T, kTogether> made;
      for (size_t j = 0; j < kTogether; ++j) made[j] = E::put(M::apply(E::get(x[i + j]), a));
      std::memcpy(y + i, made.data(), sizeof made);
    }
  }
  for (; i < length; ++i) y[i] = E::put(M::apply(E::get(x[i]), a));
}

// The member's loop for elements of this type; null if it has none.
template <class M>
UnaryRun unary_run_of(DType type) {
  UnaryRun found = nullptr;
  visit_elements(type, [&]<class T>() {
    if constexpr (requires(typename Element<T>::Compute x, const Unary& a) { M::apply(x, a); }) {
      found = unary_run<M, T>;
    }
  });
  return found;
}

// y[i] = apply(x[i]): by this thread alone, or by all.
Status unary_runs(std::string_view name, UnaryRun run, const Unary& a, Args& args, bool threads);

template <class M>
Status unary_reference(const Unary& a, Args& args) {
  return unary_runs(M::name, unary_run_of<M>(args.in(0).type), a, args, false);
}

// Through the kernel's loop, by all threads; false if it has none for the input's type.
bool unary_numbers(std::optional<NumberMap> op, Args& args);

template <class M>
Status unary_threads(const Unary& a, Args& args) {
  if constexpr (requires { M::kNumbers; }) {
    if (unary_numbers(M::kNumbers, args)) return ok();
  }
  return unary_runs(M::name, unary_run_of<M>(args.in(0).type), a, args, true);
}

template <class M>
inline constexpr bool has_unary_code = requires {
  M::kCode;
}
|| requires(const Unary& a) { M::code(a); };

template <class M>
UnaryOp unary_code_of(const Unary& a) {
  if constexpr (requires { M::code(a); }) {
    return M::code(a);
  } else {
    return M::kCode;
  }
}

// One operation over an array of f32, f16 or bf16 at the level of this call, by all threads.
void unary_tiles(UnaryOp code, float p, float q, Args& args);

template <class M>
inline constexpr auto kUnaryKernels = [] {
  constexpr Kernel<Unary> threads{"threads", [](const Unary&, const Call&) { return true; },
                                  unary_threads<M>};
  if constexpr (has_unary_code<M>) {
    return std::array{
        Kernel<Unary>{"tiles",
                      [](const Unary&, const Call& call) { return is_array_type(call.in[0].type); },
                      [](const Unary& a, Args& args) {
                        unary_tiles(unary_code_of<M>(a), a.p, a.q, args);
                        return ok();
                      }},
        threads};
  } else {
    return std::array{threads};
  }
}();

template <class M>
std::optional<Pointwise> unary_pointwise(const Unary& a, const Facts& in) {
  if constexpr (has_unary_code<M>) {
    if (is_array_type(in[0].type)) {
      return Pointwise{Pointwise::Kind::unary, int(unary_code_of<M>(a)), a.p, a.q};
    }
  }
  return std::nullopt;
}

// The member's own cases and the samples, under the attributes that the member asks for.
template <class M>
std::vector<Case> unary_cases() {
  std::vector<Case> own;
  if constexpr (requires { M::cases(); }) own = M::cases();
  AttrMap attrs;
  if constexpr (requires { M::sample_attrs(); }) attrs = M::sample_attrs();
  return with_samples(M::history, std::move(own), std::move(attrs));
}

template <class M>
inline constexpr OpOf<Unary> kUnary{
    .name = M::name,
    .doc = M::doc,
    .history = M::history,
    .read = read_unary<M>,
    .infer = infer_unary<M>,
    .reference = unary_reference<M>,
    .kernels = kUnaryKernels<M>,
    .cases = unary_cases<M>,
    .inplace = true,
    .by_equality = true,
    .pointwise = unary_pointwise<M>,
    .layout = each_element<Unary>,
};

template <class M>
constexpr Op unary() {
  return erase<kUnary<M>>();
}

}  // namespace sdx::ops
