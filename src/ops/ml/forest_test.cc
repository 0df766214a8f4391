#include "ops/ml/forest.h"

#include <gtest/gtest.h>

#include <cmath>

namespace sdx {
namespace {

using Source = NodeSource<float>;
using Leaves = std::vector<std::vector<Vote<float>>>;

const Leaves kTwo = {{{0, 1}}, {{0, 2}}};

// What the tree of one node gives for x: 1 for its true branch, 2 for the other.
float branch(Branch mode, float split, bool missing_true, float x,
             std::vector<float> members = {}) {
  const auto forest =
      Forest<float>::make({{mode, 0, split, missing_true, ~0, ~1, members}}, kTwo, {0});
  return (*forest).votes(0, &x)[0].weight;
}

TEST(Forest, every_mode_compares_as_it_says) {
  const float inf = INFINITY,
              values[] = {-inf, -1, -0.f, 0, 1e-45f, 1, std::nextafter(1.f, 2.f), inf};
  for (const float split : values) {
    for (const float x : values) {
      EXPECT_EQ(branch(Branch::leq, split, false, x), x <= split ? 1 : 2) << x << " " << split;
      EXPECT_EQ(branch(Branch::lt, split, false, x), x < split ? 1 : 2) << x << " " << split;
      EXPECT_EQ(branch(Branch::gte, split, false, x), x >= split ? 1 : 2) << x << " " << split;
      EXPECT_EQ(branch(Branch::gt, split, false, x), x > split ? 1 : 2) << x << " " << split;
      EXPECT_EQ(branch(Branch::eq, split, false, x), x == split ? 1 : 2) << x << " " << split;
      EXPECT_EQ(branch(Branch::neq, split, false, x), x != split ? 1 : 2) << x << " " << split;
    }
  }
  EXPECT_EQ(branch(Branch::member, 0, false, 3, {4, 3}), 1);
  EXPECT_EQ(branch(Branch::member, 0, false, 3.5f, {4, 3}), 2);
}

TEST(Forest, nan_goes_where_it_is_told_and_no_number_compares_with_a_nan_split) {
  for (const Branch mode : {Branch::leq, Branch::lt, Branch::gte, Branch::gt, Branch::eq}) {
    EXPECT_EQ(branch(mode, 0, false, NAN), 2);
    EXPECT_EQ(branch(mode, 0, true, NAN), 1);
    EXPECT_EQ(branch(mode, NAN, false, 0), 2);
    EXPECT_EQ(branch(mode, NAN, true, NAN), 1);
  }
  EXPECT_EQ(branch(Branch::neq, 0, false, NAN), 1);
  EXPECT_EQ(branch(Branch::neq, NAN, false, 0), 1);
}

std::string code(const std::vector<Source>& nodes, std::vector<int64_t> roots = {0}) {
  const auto forest = Forest<float>::make(nodes, kTwo, roots);
  return forest ? "" : forest.error().code;
}
Source node(int64_t yes, int64_t no, int64_t feature = 0) {
  return {Branch::leq, feature, 0, false, yes, no};
}

TEST(Forest, paths_that_return_are_errors) {
  EXPECT_EQ(code({node(0, ~0)}), "SDX-T0671");
  EXPECT_EQ(code({node(1, ~0), node(~0, 2), node(~1, 0)}), "SDX-T0671");
  EXPECT_EQ(code({node(1, 1), node(~0, ~1)}), "");  // two paths to one node are not a circle
}

TEST(Forest, children_roots_and_features_that_cannot_be_are_errors) {
  EXPECT_EQ(code({node(1, ~0)}), "SDX-T0670");
  EXPECT_EQ(code({node(~2, ~0)}), "SDX-T0670");
  EXPECT_EQ(code({node(~0, ~1)}, {1}), "SDX-T0670");
  EXPECT_EQ(code({node(~0, ~1)}, {~2}), "SDX-T0670");
  EXPECT_EQ(code({node(~0, ~1, -1)}), "SDX-T0672");
  EXPECT_EQ(code({node(~0, ~1, int64_t{1} << 40)}), "SDX-T0672");
  EXPECT_EQ(code({}, {~1}), "");
}

TEST(Forest, a_path_of_a_million_nodes_is_walked) {
  std::vector<Source> nodes;
  for (int64_t i = 0; i < 1000000; ++i) nodes.push_back(node(i + 1, ~0));
  nodes.push_back(node(~1, ~0));
  const auto forest = Forest<float>::make(nodes, kTwo, {0});
  ASSERT_TRUE(forest);
  const float x = -1;
  EXPECT_EQ((*forest).votes(0, &x)[0].weight, 2);
}

TEST(Forest, eight_rows_at_once_are_each_row) {
  const auto forest = Forest<float>::make({node(1, ~1, 0), node(~0, ~1, 1)}, kTwo, {0, 1});
  std::vector<float> rows;
  for (int i = 0; i < 8; ++i)
    rows.insert(rows.end(), {i & 1 ? 1.f : -1.f, i & 2 ? 1.f : i & 4 ? NAN : -1.f});
  for (size_t tree = 0; tree < 2; ++tree) {
    std::span<const Vote<float>> votes[8];
    (*forest).votes8(tree, rows.data(), 2, votes);
    for (size_t i = 0; i < 8; ++i) {
      EXPECT_EQ(votes[i].data(), (*forest).votes(tree, rows.data() + 2 * i).data());
    }
  }
}

}  // namespace
}  // namespace sdx
