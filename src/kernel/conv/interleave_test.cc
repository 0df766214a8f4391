#include "kernel/conv/interleave.h"

#include <gtest/gtest.h>

#include <limits>
#include <utility>

#include "kernel/conv/reference.h"
#include "kernel/conv/testing.h"

namespace sdx {
namespace {

// Every element by the rule of the reduction's order.
std::vector<float> one_by_one(const ConvWeights& s, size_t rows, size_t lanes) {
  std::vector<float> packed;
  const size_t kernel[3] = {1, 1, s.taps};
  reference::for_each_tap(s.channels, kernel, [&](size_t c, size_t, size_t, size_t tap) {
    for (size_t r = 0; r < lanes; ++r) {
      packed.push_back(r < rows ? s.w[r * s.row_step + c * s.channel_step + tap] : 0.f);
    }
  });
  return packed;
}

}  // namespace

TEST(Interleave, follows_the_order_of_the_reduction) {
  for (const size_t taps : {1, 2, 3, 4, 9, 27}) {
    for (const size_t channels : {1, 5, 16, 19, 64, 70}) {
      for (const size_t rows : {1, 3, 4, 12, 16, 31}) {
        const auto w = random_floats(rows * channels * taps, unsigned(taps + channels), true);
        // Rows one behind the other, and channel by channel as transposed convolutions have them.
        for (const ConvWeights& s : {ConvWeights{w.data(), channels * taps, taps, channels, taps},
                                     ConvWeights{w.data(), taps, rows * taps, channels, taps}}) {
          for (const size_t lanes : {rows, rows + 5}) {
            std::vector<float> got(channels * taps * lanes, 7.f);
            interleave(s, rows, lanes, got.data());
            EXPECT_TRUE(same_bits(one_by_one(s, rows, lanes), got))
                << taps << " taps, " << channels << " channels, " << rows << " of " << lanes;
          }
        }
      }
    }
  }
}

TEST(Interleave, finds_the_one_weight_that_is_not_finite) {
  for (const size_t n : {0, 1, 15, 16, 40}) {
    auto w = random_floats(n, 3, false);
    EXPECT_TRUE(all_finite(w.data(), n));
    for (size_t i = 0; i < n; ++i) {
      for (const float odd :
           {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
            std::numeric_limits<float>::quiet_NaN()}) {
        const float before = std::exchange(w[i], odd);
        EXPECT_FALSE(all_finite(w.data(), n)) << odd << " at " << i << " of " << n;
        w[i] = before;
      }
    }
  }
}

}  // namespace sdx
