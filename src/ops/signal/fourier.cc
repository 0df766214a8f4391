#include "ops/signal/fourier.h"

#include <utility>

#include "kernel/math/math.h"

namespace sdx::ops {
namespace {

Complex times(const Complex& a, const Complex& b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

size_t smallest_factor(size_t n) {
  for (size_t p = 2; p * p <= n; ++p) {
    if (n % p == 0) return p;
  }
  return n;
}

}  // namespace

Complex turn(size_t j, size_t n) {
  j %= n;
  const size_t quarter = 4 * j / n, rest = 4 * j % n;
  const double angle = 1.5707963267948966 * (double(rest) / double(n));
  const double c = rest == 0 ? 1 : math::cos(angle), s = rest == 0 ? 0 : math::sin(angle);
  switch (quarter) {
    case 0:
      return {c, s};
    case 1:
      return {-s, c};
    case 2:
      return {-c, -s};
    default:
      return {s, -c};
  }
}

Fourier::Fourier(size_t n, bool inverse) : n_(n), turns_(n), terms_(n) {
  for (size_t j = 0; j < n; ++j) {
    turns_[j] = turn(j, n);
    if (!inverse) turns_[j].im = -turns_[j].im;
  }
}

void Fourier::run(const Complex* in, Complex* out) {
  if (n_ > 0) part(in, 1, out, n_);
}

void Fourier::part(const Complex* in, size_t step, Complex* out, size_t n) {
  if (n == 1) {
    *out = *in;
    return;
  }
  const size_t p = smallest_factor(n), m = n / p;
  for (size_t r = 0; r < p; ++r) part(in + r * step, step * p, out + r * m, m);
  for (size_t k = 0; k < m; ++k) {
    for (size_t r = 0; r < p; ++r) terms_[r] = out[r * m + k];
    for (size_t j = k; j < n; j += m) {
      Complex sum = terms_[0];
      for (size_t r = 1; r < p; ++r) {
        const Complex term = times(terms_[r], turns_[r * j % n * (n_ / n)]);
        sum = {sum.re + term.re, sum.im + term.im};
      }
      out[j] = sum;
    }
  }
}

}  // namespace sdx::ops
