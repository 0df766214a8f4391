#include "kernel/elementwise/numbers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "base/elem.h"
#include "kernel/isa_testing.h"
#include "kernel/math/math.h"

namespace sdx {
namespace {

constexpr size_t kLengths[] = {0, 1, 2, 7, 16, 61, 255, 256, 257, 1031};

// The ends of the range and the values around zero, which meet each other, then any bits.
template <class T>
std::vector<T> values(size_t n, uint32_t seed) {
  using Limits = std::numeric_limits<T>;
  std::vector<T> special = {T(0), T(1), T(2), T(7), T(-1), T(-7), Limits::lowest(), Limits::max()};
  if constexpr (std::is_floating_point_v<T>) {
    special.insert(special.end(), {T(-0.0), Limits::infinity(), -Limits::infinity(),
                                   Limits::quiet_NaN(), -Limits::quiet_NaN(), T(0x1p63), T(0.5)});
  }
  std::mt19937_64 random(seed);
  std::vector<T> made(n);
  for (size_t i = 0; i < n; ++i) {
    const uint64_t bits = random();
    std::memcpy(&made[i], &bits, sizeof(T));
    if (i % 2 == 0) made[i] = special[(seed == 0 ? i : i / special.size()) / 2 % special.size()];
  }
  return made;
}

template <class T>
T one_pair(NumberPair op, T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    if (op == NumberPair::add) return T(uint64_t(a) + uint64_t(b));
    if (op == NumberPair::sub) return T(uint64_t(a) - uint64_t(b));
    if (op == NumberPair::mul) return T(uint64_t(a) * uint64_t(b));
    if (op == NumberPair::div) return b == 0 ? T(0) : T(int64_t(a) / int64_t(b));
    return op == NumberPair::min ? std::min(a, b) : std::max(a, b);
  } else {
    if (op == NumberPair::min || op == NumberPair::max) {
      if (a != a || b != b) return std::numeric_limits<T>::quiet_NaN();
      if (a == b) return (op == NumberPair::max) == std::signbit(a) ? b : a;
      return op == NumberPair::min ? std::min(a, b) : std::max(a, b);
    }
    const T y = op == NumberPair::add ? a + b : op == NumberPair::sub ? a - b : a * b;
    return y == y ? y : std::numeric_limits<T>::quiet_NaN();
  }
}
template <class T>
bool one_comparison(NumberPair op, T a, T b) {
  return op == NumberPair::equal ? a == b : op == NumberPair::less ? a < b : a <= b;
}

// Every length and step, with the result apart, and over the input that it is as large as.
template <class T, class R>
void expect_pairs(PairLoop loop, NumberPair op, R (*one)(NumberPair, T, T)) {
  for (const size_t n : kLengths) {
    const std::vector<T> a = values<T>(n + 1, 0), b = values<T>(n + 1, 1);
    for (const auto& [step_a, step_b] : {std::pair{1, 1}, {0, 1}, {1, 0}}) {
      std::vector<uint8_t> made(n * sizeof(R) + 1, 0xa5), over(n * sizeof(T) + 1);
      loop(a.data(), step_a, b.data(), step_b, made.data(), n);
      EXPECT_EQ(made.back(), 0xa5);
      if (sizeof(T) == sizeof(R) && step_a == 1) {
        std::memcpy(over.data(), a.data(), n * sizeof(T));
        loop(over.data(), step_a, b.data(), step_b, over.data(), n);
        EXPECT_EQ(std::memcmp(over.data(), made.data(), n * sizeof(R)), 0);
      }
      for (size_t i = 0; i < n; ++i) {
        const R wanted = one(op, a[i * step_a], b[i * step_b]);
        ASSERT_EQ(std::memcmp(&wanted, made.data() + i * sizeof(R), sizeof(R)), 0)
            << "operation " << int(op) << ", element " << i << " of " << n << ", steps " << step_a
            << " and " << step_b;
      }
    }
  }
}

template <class T>
void expect_all_pairs(NumberType type, Isa isa) {
  const auto loop_of = SDX_PICK(pair_loop, isa);
  for (const NumberPair op :
       {NumberPair::equal, NumberPair::less, NumberPair::less_or_equal, NumberPair::add,
        NumberPair::sub, NumberPair::mul, NumberPair::div, NumberPair::min, NumberPair::max}) {
    const PairLoop loop = loop_of(op, type);
    if (loop == nullptr) continue;
    const bool compares = op >= NumberPair::equal;
    compares ? expect_pairs<T>(loop, op, one_comparison<T>)
             : expect_pairs<T>(loop, op, one_pair<T>);
  }
}

TEST(Numbers, pairs_are_the_scalar_operations_at_every_level_and_length) {
  for (const Isa isa : available_isas()) {
    SCOPED_TRACE(isa_name(isa));
    expect_all_pairs<uint8_t>(NumberType::u8, isa);
    expect_all_pairs<int8_t>(NumberType::i8, isa);
    expect_all_pairs<int32_t>(NumberType::i32, isa);
    expect_all_pairs<int64_t>(NumberType::i64, isa);
    expect_all_pairs<float>(NumberType::f32, isa);
    expect_all_pairs<double>(NumberType::f64, isa);
  }
}

TEST(Numbers, every_integer_type_and_doubles_have_sums) {
  for (const Isa isa : available_isas()) {
    for (const NumberType type :
         {NumberType::u8, NumberType::i8, NumberType::i32, NumberType::i64, NumberType::f64}) {
      EXPECT_NE(SDX_PICK(pair_loop, isa)(NumberPair::add, type), nullptr);
    }
    EXPECT_EQ(SDX_PICK(pair_loop, isa)(NumberPair::add, NumberType::f32), nullptr);
    EXPECT_EQ(SDX_PICK(pair_loop, isa)(NumberPair::div, NumberType::i64), nullptr);
  }
}

double one_map(NumberMap op, double x) {
  switch (op) {
    case NumberMap::abs:
      return std::fabs(x);
    case NumberMap::negate:
      return -x;
    case NumberMap::sign:
      return x > 0 ? 1 : x < 0 ? -1 : x == x ? 0 : x;
    case NumberMap::relu:
      return x > 0 || x != x ? x : 0.0;
    case NumberMap::floor:
      return std::floor(x);
    case NumberMap::ceil:
      return std::ceil(x);
    case NumberMap::round:
      return std::nearbyint(x);
    case NumberMap::sqrt:
      return std::sqrt(x);
    case NumberMap::reciprocal:
      return 1 / x;
    case NumberMap::square:
      return x * x;
    case NumberMap::exp:
      return math::exp(x);
    case NumberMap::log:
      return math::log(x);
    case NumberMap::tanh:
      return math::tanh(x);
    case NumberMap::sigmoid:
      return math::sigmoid(x);
    case NumberMap::sin:
      return math::sin(x);
    case NumberMap::cos:
      return math::cos(x);
  }
  return x;
}

TEST(Numbers, functions_of_doubles_are_the_scalar_ones_at_every_level) {
  for (const Isa isa : available_isas()) {
    SCOPED_TRACE(isa_name(isa));
    for (int op = 0; op <= int(NumberMap::cos); ++op) {
      const MapLoop loop = SDX_PICK(map_loop, isa)(NumberMap(op), NumberType::f64);
      for (const size_t n : kLengths) {
        const std::vector<double> x = values<double>(n, 0);
        std::vector<double> y(n + 1, -3);
        loop(x.data(), y.data(), n);
        for (size_t i = 0; i < n; ++i) {
          double wanted = one_map(NumberMap(op), x[i]);
          if (wanted != wanted) wanted = std::numeric_limits<double>::quiet_NaN();
          ASSERT_EQ(std::memcmp(&wanted, &y[i], 8), 0) << op << " of " << x[i];
        }
        EXPECT_EQ(y.back(), -3);
      }
    }
  }
}

template <class T>
void expect_clips(NumberType type, Isa isa) {
  const ClipLoop loop = SDX_PICK(clip_loop, isa)(type);
  const std::vector<T> bounds = values<T>(32, 1);
  for (size_t b = 0; b + 1 < bounds.size(); ++b) {
    const std::vector<T> x = values<T>(61, 0);
    std::vector<T> y(x.size());
    loop(x.data(), &bounds[b], &bounds[b + 1], y.data(), x.size());
    for (size_t i = 0; i < x.size(); ++i) {
      const T raised = one_pair(NumberPair::max, x[i], bounds[b]);
      const T wanted = one_pair(NumberPair::min, raised, bounds[b + 1]);
      ASSERT_EQ(std::memcmp(&wanted, &y[i], sizeof(T)), 0) << i << ", bounds " << b;
    }
  }
}

TEST(Numbers, clips_are_a_maximum_and_a_minimum_at_every_level) {
  for (const Isa isa : available_isas()) {
    SCOPED_TRACE(isa_name(isa));
    expect_clips<uint8_t>(NumberType::u8, isa);
    expect_clips<int8_t>(NumberType::i8, isa);
    expect_clips<int32_t>(NumberType::i32, isa);
    expect_clips<int64_t>(NumberType::i64, isa);
    expect_clips<double>(NumberType::f64, isa);
    EXPECT_EQ(SDX_PICK(clip_loop, isa)(NumberType::f32), nullptr);
  }
}

TEST(Numbers, conversions_to_integers_saturate_at_every_level) {
  for (const Isa isa : available_isas()) {
    SCOPED_TRACE(isa_name(isa));
    const auto loop = SDX_PICK(cast_loop, isa)(NumberType::f32, NumberType::i64);
    for (const size_t n : kLengths) {
      const std::vector<float> x = values<float>(n, 0);
      std::vector<int64_t> y(n + 1, -3);
      loop(x.data(), y.data(), n);
      for (size_t i = 0; i < n; ++i) ASSERT_EQ(y[i], to_integer<int64_t>(x[i])) << x[i];
      EXPECT_EQ(y.back(), -3);
    }
  }
}

TEST(Numbers, a_choice_takes_bits_as_they_are) {
  for (const Isa isa : available_isas()) {
    SCOPED_TRACE(isa_name(isa));
    const auto loop = SDX_PICK(choose_loop, isa)(8);
    for (const size_t n : kLengths) {
      const std::vector<double> a = values<double>(n + 1, 0), b = values<double>(n + 1, 1);
      const std::vector<uint8_t> condition = values<uint8_t>(n, 2);
      for (const auto& [step_a, step_b] : {std::pair{1, 1}, {0, 1}, {1, 0}, {0, 0}}) {
        std::vector<double> y(n);
        loop(condition.data(), a.data(), step_a, b.data(), step_b, y.data(), n);
        for (size_t i = 0; i < n; ++i) {
          const double& wanted = condition[i] != 0 ? a[i * step_a] : b[i * step_b];
          ASSERT_EQ(std::memcmp(&wanted, &y[i], 8), 0) << i;
        }
      }
    }
    EXPECT_EQ(SDX_PICK(choose_loop, isa)(16), nullptr);
  }
}

}  // namespace
}  // namespace sdx
