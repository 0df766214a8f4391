#include "base/exact_fma.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <utility>

namespace sdx {
namespace {

__extension__ typedef unsigned __int128 uint128_t;

// |value| = bits * 2^exponent, with the first bit of `bits` at place 125.
struct Wide {
  uint128_t bits;
  int exponent;

  static Wide of(uint128_t bits, int exponent) {
    const auto high = static_cast<uint64_t>(bits >> 64), low = static_cast<uint64_t>(bits);
    const int zeros = high != 0 ? std::countl_zero(high) : 64 + std::countl_zero(low);
    return zeros >= 2 ? Wide{bits << (zeros - 2), exponent - (zeros - 2)}
                      : Wide{(bits >> 1) | (bits & 1), exponent + 1};
  }
  // With the other's exponent, which is larger; what is lost leaves the last bit set.
  void align(int to) {
    const int shift = to - exponent;
    exponent = to;
    if (shift >= 128) {
      bits = 1;
    } else if (shift > 0) {
      const uint128_t kept = bits >> shift;
      bits = kept | ((kept << shift) != bits ? 1 : 0);
    }
  }
};

Wide product(double a, double b) {
  int ea = 0, eb = 0;
  const auto ma = uint64_t(std::ldexp(std::frexp(std::fabs(a), &ea), 53));
  const auto mb = uint64_t(std::ldexp(std::frexp(std::fabs(b), &eb), 53));
  return Wide::of(static_cast<uint128_t>(ma) * mb, ea + eb - 106);
}

Wide whole(double c) {
  int e = 0;
  const auto m = uint64_t(std::ldexp(std::frexp(std::fabs(c), &e), 53));
  return Wide::of(m, e - 53);
}

// To the nearest double, ties to even; one of the last places of a denormal counts 2^-1074.
double rounded(const Wide& sum) {
  constexpr int kKept = 53, kPlaces = 126, kLeast = -1074;
  int shift = kPlaces - kKept;
  if (sum.exponent + shift < kLeast) shift = kLeast - sum.exponent;
  if (shift >= 128) return 0;
  const uint128_t rest = sum.bits & ((static_cast<uint128_t>(1) << shift) - 1);
  const uint128_t half = static_cast<uint128_t>(1) << (shift - 1);
  auto kept = uint64_t(sum.bits >> shift);
  if (rest > half || (rest == half && (kept & 1) != 0)) ++kept;
  return std::ldexp(double(kept), sum.exponent + shift);
}

}  // namespace

double exact_fma(double a, double b, double c) {
  if (!std::isfinite(a) || !std::isfinite(b) || a == 0 || b == 0) return a * b + c;
  if (!std::isfinite(c)) return c + c;  // the product may be too large for a double
  if (c == 0) return a * b;
  Wide p = product(a, b), q = whole(c);
  bool p_negative = std::signbit(a) != std::signbit(b);
  bool q_negative = std::signbit(c);
  if (p.exponent < q.exponent || (p.exponent == q.exponent && p.bits < q.bits)) {
    std::swap(p, q);
    std::swap(p_negative, q_negative);
  }
  q.align(p.exponent);
  const uint128_t sum = p_negative == q_negative ? p.bits + q.bits : p.bits - q.bits;
  if (sum == 0) return 0;
  const double result = rounded(Wide::of(sum, p.exponent));
  return p_negative ? -result : result;
}

// The product of two floats is exact as a double. Its sum with the third is rounded to odd, the
// last bit set if anything was lost: enough to round as if from the exact value.
float exact_fma(float a, float b, float c) {
  const double product = double(a) * double(b), addend = c;
  const double sum = product + addend;
  const double back = sum - product;
  const double lost = (product - (sum - back)) + (addend - back);
  auto bits = std::bit_cast<uint64_t>(sum);
  if ((lost < 0 || lost > 0) && (bits & 1) == 0) bits += (lost > 0) == (sum > 0) ? 1 : uint64_t(-1);
  return float(std::bit_cast<double>(bits));
}

}  // namespace sdx
