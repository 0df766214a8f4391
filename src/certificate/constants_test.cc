#include "certificate/constants.h"

#include <gtest/gtest.h>

namespace sdx::certificate {
namespace {

const Tensor& matrix() {
  static const Tensor kMatrix = Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  return kMatrix;
}

TEST(Constants, a_transposed_matrix_is_found) {
  const Tensor turned = Tensor::of<float>({3, 2}, {1, 4, 2, 5, 3, 6});
  const auto ways = moves_between(matrix(), turned);
  ASSERT_EQ(ways.size(), 1u);
  EXPECT_EQ(ways[0], (StoredAxes{1, 0}));
}

TEST(Constants, axes_of_one_element_come_and_go) {
  const Tensor wide = Tensor::of<float>({2, 1, 3, 1}, {1, 2, 3, 4, 5, 6});
  ASSERT_EQ(moves_between(matrix(), wide).size(), 1u);
  EXPECT_EQ(moves_between(matrix(), wide)[0], (StoredAxes{0, std::nullopt, 1, std::nullopt}));
  EXPECT_EQ(moves_between(wide, matrix())[0], (StoredAxes{0, 2}));
}

TEST(Constants, other_elements_are_no_move) {
  EXPECT_TRUE(moves_between(matrix(), Tensor::of<float>({3, 2}, {1, 2, 3, 4, 5, 6})).empty());
  EXPECT_TRUE(moves_between(matrix(), Tensor::of<int32_t>({2, 3}, {1, 2, 3, 4, 5, 6})).empty());
}

TEST(Constants, every_way_is_found_where_elements_do_not_tell_axes_apart) {
  const Tensor same = Tensor::of<float>({2, 2}, {7, 7, 7, 7});
  EXPECT_EQ(moves_between(same, same).size(), 2u);
}

TEST(Constants, channels_in_blocks_are_told_from_channels_in_disorder) {
  std::vector<float> plain(size_t{18} * 2), blocked(size_t{2} * 2 * 16, -1.0f);
  for (size_t channel = 0; channel < 18; ++channel) {
    for (size_t x = 0; x < 2; ++x) {
      plain[channel * 2 + x] = float(channel * 10 + x);
      blocked[(channel / 16 * 2 + x) * 16 + channel % 16] = float(channel * 10 + x);
    }
  }
  const Tensor was = Tensor::of<float>({1, 18, 1, 2}, plain);
  EXPECT_TRUE(is_blocked_form(was, Tensor::of<float>({1, 2, 1, 2, 16}, blocked)));
  std::swap(blocked[0], blocked[1]);
  EXPECT_FALSE(is_blocked_form(was, Tensor::of<float>({1, 2, 1, 2, 16}, blocked)));
}

TEST(Constants, equal_tensors_have_one_number_and_others_another) {
  TensorNumbers numbers;
  const size_t one = numbers.of(matrix());
  EXPECT_EQ(numbers.of(Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6})), one);
  EXPECT_NE(numbers.of(Tensor::of<float>({3, 2}, {1, 2, 3, 4, 5, 6})), one);
  EXPECT_NE(numbers.of(Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 7})), one);
}

}  // namespace
}  // namespace sdx::certificate
