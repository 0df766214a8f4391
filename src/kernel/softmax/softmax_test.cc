#include "kernel/softmax/softmax.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "kernel/isa_testing.h"
#include "kernel/lanes.h"
#include "kernel/math/math.h"
#include "kernel/random/philox.h"

namespace sdx {
namespace {

// Rows of `n` scores with a spread from nearly equal to far below what a power can hold, and a few
// with what no score should be.
std::vector<float> scores(size_t rows, size_t n, size_t ld) {
  const Philox random(rows * 131 + n);
  std::vector<float> x(rows * ld, 77.0f);
  for (size_t r = 0; r < rows; ++r) {
    const auto spread = float(std::exp2(random.uniform(uint32_t(r)) * 12 - 4));
    for (size_t j = 0; j < n; ++j)
      x[r * ld + j] = float(random.uniform(uint32_t(1000 + r * n + j)) - 0.5) * spread;
  }
  const float inf = INFINITY;
  if (rows > 6) {
    x[1 * ld + n / 2] = NAN;
    x[2 * ld + n - 1] = inf;
    for (size_t j = 0; j < n; ++j) x[3 * ld + j] = -inf;
    for (size_t j = 1; j < n; ++j) x[4 * ld + j] = -inf;
    for (size_t j = 0; j < n; ++j) x[5 * ld + j] = j % 2 == 0 ? 0.0f : -0.0f;
    x[6 * ld] = -inf;
  }
  return x;
}

// m = max x; e = exp(x - m); s = sum e; y = e / s.
void softmax(float* row, size_t n) {
  float most = -INFINITY;
  for (size_t j = 0; j < n; ++j) most = row[j] > most || row[j] != row[j] ? row[j] : most;
  for (size_t j = 0; j < n; ++j) row[j] = math::exp(row[j] - most);
  const float sum = lane_sum<float>(n, [&](size_t j) { return row[j]; });
  for (size_t j = 0; j < n; ++j) row[j] = row[j] / sum;
}

TEST(SoftmaxRows, makes_zeros_of_rows_without_light_only) {
  for (const Isa isa : available_isas()) {
    std::vector<float> x(3 * 32, -INFINITY);
    x[32 + 7] = NAN;
    x[64 + 3] = 1;
    SoftmaxRows s{.x = x.data(), .ld = 32, .rows = 3, .n = 20, .dark_is_zero = true};
    SDX_PICK(softmax_rows, isa)(s);
    for (size_t j = 0; j < 20; ++j) {
      EXPECT_EQ(x[j], 0.0f);
      EXPECT_TRUE(std::isnan(x[32 + j]));
      EXPECT_EQ(x[64 + j], j == 3 ? 1.0f : 0.0f);
    }
  }
}

TEST(SoftmaxRows, has_the_bits_of_the_sum_the_softmax_and_the_guard) {
  for (const size_t n : {1, 15, 16, 17, 64, 197, 1500}) {
    const size_t rows = 61, ld = (n + 15) / 16 * 16 + 16;
    const std::vector<float> x = scores(rows, n, ld), mask = scores(rows, n, n);
    for (const int masked : {0, 1, 2}) {  // none, a mask per row, one number
      std::vector<float> expected = x;
      for (size_t r = 0; r < rows; ++r) {
        float* row = expected.data() + r * ld;
        for (size_t j = 0; j < n && masked != 0; ++j)
          row[j] = row[j] + (masked == 1 ? mask[r * n + j] : mask[r]);
        softmax(row, n);
        for (size_t j = 0; j < n; ++j) row[j] = row[j] != row[j] ? 0.5f : row[j];
      }
      for (const Isa isa : available_isas()) {
        std::vector<float> y = x;
        SoftmaxRows s{.x = y.data(), .ld = ld, .rows = rows, .n = n, .nan = 0.5f};
        if (masked != 0) s.mask = mask.data();
        s.mask_row = masked == 1 ? n : 1;
        s.mask_col = masked == 1 ? 1 : 0;
        SDX_PICK(softmax_rows, isa)(s);
        for (size_t r = 0; r < rows; ++r) {
          for (size_t j = 0; j < n; ++j) {
            ASSERT_EQ(std::memcmp(&y[r * ld + j], &expected[r * ld + j], sizeof(float)), 0)
                << isa_name(isa) << " n " << n << " mask " << masked << " row " << r << " column "
                << j << ": " << y[r * ld + j] << " is not " << expected[r * ld + j];
          }
        }
      }
    }
  }
}

TEST(SoftmaxApart, has_the_bits_of_the_softmax_of_rows_of_every_length) {
  for (const size_t n :
       {1, 2, 7, 15, 16, 17, 31, 32, 33, 49, 64, 65, 80, 96, 97, 113, 197, 1500, 2500}) {
    const size_t rows = 61;
    const std::vector<float> x = scores(rows, n, n);
    std::vector<float> expected = x;
    for (size_t r = 0; r < rows; ++r) {
      softmax(expected.data() + r * n, n);
      for (size_t j = r * n; j < (r + 1) * n; ++j)
        expected[j] = expected[j] != expected[j] ? __builtin_nanf("") : expected[j];
    }
    for (const Isa isa : available_isas()) {
      std::vector<float> y(x.size() + 16, 5.0f);
      SDX_PICK(softmax_apart, isa)(x.data(), y.data(), rows, n);
      EXPECT_EQ(std::memcmp(y.data(), expected.data(), x.size() * sizeof(float)), 0)
          << isa_name(isa) << " n " << n;
      for (size_t j = x.size(); j < y.size(); ++j) EXPECT_EQ(y[j], 5.0f);
    }
  }
}

// Near each other, as sixteen rows must be to be taken together; from the second sixteen on with a
// NaN, in whole vectors and behind them.
TEST(SoftmaxApart, has_the_bits_of_the_softmax_of_short_rows_in_place) {
  const size_t rows = 53;
  for (size_t n = 1; n <= 270; n += n < 70 ? 1 : 13) {
    const Philox random(n);
    std::vector<float> x(rows * n);
    for (size_t i = 0; i < x.size(); ++i) x[i] = float(random.uniform(uint32_t(i)) - 0.5) * 20;
    x[19 * n] = NAN;
    x[36 * n + n - 1] = NAN;
    std::vector<float> expected = x;
    for (size_t r = 0; r < rows; ++r) softmax(expected.data() + r * n, n);
    for (float& e : expected) e = e != e ? __builtin_nanf("") : e;
    for (const Isa isa : available_isas()) {
      std::vector<float> y = x;
      SDX_PICK(softmax_apart, isa)(y.data(), y.data(), rows, n);
      EXPECT_EQ(std::memcmp(y.data(), expected.data(), y.size() * sizeof(float)), 0)
          << isa_name(isa) << " n " << n;
    }
  }
}

}  // namespace
}  // namespace sdx
