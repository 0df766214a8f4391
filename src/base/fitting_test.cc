#include "base/fitting.h"

#include <gtest/gtest.h>

namespace sdx {
namespace {

TEST(Fitting, keeps_what_fits_and_cuts_what_does_not) {
  EXPECT_EQ(fitting(0), 0u);
  EXPECT_EQ(fitting(1000), 1000u);
  EXPECT_EQ(fitting(UINT64_MAX), size_t(PTRDIFF_MAX));
}

TEST(Fitting, refuses_more_elements_than_memory_can_hold) {
  must_fit(0);
  must_fit(1 << 27);
  EXPECT_THROW(must_fit(double(PTRDIFF_MAX)), std::bad_alloc);
  EXPECT_THROW(must_fit(1e300), std::bad_alloc);
}

}  // namespace
}  // namespace sdx
