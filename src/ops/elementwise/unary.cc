// Abs, Neg, Sign, Sqrt, Reciprocal, the roundings, Exp, Log and Erf.
#include "ops/elementwise/unary.h"

#include "kernel/elementwise/halves.h"
#include "kernel/math/math.h"
#include "ops/list.h"

namespace sdx::ops {

namespace {

// run(x, y, length) for each thread's part.
template <class Run>
void each_part(Args& args, bool threads, Run&& run) {
  const size_t bytes = bytes_for(args.in(0).type, 1);
  const auto range = [&](size_t begin, size_t end, int) {
    run(args.in(0).data<std::byte>() + begin * bytes, args.out().data<std::byte>() + begin * bytes,
        end - begin);
  };
  if (threads) {
    args.pool->parallel(args.out().count, kElementGrain / 4, range);
  } else {
    range(0, args.out().count, 0);
  }
}

}  // namespace

Status unary_runs(std::string_view name, UnaryRun run, const Unary& a, Args& args, bool threads) {
  if (run == nullptr) return unsupported_type(name, args.in(0).type);
  each_part(args, threads, [&](auto... part) { run(a, part...); });
  return ok();
}

bool unary_numbers(std::optional<NumberMap> op, Args& args) {
  const MapLoop loop = op ? map_loop(*op, args.in(0).type, args.isa) : nullptr;
  if (loop != nullptr) each_part(args, true, loop);
  return loop != nullptr;
}

void unary_tiles(UnaryOp code, float p, float q, Args& args) {
  const auto tile = SDX_PICK(array_unary, args.isa);
  const DType type = args.out().type;
  args.pool->parallel(args.out().count, kElementGrain / 4, [&](size_t begin, size_t end, int) {
    if (type == DType::f32) {
      return tile(code, args.in(0).data<float>() + begin, args.out().data<float>() + begin,
                  end - begin, p, q);
    }
    const auto widen = widening(type, args.isa);
    const auto narrow = narrowing(type, args.isa);
    alignas(kAlignment) float wide[kChunk];
    for (size_t i = begin; i < end; i += kChunk) {
      const size_t n = std::min(kChunk, end - i);
      widen(args.in(0).data<uint16_t>() + i, wide, n);
      tile(code, wide, wide, n, p, q);
      narrow(wide, args.out().data<uint16_t>() + i, n);
    }
  });
}

namespace {

constexpr Version kInputOutput[] = {
    {1, "(input: T) -> (output: T) {consumed_inputs: ints} T in floats"},
    {6, "{-consumed_inputs}"},
    {13, "T += bf16"},
};
constexpr Version kXY[] = {
    {1, "(X: T) -> (Y: T) {consumed_inputs: ints} T in floats"},
    {6, "{-consumed_inputs}"},
    {13, "T += bf16"},
};
constexpr Version kAbsHistory[] = {
    {1, "(X: T) -> (Y: T) {consumed_inputs: ints} T in floats"},
    {6, "{-consumed_inputs} T += ints uints"},
    {13, "T += bf16"},
};
constexpr Version kNegHistory[] = {
    {1, "(X: T) -> (Y: T) {consumed_inputs: ints} T in floats"},
    {6, "{-consumed_inputs} T += ints"},
    {13, "T += bf16"},
};
constexpr Version kSignHistory[] = {
    {9, "(input: T) -> (output: T) T in num"},
    {13, "T += bf16"},
};
constexpr Version kErfHistory[] = {
    {9, "(input: T) -> (output: T) T in num"},
    {13, "T in floats bf16"},
};
constexpr Version kRoundHistory[] = {
    {11, "(X: T) -> (Y: T) T in floats"},
    {22, "T += bf16"},
};

struct Abs {
  static constexpr std::string_view
      name = "Abs",
      doc = "The magnitude. That of the least signed integer wraps to itself.";
  static constexpr std::span<const Version> history = kAbsHistory;
  static constexpr UnaryOp kCode = UnaryOp::abs;
  static constexpr NumberMap kNumbers = NumberMap::abs;
  template <Number C>
  static C apply(C x, const Unary&) {
    if constexpr (std::integral<C>) return x < 0 ? wrap_sub(C(0), x) : x;
    return std::fabs(x);
  }
  static std::vector<Case> cases() {
    return {{.name = "the_least_integer_wraps",
             .opset = 13,
             .attrs = {},
             .inputs = {Tensor::of<int8_t>({3}, {-128, -1, 5})},
             .expected = {Tensor::of<int8_t>({3}, {-128, 1, 5})}}};
  }
};
struct Neg {
  static constexpr std::string_view name = "Neg", doc = "-x.";
  static constexpr std::span<const Version> history = kNegHistory;
  static constexpr UnaryOp kCode = UnaryOp::neg;
  static constexpr NumberMap kNumbers = NumberMap::negate;
  template <Number C>
  static C apply(C x, const Unary&) {
    if constexpr (std::integral<C>) return wrap_sub(C(0), x);
    return -x;
  }
  static std::optional<Dim> dim(const Dim& x) { return Dim(0) - x; }
};
struct Sign {
  static constexpr std::string_view name = "Sign", doc = "-1, 0 or 1; NaN for NaN, +0 for -0.";
  static constexpr std::span<const Version> history = kSignHistory;
  static constexpr UnaryOp kCode = UnaryOp::sign;
  static constexpr NumberMap kNumbers = NumberMap::sign;
  template <Number C>
  static C apply(C x, const Unary&) {
    if (x != x) return x;
    return C(C(x > 0) - C(x < 0));
  }
};
struct Sqrt {
  static constexpr std::string_view name = "Sqrt",
                                    doc = "The square root, correctly rounded; NaN below zero.";
  static constexpr std::span<const Version> history = kXY;
  static constexpr UnaryOp kCode = UnaryOp::sqrt;
  static constexpr NumberMap kNumbers = NumberMap::sqrt;
  template <std::floating_point C>
  static C apply(C x, const Unary&) {
    return std::sqrt(x);
  }
};
struct Reciprocal {
  static constexpr std::string_view name = "Reciprocal", doc = "1 / x.";
  static constexpr std::span<const Version> history = kXY;
  static constexpr UnaryOp kCode = UnaryOp::reciprocal;
  static constexpr NumberMap kNumbers = NumberMap::reciprocal;
  template <std::floating_point C>
  static C apply(C x, const Unary&) {
    return C(1) / x;
  }
};
struct Floor {
  static constexpr std::string_view name = "Floor",
                                    doc = "The nearest integer that is not greater.";
  static constexpr std::span<const Version> history = kXY;
  static constexpr UnaryOp kCode = UnaryOp::floor;
  static constexpr NumberMap kNumbers = NumberMap::floor;
  template <std::floating_point C>
  static C apply(C x, const Unary&) {
    return std::floor(x);
  }
};
struct Ceil {
  static constexpr std::string_view name = "Ceil", doc = "The nearest integer that is not less.";
  static constexpr std::span<const Version> history = kXY;
  static constexpr UnaryOp kCode = UnaryOp::ceil;
  static constexpr NumberMap kNumbers = NumberMap::ceil;
  template <std::floating_point C>
  static C apply(C x, const Unary&) {
    return std::ceil(x);
  }
};
struct Round {
  static constexpr std::string_view name = "Round",
                                    doc = "The nearest integer, halves to the even one.";
  static constexpr std::span<const Version> history = kRoundHistory;
  static constexpr UnaryOp kCode = UnaryOp::round;
  static constexpr NumberMap kNumbers = NumberMap::round;
  template <std::floating_point C>
  static C apply(C x, const Unary&) {
    return std::nearbyint(x);
  }
};
struct Exp {
  static constexpr std::string_view name = "Exp", doc = "e^x.";
  static constexpr std::span<const Version> history = kInputOutput;
  static constexpr UnaryOp kCode = UnaryOp::exp;
  static constexpr NumberMap kNumbers = NumberMap::exp;
  template <std::floating_point C>
  static C apply(C x, const Unary&) {
    return math::exp(x);
  }
  static std::vector<Case> cases() {
    Tensor x = Tensor::make(DType::f32, {20000});
    for (size_t i = 0; i < x.count(); ++i) x.data<float>()[i] = -100.f + float(i) * .01f;
    x.data<float>()[7] = std::numeric_limits<float>::signaling_NaN();
    Tensor h = Tensor::make(DType::f16, {4099});
    for (size_t i = 0; i < h.count(); ++i) h.data<F16>()[i] = {uint16_t(i * 15)};
    return {{.name = "many", .opset = 13, .attrs = {}, .inputs = {x}},
            {.name = "float16", .opset = 1, .attrs = {}, .inputs = {h}}};
  }
};
struct Log {
  static constexpr std::string_view name = "Log",
                                    doc = "The natural logarithm; -inf at zero, NaN below.";
  static constexpr std::span<const Version> history = kInputOutput;
  static constexpr UnaryOp kCode = UnaryOp::log;
  static constexpr NumberMap kNumbers = NumberMap::log;
  template <std::floating_point C>
  static C apply(C x, const Unary&) {
    return math::log(x);
  }
};
struct Erf {
  static constexpr std::string_view
      name = "Erf",
      doc = "The error function; integers (opset 9) truncate its result.";
  static constexpr std::span<const Version> history = kErfHistory;
  static constexpr UnaryOp kCode = UnaryOp::erf;
  template <Number C>
  static C apply(C x, const Unary&) {
    if constexpr (std::integral<C>)
      return to_integer<C>(math::erf(double(x)));
    else
      return math::erf(x);
  }
  static std::vector<Case> cases() {
    return {{.name = "opset9_takes_integers",
             .opset = 9,
             .attrs = {},
             .inputs = {Tensor::of<int32_t>({4}, {-9, 0, 1, 9})},
             .expected = {Tensor::of<int32_t>({4}, {-1, 0, 0, 1})}}};
  }
};

}  // namespace

const Op abs = unary<Abs>();
const Op ceil = unary<Ceil>();
const Op erf = unary<Erf>();
const Op exp = unary<Exp>();
const Op floor = unary<Floor>();
const Op log = unary<Log>();
const Op neg = unary<Neg>();
const Op reciprocal = unary<Reciprocal>();
const Op round = unary<Round>();
const Op sign = unary<Sign>();
const Op sqrt = unary<Sqrt>();

}  // namespace sdx::ops
