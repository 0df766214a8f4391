// Kernels for float16 and bfloat16 made from those for float: inputs are widened into scratch
// memory, the float kernel runs, and its outputs are rounded. By the rule of docs/numerics.md
// (widen, compute in float, round once) these are the reference's bits.
#pragma once

#include <array>

#include "base/aligned.h"
#include "base/slab.h"
#include "kernel/elementwise/halves.h"
#include "ops/common.h"

namespace sdx {

inline bool is_half(DType type) { return type == DType::f16 || type == DType::bf16; }

template <class A>
A attributes_of(const Kernel<A>&);  // never called: names A

template <const auto& kFloat>
struct Widened {
  using A = decltype(attributes_of(kFloat));
  static constexpr size_t kMostInputs = 8, kMostOutputs = 8;

  static Facts widen(const Facts& facts) {
    Facts wide = facts;
    for (Fact& fact : wide) {
      if (is_half(fact.type)) fact.type = DType::f32;
    }
    return wide;
  }
  // Inputs that only pack() reads.
  static bool packs(size_t i) { return kFloat.pack != nullptr && (kFloat.packs >> i & 1) != 0; }
  static size_t floats(size_t count) { return aligned_floats(count); }
  static size_t count(const Fact& fact) {
    size_t n = 1;
    for (const int64_t d : fact.dims()) n *= size_t(d);
    return n;
  }

  static bool fits(const A& a, const Call& call) {
    if (!is_half(call.in[0].type) || call.in.size() > kMostInputs || call.out.size() > kMostOutputs)
      return false;
    const Facts in = widen(call.in), out = widen(call.out);
    return kFloat.fits(a, Call{in, out, call.isa, call.threads});
  }
  // First the float kernel's own, then one float per element that changes its type.
  static size_t scratch(const A& a, const Call& call) {
    const Facts in = widen(call.in), out = widen(call.out);
    size_t bytes =
        kFloat.scratch == nullptr ? 0 : kFloat.scratch(a, Call{in, out, call.isa, call.threads});
    bytes = aligned_bytes(bytes);
    for (size_t i = 0; i < call.in.size(); ++i) {
      if (is_half(call.in[i].type) && !packs(i)) bytes += floats(count(call.in[i])) * sizeof(float);
    }
    for (const Fact& fact : call.out) {
      if (is_half(fact.type)) bytes += floats(count(fact)) * sizeof(float);
    }
    return bytes;
  }
  static std::shared_ptr<const void> pack(const A& a, const Call& call, Pool& pool) {
    Facts in = widen(call.in);
    const Facts out = widen(call.out);
    for (size_t i = 0; i < in.size(); ++i) {
      if (call.in[i].value == nullptr || !is_half(call.in[i].type)) continue;
      const Tensor& narrow = *call.in[i].value;
      Tensor wide = Tensor::make(DType::f32, narrow.dims());
      const auto convert = widening(narrow.type(), call.isa);
      convert(narrow.data<uint16_t>(), wide.data<float>(), narrow.count());
      in[i].value = std::make_shared<const Tensor>(std::move(wide));
    }
    const LastingUse use(LastingUse::pages(), Stay::no);  // a run has no wide form of them
    return kFloat.pack(a, Call{in, out, call.isa, call.threads}, pool);
  }

  static constexpr size_t kPiece = 8192;  // elements that a thread converts at a time
  static void widen(const View& narrow, float* to, Pool& pool, Isa isa) {
    const auto* from = narrow.data<uint16_t>();
    const auto convert = widening(narrow.type, isa);
    pool.parallel(narrow.count, kPiece, [&](size_t begin, size_t end, int) {
      convert(from + begin, to + begin, end - begin);
    });
  }
  static void round(const float* from, const View& narrow, Pool& pool, Isa isa) {
    auto* to = narrow.data<uint16_t>();
    const auto convert = narrowing(narrow.type, isa);
    pool.parallel(narrow.count, kPiece, [&](size_t begin, size_t end, int) {
      convert(from + begin, to + begin, end - begin);
    });
  }

  static Status run(const A& a, Args& args) {
    std::array<View, kMostInputs> ins;
    std::array<View, kMostOutputs> outs;
    // The converted tensors lie at the end of the scratch memory.
    size_t bytes = 0;
    for (size_t i = 0; i < args.ins.size(); ++i) {
      if (is_half(args.ins[i].type) && !packs(i))
        bytes += floats(args.ins[i].count) * sizeof(float);
    }
    for (const View& view : args.outs)
      bytes += is_half(view.type) ? floats(view.count) * sizeof(float) : 0;
    auto* next = reinterpret_cast<float*>(args.scratch.data() + (args.scratch.size() - bytes));
    const auto place = [&](const View& view, bool needed) {
      View wide = view;
      if (!is_half(view.type)) return wide;
      wide.type = DType::f32;
      wide.raw = needed ? next : nullptr;
      if (needed) next += floats(view.count);
      return wide;
    };
    for (size_t i = 0; i < args.ins.size(); ++i) {
      ins[i] = place(args.ins[i], !packs(i));
      if (is_half(args.ins[i].type) && !packs(i))
        widen(args.ins[i], ins[i].template data<float>(), *args.pool, args.isa);
    }
    for (size_t i = 0; i < args.outs.size(); ++i) outs[i] = place(args.outs[i], true);
    Args wide = args;
    wide.ins = {ins.data(), args.ins.size()};
    wide.outs = {outs.data(), args.outs.size()};
    wide.scratch = args.scratch.first(args.scratch.size() - bytes);
    SDX_TRY(kFloat.run(a, wide));
    for (size_t i = 0; i < args.outs.size(); ++i) {
      if (is_half(args.outs[i].type))
        round(outs[i].template data<float>(), args.outs[i], *args.pool, args.isa);
    }
    return ok();
  }
};

// The kernel `kFloat`, which takes float, for the 16-bit types.
template <const auto& kFloat>
constexpr auto widened(std::string_view name) {
  using W = Widened<kFloat>;
  auto kernel = kFloat;
  kernel.name = name;
  kernel.fits = W::fits;
  kernel.run = W::run;
  kernel.scratch = W::scratch;
  kernel.pack = kFloat.pack == nullptr ? nullptr : W::pack;
  return kernel;
}

}  // namespace sdx
