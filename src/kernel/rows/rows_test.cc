#include "kernel/rows/rows.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "kernel/isa_testing.h"
#include "kernel/lanes.h"
#include "kernel/math/math.h"
#include "kernel/math/ops.h"

namespace sdx {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
const std::vector<size_t> kLengths = {1, 2, 15, 16, 17, 31, 33, 64, 100, 257};

std::vector<float> random_floats(size_t n, unsigned seed) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal;
  std::vector<float> x(n);
  for (float& v : x) v = normal(rng);
  return x;
}
float canonical(float x) { return x == x ? x : kNan; }
uint32_t bits_of(float x) { return std::bit_cast<uint32_t>(x); }

void expect_bits(const std::vector<float>& want, const std::vector<float>& got) {
  ASSERT_EQ(want.size(), got.size());
  for (size_t i = 0; i < want.size(); ++i) ASSERT_EQ(bits_of(want[i]), bits_of(got[i])) << i;
}

float folded(Fold fold, size_t n, const std::vector<float>& x, size_t first = 0, size_t step = 1) {
  const auto get = [&](size_t i) {
    const float v = x[first + i * step];
    return fold == Fold::sum_abs ? std::fabs(v) : fold == Fold::sum_square ? v * v : v;
  };
  const float zero = fold == Fold::prod  ? 1.0f
                     : fold == Fold::max ? -kInfinity
                     : fold == Fold::min ? kInfinity
                                         : 0.0f;
  return canonical(lane_fold(n, zero, get, [&](float a, float b) {
    return fold == Fold::prod  ? a * b
           : fold == Fold::max ? scalar_binary(BinaryOp::max, a, b)
           : fold == Fold::min ? scalar_binary(BinaryOp::min, a, b)
                               : a + b;
  }));
}

constexpr Fold kFolds[] = {Fold::sum,  Fold::sum_abs, Fold::sum_square,
                           Fold::prod, Fold::max,     Fold::min};

TEST(Folds, take_elements_by_sixteen_lanes_however_they_are_cut) {
  for (const size_t n : kLengths) {
    for (const bool odd : {false, true}) {
      std::vector<float> x = random_floats(n, unsigned(n));
      if (odd) x[n / 2] = kNan, x[0] = -0.0f;
      for (const Fold fold : kFolds) {
        const float want = folded(fold, n, x);
        for (const Isa isa : available_isas()) {
          for (const size_t first : {size_t(0), n / 3, n}) {
            float lanes[kFoldLanes];
            SDX_PICK(fold_begin, isa)(fold, lanes);
            SDX_PICK(fold_take, isa)(fold, lanes, 0, x.data(), first);
            SDX_PICK(fold_take, isa)(fold, lanes, first, x.data() + first, n - first);
            EXPECT_EQ(bits_of(SDX_PICK(fold_end, isa)(fold, lanes)), bits_of(want))
                << isa_name(isa) << " fold " << int(fold) << " of " << n << " cut at " << first;
          }
        }
      }
    }
  }
}

TEST(Folds, of_whole_rows_have_the_bits_of_single_ones) {
  for (const size_t n : kLengths) {
    constexpr size_t kRows = 7;
    std::vector<float> x = random_floats(kRows * n, unsigned(n) + 11);
    x[n / 2] = kNan, x[n] = -0.0f;
    for (const Fold fold : kFolds) {
      std::vector<float> want(kRows);
      for (size_t r = 0; r < kRows; ++r) {
        want[r] = folded(fold, n, {x.begin() + long(r * n), x.begin() + long((r + 1) * n)});
      }
      for (const Isa isa : available_isas()) {
        SCOPED_TRACE(isa_name(isa));
        std::vector<float> got(kRows, 5.f);
        SDX_PICK(fold_rows, isa)(fold, x.data(), kRows, n, got.data());
        expect_bits(want, got);
      }
    }
  }
}

TEST(Folds, of_columns_have_the_bits_of_rows) {
  const size_t n = 37, step = 90;
  const std::vector<float> x = random_floats(n * step, 3);
  for (const size_t cols : {1, 16, 19, 83}) {
    for (const Fold fold : kFolds) {
      std::vector<float> want(cols);
      for (size_t c = 0; c < cols; ++c) want[c] = folded(fold, n, x, c, step);
      for (const Isa isa : available_isas()) {
        SCOPED_TRACE(isa_name(isa));
        std::vector<float> got(cols, 5.f);
        SDX_PICK(fold_columns, isa)(fold, x.data(), n, step, cols, got.data());
        expect_bits(want, got);
      }
    }
  }
}

// m = max x; e = exp(x - m); s = sum e; y = e / s, or (x - m) - log s.
std::vector<float> softmax(const std::vector<float>& x, bool log) {
  const float most = folded(Fold::max, x.size(), x);
  const auto d = [&](size_t i) { return x[i] - most; };
  const float sum = lane_sum<float>(x.size(), [&](size_t i) { return math::exp(d(i)); });
  std::vector<float> y(x.size());
  for (size_t i = 0; i < x.size(); ++i)
    y[i] = canonical(log ? d(i) - math::log(sum) : math::exp(d(i)) / sum);
  return y;
}

TEST(Softmax, of_columns_and_its_logarithm_of_rows_has_the_bits_of_its_formula) {
  for (const size_t n : kLengths) {
    for (const bool log : {false, true}) {
      std::vector<float> x = random_floats(n, unsigned(n) + 7);
      if (n == 33) x[5] = -kInfinity;
      if (n == 64) x[5] = kNan;
      const std::vector<float> want = softmax(x, log);
      for (const Isa isa : available_isas()) {
        SCOPED_TRACE(isa_name(isa));
        std::vector<float> got(n, 5.f);
        if (log) {
          SDX_PICK(log_softmax_row, isa)(x.data(), got.data(), n);
          expect_bits(want, got);
        }
        // The same as the second of three columns.
        std::vector<float> wide(3 * n, 1.0f), columns(3 * n, 5.f);
        for (size_t i = 0; i < n; ++i) wide[3 * i + 1] = x[i];
        SDX_PICK(softmax_columns, isa)(log, wide.data(), columns.data(), n, 3, 3);
        for (size_t i = 0; i < n; ++i) got[i] = columns[3 * i + 1];
        expect_bits(want, got);
      }
    }
  }
}

TEST(Moments, and_normalisation_have_the_bits_of_their_formulas) {
  for (const size_t n : kLengths) {
    const std::vector<float> x = random_floats(n, unsigned(n)), scale = random_floats(n, 2),
                             bias = random_floats(n, 3);
    const float mean = folded(Fold::sum, n, x) / float(n), epsilon = 1e-5f;
    const float squares = lane_sum<float>(n, [&](size_t i) {
      const float d = x[i] - mean;
      return d * d;
    });
    const float inv = 1.0f / std::sqrt(squares / float(n) + epsilon);
    const float rms = 1.0f / std::sqrt(folded(Fold::sum_square, n, x) / float(n) + epsilon);
    std::vector<float> normal(n), scaled(n);
    for (size_t i = 0; i < n; ++i) {
      const float weighed = ((x[i] - mean) * inv) * scale[i];
      normal[i] = weighed + bias[i];
      scaled[i] = (x[i] * rms) * scale[i];
    }
    for (const Isa isa : available_isas()) {
      SCOPED_TRACE(isa_name(isa));
      float got_mean = 0, got_inv = 0;
      SDX_PICK(moments, isa)(x.data(), n, epsilon, &got_mean, &got_inv);
      EXPECT_EQ(bits_of(got_mean), bits_of(mean)) << n;
      EXPECT_EQ(bits_of(got_inv), bits_of(inv)) << n;
      EXPECT_EQ(bits_of(SDX_PICK(inverse_rms, isa)(x.data(), n, epsilon)), bits_of(rms)) << n;
      std::vector<float> got(n, 5.f);
      SDX_PICK(normalize_row, isa)
      (x.data(), got.data(), n, mean, inv, scale.data(), bias.data());
      expect_bits(normal, got);
      SDX_PICK(scale_row, isa)(x.data(), got.data(), n, rms, scale.data());
      expect_bits(scaled, got);
    }
  }
}

TEST(Rows, are_weighed_and_blended_with_every_step_rounded) {
  for (const size_t n : kLengths) {
    const std::vector<float> a = random_floats(n, 1), b = random_floats(n, 2);
    std::vector<float> weighed(n), added(n), blended(n);
    for (size_t i = 0; i < n; ++i) {
      weighed[i] = a[i] * 0.3f;
      const float more = b[i] * 0.7f;
      added[i] = weighed[i] + more;
      blended[i] = added[i];
    }
    for (const Isa isa : available_isas()) {
      SCOPED_TRACE(isa_name(isa));
      std::vector<float> got(n, 5.f);
      SDX_PICK(weigh_row, isa)(a.data(), got.data(), n, 0.3f);
      expect_bits(weighed, got);
      SDX_PICK(add_weighed_row, isa)(b.data(), got.data(), n, 0.7f);
      expect_bits(added, got);
      SDX_PICK(blend_rows, isa)(a.data(), 0.3f, b.data(), 0.7f, got.data(), n);
      expect_bits(blended, got);
    }
  }
}

TEST(Rows, rotate_pairs_half_a_row_apart) {
  for (const size_t half : {1, 8, 16, 21, 64}) {
    const auto x = random_floats(2 * half, 1), cos = random_floats(2 * half, 2),
               sin = random_floats(2 * half, 3);
    std::vector<float> want(2 * half);
    for (size_t i = 0; i < half; ++i) {
      const float a = x[i] * cos[i], b = x[half + i] * sin[i];
      const float c = x[half + i] * cos[half + i], d = x[i] * sin[half + i];
      want[i] = a - b;
      want[half + i] = c + d;
    }
    for (const Isa isa : available_isas()) {
      SCOPED_TRACE(isa_name(isa));
      std::vector<float> got(2 * half, 5.f);
      SDX_PICK(rotate_halves, isa)(x.data(), cos.data(), sin.data(), nullptr, got.data(), half);
      expect_bits(want, got);
    }
  }
}

}  // namespace
}  // namespace sdx
