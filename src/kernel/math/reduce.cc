// Payne and Hanek's reduction: x * 2/pi mod 4 from the bits of 2/pi that matter for this exponent.
#include <cstdint>
#include <cstring>

#include "kernel/math/dd.h"
#include "kernel/math/wide.h"

namespace sdx {
namespace {

__extension__ typedef unsigned __int128 uint128_t;

// The bits of 2/pi behind its binary point, with 64 zeros before them for small exponents.
constexpr uint64_t kTwoOverPi[] = {0,
                                   0xa2f9836e4e441529,
                                   0xfc2757d1f534ddc0,
                                   0xdb6295993c439041,
                                   0xfe5163abdebbc561,
                                   0xb7246e3a424dd2e0,
                                   0x06492eea09d1921c,
                                   0xfe1deb1cb129a73e,
                                   0xe88235f52ebb4484,
                                   0xe99c7026b45f7e41,
                                   0x3991d639835339f4,
                                   0x9c845f8bbdf9283b,
                                   0x1ff897ffde05980f,
                                   0xef2f118b5a0a6d1f,
                                   0x6d367ecf27cb09b7,
                                   0x4f463f669e5fea2d,
                                   0x7527bac7ebe5f17b,
                                   0x3d0739f78a5292ea,
                                   0x6bfb5fb11f8d5d08,
                                   0x56033046fc7b6bab,
                                   0xf0cfbc209af4361d};

// 64 bits of the table from bit `start` on.
uint64_t window(int start) {
  const int word = start / 64, shift = start % 64;
  if (shift == 0) return kTwoOverPi[word];
  return kTwoOverPi[word] << shift | kTwoOverPi[word + 1] >> (64 - shift);
}

double scaled(uint64_t integer, int exponent) {
  const uint64_t bits = uint64_t(exponent + 1023) << 52;
  double power;
  memcpy(&power, &bits, 8);
  return double(integer) * power;
}

}  // namespace

int reduce_half_pi(double x, double* hi, double* lo) {
  uint64_t bits;
  memcpy(&bits, &x, 8);
  const bool negative = bits >> 63 != 0;
  // |x| = mantissa * 2^exponent. Bits of 2/pi above weight 2^(2 - exponent) only add multiples
  // of 4.
  const int exponent = int(bits >> 52 & 0x7ff) - 1075;
  const uint64_t mantissa = (bits & 0xfffffffffffff) | 0x10000000000000;
  const int start = 64 + exponent - 2;
  const uint64_t w2 = window(start), w1 = window(start + 64), w0 = window(start + 128);

  // The product's low 192 bits: 2 of quadrant, 190 of fraction.
  const uint128_t p0 = uint128_t(mantissa) * w0, p1 = uint128_t(mantissa) * w1 + uint64_t(p0 >> 64);
  uint64_t f2 = mantissa * w2 + uint64_t(p1 >> 64), f1 = uint64_t(p1), f0 = uint64_t(p0);
  int n = int(f2 >> 62);
  f2 = f2 << 2 | f1 >> 62;
  f1 = f1 << 2 | f0 >> 62;
  f0 <<= 2;
  // A fraction of a half or more is counted down from the next quadrant.
  bool below = f2 >> 63 != 0;
  if (below) {
    ++n;
    f0 = ~f0 + 1;
    f1 = ~f1 + (f0 == 0 ? 1 : 0);
    f2 = ~f2 + (f0 == 0 && f1 == 0 ? 1 : 0);
  }
  if (negative) {
    n = -n;
    below = !below;
  }

  // Normalise; x is never so close to a multiple of pi/2 that the first two words vanish.
  int zeros = 0;
  if (f2 == 0) {
    f2 = f1;
    f1 = f0;
    f0 = 0;
    zeros = 64;
  }
  const int lead = __builtin_clzll(f2 | 1);
  if (lead > 0) {
    f2 = f2 << lead | f1 >> (64 - lead);
    f1 = f1 << lead | f0 >> (64 - lead);
  }
  zeros += lead;
  const double first = scaled(f2 >> 11, -53 - zeros);
  const double second = scaled((f2 & 0x7ff) << 42 | f1 >> 22, -106 - zeros);
  const Dd r = Dd{first, second} * Dd{0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54};
  *hi = below ? -r.hi : r.hi;
  *lo = below ? -r.lo : r.lo;
  return n & 3;
}

}  // namespace sdx
