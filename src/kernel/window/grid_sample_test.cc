#include "kernel/window/grid_sample.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "kernel/isa_testing.h"

namespace sdx {
namespace {

std::vector<float> positions(size_t count) {
  const float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> p = {-1,        1,       0,      -0.0f,
                          0.999f,    -1.001f, 3,      -17.25f,
                          5,         1e30f,   -1e30f, infinity,
                          -infinity, 1e-40f,  0.5f,   std::numeric_limits<float>::quiet_NaN()};
  for (size_t i = p.size(); i < count; ++i)
    p.push_back(float(int(i * 2654435761u % 401) - 200) / 150);
  p.resize(count);
  return p;
}

struct Tap {
  int32_t index;
  float weight;
  bool present;
};

Tap tap_of(const GridAxis& a, float position, int k) {
  if (std::isnan(position)) position = -1;
  const float n = float(a.size);
  float x = a.align_corners ? (position + 1) / 2 * (n - 1) : ((position + 1) * n - 1) / 2;
  x = x > -0x1p30f ? std::min(x, 0x1p30f) : -0x1p30f;  // before all of it, if NaN
  const float low = a.align_corners ? 0 : -0.5f, high = a.align_corners ? n - 1 : n - 0.5f;
  if (a.border && (x < low || x > high)) x = std::clamp(x, 0.0f, n - 1);
  const auto at = int64_t(std::floor(x)) + k, within = std::clamp<int64_t>(at, 0, a.size - 1);
  const float t = x - std::floor(x), weight = k == 0 ? 1 - t : t;
  return {int32_t(within), weight, (a.border || at == within) && weight != 0};
}

TEST(GridSample, taps_are_those_of_the_formula_at_every_level) {
  for (const Isa isa : available_isas()) {
    for (const int32_t size : {1, 2, 5, 17, 1000003}) {
      for (const int kind : {0, 1, 2, 3}) {
        for (const size_t count : {1, 15, 16, 49, 64}) {
          const GridAxis axis{size, kind % 2 == 1, kind / 2 == 1};
          const std::vector<float> p = positions(count);
          std::vector<float> apart(2 * count);
          for (size_t i = 0; i < count; ++i) apart[2 * i] = p[i];
          GridTaps taps;
          SDX_PICK(grid_taps, isa)(axis, apart.data(), 2, count, &taps);
          for (size_t i = 0; i < count; ++i) {
            for (const int k : {0, 1}) {
              const Tap tap = tap_of(axis, p[i], k);
              ASSERT_EQ(taps.index[k][i], tap.index) << isa_name(isa) << " " << p[i];
              ASSERT_EQ(std::bit_cast<uint32_t>(taps.weight[k][i] + 0.0f),
                        std::bit_cast<uint32_t>(tap.weight + 0.0f));
              ASSERT_EQ(taps.mask[k][i], tap.present ? -1 : 0);
            }
          }
        }
      }
    }
  }
}

float mixed(const Tap& a, float x, const Tap& b, float y) {
  float sum = 0;
  if (a.present) sum += a.weight * x;
  if (b.present) sum += b.weight * y;
  return sum;
}

// One plane after the other, or `channels` of one image.
void check_images(Isa isa, size_t channels, size_t points, size_t first, size_t count) {
  const GridAxis down{3, false, false}, across{7, true, false};
  const std::vector<float> p = positions(2 * count);
  const size_t images = channels == 1 ? (first + count + points - 1) / points : 1;
  std::vector<float> x(images * channels * 21);
  for (size_t i = 0; i < x.size(); ++i) x[i] = float(i * 7 % 31) - 15;
  x[4] = std::numeric_limits<float>::quiet_NaN();
  x[5] = std::numeric_limits<float>::infinity();
  GridTaps rows, columns;
  SDX_PICK(grid_taps, isa)(down, p.data() + 1, 2, count, &rows);
  SDX_PICK(grid_taps, isa)(across, p.data(), 2, count, &columns);
  std::vector<float> y(images * channels * points + 1, 77);
  SDX_PICK(grid_blend, isa)
  ({x.data(), channels, 21, 7, points, first, y.data() + first}, rows, columns, count);
  for (size_t i = 0; i < count; ++i) {
    for (size_t c = 0; c < channels; ++c) {
      const float* plane = x.data() + ((first + i) / points * channels + c) * 21;
      const Tap r[2] = {tap_of(down, p[2 * i + 1], 0), tap_of(down, p[2 * i + 1], 1)};
      const Tap k[2] = {tap_of(across, p[2 * i], 0), tap_of(across, p[2 * i], 1)};
      const auto row = [&](int j) {
        const float* line = plane + r[j].index * 7;
        return mixed(k[0], line[k[0].index], k[1], line[k[1].index]);
      };
      const float expected = mixed(r[0], row(0), r[1], row(1)), got = y[first + c * points + i];
      if (std::isnan(expected)) {
        ASSERT_EQ(std::bit_cast<uint32_t>(got), 0x7fc00000u);
      } else {
        ASSERT_EQ(std::bit_cast<uint32_t>(got), std::bit_cast<uint32_t>(expected))
            << isa_name(isa) << " channel " << c << " point " << i;
      }
    }
  }
  EXPECT_EQ(y.back(), 77) << "written behind the end";
}

TEST(GridSample, blends_are_those_of_one_point_after_the_other_at_every_level) {
  for (const Isa isa : available_isas()) {
    for (const size_t count : {1, 16, 37, 64}) {
      check_images(isa, 1, 9, 4, count);
      check_images(isa, 1, 64, 0, count);
      check_images(isa, 3, 80, 11, count);
    }
  }
}

}  // namespace
}  // namespace sdx
