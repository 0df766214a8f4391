// All 2^32 floats through a function, against the C library's double-precision function (itself
// within 2^-28 of a float's last place, and checked against MPFR in math_test.cc). Takes minutes,
// so it runs only when asked for:
//   kernel_test --gtest_also_run_disabled_tests --gtest_filter=*every_float*/exp
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdio>
#include <vector>

#include "kernel/elementwise/arrays.h"
#include "kernel/math/ulp.h"

namespace sdx {
namespace {

struct Function {
  const char* name;
  UnaryOp op;
  double (*exact)(double);
};

const Function kFunctions[] = {
    {"exp", UnaryOp::exp, std::exp},
    {"expm1", UnaryOp::expm1, std::expm1},
    {"tanh", UnaryOp::tanh, std::tanh},
    {"erf", UnaryOp::erf, std::erf},
    {"sigmoid", UnaryOp::sigmoid,
     [](double x) {
       if (x < -87) return 0.0;
       return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
     }},
    {"softplus", UnaryOp::softplus,
     [](double x) { return (x > 0 ? x : 0.0) + std::log1p(std::exp(-std::fabs(x))); }},
    {"log", UnaryOp::log, std::log},
    {"log1p", UnaryOp::log1p, std::log1p},
    {"sin", UnaryOp::sin, std::sin},
    {"cos", UnaryOp::cos, std::cos},
    {"tan", UnaryOp::tan, std::tan},
    {"asin", UnaryOp::asin, std::asin},
    {"acos", UnaryOp::acos, std::acos},
    {"atan", UnaryOp::atan, std::atan},
    {"sinh", UnaryOp::sinh, std::sinh},
    {"cosh", UnaryOp::cosh, std::cosh},
    {"asinh", UnaryOp::asinh, std::asinh},
    {"acosh", UnaryOp::acosh, std::acosh},
    {"atanh", UnaryOp::atanh, std::atanh},
};

class DISABLED_every_float : public testing::TestWithParam<Function> {};

TEST_P(DISABLED_every_float, errs_by_at_most_one_unit) {
  const Function& f = GetParam();
  constexpr size_t kBlock = 1 << 12;
  std::vector<float> x(kBlock), y(kBlock);
  double worst = 0.5;
  float worst_x = 0;
  for (uint64_t first = 0; first < (uint64_t(1) << 32); first += kBlock) {
    for (size_t i = 0; i < kBlock; ++i) x[i] = std::bit_cast<float>(uint32_t(first + i));
    SDX_PICK(array_unary, native_isa())(f.op, x.data(), y.data(), kBlock, 0, 0);
    for (size_t i = 0; i < kBlock; ++i) {
      const double exact = f.exact(x[i]);
      if (y[i] == float(exact)) continue;  // correctly rounded: at most half a unit
      const double error = ulp_error(y[i], exact);
      if (error > worst) {
        worst = error;
        worst_x = x[i];
      }
    }
  }
  std::fprintf(stderr, "| %s | %.4f | %a |\n", f.name, worst, double(worst_x));
  EXPECT_LE(worst, 1.0);
}

INSTANTIATE_TEST_SUITE_P(, DISABLED_every_float, testing::ValuesIn(kFunctions),
                         [](const auto& info) { return info.param.name; });

// Gelu divides by the root of two in its own way; its result must be that of the division.
TEST(DISABLED_gelu, equals_its_spelled_out_steps_for_every_float) {
  constexpr size_t kBlock = 1 << 12;
  std::vector<float> x(kBlock), whole(kBlock), half(kBlock), steps(kBlock);
  for (uint64_t first = 0; first < (uint64_t(1) << 32); first += kBlock) {
    for (size_t i = 0; i < kBlock; ++i) x[i] = std::bit_cast<float>(uint32_t(first + i));
    const float root = 0x1.6a09e6p+0f, one = 1, one_half = 0.5;
    SDX_PICK(array_unary, native_isa())(UnaryOp::gelu, x.data(), whole.data(), kBlock, 0, 0);
    SDX_PICK(array_binary, native_isa())
    (BinaryOp::div, x.data(), 1, &root, 0, steps.data(), kBlock);
    SDX_PICK(array_unary, native_isa())(UnaryOp::erf, steps.data(), steps.data(), kBlock, 0, 0);
    SDX_PICK(array_binary, native_isa())
    (BinaryOp::add, &one, 0, steps.data(), 1, steps.data(), kBlock);
    SDX_PICK(array_binary, native_isa())
    (BinaryOp::mul, &one_half, 0, x.data(), 1, half.data(), kBlock);
    SDX_PICK(array_binary, native_isa())
    (BinaryOp::mul, half.data(), 1, steps.data(), 1, steps.data(), kBlock);
    for (size_t i = 0; i < kBlock; ++i) {
      ASSERT_EQ(std::bit_cast<uint32_t>(whole[i]), std::bit_cast<uint32_t>(steps[i])) << x[i];
    }
  }
}

// Gelu by tanh takes the cube in its own way; its result must be that of pow(x, 3).
TEST(DISABLED_gelu, by_tanh_equals_its_spelled_out_steps_for_every_float) {
  constexpr size_t kBlock = 1 << 12;
  std::vector<float> x(kBlock), whole(kBlock), half(kBlock), steps(kBlock);
  const auto binary = [&](BinaryOp op, const float* a, size_t step_a, const float* b, size_t step_b,
                          float* y) {
    SDX_PICK(array_binary, native_isa())(op, a, step_a, b, step_b, y, kBlock);
  };
  const float three = 3, factor = 0.044715f, root = 0x1.988454p-1f, one = 1, one_half = 0.5;
  for (uint64_t first = 0; first < (uint64_t(1) << 32); first += kBlock) {
    for (size_t i = 0; i < kBlock; ++i) x[i] = std::bit_cast<float>(uint32_t(first + i));
    SDX_PICK(array_unary, native_isa())(UnaryOp::gelu_tanh, x.data(), whole.data(), kBlock, 0, 0);
    binary(BinaryOp::pow, x.data(), 1, &three, 0, steps.data());
    binary(BinaryOp::mul, &factor, 0, steps.data(), 1, steps.data());
    binary(BinaryOp::add, x.data(), 1, steps.data(), 1, steps.data());
    binary(BinaryOp::mul, &root, 0, steps.data(), 1, steps.data());
    SDX_PICK(array_unary, native_isa())(UnaryOp::tanh, steps.data(), steps.data(), kBlock, 0, 0);
    binary(BinaryOp::add, &one, 0, steps.data(), 1, steps.data());
    binary(BinaryOp::mul, &one_half, 0, x.data(), 1, half.data());
    binary(BinaryOp::mul, half.data(), 1, steps.data(), 1, steps.data());
    for (size_t i = 0; i < kBlock; ++i) {
      ASSERT_EQ(std::bit_cast<uint32_t>(whole[i]), std::bit_cast<uint32_t>(steps[i])) << x[i];
    }
  }
}

}  // namespace
}  // namespace sdx
