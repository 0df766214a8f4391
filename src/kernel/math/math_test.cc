// Errors against MPFR on samples of every function, special values, and the scalar functions'
// agreement with themselves.
#include "kernel/math/math.h"

#include <gtest/gtest.h>
#include <mpfr.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kernel/math/ulp.h"

namespace sdx {
namespace {

constexpr mpfr_prec_t kPrecision = 160;
constexpr double kInf = std::numeric_limits<double>::infinity();

struct Mp {
  mpfr_t v;
  explicit Mp(double x = 0) {
    mpfr_init2(v, kPrecision);
    mpfr_set_d(v, x, MPFR_RNDN);
  }
  ~Mp() { mpfr_clear(v); }
  Mp(const Mp&) = delete;
  Mp& operator=(const Mp&) = delete;
};

// ln(1 + e^x) and 1 / (1 + e^-x), which MPFR does not have.
int mp_softplus(mpfr_t y, const mpfr_t x, mpfr_rnd_t round) {
  Mp positive;
  mpfr_max(positive.v, x, positive.v, round);
  mpfr_abs(y, x, round);
  mpfr_neg(y, y, round);
  mpfr_exp(y, y, round);
  mpfr_log1p(y, y, round);
  if (mpfr_nan_p(x)) return 0;
  return mpfr_add(y, y, positive.v, round);
}
int mp_sigmoid(mpfr_t y, const mpfr_t x, mpfr_rnd_t round) {
  mpfr_neg(y, x, round);
  mpfr_exp(y, y, round);
  mpfr_add_ui(y, y, 1, round);
  return mpfr_ui_div(y, 1, y, round);
}

// bound32 and bound64: the greatest error allowed, in units of the last place.
struct Function {
  const char* name;
  float (*f32)(float);
  double (*f64)(double);
  int (*exact)(mpfr_t, const mpfr_t, mpfr_rnd_t);
  double bound32, bound64;
  float zero_below = -std::numeric_limits<float>::infinity();  // of float: 0 is the answer there
};
const Function kFunctions[] = {
    {"exp", math::exp, math::exp, mpfr_exp, 0.9, 1.0},
    {"expm1", math::expm1, math::expm1, mpfr_expm1, 1.0, 1.0},
    {"log", math::log, math::log, mpfr_log, 0.501, 0.51},
    {"log1p", math::log1p, math::log1p, mpfr_log1p, 0.501, 0.51},
    {"sin", math::sin, math::sin, mpfr_sin, 0.501, 1.0},
    {"cos", math::cos, math::cos, mpfr_cos, 0.501, 1.0},
    {"tan", math::tan, math::tan, mpfr_tan, 0.501, 2.0},
    {"asin", math::asin, math::asin, mpfr_asin, 0.501, 1.0},
    {"acos", math::acos, math::acos, mpfr_acos, 0.501, 1.0},
    {"atan", math::atan, math::atan, mpfr_atan, 0.501, 1.0},
    {"sinh", math::sinh, math::sinh, mpfr_sinh, 0.501, 2.5},
    {"cosh", math::cosh, math::cosh, mpfr_cosh, 0.501, 1.5},
    {"tanh", math::tanh, math::tanh, mpfr_tanh, 0.66, 2.5},
    {"asinh", math::asinh, math::asinh, mpfr_asinh, 0.501, 2.5},
    {"acosh", math::acosh, math::acosh, mpfr_acosh, 0.501, 2.5},
    {"atanh", math::atanh, math::atanh, mpfr_atanh, 0.501, 2.5},
    {"erf", math::erf, math::erf, mpfr_erf, 1.0, 1.0},
    {"sigmoid", math::sigmoid, math::sigmoid, mp_sigmoid, 0.9, 2.5, -87.0f},
    {"softplus", math::softplus, math::softplus, mp_softplus, 0.501, 1.5},
};

double ulp_error64(double got, const mpfr_t exact) {
  if (got != got || mpfr_nan_p(exact)) return got != got && mpfr_nan_p(exact) ? 0.0 : kInf;
  Mp clipped, value(std::isinf(got) ? std::copysign(0.0, got) : got);
  if (std::isinf(got)) mpfr_set_si_2exp(value.v, got > 0 ? 1 : -1, 1024, MPFR_RNDN);
  mpfr_set(clipped.v, exact, MPFR_RNDN);
  if (mpfr_inf_p(exact) || (!mpfr_zero_p(exact) && mpfr_get_exp(exact) > 1024)) {
    mpfr_set_si_2exp(clipped.v, mpfr_sgn(exact), 1024, MPFR_RNDN);
  }
  long exponent = mpfr_zero_p(clipped.v) ? -1021 : long(mpfr_get_exp(clipped.v));
  exponent = exponent < -1021 ? -1021 : exponent > 1024 ? 1024 : exponent;
  mpfr_sub(clipped.v, clipped.v, value.v, MPFR_RNDN);
  mpfr_mul_2si(clipped.v, clipped.v, 53 - exponent, MPFR_RNDN);
  return std::fabs(mpfr_get_d(clipped.v, MPFR_RNDN));
}

// Bit patterns of all kinds, and values of the size that functions work on.
struct Samples {
  std::mt19937_64 random{42};
  double next(int i) {
    const double unit = double(int64_t(random())) * 0x1p-63;
    switch (i % 6) {
      case 0:
        return std::bit_cast<double>(random());
      case 1:
        return unit;
      case 2:
        return unit * 10;
      case 3:
        return unit * 800;
      case 4:
        return unit * std::ldexp(1.0, -int(random() % 60));
      default:
        return 1.0 + unit * std::ldexp(1.0, -int(random() % 30));
    }
  }
};

class Math : public testing::TestWithParam<Function> {};

TEST_P(Math, float_stays_within_its_bound) {
  const Function& f = GetParam();
  Samples samples;
  std::mt19937 random(1);
  Mp x, y;
  double worst = 0;
  float worst_x = 0;
  for (int i = 0; i < 1 << 15; ++i) {
    const float v = i % 6 == 0 ? std::bit_cast<float>(uint32_t(random())) : float(samples.next(i));
    if (v < f.zero_below) {
      EXPECT_EQ(std::bit_cast<uint32_t>(f.f32(v)), 0u) << f.name << " " << v;
      continue;
    }
    mpfr_set_flt(x.v, v, MPFR_RNDN);
    f.exact(y.v, x.v, MPFR_RNDN);
    const double error = ulp_error(f.f32(v), mpfr_get_d(y.v, MPFR_RNDN));
    if (error > worst) worst = error, worst_x = v;
  }
  EXPECT_LE(worst, f.bound32) << f.name << " at " << std::hexfloat << worst_x;
}

TEST_P(Math, double_stays_within_its_bound) {
  const Function& f = GetParam();
  Samples samples;
  Mp x, y;
  double worst = 0, worst_x = 0;
  for (int i = 0; i < 1 << 14; ++i) {
    const double v = samples.next(i);
    mpfr_set_d(x.v, v, MPFR_RNDN);
    f.exact(y.v, x.v, MPFR_RNDN);
    const double error = ulp_error64(f.f64(v), y.v);
    if (error > worst) worst = error, worst_x = v;
  }
  EXPECT_LE(worst, f.bound64) << f.name << " at " << std::hexfloat << worst_x;
  RecordProperty("max_ulp_f64", std::to_string(worst));
}

// The C library's special values are Annex F's: zeros keep their sign, poles are infinite, NaN is
// the canonical one.
TEST_P(Math, special_values_have_their_sign_and_one_nan) {
  const Function& f = GetParam();
  for (double v : {0.0, -0.0, 1.0, -1.0, kInf, -kInf, double(NAN), -double(NAN), 2.0, -2.0}) {
    Mp x(v), y;
    f.exact(y.v, x.v, MPFR_RNDN);
    const double exact = mpfr_get_d(y.v, MPFR_RNDN), got = f.f64(v);
    const float got32 = f.f32(float(v));
    if (exact != exact) {
      EXPECT_EQ(std::bit_cast<uint64_t>(got), 0x7ff8000000000000u) << f.name << " " << v;
      EXPECT_EQ(std::bit_cast<uint32_t>(got32), 0x7fc00000u) << f.name << " " << v;
    } else {
      EXPECT_EQ(std::signbit(got), std::signbit(exact)) << f.name << " " << v;
      EXPECT_EQ(std::signbit(got32), std::signbit(exact)) << f.name << " " << v;
      if (exact == 0 || std::isinf(exact) || std::fabs(exact) == 1) {
        EXPECT_EQ(got, exact) << f.name << " " << v;
        EXPECT_EQ(got32, float(exact)) << f.name << " " << v;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, Math, testing::ValuesIn(kFunctions),
                         [](const auto& info) { return info.param.name; });

TEST(Pow, stays_within_its_bound) {
  Samples samples;
  Mp x, y, z;
  double worst32 = 0, worst64 = 0;
  for (int i = 0; i < 1 << 15; ++i) {
    const double u = i % 6 == 0 ? samples.next(0) : std::fabs(samples.next(i)),
                 v = samples.next(i / 6 % 6);
    mpfr_set_d(x.v, u, MPFR_RNDN);
    mpfr_set_d(y.v, v, MPFR_RNDN);
    mpfr_pow(z.v, x.v, y.v, MPFR_RNDN);
    const double error64 = ulp_error64(math::pow(u, v), z.v);
    if (error64 > worst64) worst64 = error64;
    EXPECT_LE(error64, 1.0) << std::hexfloat << u << " " << v;
    mpfr_set_flt(x.v, float(u), MPFR_RNDN);
    mpfr_set_flt(y.v, float(v), MPFR_RNDN);
    mpfr_pow(z.v, x.v, y.v, MPFR_RNDN);
    const double error32 = ulp_error(math::pow(float(u), float(v)), mpfr_get_d(z.v, MPFR_RNDN));
    if (error32 > worst32) worst32 = error32;
    EXPECT_LE(error32, 0.501) << std::hexfloat << float(u) << " " << float(v);
  }
  RecordProperty("max_ulp", std::to_string(worst32) + " " + std::to_string(worst64));
}

TEST(Pow, special_values_are_those_of_annex_f) {
  const double values[] = {0.0, -0.0, 1.0, -1.0, 0.5,    -0.5, 2.0,   -2.0,
                           3.0, -3.0, 0.3, -1.5, 0x1p53, kInf, -kInf, NAN};
  for (double x : values) {
    for (double y : values) {
      const double exact = std::pow(x, y), got = math::pow(x, y);
      const float exact32 = std::pow(float(x), float(y)), got32 = math::pow(float(x), float(y));
      if (exact != exact) {
        EXPECT_EQ(std::bit_cast<uint64_t>(got), 0x7ff8000000000000u) << x << " " << y;
        EXPECT_EQ(std::bit_cast<uint32_t>(got32), 0x7fc00000u) << x << " " << y;
      } else if (exact == 0 || std::isinf(exact) || exact == std::rint(exact)) {
        EXPECT_EQ(std::bit_cast<uint64_t>(got), std::bit_cast<uint64_t>(exact)) << x << " " << y;
        EXPECT_EQ(std::bit_cast<uint32_t>(got32), std::bit_cast<uint32_t>(exact32))
            << x << " " << y;
      }
    }
  }
}

// Doubles that come closest to a multiple of pi/2, and the greatest ones.
TEST(Sine, is_right_for_arguments_of_any_size) {
  Mp x, y;
  std::mt19937_64 random(3);
  std::vector<double> values = {0x1.6ac5b262ca1ffp+849,
                                0x1.921fb54442d18p+0,
                                0x1.921fb54442d18p+20,
                                0x1.fffffffffffffp+1023,
                                0x1p20,
                                0x1.0000000000001p20,
                                0x1.6ac5b2p+120};
  for (int i = 0; i < 3000; ++i) {
    values.push_back(std::bit_cast<double>((1023 + 10 + random() % 1013) << 52 | random() >> 12));
  }
  for (double v : values) {
    mpfr_set_d(x.v, v, MPFR_RNDN);
    mpfr_sin(y.v, x.v, MPFR_RNDN);
    EXPECT_LE(ulp_error64(math::sin(v), y.v), 1.0) << std::hexfloat << v;
    mpfr_cos(y.v, x.v, MPFR_RNDN);
    EXPECT_LE(ulp_error64(math::cos(v), y.v), 1.0) << std::hexfloat << v;
  }
}

// An exporter may spell an activation out; the operator must give the same bits.
TEST(Activation, equals_its_spelled_out_steps) {
  Samples samples;
  const auto bits = [](float v) {
    return std::bit_cast<uint32_t>(v != v ? std::numeric_limits<float>::quiet_NaN() : v);
  };
  const float root = std::sqrt(2.0f), scale = float(std::sqrt(2 / M_PI));
  for (int i = 0; i < 20000; ++i) {
    const float x = float(samples.next(i));
    EXPECT_EQ(bits(math::gelu(x)), bits((0.5f * x) * (1.0f + math::erf(x / root)))) << x;
    const float inner = scale * (x + 0.044715f * math::pow(x, 3.0f));
    EXPECT_EQ(bits(math::gelu_tanh(x)), bits((0.5f * x) * (1.0f + math::tanh(inner)))) << x;
    EXPECT_EQ(bits(math::mish(x)), bits(x * math::tanh(math::softplus(x)))) << x;
  }
}

// Its table begins and ends somewhere: there is nothing to see of that.
TEST(Tanh, is_odd_and_rises_from_x_itself_to_one) {
  const auto bits = [](float v) { return std::bit_cast<uint32_t>(v); };
  for (const float x : {0.0f, 0x1p-149f, 0x1.8p-140f, 0x1p-126f, 0x1.fffffep-60f, 0x1.5p-13f}) {
    EXPECT_EQ(bits(math::tanh(x)), bits(x));
    EXPECT_EQ(bits(math::tanh(-x)), bits(-x));
  }
  for (const float x : {9.02f, 9.3f, 9.5f, 20.0f, 3e38f, std::numeric_limits<float>::infinity()}) {
    EXPECT_EQ(math::tanh(x), 1.0f);
    EXPECT_EQ(math::tanh(-x), -1.0f);
  }
  EXPECT_EQ(bits(math::tanh(-std::numeric_limits<float>::quiet_NaN())), 0x7fc00000u);
  float before = 0;
  for (uint32_t i = bits(0x1p-14f); i < bits(10.0f); i += 97) {
    const float x = std::bit_cast<float>(i), y = math::tanh(x);
    ASSERT_GE(y, before) << std::hexfloat << x;
    ASSERT_EQ(math::tanh(-x), -y);
    before = y;
  }
}

TEST(Remainder, of_doubles_is_exact) {
  Samples samples;
  for (int i = 0; i < 100000; ++i) {
    const double a = samples.next(i), b = samples.next(i / 7);
    const double exact = std::fmod(a, b), got = math::fmod(a, b);
    if (exact == exact) {
      EXPECT_EQ(std::bit_cast<uint64_t>(got), std::bit_cast<uint64_t>(exact))
          << std::hexfloat << a << " " << b;
    } else {
      EXPECT_EQ(std::bit_cast<uint64_t>(got), 0x7ff8000000000000u);
    }
  }
}

}  // namespace
}  // namespace sdx
