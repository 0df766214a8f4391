// IsNaN and IsInf.
#include <array>
#include <cmath>
#include <cstring>

#include "op/layout.h"
#include "ops/elementwise/broadcast.h"
#include "ops/elementwise/element.h"
#include "ops/elementwise/samples.h"

namespace sdx::ops {
namespace {

struct Predicate {
  bool nan = false, negative = false, positive = false;  // what counts
};

constexpr Version kIsNaNHistory[] = {
    {9, "(X: T1) -> (Y: T2) T1 in floats T2 in bool"},
    {13, "T1 += bf16"},
    {20, "T1 += f8"},
};
constexpr Version kIsInfHistory[] = {
    {10,
     "(X: T1) -> (Y: T2) {detect_negative: int = 1, detect_positive: int = 1} T1 in f32 f64 T2 in "
     "bool"},
    {20, "T1 += f8 bf16 f16"},
};

Result<Predicate> read_nan(const Node&, const Facts&) { return Predicate{.nan = true}; }
Result<Predicate> read_inf(const Node& node, const Facts&) {
  return Predicate{.negative = node.i("detect_negative") != 0,
                   .positive = node.i("detect_positive") != 0};
}

Result<Facts> infer(const Predicate&, const Facts& in) {
  return Facts{like(in[0], DType::boolean)};
}

bool holds(const Predicate& a, double x) {
  if (std::isnan(x)) return a.nan;
  return std::isinf(x) && (x < 0 ? a.negative : a.positive);
}

Status reference(const Predicate& a, Args& args) {
  const View &x = args.in(0), &y = args.out();
  for (size_t i = 0; i < y.count; ++i) y.data<uint8_t>()[i] = holds(a, get_f64(x.type, x.raw, i));
  return ok();
}

// On the encodings, without a branch, so many at a time that the loop vectorises. `infinity` is the
// encoding of +infinity; NaNs lie above it, the sign apart.
template <class Bits>
void on_encodings(const Predicate& a, Bits infinity, const Bits* x, uint8_t* y, size_t n) {
  constexpr Bits kSign = Bits(Bits(1) << (8 * sizeof(Bits) - 1));
  const auto loop = [&](auto test) {
    constexpr size_t kChunk = 64;
    size_t i = 0;
    for (; i + kChunk <= n; i += kChunk) {
      std::array<uint8_t, kChunk> made;
      for (size_t j = 0; j < kChunk; ++j) made[j] = test(x[i + j]);
      std::memcpy(y + i, made.data(), kChunk);
    }
    for (; i < n; ++i) y[i] = test(x[i]);
  };
  if (a.nan) {
    // Without the sign both are no less as signed numbers, which machines compare more readily.
    using Signed = std::make_signed_t<Bits>;
    const auto most = Signed(infinity);
    return loop([most](Bits bits) { return uint8_t(Signed(bits & Bits(~kSign)) > most); });
  }
  const Bits below = Bits(infinity | kSign);
  const uint8_t positive = a.positive, negative = a.negative;
  loop([=](Bits bits) {
    return uint8_t((uint8_t(bits == infinity) & positive) | (uint8_t(bits == below) & negative));
  });
}

Status threads(const Predicate& a, Args& args) {
  const auto run = [&]<class Bits>(Bits infinity) {
    args.pool->parallel(args.out().count, kElementGrain, [&](size_t begin, size_t end, int) {
      on_encodings<Bits>(a, infinity, args.in(0).data<Bits>() + begin,
                         args.out().data<uint8_t>() + begin, end - begin);
    });
    return ok();
  };
  switch (args.in(0).type) {
    case DType::f16:
      return run(uint16_t{0x7c00});
    case DType::bf16:
      return run(uint16_t{0x7f80});
    case DType::f32:
      return run(uint32_t{0x7f80'0000});
    default:
      return run(uint64_t{0x7ff0'0000'0000'0000});
  }
}

constexpr Kernel<Predicate> kKernels[] = {
    {"threads", [](const Predicate&, const Call& call) { return bits(call.in[0].type) >= 16; },
     threads},
};

std::vector<Case> cases() {
  return {{.name = "only_the_detected_sign",
           .opset = 10,
           .attrs = {{"detect_negative", int64_t{0}}},
           .inputs = {Tensor::of<double>({3}, {-INFINITY, INFINITY, NAN})},
           .expected = {Tensor::of<bool>({3}, {false, true, false})}},
          {.name = "float8_without_infinity",
           .opset = 20,
           .attrs = {},
           .inputs = {Tensor::of<F8E4M3FN>({2}, {F8E4M3FN{0x7f}, F8E4M3FN{0x7e}})},
           .expected = {Tensor::of<bool>({2}, {false, false})}},
          {.name = "float8_with_infinity",
           .opset = 20,
           .attrs = {},
           .inputs = {Tensor::of<F8E5M2>({3}, {F8E5M2{0x7c}, F8E5M2{0xfc}, F8E5M2{0x7f}})},
           .expected = {Tensor::of<bool>({3}, {true, true, false})}}};
}

constexpr OpOf<Predicate> kIsNaN{
    .name = "IsNaN",
    .doc = "Whether the element is NaN.",
    .history = kIsNaNHistory,
    .read = read_nan,
    .infer = infer,
    .reference = reference,
    .kernels = kKernels,
    .cases = [] { return with_samples(kIsNaNHistory); },
    .layout = each_element<Predicate>,
};
constexpr OpOf<Predicate> kIsInf{
    .name = "IsInf",
    .doc = "Whether the element is an infinity of a sign that is asked for.",
    .history = kIsInfHistory,
    .read = read_inf,
    .infer = infer,
    .reference = reference,
    .kernels = kKernels,
    .cases = [] { return with_samples(kIsInfHistory, cases()); },
    .layout = each_element<Predicate>,
};

}  // namespace

extern const Op is_inf = erase<kIsInf>();
extern const Op is_nan = erase<kIsNaN>();

}  // namespace sdx::ops
