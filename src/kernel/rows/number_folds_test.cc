#include "kernel/rows/number_folds.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include "kernel/isa_testing.h"
#include "kernel/lanes.h"

namespace sdx {
namespace {

template <class T>
std::vector<T> numbers(size_t n, bool odd) {
  std::mt19937_64 random(n);
  std::vector<T> made(n);
  for (size_t i = 0; i < n; ++i) {
    const uint64_t bits = random();
    if constexpr (std::is_floating_point_v<T>) {
      made[i] = T(int64_t(bits % 2001) - 1000) / 256;
      if (odd && bits >> 60 == 1) made[i] = -0.0;
      if (odd && bits >> 58 == 7) made[i] = std::numeric_limits<T>::infinity();
      if (odd && bits >> 56 == 9) made[i] = -std::numeric_limits<T>::quiet_NaN();
    } else {
      std::memcpy(&made[i], &bits, sizeof(T));
    }
  }
  return made;
}

template <class T, class Get>
uint64_t wanted(Fold fold, size_t n, Get x) {
  if constexpr (std::is_floating_point_v<T>) {
    const auto max = [&](double sign) {
      double most = -std::numeric_limits<double>::infinity();
      for (size_t i = 0; i < n; ++i) {
        const double v = sign * x(i);
        if (most != most) break;
        const bool zeros = v == most && std::signbit(most) && !std::signbit(v);
        if (v != v || v > most || zeros) most = v;
      }
      return most != most ? std::numeric_limits<double>::quiet_NaN() : sign * most;
    };
    double y = 0;
    if (fold == Fold::sum) y = lane_sum<double>(n, x);
    if (fold == Fold::sum_abs) y = lane_sum<double>(n, [&](size_t i) { return std::fabs(x(i)); });
    if (fold == Fold::sum_square) y = lane_sum<double>(n, [&](size_t i) { return x(i) * x(i); });
    if (fold == Fold::prod) y = lane_fold(n, 1.0, x, [](double a, double b) { return a * b; });
    if (fold == Fold::max) y = max(1);
    if (fold == Fold::min) y = max(-1);
    uint64_t bits;
    std::memcpy(&bits, &y, 8);
    return bits;
  } else {
    uint64_t acc = fold == Fold::prod ? 1 : 0;
    T most = std::numeric_limits<T>::lowest(), least = std::numeric_limits<T>::max();
    for (size_t i = 0; i < n; ++i) {
      const T v = x(i);
      const auto wide = uint64_t(int64_t(v));
      most = std::max(most, v);
      least = std::min(least, v);
      if (fold == Fold::sum) acc += wide;
      if (fold == Fold::sum_abs) acc += v < 0 ? 0 - wide : wide;
      if (fold == Fold::sum_square) acc += wide * wide;
      if (fold == Fold::prod) acc *= wide;
    }
    if (fold == Fold::max) return uint64_t(int64_t(most));
    if (fold == Fold::min) return uint64_t(int64_t(least));
    return acc;
  }
}

template <class T>
bool same(uint64_t a, uint64_t b, bool canonical) {
  if (a == b || canonical || !std::is_floating_point_v<T>) return a == b;
  double x, y;
  std::memcpy(&x, &a, 8);
  std::memcpy(&y, &b, 8);
  return x != x && y != y;  // any NaN
}

template <class T>
void expect_folds(NumberType type, Isa isa, Fold fold) {
  const NumberFold loops = SDX_PICK(number_fold, isa)(fold, type);
  const bool canonical = fold == Fold::max || fold == Fold::min;
  for (const bool odd : {false, true}) {
    for (const size_t n : {1, 2, 3, 8, 15, 16, 17, 40, 65}) {
      for (const size_t others : {1, 2, 7, 63, 64, 65, 131}) {
        const std::vector<T> x = numbers<T>(n * others, odd);
        std::vector<uint64_t> y(others + 1, 77);
        loops.rows(x.data(), others, n, y.data());
        for (size_t r = 0; r < others; ++r) {
          const auto get = [&](size_t i) { return x[r * n + i]; };
          ASSERT_TRUE(same<T>(y[r], wanted<T>(fold, n, get), canonical)) << "row " << r;
        }
        loops.columns(x.data(), n, others, others, y.data());
        for (size_t c = 0; c < others; ++c) {
          const auto get = [&](size_t i) { return x[i * others + c]; };
          ASSERT_TRUE(same<T>(y[c], wanted<T>(fold, n, get), canonical)) << "column " << c;
        }
        EXPECT_EQ(y.back(), 77u);
      }
    }
  }
}

TEST(NumberFolds, are_those_of_one_element_after_the_other) {
  for (const Isa isa : available_isas()) {
    for (const Fold fold :
         {Fold::sum, Fold::sum_abs, Fold::sum_square, Fold::prod, Fold::max, Fold::min}) {
      SCOPED_TRACE(testing::Message() << isa_name(isa) << ", fold " << int(fold));
      expect_folds<uint8_t>(NumberType::u8, isa, fold);
      expect_folds<int8_t>(NumberType::i8, isa, fold);
      expect_folds<int32_t>(NumberType::i32, isa, fold);
      expect_folds<int64_t>(NumberType::i64, isa, fold);
      expect_folds<double>(NumberType::f64, isa, fold);
    }
    EXPECT_EQ(SDX_PICK(number_fold, isa)(Fold::sum, NumberType::f32).rows, nullptr);
  }
}

}  // namespace
}  // namespace sdx
