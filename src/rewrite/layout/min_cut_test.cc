#include "rewrite/layout/min_cut.h"

#include <gtest/gtest.h>

namespace sdx::rewrite {
namespace {

TEST(MinCut, the_lightest_edges_part_the_sides) {
  MinCut cut;
  const uint32_t a = cut.vertex(), b = cut.vertex(), c = cut.vertex();
  cut.edge(MinCut::kFirst, a, 5);
  cut.edge(a, b, 2);
  cut.edge(b, c, 3);
  cut.edge(c, MinCut::kSecond, MinCut::kNever);
  const std::vector<bool> side = cut.first_side();
  EXPECT_TRUE(side[a]);
  EXPECT_FALSE(side[b]);
  EXPECT_FALSE(side[c]);
}

TEST(MinCut, of_two_best_answers_the_one_with_fewer_vertices_is_taken) {
  MinCut cut;
  const uint32_t a = cut.vertex();
  cut.edge(MinCut::kFirst, a, 2);
  cut.edge(a, MinCut::kSecond, 2);
  EXPECT_FALSE(cut.first_side()[a]);
}

TEST(MinCut, what_pays_together_is_taken_together) {
  // Each of two gains 3, and leaving both costs 4; one alone would lose.
  for (const bool both : {true, false}) {
    MinCut cut;
    const uint32_t a = cut.vertex(), b = cut.vertex();
    cut.edge(MinCut::kFirst, a, 3);
    if (both) cut.edge(MinCut::kFirst, b, 3);
    cut.edge(a, b, 4);
    cut.edge(b, MinCut::kSecond, 4);
    EXPECT_EQ(cut.first_side()[a], both);
    EXPECT_EQ(cut.first_side()[b], both);
  }
}

}  // namespace
}  // namespace sdx::rewrite
