#include "kernel/attention/softmax.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "kernel/isa_testing.h"
#include "kernel/random/philox.h"
#include "kernel/rows/rows.h"

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
        portable::softmax_row(false, row, row, n);
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

}  // namespace
}  // namespace sdx
