#include "typed/text.h"

#include <gtest/gtest.h>

namespace sdx::typed {
namespace {

void round_trip(const std::string& text, const TextTable& table = {}) {
  const Result<Graph> graph = parse(text, table);
  ASSERT_TRUE(graph) << graph.error().text() << "\n" << text;
  TextTable again;
  EXPECT_EQ(print(*graph, &again), text);
  EXPECT_EQ(again.tensors.size(), table.tensors.size());
}

std::string error_of(const std::string& text, const TextTable& table = {}) {
  const Result<Graph> graph = parse(text, table);
  return graph ? "none" : graph.error().text();
}

TEST(Text, a_graph_prints_as_it_was_written) {
  round_trip(R"(graph "main" {
  %x = input : f32[N,3]
  %1 = i64[2] {0, -1}
  %2 = Softmax.13 {axis=0} (%x) : f32[N,3] "soft"
  %3 = Reshape.13 (%2, %1) : f32[N,3]
  output "y" = %3
}
)");
}

TEST(Text, constants_of_every_kind_come_back) {
  round_trip(R"(graph "constants" {
  %0 = f32[4] {-0.0, 0.1, inf, nan}
  %1 = f64[] {1e-300}
  %2 = f16[2] {65504.0, -inf}
  %3 = bool[3] {true, false, true}
  %4 = string[2] {"a \"b\"\x0a", ""}
  %5 = u64[1] {18446744073709551615}
  %6 = i4[3] {-8, 7, 0}
  %7 = f32[0] {}
  output "a" = %0
  output "b" = %4
}
)");
}

TEST(Text, large_constants_stand_in_the_table) {
  TextTable table;
  table.tensors.push_back(Tensor::make(DType::f32, {5, 5}));
  round_trip(R"(graph "big" {
  %0 = <f32[5,5] #0>
  output "y" = %0
}
)",
             table);
  EXPECT_NE(error_of("graph \"\" { %0 = <f32[5,4] #0> }", table).find("SDX-T0807"),
            std::string::npos);
  EXPECT_NE(error_of("graph \"\" { %0 = <f32[5,5] #1> }", table).find("SDX-T0807"),
            std::string::npos);
}

TEST(Text, names_that_are_no_words_are_quoted) {
  round_trip(R"(graph "a/b" {
  %0 = input : seq(f32[..]) "in put"
  %x.1 = input : optional(i64[N])
  %2 = input : map(i64,f32[]) "7"
  output "o \"1\"" = %0
}
)");
}

TEST(Text, errors_say_where) {
  EXPECT_NE(error_of("graph \"g\" {\n  %1 = Softmax.13 (%x)\n}").find("line 2, column 20"),
            std::string::npos)
      << error_of("graph \"g\" {\n  %1 = Softmax.13 (%x)\n}");
  EXPECT_NE(
      error_of("graph \"g\" {\n  %x = input : f32[2]\n  %1 = NoSuch.13 (%x)\n}").find("SDX-T0803"),
      std::string::npos);
  EXPECT_NE(error_of("graph \"g\" {\n  %x = input : f32[2]\n  %1 = Softmax.13 (%x) : f32[3]\n}")
                .find("SDX-T0804"),
            std::string::npos);
  EXPECT_NE(
      error_of("graph \"g\" {\n  %x = input : f32[2]\n  %x = input : f32[2]\n}").find("twice"),
      std::string::npos);
}

TEST(Text, no_text_crashes_the_parser) {
  const std::string text =
      R"(graph "g" { %x = input : f32[N,3] %1 = i64[2] {0, -1} %2 = Softmax.13 {axis=0} (%x; _) : f32[N,3] "s" output "y" = %2 })";
  for (size_t size = 0; size < text.size(); ++size) {
    (void)parse(std::string_view(text).substr(0, size));
    std::string without = text;
    without.erase(size, 1);
    (void)parse(without);
    for (const char c : {'"', '{', '(', '%', '\\', '9', '\0'}) {
      std::string changed = text;
      changed[size] = c;
      (void)parse(changed);
    }
  }
  (void)parse("graph \"g\" { %x = input : " + std::string(10000, 's') + " }");
  std::string deep;
  for (int i = 0; i < 10000; ++i) deep += "seq(";
  EXPECT_NE(error_of("graph \"g\" { %x = input : " + deep).find("SDX-T0801"), std::string::npos);
}

}  // namespace
}  // namespace sdx::typed
