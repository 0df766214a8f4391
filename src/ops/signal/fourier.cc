#include "ops/signal/fourier.h"

#include "base/deadline.h"
#include "kernel/math/math.h"

namespace sdx::ops {
namespace {

template <class R>
Complex<R> operator+(const Complex<R>& a, const Complex<R>& b) {
  return {a.re + b.re, a.im + b.im};
}
template <class R>
Complex<R> operator-(const Complex<R>& a, const Complex<R>& b) {
  return {a.re - b.re, a.im - b.im};
}
template <class R>
Complex<R> operator*(const Complex<R>& a, const Complex<R>& b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

size_t smallest_factor(size_t n) {
  for (size_t p = 2; p * p <= n; ++p) {
    if (n % p == 0) return p;
  }
  return n;
}

}  // namespace

Complex<double> turn(size_t j, size_t n) {
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

template <class R>
Fourier<R>::Fourier(size_t n, bool inverse) : n_(n), turns_(n), terms_(n), sums_(n), gaps_(n) {
  // A quarter turn further on, the parts change places.
  const size_t different = n % 4 == 0 ? n / 4 : n;
  for (size_t j = 0; j < n; ++j) {
    if (j < different) {
      const Complex<double> w = turn(j, n);
      turns_[j] = {R(w.re), R(w.im)};
    } else {
      const Complex<R> w = turns_[j - different];
      turns_[j] = {-w.im, w.re};
    }
  }
  for (size_t j = 0; !inverse && j < n; ++j) turns_[j].im = -turns_[j].im;
}

template <class R>
void Fourier<R>::run(Complex<R>* in, Complex<R>* out) {
  if (n_ > 0) part(in, n_, out, 1);
}

template <class R>
void Fourier<R>::run_real(Complex<R>* in, Complex<R>* out) {
  run(in, out);
  out[0].im = 0;
  if (n_ % 2 == 0) out[n_ / 2].im = 0;
  for (size_t j = 1; 2 * j < n_; ++j) out[n_ - j] = {out[j].re, -out[j].im};
}

template <class R>
void Fourier<R>::part(Complex<R>* x, size_t n, Complex<R>* out, size_t step) {
  if (n == 1) {
    *out = *x;
    return;
  }
  const size_t p = smallest_factor(n), m = n / p;
  if (p == 2) {
    halve(x, m);
    part(x, m, out, step * 2);
    return part(x + m, m, out + step, step * 2);
  }
  for (size_t i = 0; i < m; ++i) {
    for (size_t j = 0; j < p; ++j) terms_[j] = x[i + m * j];
    meet(p);
    x[i] = terms_[0];
    for (size_t k = 1; k < p; ++k)
      x[i + m * k] = i == 0 ? terms_[k] : terms_[k] * turns_[i * k * (n_ / n)];
  }
  for (size_t k = 0; k < p; ++k) part(x + k * m, m, out + k * step, step * p);
}

// Two numbers m apart become their sum and their difference, turned.
template <class R>
void Fourier<R>::halve(Complex<R>* x, size_t m) {
  const Complex<R>* turn = turns_.data();
  const size_t next = n_ / (2 * m);
  for (size_t i = 0; i < m; ++i, turn += next) {
    const Complex<R> one = x[i], two = x[i + m], gap = one - two;
    x[i] = one + two;
    x[i + m] = i == 0 ? gap : gap * *turn;
  }
}

template <class R>
void Fourier<R>::meet(size_t p) {
  const Complex<R> first = terms_[0];
  const size_t pairs = (p - 1) / 2;
  for (size_t j = 1; j <= pairs; ++j) {
    sums_[j] = terms_[j] + terms_[p - j];
    gaps_[j] = terms_[j] - terms_[p - j];
    terms_[0] = terms_[0] + sums_[j];
  }
  for (size_t k = 1; k <= pairs; ++k) {
    Complex<R> a = first, b;
    Deadline::step(pairs);
    for (size_t j = 1; j <= pairs; ++j) {
      const Complex<R> w = turns_[j * k % p * (n_ / p)];
      a = a + Complex<R>{w.re * sums_[j].re, w.re * sums_[j].im};
      b = b + Complex<R>{-(w.im * gaps_[j].im), w.im * gaps_[j].re};
    }
    terms_[k] = a + b;
    terms_[p - k] = a - b;
  }
}

template class Fourier<float>;
template class Fourier<double>;

}  // namespace sdx::ops
