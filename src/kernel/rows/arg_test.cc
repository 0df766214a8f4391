#include "kernel/rows/arg.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "kernel/isa_testing.h"

namespace sdx {
namespace {

// Few different values, so that there are equals; zeros of both signs; a NaN now and then.
std::vector<float> values(size_t n, unsigned seed) {
  std::vector<float> x(n);
  for (size_t i = 0; i < n; ++i) {
    const unsigned draw = unsigned(i * 2654435761u + seed * 40503u) >> 7;
    x[i] = draw % 5 == 0 ? -0.0f : float(int(draw % 9) - 4);
    if (seed % 3 == 2 && draw % 29 == 0) x[i] = std::numeric_limits<float>::quiet_NaN();
    if (seed % 4 == 3 && draw % 31 == 0) x[i] = -std::numeric_limits<float>::infinity();
  }
  return x;
}

size_t expected(const ArgKind& kind, const float* x, size_t n, size_t step) {
  size_t best = 0;
  for (size_t i = 1; i < n; ++i) {
    const float c = x[i * step], b = x[best * step];
    bool beats = kind.least ? c < b : c > b;
    if (b != b) {
      beats = kind.last && c != c;
    } else if (c != c) {
      beats = true;
    } else if (c == b) {
      beats = kind.last;
    }
    if (beats) best = i;
  }
  return best;
}

TEST(Arg, is_the_one_that_a_loop_finds_at_every_level) {
  for (const Isa isa : available_isas()) {
    for (const int kind : {0, 1, 2, 3}) {
      const ArgKind a{kind % 2 == 1, kind / 2 == 1};
      for (const size_t n : {1, 2, 15, 16, 17, 32, 63, 200}) {
        for (unsigned seed = 0; seed < 24; ++seed) {
          const std::vector<float> x = values(n, seed);
          ASSERT_EQ(size_t(SDX_PICK(arg_of_row, isa)(a, x.data(), n)), expected(a, x.data(), n, 1))
              << isa_name(isa) << " kind " << kind << " n " << n << " seed " << seed;
        }
      }
      for (const size_t columns : {1, 16, 37}) {
        const size_t rows = 21, step = 41;
        const std::vector<float> x = values(rows * step, unsigned(columns) + 2);
        std::vector<int64_t> y(columns + 1, -7);
        SDX_PICK(arg_of_columns, isa)(a, x.data(), rows, step, columns, y.data());
        for (size_t j = 0; j < columns; ++j)
          ASSERT_EQ(size_t(y[j]), expected(a, x.data() + j, rows, step)) << isa_name(isa);
        EXPECT_EQ(y[columns], -7);
      }
    }
  }
}

}  // namespace
}  // namespace sdx
