#include "kernel/rows/keys.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "kernel/isa_testing.h"

namespace sdx {
namespace {

TEST(Keys, order_floats_as_sorting_does) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  std::vector<float> rising = {-kInf, -3e38f, -1, -1e-45f, 0, 1e-45f, 1, 3e38f, kInf, NAN};
  for (int i = 0; i < 23; ++i) rising.push_back(i % 2 == 0 ? -NAN : NAN);
  for (const Isa isa : available_isas()) {
    for (const bool largest : {true, false}) {
      std::vector<int32_t> keys(rising.size());
      SDX_PICK(order_keys, isa)(rising.data(), rising.size(), largest, keys.data());
      for (size_t i = 1; i < rising.size(); ++i) {
        if (i >= 10) {
          EXPECT_EQ(keys[i], keys[9]);
        } else {
          EXPECT_EQ(keys[i - 1] < keys[i], largest) << isa_name(isa) << i;
        }
      }
      const float zeros[] = {-0.0f, 0.0f};
      SDX_PICK(order_keys, isa)(zeros, 2, largest, keys.data());
      EXPECT_EQ(keys[0], keys[1]);
    }
  }
}

TEST(Keys, the_next_above_a_bar_is_found_in_steps_of_sixteen) {
  for (const Isa isa : available_isas()) {
    for (const size_t n : {5, 16, 40, 100}) {
      for (size_t great = 0; great < n; ++great) {
        std::vector<int32_t> keys(n, -7);
        keys[great] = -6;
        const size_t last = n / 16 * 16, wanted = std::min(great / 16 * 16, last);
        EXPECT_EQ(SDX_PICK(next_above, isa)(keys.data(), 0, n, -7), wanted);
        EXPECT_EQ(SDX_PICK(next_above, isa)(keys.data(), 0, n, -6), last);
      }
    }
  }
}

}  // namespace
}  // namespace sdx
