#include "fact/assume.h"

#include <gtest/gtest.h>

namespace sdx {
namespace {

Dim size(const std::string& text) { return *parse_dim(text); }

std::string under(const std::vector<std::string>& assertions, const std::string& text) {
  Assumptions assumptions;
  for (const std::string& assertion : assertions) {
    if (const Status status = assumptions.assert_that(assertion); !status)
      return status.error().text();
  }
  return assumptions.simplify(size(text)).text();
}

TEST(Expression, the_text_of_a_size_parses_back_whatever_the_symbols_are_called) {
  const Dim odd = Dim::symbol("past + 1"), h = Dim::symbol("H"), n = Dim::symbol("?x.0");
  for (const Dim& dim : {odd * 2 + n, floor_div(h + 1, 2), ceil_div(h * n, 3), min(h, odd) - 4,
                         max(h - 1, n) * n, floor_div(h, n + 1), *broadcast(h, n)}) {
    const auto again = parse_dim(dim.text());
    ASSERT_TRUE(again) << again.error().text();
    EXPECT_EQ(again->text(), dim.text());
  }
}

TEST(Expression, people_write_division_remainder_and_ceiling) {
  EXPECT_EQ(size("(H+1)/2").text(), "floor((H+1)/2)");
  EXPECT_EQ(size("ceil(H/2)").eval({{"H", 5}}), 3);
  EXPECT_EQ(size("H % 8").eval({{"H", 21}}), 5);
  EXPECT_FALSE(parse_dim("H +"));
  EXPECT_FALSE(parse_dim("abs(H,1)"));
  EXPECT_FALSE(parse_dim(std::string(100000, '(')));
}

TEST(Assumptions, bounds_choose_minima_and_maxima) {
  EXPECT_EQ(under({"N<=512"}, "min(N,512)"), "N");
  EXPECT_EQ(under({"N<512"}, "min(N,600)"), "N");
  EXPECT_EQ(under({"N>=4"}, "max(N-4,0)"), "N-4");
  EXPECT_EQ(under({"N<=M"}, "min(N,M+2)"), "N");
  EXPECT_EQ(under({"N<=600"}, "min(N,512)"), "min(512,N)");
}

TEST(Assumptions, multiples_make_divisions_exact) {
  EXPECT_EQ(under({"H%32==0"}, "(H+1)/2"), "floor(H/2)");
  EXPECT_EQ(under({"H%32==0"}, "32*(H/32)"), "H");
  EXPECT_EQ(under({"H%32==0"}, "((H/2)*2)*N"), "H*N");
  EXPECT_EQ(under({"H%8==0"}, "(H-1)/2+1"), "floor(H/2)");
  EXPECT_EQ(under({"H%8==0", "H%12==0"}, "24*(H/24)"), "H");
}

TEST(Assumptions, equalities_are_put_in) {
  EXPECT_EQ(under({"N==M"}, "N*2+M"), "3*M");
  EXPECT_EQ(under({"total==past+1"}, "total-past"), "1");
  EXPECT_EQ(under({"N==4"}, "N*N"), "16");
  EXPECT_EQ(under({"N>=2"}, "broadcast(N,M)"), "N");
  EXPECT_EQ(under({"N<=3"}, "N/4"), "0");
}

TEST(Assumptions, an_error_at_binding_names_the_claim_and_the_sizes) {
  Assumptions assumptions;
  ASSERT_TRUE(assumptions.assert_that("N<=512"));
  assumptions.require_equal(Dim::symbol("A"), Dim::symbol("B"), "required by node \"m\" (MatMul)");
  EXPECT_TRUE(assumptions.check({{"N", 512}}));
  const Status high = assumptions.check({{"N", 513}});
  ASSERT_FALSE(high);
  EXPECT_EQ(high.error().what, "\"N<=512\" does not hold: N = 513 (asserted)");
  const Status unequal = assumptions.check({{"N", 1}, {"A", 2}, {"B", 3}});
  ASSERT_FALSE(unequal);
  EXPECT_EQ(unequal.error().what,
            "\"A == B\" does not hold: A = 2, B = 3 (required by node \"m\" (MatMul))");
}

TEST(Assumptions, nonsense_is_refused) {
  Assumptions assumptions;
  EXPECT_FALSE(assumptions.assert_that("N"));
  EXPECT_FALSE(assumptions.assert_that("N<="));
  EXPECT_FALSE(assumptions.assert_that("2==3"));
}

}  // namespace
}  // namespace sdx
