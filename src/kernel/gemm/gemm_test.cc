#include "kernel/gemm/gemm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "kernel/gemm/reference.h"
#include "kernel/isa_testing.h"

namespace sdx {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::vector<float> random_floats(size_t n, unsigned seed, bool specials = false) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal;
  std::vector<float> v(n);
  const float odd[] = {0.f, -0.f, kInf, -kInf, kNan, -kNan, 1e-45f, -1e-40f, 3e38f, -3e38f};
  for (float& x : v) {
    x = normal(rng);
    if (specials && rng() % 16 == 0) x = odd[rng() % std::size(odd)];
  }
  return v;
}

// Floats over the whole range of exponents: sums that cancel, underflow and overflow.
std::vector<float> wild_floats(size_t n, unsigned seed) {
  std::mt19937 rng(seed);
  std::vector<float> v(n);
  for (float& x : v) {
    const uint32_t bits = uint32_t(rng());
    std::memcpy(&x, &bits, sizeof x);
  }
  return v;
}

// Calls f(isa) at every level this machine has.
template <class F>
void at_every_isa(F&& f) {
  for (const Isa isa : available_isas()) {
    SCOPED_TRACE(isa_name(isa));
    f(isa);
  }
}

template <class T>
::testing::AssertionResult same_bits(const std::vector<T>& want, const std::vector<T>& got) {
  for (size_t i = 0; i < want.size(); ++i) {
    if (std::memcmp(&want[i], &got[i], sizeof(T)) != 0) {
      return ::testing::AssertionFailure()
             << "element " << i << ": " << +want[i] << " against " << +got[i];
    }
  }
  return ::testing::AssertionSuccess();
}

void run(GemmArgs g, int threads, Isa isa) {
  Pool pool(threads);
  std::vector<float> scratch(gemm_scratch_bytes(g, threads) / sizeof(float) + 1);
  g.scratch = scratch.data();
  gemm(g, pool, isa);
}

struct Shape {
  size_t m, n, k, batch = 1;
};

std::vector<Shape> shapes() {
  std::vector<Shape> s = {{1, 1, 1},       {1, 100, 37},   {1, 300, 21, 3}, {2, 31, 5},
                          {3, 33, 64},     {12, 32, 16},   {13, 16, 7},     {25, 49, 11},
                          {37, 65, 40},    {100, 130, 33}, {7, 5, 1100},    {30, 70, 600},
                          {5, 17, 0},      {9, 40, 8, 5},  {1, 33, 9, 3},   {20, 20, 20, 7},
                          {14, 50, 30, 2}, {67, 40, 1700}};
  // Few rows against a B that is large enough to be streamed where it lies.
  for (const Shape& streamed : {Shape{1, 700, 200}, {1, 4500, 30}, {3, 530, 301, 2}, {4, 300, 437}})
    s.push_back(streamed);
  std::mt19937 rng(7);
  for (int i = 0; i < 6; ++i)
    s.push_back({1 + rng() % 40, 1 + rng() % 90, rng() % 50, 1 + rng() % 4});
  return s;
}

// Everything that can vary, against the reference.
void expect_reference_bits(const Shape& s, const std::vector<float>& a, const std::vector<float>& b,
                           bool trans_a, bool trans_b, const AffineEpilogue& affine, bool shared_b,
                           Isa isa) {
  SCOPED_TRACE(::testing::Message()
               << s.batch << " x " << s.m << "x" << s.n << "x" << s.k << " " << trans_a << trans_b);
  const size_t ldc = s.n + 3;
  GemmArgs g;
  g.m = s.m, g.n = s.n, g.k = s.k, g.batch = s.batch;
  g.a = a.data(), g.lda = trans_a ? s.m : s.k, g.trans_a = trans_a, g.a_batch = s.m * s.k;
  g.b = b.data(), g.ldb = trans_b ? s.k : s.n, g.trans_b = trans_b,
  g.b_batch = shared_b ? 0 : s.k * s.n;
  g.ldc = ldc, g.c_batch = s.m * ldc;
  g.affine = affine;

  std::vector<float> want(s.batch * s.m * ldc, 5.f);
  for (size_t i = 0; i < s.batch; ++i) {
    reference::matmul<float>({s.m, s.n, s.k, a.data() + i * g.a_batch, trans_a ? 1 : g.lda,
                              trans_a ? g.lda : 1, b.data() + i * g.b_batch, trans_b ? 1 : g.ldb,
                              trans_b ? g.ldb : 1, want.data() + i * g.c_batch, ldc, affine.alpha,
                              affine.bias, affine.bias_row, affine.bias_col, affine.beta});
    for (size_t r = 0; affine.other != nullptr && r < s.m; ++r) {
      const float* other = affine.other + (i * s.m + r) * affine.other_row;
      float* row = want.data() + i * g.c_batch + r * ldc;
      for (size_t j = 0; j < s.n; ++j) row[j] = reference::canonical(row[j] + other[j]);
    }
  }

  Pool pool(2);
  std::vector<float> packed(s.batch * gemm_packed_b_size(s.k, s.n) + 1);
  for (int threads : {1, 2, 3}) {
    std::vector<float> got(want.size(), 5.f);
    g.c = got.data();
    g.b_packed = nullptr;
    g.b_batch = shared_b ? 0 : s.k * s.n;
    run(g, threads, isa);
    EXPECT_TRUE(same_bits(want, got)) << threads << " threads";

    const size_t one = gemm_packed_b_size(s.k, s.n);
    for (size_t i = 0; i < s.batch; ++i) {
      gemm_pack_b(b.data() + i * g.b_batch, DType::f32, g.ldb, trans_b, s.k, s.n,
                  packed.data() + i * one, pool, isa);
    }
    got.assign(want.size(), 5.f);
    g.b_packed = packed.data();
    g.b_batch = shared_b ? 0 : one;
    run(g, threads, isa);
    EXPECT_TRUE(same_bits(want, got)) << threads << " threads, packed";
  }
}

}  // namespace

TEST(Gemm, equals_the_reference_for_every_shape_thread_count_and_level) {
  at_every_isa([](Isa isa) {
    unsigned seed = 1;
    for (const Shape& s : shapes()) {
      const auto a = random_floats(s.batch * s.m * s.k + 1, seed++);
      const auto b = random_floats(s.batch * s.n * s.k + 1, seed++);
      for (int flags = 0; flags < 4; ++flags)
        expect_reference_bits(s, a, b, flags & 1, flags & 2, {}, flags == 3, isa);
    }
  });
}

TEST(Gemm, keeps_signed_zeros_infinities_and_denormals_and_makes_nan_canonical) {
  at_every_isa([](Isa isa) {
    for (const Shape s :
         {Shape{13, 45, 3}, Shape{1, 70, 2}, Shape{40, 33, 5}, Shape{2, 40000, 4}}) {
      expect_reference_bits(s, random_floats(s.m * s.k, 3, true), random_floats(s.n * s.k, 4, true),
                            false, false, {}, false, isa);
    }
  });
}

TEST(Gemm, fuses_exactly_over_the_whole_range_of_floats) {
  at_every_isa([](Isa isa) {
    for (unsigned seed = 0; seed < 8; ++seed) {
      const Shape s{24, 96, 2 + seed};
      expect_reference_bits(s, wild_floats(s.m * s.k, seed), wild_floats(s.n * s.k, seed + 99),
                            false, true, {}, false, isa);
    }
  });
}

TEST(Gemm, rounds_alpha_beta_and_bias_one_by_one) {
  at_every_isa([](Isa isa) {
    const Shape s{29, 51, 17};
    const auto a = random_floats(s.m * s.k, 5), b = random_floats(s.n * s.k, 6),
               bias = random_floats(s.m * s.n, 8, true);
    for (size_t row : {size_t{0}, size_t{1}, s.n}) {
      for (size_t col : {0, 1}) {
        for (float beta : {1.f, 0.3f}) {
          expect_reference_bits(s, a, b, false, false, {0.7f, bias.data(), row, col, beta}, false,
                                isa);
        }
      }
    }
    expect_reference_bits(s, a, b, true, false, {-1.3f}, false, isa);
  });
}

TEST(Gemm, adds_the_other_operand_last) {
  at_every_isa([](Isa isa) {
    for (const Shape s : {Shape{29, 51, 17, 3}, Shape{1, 300, 12, 2}, Shape{14, 130, 1100},
                          Shape{63, 33, 800}, Shape{2, 290, 460, 2}, Shape{3, 291, 460}}) {
      const auto a = random_floats(s.batch * s.m * s.k, 5),
                 b = random_floats(s.batch * s.n * s.k, 6);
      const auto bias = random_floats(s.n, 8, true),
                 other = random_floats(s.batch * s.m * s.n, 9, true);
      for (size_t row : {size_t{0}, s.n}) {
        AffineEpilogue affine;
        affine.other = other.data(), affine.other_row = row;
        expect_reference_bits(s, a, b, false, false, affine, false, isa);
        affine.bias = bias.data(), affine.bias_col = 1, affine.alpha = 0.7f;
        expect_reference_bits(s, a, b, false, true, affine, false, isa);
      }
    }
  });
}

TEST(Gemm, calls_the_epilogue_once_per_final_element) {
  at_every_isa([](Isa isa) {
    for (const Shape s : {Shape{40, 300, 700}, Shape{1, 170, 20}, Shape{15, 40, 9, 4},
                          Shape{3, 600, 230}, Shape{1, 5000, 30}, Shape{2, 4141, 40}}) {
      const auto a = random_floats(s.batch * s.m * s.k, 1),
                 b = random_floats(s.batch * s.n * s.k, 2);
      std::vector<float> plain(s.batch * s.m * s.n), doubled(plain.size());
      GemmArgs g;
      g.m = s.m, g.n = s.n, g.k = s.k, g.batch = s.batch;
      g.a = a.data(), g.lda = s.k, g.a_batch = s.m * s.k;
      g.trans_b = s.n == 4141;
      g.b = b.data(), g.ldb = g.trans_b ? s.k : s.n, g.b_batch = s.n * s.k;
      g.c = plain.data(), g.ldc = s.n, g.c_batch = s.m * s.n;
      run(g, 1, isa);
      g.c = doubled.data();
      struct Context {
        float* base;
        size_t n;
      } context{doubled.data(), s.n};
      g.epilogue = {
          [](void* ctx, float* c, size_t ldc, size_t row, size_t col, size_t rows, size_t cols) {
            const auto* x = static_cast<Context*>(ctx);
            EXPECT_EQ(c, x->base + row * x->n + col);
            for (size_t r = 0; r < rows; ++r) {
              for (size_t j = 0; j < cols; ++j) c[r * ldc + j] += c[r * ldc + j];
            }
          },
          &context};
      run(g, 3, isa);
      for (float& x : plain) x += x;
      EXPECT_TRUE(same_bits(plain, doubled));
    }
  });
}

TEST(Gemm, widens_16_bit_operands_and_rounds_once) {
  // (1 + 2^-10) * 1 + 2^-11 ties to even only if nothing was rounded on the way; 3 is exact.
  const uint16_t one = 0x3c00, next = 0x3c01, half_ulp = 0x1000;
  at_every_isa([&](Isa isa) {
    const uint16_t a[] = {one, half_ulp, half_ulp, 0};
    const uint16_t b[] = {next, one, one, one};
    uint16_t c = 0;
    GemmArgs g;
    g.m = 1, g.n = 1, g.k = 4;
    g.a = a, g.lda = 4, g.b = b, g.ldb = 1, g.c = &c, g.ldc = 1;
    g.a_type = g.b_type = g.c_type = DType::f16;
    run(g, 1, isa);
    EXPECT_EQ(c, 0x3c02);  // in float16 both halves would have rounded away from and to even
    const uint16_t bias = 0xfc00;  // -inf
    g.bias_16 = &bias;
    run(g, 1, isa);
    EXPECT_EQ(c, 0xfc00);
    const uint16_t nan[] = {0xfe01, 0, 0, 0};
    g.a = nan;
    run(g, 1, isa);
    EXPECT_EQ(c, 0x7e00);
  });
}

void expect_bf16_bits(size_t m, size_t n, size_t k) {
  std::mt19937 rng(3);
  std::normal_distribution<float> normal;
  const auto to_bf16 = [](float x) {
    uint32_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
  };
  const auto make = [&](size_t count, std::vector<uint16_t>& narrow, std::vector<float>& wide) {
    for (size_t i = 0; i < count; ++i) {
      narrow.push_back(to_bf16(normal(rng)));
      const uint32_t bits = uint32_t(narrow.back()) << 16;
      float x;
      std::memcpy(&x, &bits, sizeof x);
      wide.push_back(x);
    }
  };
  std::vector<uint16_t> a, b, want;
  std::vector<float> wide_a, wide_b, c(m * n);
  make(m * k, a, wide_a);
  make(k * n, b, wide_b);
  reference::matmul<float>({m, n, k, wide_a.data(), k, 1, wide_b.data(), n, 1, c.data(), n});
  for (float x : c) want.push_back(to_bf16(x));
  at_every_isa([&](Isa isa) {
    std::vector<uint16_t> got(m * n);
    GemmArgs g;
    g.m = m, g.n = n, g.k = k;
    g.a = a.data(), g.lda = k, g.b = b.data(), g.ldb = n, g.c = got.data(), g.ldc = n;
    g.a_type = g.b_type = g.c_type = DType::bf16;
    for (int threads : {1, 2}) {
      run(g, threads, isa);
      EXPECT_TRUE(same_bits(want, got));
    }
  });
}

TEST(Gemm, bf16_operands_equal_the_float_product_of_their_widened_values) {
  expect_bf16_bits(27, 45, 600);
  expect_bf16_bits(2, 301, 450);
}

TEST(Gemm, f64_equals_the_reference) {
  at_every_isa([](Isa isa) {
    std::mt19937 rng(3);
    std::normal_distribution<double> normal;
    const size_t m = 11, n = 37, k = 23, batch = 3;
    std::vector<double> a(batch * m * k), b(batch * k * n), bias(n), want(batch * m * n),
        got(want.size());
    for (auto* v : {&a, &b, &bias}) {
      for (double& x : *v) x = normal(rng);
    }
    for (int flags = 0; flags < 4; ++flags) {
      const bool ta = flags & 1, tb = flags & 2;
      for (size_t i = 0; i < batch; ++i) {
        reference::matmul<double>({m, n, k, a.data() + i * m * k, ta ? 1 : k, ta ? m : 1,
                                   b.data() + i * k * n, tb ? 1 : n, tb ? k : 1,
                                   want.data() + i * m * n, n, 0.9, bias.data(), 0, 1, 1.1});
      }
      GemmF64Args g{m,          n,   k,          a.data(), ta ? m : k, ta,          b.data(),
                    tb ? k : n, tb,  got.data(), n,        0.9,        bias.data(), 0,
                    1,          1.1, batch,      m * k,    k * n,      m * n,       0};
      for (int threads : {1, 3}) {
        Pool pool(threads);
        gemm_f64(g, pool, isa);
        EXPECT_TRUE(same_bits(want, got));
      }
    }
  });
}

}  // namespace sdx
