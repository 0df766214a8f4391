#include "fact/dim.h"

#include <gtest/gtest.h>

#include "fact/fact.h"

namespace sdx {

const Dim N = Dim::symbol("N"), H = Dim::symbol("H");

TEST(Dim, equal_expressions_compare_equal) {
  EXPECT_EQ(N + N, N * 2);
  EXPECT_EQ((N + 1) * (N - 1), N * N - 1);
  EXPECT_EQ(N * H, H * N);
  EXPECT_EQ(N - N, Dim(0));
}

TEST(Dim, division_takes_out_what_divides) {
  EXPECT_EQ(floor_div(N * 4 + 3, 2), N * 2 + 1);
  EXPECT_EQ(floor_div(N * H, N), H);
  EXPECT_EQ(ceil_div(7, 2), Dim(4));
  EXPECT_EQ(floor_div(H + 2, 2).text(), "floor(H/2)+1");
  EXPECT_EQ(floor_div(floor_div(H, 2) * 2, 2), floor_div(H, 2));
}

TEST(Dim, evaluates_under_bindings) {
  const Bindings at{{"N", 5}, {"H", 7}};
  EXPECT_EQ((floor_div(H - 3, 2) + N * H).eval(at), 37);
  EXPECT_EQ(ceil_div(H, 2).eval(at), 4);
  EXPECT_EQ(min(N, H).eval(at), 5);
  EXPECT_EQ(max(N, H).eval(at), 7);
  EXPECT_EQ((N + Dim::symbol("K")).eval(at), std::nullopt);
}

TEST(Dim, of_sizes_that_differ_by_a_number_one_is_the_least) {
  EXPECT_EQ(min(N, N + 1), N);
  EXPECT_EQ(max(N, N + 1), N + 1);
  EXPECT_EQ(min(N + H - 2, H + N), N + H - 2);
  EXPECT_EQ(min(N, H).text(), "min(H,N)");
  EXPECT_EQ(min(N, N * 2).text(), "min(2*N,N)");  // a value may be negative
  EXPECT_EQ(min(INT64_MIN, INT64_MAX), Dim(INT64_MIN));
}

TEST(Dim, tells_what_64_bits_hold) {
  for (const Dim& dim : {Dim(36), Dim(-1), N * 4 - 7, N + H, floor_div(N + 3, 4), min(N, H) + 2})
    EXPECT_TRUE(dim.never_wraps()) << dim.text();
  for (const Dim& dim : {Dim(INT64_MAX), N * H, N * 100000, floor_div(N * H, 4), N + INT64_MAX})
    EXPECT_FALSE(dim.never_wraps()) << dim.text();
}

TEST(Dim, solves_for_one_symbol) {
  EXPECT_EQ((N * 2 + 1).solve(9), (std::pair<std::string, int64_t>{"N", 4}));
  EXPECT_EQ((N * 2 + 1).solve(8), std::nullopt);
  EXPECT_EQ((N * H).solve(8), std::nullopt);
}

TEST(Dim, stays_at_the_bound_instead_of_wrapping) {
  const Dim huge(int64_t{1} << 62);
  EXPECT_EQ((huge * Dim(4)).value(), INT64_MAX);
  EXPECT_EQ((huge + huge).value(), INT64_MAX);
  EXPECT_EQ((huge * Dim(-4)).value(), INT64_MIN);
}

TEST(Dim, is_unknown_where_an_expression_would_grow_without_bound) {
  Dim square = N + H;
  for (int i = 0; i < 60; ++i) square = square * square + Dim(1);
  EXPECT_TRUE(square.is_unknown());
  EXPECT_LT(square.text().size(), 4096u);
  Dim nested = N;
  for (int i = 0; i < 200; ++i) nested = max(nested + H, floor_div(nested, Dim(2)));
  EXPECT_TRUE(nested.is_unknown());
  EXPECT_LT(nested.text().size(), 8192u);
  EXPECT_FALSE((N * H + Dim(3)).is_unknown());
}

TEST(Broadcast, names_the_dimension_that_disagrees) {
  const auto bad = broadcast(Shape{2, 3}, Shape{3, 2});
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().what,
            "shapes [2,3] and [3,2] do not broadcast: dimension 0 is 2 against 3");
  EXPECT_EQ(to_string(*broadcast(Shape{N, 1, 4}, Shape{H, 1})), "[N,H,4]");
  EXPECT_EQ(to_string(*broadcast(Shape{N}, Shape{3})), "[3]");
}

}  // namespace sdx
