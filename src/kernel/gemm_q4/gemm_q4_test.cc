#include "kernel/gemm_q4/gemm_q4.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "base/tensor.h"
#include "kernel/isa_testing.h"

namespace sdx {
namespace {

enum class Zeros { none, equal, each };

struct Case {
  size_t m, n, k, block;
  bool is_signed;
  Zeros zeros;
  float odd = 0;  // if not 0: a scale and an element of A
};

int value(const std::vector<uint8_t>& packed, size_t i, bool is_signed) {
  const int q = packed[i / 2] >> (i % 2 * 4) & 15;
  return is_signed && q > 7 ? q - 16 : q;
}

uint32_t bits_of(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}

// Adds the element's own place, so that a block reported at the wrong place shows.
struct Epilogued {
  size_t n;
  static void block(void* self, float* c, size_t ldc, size_t row, size_t col, size_t rows,
                    size_t cols) {
    const size_t n = static_cast<Epilogued*>(self)->n;
    for (size_t i = 0; i < rows; ++i) {
      for (size_t j = 0; j < cols; ++j) c[i * ldc + j] += float((row + i) * n + col + j);
    }
  }
};

void expect_bits(const Case& t, unsigned seed) {
  SCOPED_TRACE(::testing::Message()
               << t.m << "x" << t.n << "x" << t.k << " in blocks of " << t.block
               << (t.is_signed ? " i4" : " u4") << " zeros " << int(t.zeros));
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal;
  const size_t blocks = (t.k + t.block - 1) / t.block;
  std::vector<float> a(t.m * t.k), scale(blocks * t.n), want(t.m * t.n);
  std::vector<uint8_t> q(t.k * t.n / 2 + 1), zero(blocks * t.n / 2 + 1, uint8_t(rng() % 16 * 17));
  for (float& x : a) x = normal(rng);
  for (float& x : scale) x = normal(rng);
  for (uint8_t& x : q) x = uint8_t(rng());
  if (t.zeros == Zeros::each) {
    for (uint8_t& x : zero) x = uint8_t(rng());
  }
  if (t.odd != 0) scale[rng() % scale.size()] = a[rng() % a.size()] = t.odd;
  for (size_t i = 0; i < t.m; ++i) {
    for (size_t j = 0; j < t.n; ++j) {
      float acc = 0;
      for (size_t k = 0; k < t.k; ++k) {
        const size_t s = k / t.block * t.n + j;
        const int z = t.zeros == Zeros::none ? 0 : value(zero, s, t.is_signed);
        const float w = float(value(q, k * t.n + j, t.is_signed) - z) * scale[s];
        acc = std::fma(a[i * t.k + k], w, acc);
      }
      want[i * t.n + j] = acc == acc ? acc : std::numeric_limits<float>::quiet_NaN();
    }
  }
  Q4Source source{t.k,
                  t.n,
                  t.block,
                  t.is_signed,
                  q.data(),
                  scale.data(),
                  t.zeros == Zeros::none ? nullptr : zero.data()};
  for (const Isa isa : available_isas()) {
    for (int threads : {1, 2, 3}) {
      Pool pool(threads);
      const auto packed = pack_q4(source, pool);
      const auto scratch = allocate_aligned(gemm_q4_scratch_bytes(t.m, t.k, t.n, threads) + 1);
      std::vector<float> got(t.m * t.n + 1, 7);
      Epilogued epilogued{t.n};
      for (const bool with_epilogue : {false, true}) {
        GemmQ4Args g{t.m, a.data(), packed.get(), got.data(), {}, scratch.get()};
        if (with_epilogue) g.epilogue = {&Epilogued::block, &epilogued};
        gemm_q4(g, pool, isa);
        EXPECT_EQ(got.back(), 7) << "written behind the end";
        for (size_t i = 0; i < want.size(); ++i) {
          const float expected = with_epilogue ? want[i] + float(i) : want[i];
          ASSERT_EQ(bits_of(got[i]), bits_of(expected))
              << isa_name(isa) << ", " << threads << " threads, element " << i << ": " << got[i]
              << " instead of " << expected << (with_epilogue ? " with epilogue" : "");
        }
      }
    }
  }
}

TEST(GemmQ4, equals_the_product_with_dequantised_weights) {
  unsigned seed = 1;
  for (const Zeros zeros : {Zeros::none, Zeros::equal, Zeros::each}) {
    for (const bool is_signed : {false, true}) {
      for (size_t m : {1, 2, 3, 4, 5, 13}) expect_bits({m, 83, 70, 32, is_signed, zeros}, seed++);
      for (size_t n : {1, 15, 16, 17, 32, 33, 64, 129}) {
        expect_bits({1, n, 64, 32, is_signed, zeros}, seed++);
        expect_bits({7, n, 33, 16, is_signed, zeros}, seed++);
      }
      for (size_t block : {1, 3, 7, 8, 9, 100}) {
        expect_bits({2, 40, 21, block, is_signed, zeros}, seed++);
        expect_bits({6, 40, 21, block, is_signed, zeros}, seed++);
      }
    }
  }
}

TEST(GemmQ4, many_columns_are_dequantised_in_stretches) {
  expect_bits({5, 700, 600, 32, true, Zeros::none}, 1);
  expect_bits({30, 400, 1100, 128, false, Zeros::each}, 2);
}

TEST(GemmQ4, each_thread_dequantises_columns_of_its_own) {
  expect_bits({9, 513, 300, 32, true, Zeros::each}, 1);    // some panels for each thread
  expect_bits({9, 130, 2100, 64, false, Zeros::none}, 2);  // two for each of two, too few for three
}

TEST(GemmQ4, odd_scales_mean_what_they_do_in_floats) {
  for (const float odd : {1e-45f, 3e38f, std::numeric_limits<float>::infinity(),
                          std::numeric_limits<float>::quiet_NaN()}) {
    for (const Zeros zeros : {Zeros::none, Zeros::each}) {
      expect_bits({1, 20, 64, 32, true, zeros, odd}, 3);
      expect_bits({6, 20, 64, 32, true, zeros, odd}, 4);
    }
  }
}

TEST(GemmQ4, nothing_to_add_gives_zero) { expect_bits({3, 20, 0, 32, true, Zeros::none}, 1); }

TEST(GemmQ4, a_matrix_by_columns_is_packed_as_by_rows) {
  for (const bool is_signed : {false, true}) {
    for (const bool zeros : {false, true}) {
      const size_t k = 75, n = 53, block = 32, blocks = 3;
      std::mt19937 rng(7);
      Q4Source rows{k, n, block, is_signed}, columns = rows;
      columns.by_columns = true;
      columns.q_column = blocks * block / 2;
      columns.zero_column = (blocks + 1) / 2;
      std::vector<uint8_t> q(k * n / 2 + 1), q_by(n * columns.q_column, 0xff);
      std::vector<uint8_t> zero(blocks * n / 2 + 1), zero_by(n * columns.zero_column);
      std::vector<float> scale(blocks * n), scale_by(blocks * n);
      const auto put = [](std::vector<uint8_t>& to, size_t i, unsigned value) {
        const unsigned shift = unsigned(i % 2 * 4);
        to[i / 2] = uint8_t((to[i / 2] & ~(15u << shift)) | value << shift);
      };
      for (size_t j = 0; j < n; ++j) {
        for (size_t i = 0; i < k; ++i) {
          const unsigned value = rng() % 16;
          put(q, i * n + j, value);
          put(q_by, 2 * j * columns.q_column + i, value);
        }
        for (size_t b = 0; b < blocks; ++b) {
          const unsigned value = rng() % 16;
          put(zero, b * n + j, value);
          put(zero_by, 2 * j * columns.zero_column + b, value);
          scale[b * n + j] = scale_by[j * blocks + b] = float(rng() % 1000);
        }
      }
      rows.q = q.data(), columns.q = q_by.data();
      rows.scale = scale.data(), columns.scale = scale_by.data();
      rows.every_zero = columns.every_zero = 5;
      if (zeros) rows.zero = zero.data(), columns.zero = zero_by.data();
      Pool pool(2);
      const auto a = pack_q4(rows, pool), b = pack_q4(columns, pool);
      EXPECT_EQ(a->has_zeros, zeros);
      EXPECT_EQ(a->zero, b->zero);
      EXPECT_EQ(a->panel_bytes(), b->panel_bytes());
      EXPECT_EQ(std::memcmp(a->groups(), b->groups(), (n + 15) / 16 * a->panel_bytes()), 0);
    }
  }
}

}  // namespace
}  // namespace sdx
