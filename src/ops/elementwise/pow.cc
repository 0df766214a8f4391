// Pow, whose exponent may have a type of its own.
#include "kernel/math/doubles.h"
#include "kernel/math/math.h"
#include "ops/elementwise/binary.h"

namespace sdx::ops {
namespace {

constexpr Version kHistory[] = {
    {1, "(X: T, Y: T) -> (Z: T) {axis: int, broadcast: int = 0} T in floats"},
    {7, "{-axis, -broadcast}"},
    {12, "(X: T, Y: T1) T += i32 i64 T1 in num"},
    {13, "T += bf16"},
    {15, "T1 += bf16"},
};

// x^n modulo 2^bits. A negative exponent gives the truncated quotient 1 / x^-n, and 0 for x = 0.
template <Integer T>
T integer_power(T x, int64_t n, bool is_unsigned) {
  if (n < 0 && !is_unsigned) {
    if (x == 1) return 1;
    if (x == T(-1)) return n % 2 == 0 ? 1 : x;
    return 0;
  }
  T result = 1;
  for (uint64_t left = uint64_t(n); left != 0; left /= 2, x = wrap_mul(x, x)) {
    if (left % 2 == 1) result = wrap_mul(result, x);
  }
  return result;
}

// In float if both are floats of at most 32 bits, in integers if both are integers, else in double;
// rounded once.
template <class T>
T power(T base, const View& y, size_t i) {
  if constexpr (std::integral<T>) {
    if (is_integer(y.type))
      return integer_power(base, get_i64(y.type, y.raw, i), !is_signed(y.type));
    return to_integer<T>(math::pow(double(base), get_f64(y.type, y.raw, i)));
  } else {
    const double exponent = get_f64(y.type, y.raw, i);
    if (!std::is_same_v<T, double> && is_array_type(y.type)) {
      return store<T>(math::pow(float(base), float(exponent)));
    }
    const double result = math::pow(double(load(base)), exponent);
    if constexpr (sizeof(T) == 2) {
      return T{uint16_t(encode_float(dtype_of<T>, result))};
    } else {
      return store<T>(Compute<T>(result));
    }
  }
}

void range(const Binary& a, Args& args, size_t begin, size_t end) {
  const Broadcast<2> walk(args.out().dims, {args.in(0).dims, args.in(1).dims}, {0, a.trail});
  const auto run = [&]<class T>() {
    const T* x = args.in(0).data<T>();
    T* z = args.out().data<T>();
    if constexpr (std::integral<T>) {
      // One exponent for all is looked at once.
      if (const View& y = args.in(1); y.count == 1 && is_integer(y.type) && walk.step(0) == 1) {
        const int64_t n = get_i64(y.type, y.raw, 0);
        return walk.pieces(begin, end, [&](size_t at, const auto& from, size_t length) {
          for (size_t i = 0; i < length; ++i) {
            const T base = x[from[0] + i];
            z[at + i] = n == 2 ? wrap_mul(base, base) : integer_power(base, n, !is_signed(y.type));
          }
        });
      }
    }
    walk.pieces(begin, end, [&](size_t at, const auto& from, size_t length) {
      for (size_t i = 0; i < length; ++i) {
        z[at + i] = power<T>(x[from[0] + i * walk.step(0)], args.in(1), from[1] + i * walk.step(1));
      }
    });
  };
  if (!visit_floats(args.in(0).type, run)) visit_integers(args.in(0).type, run);
}

// Doubles to the power of doubles in runs that the bases go along.
bool power_of_doubles(const Binary& a, Args& args, size_t begin, size_t end) {
  if (args.in(0).type != DType::f64 || args.in(1).type != DType::f64) return false;
  const Broadcast<2> walk(args.out().dims, {args.in(0).dims, args.in(1).dims}, {0, a.trail});
  if (walk.step(0) != 1) return false;
  walk.pieces(begin, end, [&](size_t at, const auto& from, size_t length) {
    SDX_PICK(double_power, args.isa)
    (args.in(0).data<double>() + from[0], args.in(1).data<double>() + from[1], walk.step(1),
     args.out().data<double>() + at, length);
  });
  return true;
}

struct Pow {
  static constexpr std::string_view name = "Pow";
  static constexpr std::string_view doc = "x to the power of y, in the type of x.";
  static constexpr std::span<const Version> history = kHistory;
  static constexpr BinaryOp kCode = BinaryOp::pow;
  static std::vector<Case> cases() {
    return {{.name = "integers_wrap_and_invert",
             .opset = 12,
             .attrs = {},
             .inputs = {Tensor::of<int32_t>({6}, {3, 2, 2, -1, 0, 7}),
                        Tensor::of<int64_t>({6}, {4, 33, -1, -3, -2, 0})},
             .expected = {Tensor::of<int32_t>({6}, {81, 0, 0, -1, 0, 1})}},
            {.name = "an_unsigned_exponent_is_not_negative",
             .opset = 12,
             .attrs = {},
             .inputs = {Tensor::of<int64_t>({1}, {3}), Tensor::of<uint64_t>({1}, {UINT64_MAX})},
             .expected = {Tensor::of<int64_t>({1}, {-6148914691236517205})}},
            {.name = "float_base_and_integer_exponent",
             .opset = 15,
             .attrs = {},
             .inputs = {Tensor::of<float>({3}, {1.5f, -2, 0}), Tensor::of<int32_t>({}, {3})},
             .expected = {Tensor::of<float>({3}, {3.375f, -8, 0})}},
            {.name = "opset1_broadcast",
             .opset = 1,
             .attrs = {{"broadcast", int64_t{1}}},
             .inputs = {Tensor::of<float>({2, 2}, {1, 2, 3, 4}), Tensor::of<float>({2}, {1, 2})},
             .expected = {Tensor::of<float>({2, 2}, {1, 4, 3, 16})}}};
  }
};

constexpr Kernel<Binary> kKernels[] = {
    {"tiles", [](const Binary& a, const Call& call) { return binary_tiles_fit(a.trail, call); },
     [](const Binary& a, Args& args) {
       binary_tiles(BinaryOp::pow, a.trail, args);
       return ok();
     }},
    {"threads", [](const Binary&, const Call&) { return true; },
     [](const Binary& a, Args& args) {
       args.pool->parallel(args.out().count, kElementGrain / 16,
                           [&](size_t begin, size_t end, int) {
                             if (!power_of_doubles(a, args, begin, end)) range(a, args, begin, end);
                           });
       return ok();
     }},
};

constexpr OpOf<Binary> kPow{
    .name = Pow::name,
    .doc = Pow::doc,
    .history = Pow::history,
    .read = read_binary<Pow>,
    .infer = infer_binary<Pow>,
    .reference =
        [](const Binary& a, Args& args) {
          range(a, args, 0, args.out().count);
          return ok();
        },
    .kernels = kKernels,
    .cases = binary_cases<Pow>,
    .inplace = true,
    .pointwise = binary_pointwise<Pow>,
    .layout = binary_layout,
};

}  // namespace

extern const Op pow = erase<kPow>();

}  // namespace sdx::ops
