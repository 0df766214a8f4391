#include "op/signature.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "op/conform.h"

namespace sdx {
namespace {

constexpr Version kHistory[] = {
    {1,
     "(x: T, bias?: T, rest...0: T) -> (y: T) {axis: int = 1, mode!: string, old: float} T in f32 "
     "f64"},
    {7, "{axis: int = -1, -old} T += bf16"},
    {13, "(x: T) T -= f64"},
};

std::vector<Signature> versions() {
  Result<std::vector<Signature>> folded = fold(kHistory);
  EXPECT_TRUE(folded);
  return folded ? *std::move(folded) : std::vector<Signature>(3);
}

TEST(Signature, of_a_version_is_its_delta_on_the_one_before) {
  const auto all = versions();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].since, 1);
  EXPECT_EQ(all[1].inputs.size(), 3u);  // as they were
  EXPECT_EQ(all[2].inputs.size(), 1u);
  EXPECT_EQ(std::get<int64_t>(*all[0].attribute("axis")->fallback), 1);
  EXPECT_EQ(std::get<int64_t>(*all[1].attribute("axis")->fallback), -1);
  EXPECT_NE(all[0].attribute("old"), nullptr);
  EXPECT_EQ(all[1].attribute("old"), nullptr);
  EXPECT_TRUE(all[2].attribute("mode")->required);
  const std::vector<std::string> first = {"tensor(double)", "tensor(float)"};
  EXPECT_EQ(all[0].types.at("T"), first);
  const auto& last = all[2].types.at("T");
  EXPECT_EQ(std::count(last.begin(), last.end(), "tensor(bfloat16)"), 1);
  EXPECT_EQ(std::count(last.begin(), last.end(), "tensor(double)"), 0);
}

TEST(Signature, says_which_formal_an_input_stands_for) {
  const Signature first = versions()[0];
  EXPECT_EQ(first.input(0)->name, "x");
  EXPECT_EQ(first.input(1)->option, Formal::Option::optional);
  EXPECT_EQ(first.input(9)->name, "rest");
  EXPECT_EQ(first.output(1), nullptr);
  EXPECT_EQ(versions()[2].input(1), nullptr);
}

TEST(Signature, that_does_not_parse_is_an_error_with_its_place) {
  for (const std::string_view delta : {"(x: T", "(x: T) -> (y: T) {axis: number}", "T in f99"}) {
    const Version broken[] = {{1, delta}};
    EXPECT_FALSE(fold(broken)) << delta;
  }
}

TEST(Conform, completes_attributes_and_refuses_what_is_not_declared) {
  const Signature first = versions()[0];
  const auto whole = complete(first, {{"mode", std::string("fast")}});
  ASSERT_TRUE(whole);
  EXPECT_EQ(std::get<int64_t>(whole->at("axis")), 1);
  EXPECT_FALSE(complete(first, {}));                                             // lacks mode
  EXPECT_FALSE(complete(first, {{"mode", int64_t{3}}}));                         // of another type
  EXPECT_FALSE(complete(first, {{"mode", std::string()}, {"no", int64_t{1}}}));  // unknown
}

TEST(Conform, binds_a_type_variable_once) {
  const Signature first = versions()[0];
  const Fact f = Fact::tensor(DType::f32, {}), d = Fact::tensor(DType::f64, {}),
             i = Fact::tensor(DType::i64, {});
  EXPECT_TRUE(conforms(first, {f, f, f}, 3, 1));
  EXPECT_TRUE(conforms(first, {f, Fact{}, f}, 3, 1));
  EXPECT_FALSE(conforms(first, {f, d, f}, 3, 1));
  EXPECT_FALSE(conforms(first, {i, i, i}, 3, 1));
  EXPECT_FALSE(conforms(first, {}, 0, 1));
  EXPECT_FALSE(conforms(first, {f, f, f}, 3, 2));
  EXPECT_EQ(output_type(first, {d}, 0), "tensor(double)");
}

}  // namespace
}  // namespace sdx
