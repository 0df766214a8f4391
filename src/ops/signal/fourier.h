// Fourier: discrete Fourier transforms of any length, in double, in one fixed order of operations.
//
// n = p * m, p the smallest prime factor: the p interleaved subsequences are transformed, then
// X[j] = T_0[j % m] + T_1[j % m] * w^j + ... + T_(p-1)[j % m] * w^((p-1) j), w = e^(-2 pi i / n)
// (e^(2 pi i / n) for the inverse), terms added in that order; a complex product is (ac - bd, ad +
// bc), each operation rounded.
#pragma once

#include <cstddef>
#include <vector>

namespace sdx::ops {

struct Complex {
  double re = 0, im = 0;
};

// cos and sin of 2 pi j / n, exact at quarter turns.
Complex turn(size_t j, size_t n);

class Fourier {
 public:
  Fourier(size_t n, bool inverse);
  // The transform of n values; without the factor 1 / n of an inverse.
  void run(const Complex* in, Complex* out);

 private:
  void part(const Complex* in, size_t step, Complex* out, size_t n);
  size_t n_;
  std::vector<Complex> turns_;  // w^j for j < n
  std::vector<Complex> terms_;  // of one sum
};

}  // namespace sdx::ops
