#include "kernel/random/philox.h"

#include <gtest/gtest.h>

namespace sdx {
namespace {

// From the known answers that the authors publish with Random123 (philox4x32 10, zero counter and
// key).
TEST(Philox, gives_the_published_words_for_zero) {
  const std::array<uint32_t, 4> want{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
  EXPECT_EQ(Philox(0).block(0), want);
}

TEST(Philox, uniform_fills_the_unit_interval_evenly) {
  double sum = 0, least = 1, most = 0;
  for (uint64_t i = 0; i < 100000; ++i) {
    const double u = Philox(7).uniform(i);
    sum += u;
    least = std::min(least, u);
    most = std::max(most, u);
  }
  EXPECT_NEAR(sum / 100000, .5, .005);
  EXPECT_GE(least, 0);
  EXPECT_LT(least, 1e-3);
  EXPECT_LT(most, 1);
  EXPECT_GT(most, 1 - 1e-3);
}

TEST(Philox, normal_has_mean_zero_and_deviation_one) {
  double sum = 0, squares = 0;
  for (uint64_t i = 0; i < 100000; ++i) {
    const double x = Philox(7).normal(i);
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / 100000, 0, .02);
  EXPECT_NEAR(squares / 100000, 1, .02);
}

TEST(Philox, seeds_and_elements_differ) {
  EXPECT_NE(Philox(1).uniform(0), Philox(2).uniform(0));
  EXPECT_NE(Philox(1).uniform(0), Philox(1).uniform(1));
  EXPECT_NE(Philox(1).uniform(0), Philox(uint64_t{1} << 32 | 1).uniform(0));
}

}  // namespace
}  // namespace sdx
