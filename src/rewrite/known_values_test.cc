#include "rewrite/known_values.h"

#include "rewrite/rewrite_testing.h"

namespace sdx::rewrite {
namespace {

TEST(KnownValues, a_size_that_types_tell_is_a_constant_and_folds) {
  const typed::Graph before = graph(R"(graph "g" {
  %x = input : f32[2,N,36]
  %1 = i64[1] {2}
  %2 = i64[1] {3}
  %3 = Shape.17 (%x)
  %4 = Slice.17 (%3, %1, %2)
  %5 = Cast.17 {to=1} (%4)
  %6 = Sqrt.17 (%5)
  %7 = Mul.17 (%x, %6)
  output "y" = %7
})");
  const auto after = with_known_values(before);
  ASSERT_TRUE(after.ok()) << after.error().text();
  EXPECT_EQ(operators(*after), 1U);
  expect_same_answers(before, *after, {Value(some({2, 5, 36}, 1))});
}

TEST(KnownValues, equal_expressions_are_one_wire) {
  const typed::Graph before = graph(R"(graph "g" {
  %a = input : f32[N,4]
  %b = input : f32[N,6]
  %i = i64[] {0}
  %1 = Shape.17 (%a)
  %2 = Gather.17 {axis=0} (%1, %i)
  %3 = Shape.17 (%b)
  %4 = Gather.17 {axis=0} (%3, %i)
  %5 = Add.17 (%2, %4)
  %6 = Cast.17 {to=1} (%5)
  output "y" = %6
})");
  const auto after = with_known_values(before);
  ASSERT_TRUE(after.ok()) << after.error().text();
  EXPECT_EQ(operators(*after), 4U);
  expect_same_answers(before, *after, {Value(some({5, 4}, 1)), Value(some({5, 6}, 2))});
}

TEST(KnownValues, what_is_unknown_or_an_output_stays) {
  const char* const texts[] = {R"(graph "g" {
  %x = input : f32[N,4]
  %1 = Shape.17 (%x)
  %2 = Shape.17 (%x)
  output "y" = %1
  output "z" = %2
})",
                               R"(graph "g" {
  %x = input : i64[2]
  %1 = Add.17 (%x, %x)
  %2 = Add.17 (%x, %x)
  %3 = Mul.17 (%1, %2)
  output "y" = %3
})"};
  for (const char* const text : texts) {
    const typed::Graph before = graph(text);
    const auto after = with_known_values(before);
    ASSERT_TRUE(after.ok());
    EXPECT_EQ(operators(*after), operators(before));
  }
}

}  // namespace
}  // namespace sdx::rewrite
