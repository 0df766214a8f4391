// Fourier: discrete Fourier transforms of any length, in one fixed order of operations on numbers
// of type R, float or double.
//
// n = p * m, p the smallest prime factor. First the p numbers x[i + m j] that stand m apart become
//   o[0] = x[i] + s_1 + s_2 + ...,   s_j = x[i + m j] + x[i + m (p - j)],   d_j the differences,
//   o[k], o[p - k] = a + b, a - b,   a = x[i] + cos(j k) s_1 + ...,   b = i (sin(j k) d_1 + ...),
// angles in units of 2 pi / p, sums from left to right (p = 2: the sum and the difference). Then
// o[k] is turned by w^(i k), w = e^(-2 pi i / n) (e^(2 pi i / n) for the inverse), and the p rows
// of m numbers that they form are transformed in turn: row k gives X[k], X[k + p], ... A complex
// product is (ac - bd, ad + bc); cosines and sines are computed in double and rounded to R.
#pragma once

#include <cstddef>
#include <vector>

namespace sdx::ops {

template <class R>
struct Complex {
  R re = 0, im = 0;
};

// cos and sin of 2 pi j / n, exact at quarter turns.
Complex<double> turn(size_t j, size_t n);

template <class R>
class Fourier {
 public:
  Fourier(size_t n, bool inverse);
  // The transform of n values, which are overwritten; without the factor 1 / n of an inverse.
  void run(Complex<R>* in, Complex<R>* out);
  // Of a real signal: the second half is the conjugate of the first, X[0] and X[n / 2] are real.
  void run_real(Complex<R>* in, Complex<R>* out);

 private:
  void part(Complex<R>* x, size_t n, Complex<R>* out, size_t step);
  void halve(Complex<R>* x, size_t m);
  void meet(size_t p);  // terms_ become o[0] .. o[p - 1], p odd

  size_t n_;
  std::vector<Complex<R>> turns_;                // w^j for j < n
  std::vector<Complex<R>> terms_, sums_, gaps_;  // of one group
};

}  // namespace sdx::ops
