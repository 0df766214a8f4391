#include "kernel/window/pool_plane.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "base/tensor.h"
#include "kernel/isa_testing.h"
#include "kernel/math/ops.h"

namespace sdx {
namespace {

size_t product(const size_t (&sizes)[3]) { return sizes[0] * sizes[1] * sizes[2]; }

// f(element) for the elements of output (z, y, x)'s window that lie in the plane, in row-major
// order.
template <class F>
void each_in_window(const PoolShape& s, size_t z, size_t y, size_t x, F&& f) {
  for (size_t kz = 0; kz < s.kernel[0]; ++kz) {
    for (size_t ky = 0; ky < s.kernel[1]; ++ky) {
      for (size_t kx = 0; kx < s.kernel[2]; ++kx) {
        // A position before the plane wraps to a very large number.
        const size_t iz = z * s.stride[0] + kz * s.dilation[0] - s.pad[0];
        const size_t iy = y * s.stride[1] + ky * s.dilation[1] - s.pad[1];
        const size_t ix = x * s.stride[2] + kx * s.dilation[2] - s.pad[2];
        if (iz < s.in[0] && iy < s.in[1] && ix < s.in[2]) f((iz * s.in[1] + iy) * s.in[2] + ix);
      }
    }
  }
}

// What planes hold: zeros are many zeros of both signs with nothing above them.
enum class Planes { numbers, specials, zeros };

void expect_reference_bits(const PoolShape& s, Planes kind, size_t planes) {
  std::mt19937 rng(unsigned(product(s.in)));
  std::normal_distribution<float> normal;
  const bool specials = kind == Planes::specials;
  std::vector<float> x(planes * product(s.in));
  for (float& v : x) v = normal(rng);
  if (kind == Planes::zeros) {
    for (float& v : x) v = rng() % 4 == 0 ? -std::abs(v) : rng() % 4 == 0 ? 0.0f : -0.0f;
  }
  if (specials) {
    x[0] = -0.0f;
    x[x.size() / 2] = std::numeric_limits<float>::quiet_NaN();
    x[x.size() / 3] = -std::numeric_limits<float>::quiet_NaN();
    x[x.size() / 4] = std::numeric_limits<float>::denorm_min();
    x[x.size() - 1] = -std::numeric_limits<float>::infinity();
  }
  std::vector<float> most, mean, counts;
  for (size_t plane = 0; plane < planes; ++plane) {
    const float* from = x.data() + plane * product(s.in);
    for (size_t z = 0; z < s.out[0]; ++z) {
      for (size_t y = 0; y < s.out[1]; ++y) {
        for (size_t column = 0; column < s.out[2]; ++column) {
          float greatest = -std::numeric_limits<float>::infinity(), sum = 0, count = 0;
          each_in_window(s, z, y, column, [&](size_t at) {
            greatest = scalar_binary(BinaryOp::max, greatest, from[at]);
            sum = sum + from[at];
            count += 1;
          });
          most.push_back(greatest);
          if (plane == 0) counts.push_back(count);
          const float quotient = sum / count;
          mean.push_back(quotient == quotient ? quotient : std::numeric_limits<float>::quiet_NaN());
        }
      }
    }
  }
  const bool equal =
      std::all_of(counts.begin(), counts.end(), [&](float n) { return n == counts[0]; });
  const auto staged = allocate_aligned(s.staged_size() * sizeof(float) + 64);
  std::vector<size_t> taps(s.taps());
  find_taps(s, s.phase_step(), taps.data());
  std::vector<PhaseRows> phases(phase_count(s));
  find_phases(s, phases.data());
  const PoolWork work{&s, s.phase_step(), taps.data(), phases.data()};
  for (const Isa isa : available_isas()) {
    std::vector<float> got(most.size(), 5.f);
    SDX_PICK(max_pool_planes, isa)
    (work, x.data(), got.data(), planes, static_cast<float*>(staged.get()));
    for (size_t i = 0; i < got.size(); ++i)
      ASSERT_EQ(std::bit_cast<uint32_t>(got[i]), std::bit_cast<uint32_t>(most[i]))
          << isa_name(isa) << " max " << i;
    SDX_PICK(average_pool_planes, isa)
    (work, x.data(), {counts.data(), equal}, got.data(), planes, static_cast<float*>(staged.get()));
    for (size_t i = 0; i < got.size(); ++i)
      ASSERT_EQ(std::bit_cast<uint32_t>(got[i]), std::bit_cast<uint32_t>(mean[i]))
          << isa_name(isa) << " average " << i;
  }
}

// As many planes as are staged, and fewer, of which some do not fill a vector.
void expect_reference_bits(const PoolShape& s, Planes kind) {
  expect_reference_bits(s, kind, s.planes_together());
  if (s.turns_planes()) expect_reference_bits(s, kind, s.planes_together() - 5);
}
void expect_reference_bits(const PoolShape& s, bool specials) {
  expect_reference_bits(s, specials ? Planes::specials : Planes::numbers);
}

// A square window over a plane, with the same everything along both axes.
PoolShape square(size_t rows, size_t columns, size_t kernel, size_t stride, size_t pad,
                 size_t dilation = 1) {
  PoolShape s;
  s.in[1] = rows, s.in[2] = columns;
  for (const int i : {1, 2}) {
    s.kernel[i] = kernel, s.stride[i] = stride, s.pad[i] = pad, s.dilation[i] = dilation;
    s.out[i] = (s.in[i] + 2 * pad - (kernel - 1) * dilation - 1) / stride + 1;
  }
  return s;
}

TEST(PoolPlane, has_the_bits_of_its_definition_at_every_level) {
  for (const bool specials : {false, true}) {
    expect_reference_bits(square(7, 7, 2, 2, 0), specials);
    expect_reference_bits(square(9, 33, 3, 2, 1), specials);
    expect_reference_bits(square(12, 50, 3, 1, 1), specials);
    expect_reference_bits(square(20, 41, 5, 3, 2), specials);
    expect_reference_bits(square(15, 40, 3, 1, 2, 2), specials);
    expect_reference_bits(square(3, 3, 3, 1, 0), specials);
    expect_reference_bits(square(17, 17, 3, 1, 0), specials);
    expect_reference_bits(square(1, 1, 1, 1, 0), specials);
    expect_reference_bits(square(5, 4, 2, 5, 1, 3), specials);
    expect_reference_bits(square(31, 113, 3, 2, 1), specials);
  }
}

TEST(PoolPlane, turns_narrow_planes) {
  for (const size_t stride : {1, 2, 3}) {
    for (const size_t dilation : {1, 2}) {
      for (const size_t pad : {0, 1, 2}) {
        const PoolShape s = square(9, 13, 3, stride, pad, dilation);
        ASSERT_TRUE(s.turns_planes());
        expect_reference_bits(s, true);
        expect_reference_bits(s, false);
      }
    }
  }
}

TEST(PoolPlane, finds_the_greatest_down_and_along_whatever_the_zeros_and_nans) {
  for (const size_t kernel : {1, 2, 3, 5, 13}) {
    for (const size_t stride : {1, 2, 3, 5}) {
      for (const size_t dilation : {1, 3}) {
        const PoolShape s = square(41, 67, kernel, stride, kernel / 2, dilation);
        for (const Planes kind : {Planes::numbers, Planes::specials, Planes::zeros})
          expect_reference_bits(s, kind);
      }
    }
  }
  PoolShape channels;
  channels.in[0] = 9, channels.kernel[0] = 3, channels.stride[0] = 2, channels.pad[0] = 1;
  channels.out[0] = 5;
  channels.in[1] = 12, channels.kernel[1] = 3, channels.stride[1] = 2, channels.pad[1] = 1;
  channels.out[1] = 6;
  channels.in[2] = channels.out[2] = 48;
  ASSERT_TRUE(channels.reads_channels());
  for (const Planes kind : {Planes::numbers, Planes::specials, Planes::zeros})
    expect_reference_bits(channels, kind);
}

TEST(PoolPlane, takes_three_dimensions) {
  PoolShape s = square(6, 21, 2, 2, 0);
  s.in[0] = 5, s.kernel[0] = 3, s.stride[0] = 2, s.pad[0] = 1, s.out[0] = 3;
  expect_reference_bits(s, true);
}

TEST(PoolPlane, reads_channels_that_come_last_in_place) {
  PoolShape s;
  s.in[0] = 7, s.kernel[0] = 3, s.stride[0] = 2, s.pad[0] = 1, s.out[0] = 4;
  s.in[1] = 6, s.kernel[1] = 2, s.stride[1] = 1, s.out[1] = 5;
  s.in[2] = s.out[2] = 32;
  ASSERT_TRUE(s.reads_channels());
  expect_reference_bits(s, true);
}

TEST(PoolPlane, reads_every_second_window_in_place) {
  for (const size_t kernel : {1, 2, 3, 4}) {
    for (const size_t columns : {5, 14, 17, 33, 66, 71}) {
      for (const size_t pad : {0, 1}) {
        PoolShape s = square(10, columns, kernel, 2, pad);
        if (pad == 1 && columns % 3 == 0) s.out[2] += 1;  // which meets nothing but padding
        ASSERT_TRUE(s.reads_pairs());
        expect_reference_bits(s, true);
        expect_reference_bits(s, false);
      }
    }
  }
}

TEST(PoolPlane, finds_the_greatest_of_rows_in_registers) {
  for (const Planes kind : {Planes::numbers, Planes::specials, Planes::zeros}) {
    for (const size_t columns : {25, 31, 32, 33, 47, 48, 49, 50, 62, 63, 64, 65, 109}) {
      for (const size_t pad : {0, 1}) {
        expect_reference_bits(square(13, columns, 3, 1, pad), kind);
        expect_reference_bits(square(13, columns, 3, 2, pad), kind);
        expect_reference_bits(square(13, columns, 2, 2, pad), kind);
      }
    }
  }
}

}  // namespace
}  // namespace sdx
