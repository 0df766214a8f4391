#include "kernel/math/doubles.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "kernel/isa_testing.h"
#include "kernel/math/math.h"

namespace sdx {
namespace {

// Numbers of every size, small ones more often, and the ends of every function's ordinary range.
std::vector<double> arguments() {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  std::vector<double> x = {0.0,     -0.0,   1.0,     -1.0,   0.5,    2.0,       kInf,   -kInf,
                           690.0,   -690.0, 709.9,   710.1,  -745.5, -746.5,    20.0,   20.1,
                           0x1p-54, 1e-320, 0x1p-27, 0x1p20, 1e22,   0x1p-1022, 3.0e-9, -NAN};
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> unit(-1, 1), some(-30, 30), more(-1000, 1000);
  for (int i = 0; i < 20000; ++i) {
    x.push_back(unit(random));
    x.push_back(some(random));
    x.push_back(std::fabs(some(random)));
    if (i % 16 == 0) x.push_back(more(random));
    if (i % 64 == 0) x.push_back(std::bit_cast<double>(random()));
  }
  return x;
}

TEST(Doubles, functions_are_the_scalar_ones_at_every_level) {
  using Scalar = double (*)(double);
  const std::pair<DoubleFunction, Scalar> functions[] = {
      {DoubleFunction::exp, math::exp},         {DoubleFunction::log, math::log},
      {DoubleFunction::tanh, math::tanh},       {DoubleFunction::sin, math::sin},
      {DoubleFunction::sigmoid, math::sigmoid}, {DoubleFunction::cos, math::cos}};
  const std::vector<double> x = arguments();
  for (const Isa isa : available_isas()) {
    for (const auto& [function, scalar] : functions) {
      SCOPED_TRACE(testing::Message() << isa_name(isa) << ", function " << int(function));
      std::vector<double> y = x;
      SDX_PICK(double_function, isa)(function, y.data(), y.data(), y.size());
      for (size_t i = 0; i < x.size(); ++i) {
        const double wanted = scalar(x[i]);
        ASSERT_EQ(std::memcmp(&wanted, &y[i], 8), 0) << "of " << x[i];
      }
    }
  }
}

TEST(Doubles, powers_are_the_scalar_ones_at_every_level) {
  const std::vector<double> x = arguments();
  const std::vector<double> y(x.rbegin(), x.rend());
  for (const Isa isa : available_isas()) {
    SCOPED_TRACE(isa_name(isa));
    std::vector<double> z(x.size());
    SDX_PICK(double_power, isa)(x.data(), y.data(), 1, z.data(), z.size());
    for (size_t i = 0; i < x.size(); ++i) {
      const double wanted = math::pow(x[i], y[i]);
      ASSERT_EQ(std::memcmp(&wanted, &z[i], 8), 0) << x[i] << " to the power of " << y[i];
    }
    for (const double exponent : {0.0, 0.5, 2.0, 3.0, -1.5, 1e18}) {
      SDX_PICK(double_power, isa)(x.data(), &exponent, 0, z.data(), 1000);
      for (size_t i = 0; i < 1000; ++i) {
        const double wanted = math::pow(x[i], exponent);
        ASSERT_EQ(std::memcmp(&wanted, &z[i], 8), 0) << x[i] << " to the power of " << exponent;
      }
    }
  }
}

}  // namespace
}  // namespace sdx
