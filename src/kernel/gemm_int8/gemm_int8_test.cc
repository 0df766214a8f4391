#include "kernel/gemm_int8/gemm_int8.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "kernel/gemm_int8/unit.h"
#include "kernel/isa.h"

namespace sdx {
namespace {

struct Case {
  size_t m, n, k, batch;
  bool a_signed, b_signed, trans_a, trans_b;
  int zeros;  // 0: none, 1: one each, 2: per row and column
  bool extreme;
  int most = 0;  // not 0: bytes of A as distances from their least, but for a few; B's are extreme
};

int32_t value(uint8_t byte, bool is_signed) { return is_signed ? int8_t(byte) : byte; }

std::vector<uint8_t> bytes(size_t n, std::mt19937& rng, bool extreme) {
  std::vector<uint8_t> v(n);
  const uint8_t ends[] = {0, 127, 128, 255};
  for (uint8_t& x : v) x = extreme ? ends[rng() % 4] : uint8_t(rng());
  return v;
}

// Up to `most` above some byte, and rarely anything.
std::vector<uint8_t> mostly_close(size_t n, std::mt19937& rng, int most) {
  std::vector<uint8_t> v(n);
  const unsigned from = rng() % unsigned(256 - most);
  for (uint8_t& x : v) x = uint8_t(from + rng() % unsigned(most + 1));
  for (size_t i = rng() % 300; i < n; i += 1 + rng() % 300)
    v[i] = rng() % 2 == 0 ? 255 : uint8_t(rng());
  return v;
}

struct Way {
  Isa isa;
  Int8Unit unit;
};
// What this machine can run; the stand-ins where it lacks the instructions.
std::vector<Way> ways() {
  std::vector<Way> all;
  for (const Isa isa : kAllIsas) {
    if (isa_available(isa)) all.push_back({isa, Int8Unit::plain});
  }
  for (const Int8Unit unit : {Int8Unit::avx_vnni, Int8Unit::avx_vnni_evex}) {
    if (int8_unit_available(unit)) all.push_back({Isa::avx2, unit});
  }
  for (const Int8Unit unit : {Int8Unit::avx512_vnni, Int8Unit::amx, Int8Unit::amx_in_memory}) {
    if (int8_unit_available(unit)) all.push_back({Isa::avx512, unit});
  }
  for (const Int8Unit unit : {Int8Unit::neon_dot, Int8Unit::neon_i8mm}) {
    if (int8_unit_available(unit)) all.push_back({Isa::neon, unit});
  }
  return all;
}

void expect_exact(const Case& t, unsigned seed, const std::vector<Way>& on = ways()) {
  SCOPED_TRACE(::testing::Message()
               << t.batch << " x " << t.m << "x" << t.n << "x" << t.k << " signs " << t.a_signed
               << t.b_signed << " trans " << t.trans_a << t.trans_b << " zeros " << t.zeros);
  std::mt19937 rng(seed);
  const size_t a_size = t.batch * t.m * t.k + 1;
  const auto a = t.most != 0 ? mostly_close(a_size, rng, t.most) : bytes(a_size, rng, t.extreme),
             b = bytes(t.batch * t.k * t.n + 1, rng, t.extreme);
  std::vector<int32_t> za(t.m), zb(t.n), want(t.batch * t.m * t.n), got(want.size());
  for (int32_t& z : za) z = value(uint8_t(rng()), t.a_signed);
  for (int32_t& z : zb) z = value(uint8_t(rng()), t.b_signed);
  const size_t step = t.zeros == 2;
  for (size_t p = 0; p < t.batch; ++p) {
    for (size_t i = 0; i < t.m; ++i) {
      for (size_t j = 0; j < t.n; ++j) {
        int64_t sum = 0;
        for (size_t k = 0; k < t.k; ++k) {
          const uint8_t x = a[p * t.m * t.k + (t.trans_a ? k * t.m + i : i * t.k + k)];
          const uint8_t y = b[p * t.k * t.n + (t.trans_b ? j * t.k + k : k * t.n + j)];
          sum += int64_t(value(x, t.a_signed) - (t.zeros != 0 ? za[i * step] : 0)) *
                 (value(y, t.b_signed) - (t.zeros != 0 ? zb[j * step] : 0));
        }
        want[(p * t.m + i) * t.n + j] = int32_t(uint32_t(uint64_t(sum)));
      }
    }
  }
  GemmInt8Args g;
  g.m = t.m, g.n = t.n, g.k = t.k, g.batch = t.batch;
  g.a = a.data(), g.lda = t.trans_a ? t.m : t.k, g.trans_a = t.trans_a, g.a_signed = t.a_signed,
  g.a_batch = t.m * t.k;
  g.b = b.data(), g.ldb = t.trans_b ? t.k : t.n, g.trans_b = t.trans_b, g.b_signed = t.b_signed;
  g.c = got.data(), g.ldc = t.n, g.c_batch = t.m * t.n;
  if (t.zeros != 0) {
    g.a_zero = za.data(), g.a_zero_step = step;
    g.b_zero = zb.data(), g.b_zero_step = step;
  }
  const size_t one = gemm_int8_packed_b_size(t.k, t.n);
  std::vector<int32_t> packed(t.batch * one + 1);
  for (const auto& [isa, unit] : on) {
    force_int8_unit(unit);
    ASSERT_EQ(int8_unit(isa), unit);
    for (int threads : {1, 2, 3}) {
      Pool pool(threads);
      for (bool prepacked : {false, true}) {
        for (size_t p = 0; p < t.batch; ++p) {
          gemm_int8_pack_b(b.data() + p * t.k * t.n, t.b_signed, g.ldb, t.trans_b, t.k, t.n,
                           packed.data() + p * one, pool, isa);
        }
        g.b_packed = prepacked ? packed.data() : nullptr;
        g.b_batch = prepacked ? one : t.k * t.n;
        std::vector<int32_t> scratch(gemm_int8_scratch_bytes(g, threads) / sizeof(int32_t) + 1);
        g.scratch = scratch.data();
        std::fill(got.begin(), got.end(), 7);
        gemm_int8(g, pool, isa);
        EXPECT_EQ(want, got) << isa_name(isa) << ", " << int8_unit_name(unit) << ", " << threads
                             << " threads, packed " << prepacked;
      }
    }
  }
  force_int8_unit(Int8Unit::amx);
}

}  // namespace

TEST(GemmInt8, is_exact_for_every_sign_zero_point_and_layout) {
  unsigned seed = 1;
  for (int flags = 0; flags < 16; ++flags) {
    for (int zeros : {0, 1, 2}) {
      expect_exact({14, 45, 39, 1, bool(flags & 1), bool(flags & 2), bool(flags & 4),
                    bool(flags & 8), zeros, false},
                   ++seed);
    }
  }
}

TEST(GemmInt8, is_exact_at_the_ends_of_the_range) {
  for (int flags = 0; flags < 4; ++flags) {
    expect_exact({13, 33, 1030, 1, bool(flags & 1), bool(flags & 2), false, false, 2, true},
                 unsigned(flags));
  }
}

// Up to certain bytes of A, machines without instructions for them add products in 16 bits.
TEST(GemmInt8, is_exact_around_the_limits_of_sums_in_16_bits) {
  unsigned seed = 0;
  for (const int most : {1, 60, 63, 64, 65, 100, 126, 127, 128, 129, 200, 255}) {
    for (const size_t m : {1, 2, 6, 13}) {
      const size_t k = std::vector<size_t>{1, 7, 64, 511, 512, 521, 1031}[++seed % 7];
      expect_exact({m, 1 + seed * 13 % 90, k, 1, seed % 3 == 0, seed % 5 != 0, false, false,
                    int(seed % 3), seed % 4 != 0, most},
                   seed);
    }
  }
}

TEST(GemmInt8, is_exact_on_random_shapes_and_batches) {
  std::mt19937 rng(9);
  for (unsigned i = 0; i < 16; ++i) {
    expect_exact({1 + rng() % 40, 1 + rng() % 80, rng() % 70, 1 + rng() % 5, rng() % 2 == 0,
                  rng() % 2 == 0, rng() % 2 == 0, rng() % 2 == 0, int(rng() % 3), false},
                 i);
  }
}

void expect_exact_on_long_sums(const std::vector<Way>& on) {
  unsigned seed = 0;
  for (const size_t m : {8, 16, 31, 33, 70}) {
    for (const size_t k : {32, 64, 100, 192, 257}) {
      const bool odd = ++seed % 2 == 0;
      expect_exact({m, 16 + seed * 7 % 60, k, 1, odd, seed % 3 == 0, false, false, int(seed % 3),
                    seed % 4 == 0},
                   seed, on);
    }
  }
}
TEST(GemmInt8, is_exact_on_many_rows_and_long_sums) { expect_exact_on_long_sums(ways()); }
TEST(GemmInt8, is_exact_with_avx_vnni) {
  if (!int8_unit_available(Int8Unit::avx_vnni)) GTEST_SKIP() << "this machine has no AVX-VNNI";
  expect_exact_on_long_sums({{Isa::avx2, Int8Unit::avx_vnni}});
}
TEST(GemmInt8, is_exact_with_amx) {
  if (!int8_unit_available(Int8Unit::amx)) GTEST_SKIP() << "this machine has no AMX, or denies it";
  expect_exact_on_long_sums({{Isa::avx512, Int8Unit::amx}});
}

}  // namespace sdx
