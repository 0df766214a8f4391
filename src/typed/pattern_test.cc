// Patterns in text against typed graphs in text.
#include "typed/pattern.h"

#include <gtest/gtest.h>

#include "typed/text.h"

namespace sdx::typed {
namespace {

Graph graph(std::string_view text) {
  auto parsed = parse(text);
  EXPECT_TRUE(parsed.ok()) << parsed.error().text();
  return *std::move(parsed);
}

Pattern pattern(std::string_view text) {
  auto parsed = Pattern::parse(text);
  EXPECT_TRUE(parsed.ok()) << parsed.error().text();
  return *std::move(parsed);
}

Uses uses_in(const Graph& graph) {
  return [&graph, users = graph.successors()](Outlet outlet) {
    size_t count = users[outlet.node][outlet.slot].size();
    for (const Output& output : graph.outputs()) count += output.outlet == outlet ? 1 : 0;
    return count;
  };
}

// All places where the pattern is found.
std::vector<Match> found(const Pattern& pattern, const Graph& graph) {
  std::vector<Match> matches;
  for (uint32_t id = 0; id < graph.size(); ++id) {
    if (graph.node(id).kind != Node::Kind::op) continue;
    if (auto match = pattern.at(graph, id, uses_in(graph))) matches.push_back(*std::move(match));
  }
  return matches;
}

std::string name(const Graph& graph, Outlet outlet) { return graph.node(outlet.node).use.name; }

const char* const kGelu = R"(graph "g" {
  %x = input : f32[N,8]
  %half = f32[] {0.5}
  %one = f32[] {1.0}
  %1 = Erf.13 (%x) "erf"
  %2 = Add.14 (%one, %1) "plus"
  %3 = Mul.14 (%2, %x) "times"
  %4 = Mul.14 (%half, %3) "y"
  output "y" = %4
})";

TEST(Pattern, permutes_the_inputs_of_commutative_operators) {
  const Graph g = graph(kGelu);
  // Written with every product and sum the other way round.
  const Pattern gelu = pattern(R"(
    %x = input : f32
    %half = constant : f32[]
    %one = constant : f32[]
    %e = Erf (%x) once
    %p = Add (%e, %one) once
    %t = Mul (%x, %p) once
    %y = Mul (%t, %half)
    output %y)");
  const auto matches = found(gelu, g);
  ASSERT_EQ(matches.size(), 1U);
  EXPECT_EQ(name(g, matches[0]["x"]), "x");
  EXPECT_EQ(name(g, matches[0]["e"]), "erf");
  EXPECT_EQ(matches[0].nodes.size(), 4U);
  EXPECT_EQ(*g.fact(matches[0]["half"]).value->data<float>(), 0.5F);
  // The same wire must stand in both places.
  EXPECT_TRUE(found(pattern("%x = input\n%z = input\n%e = Erf (%z)\n%p = Add (%e, %x)\n"
                            "%y = Mul (%p, %x)\noutput %y"),
                    g)
                  .empty());
  // Sub does not commute.
  const Graph sub = graph(R"(graph "g" {
    %a = input : f32[2]
    %1 = Exp.13 (%a)
    %2 = Sub.14 (%a, %1)
    output "y" = %2
  })");
  EXPECT_EQ(found(pattern("%a = input\n%e = Exp (%a)\n%y = Sub (%a, %e)\noutput %y"), sub).size(),
            1U);
  EXPECT_TRUE(
      found(pattern("%a = input\n%e = Exp (%a)\n%y = Sub (%e, %a)\noutput %y"), sub).empty());
}

TEST(Pattern, asks_for_types_shapes_and_more) {
  const Graph g = graph(R"(graph "g" {
    %a = input : f32[4,8]
    %b = input : f32[8,8]
    %c = input : f32[4,8]
    %h = input : f16[8,8]
    %1 = MatMul.13 (%a, %b) "square"
    %2 = Add.14 (%1, %c)
    %3 = MatMul.13 (%h, %h) "half"
    output "y" = %2
    output "z" = %3
  })");
  const auto count = [&](std::string_view text) { return found(pattern(text), g).size(); };
  EXPECT_EQ(count("%a = input\n%b = input\n%y = MatMul (%a, %b)\noutput %y"), 2U);
  EXPECT_EQ(count("%a = input\n%b = input\n%y = MatMul (%a, %b) : f16\noutput %y"), 1U);
  EXPECT_EQ(count("%a = input : f32[M,K]\n%b = input : f32[K,K]\n%y = MatMul (%a, %b)\noutput %y"),
            1U);
  EXPECT_EQ(count("%a = input : any[M,M]\n%b = input : any[M,M]\n%y = MatMul (%a, %b)\noutput %y"),
            1U);
  EXPECT_EQ(count("%a = input : any[4,?]\n%b = input\n%y = MatMul (%a, %b)\noutput %y"), 1U);
  EXPECT_EQ(count("%a = input : f32[?]\n%b = input\n%y = MatMul (%a, %b)\noutput %y"), 0U);
  Pattern product = pattern("%a = input\n%b = input\n%y = MatMul (%a, %b)\noutput %y");
  product.where(
      "b", [](const Fact& fact) { return fact.dim(0).is_const(8) && fact.type == DType::f16; });
  const auto matches = found(product, g);
  ASSERT_EQ(matches.size(), 1U);
  EXPECT_EQ(name(g, matches[0]["y"]), "half");
}

TEST(Pattern, asks_for_attributes_readers_and_inputs_left_out) {
  const Graph g = graph(R"(graph "g" {
    %x = input : f32[2,3]
    %hi = f32[] {1.0}
    %1 = Transpose.13 {perm=[1,0]} (%x)
    %2 = Clip.13 (%1, _, %hi)
    %3 = Exp.13 (%1)
    output "y" = %2
    output "z" = %3
  })");
  const auto count = [&](std::string_view text) { return found(pattern(text), g).size(); };
  EXPECT_EQ(count("%x = input\n%y = Transpose {perm=[1,0]} (%x)\noutput %y"), 1U);
  EXPECT_EQ(count("%x = input\n%y = Transpose {perm=[0,1]} (%x)\noutput %y"), 0U);
  EXPECT_EQ(count("%x = input\n%c = constant\n%y = Clip (%x, _, %c)\noutput %y"), 1U);
  EXPECT_EQ(count("%x = input\n%c = constant\n%y = Clip (%x, %c)\noutput %y"), 0U);
  EXPECT_EQ(count("%x = input\n%y = Clip (%x, ...)\noutput %y"), 1U);
  EXPECT_EQ(count("%x = input\n%t = Transpose (%x)\n%y = Exp (%t)\noutput %y"), 1U);
  EXPECT_EQ(count("%x = input\n%t = Transpose (%x) once\n%y = Exp (%t)\noutput %y"), 0U);
}

TEST(Pattern, a_block_is_matched_as_often_as_it_follows_on_itself) {
  const Graph g = graph(R"(graph "g" {
    %x = input : f32[4,4]
    %w = input : f32[4,4]
    %v = input : f32[4,4]
    %1 = MatMul.13 (%x, %w)
    %2 = Relu.14 (%1)
    %3 = MatMul.13 (%2, %v)
    %4 = Relu.14 (%3)
    %5 = MatMul.13 (%4, %w)
    %6 = Relu.14 (%5) "last"
    output "y" = %6
  })");
  const Pattern layer = pattern(R"(
    %x = input : f32
    %w = input : f32[N,N]
    %m = MatMul (%x, %w) once
    %y = Relu (%m)
    output %y
    repeat %x)");
  for (uint32_t id = 0; id < g.size(); ++id) {
    if (g.node(id).use.name != "last") continue;
    const auto blocks = layer.chain(g, id, uses_in(g));
    ASSERT_EQ(blocks.size(), 3U);
    EXPECT_EQ(name(g, blocks[0]["w"]), "w");
    EXPECT_EQ(name(g, blocks[1]["w"]), "v");
    EXPECT_EQ(name(g, blocks[2]["x"]), "x");
  }
}

TEST(Pattern, a_graph_is_a_pattern) {
  const auto from_graph = Pattern::of(graph(R"(graph "p" {
    %x = input : f32[M,K]
    %one = f32[] {1.0}
    %1 = Erf.13 (%x)
    %2 = Add.14 (%1, %one)
    output "y" = %2
  })"));
  ASSERT_TRUE(from_graph.ok()) << from_graph.error().text();
  EXPECT_EQ(found(*from_graph, graph(kGelu)).size(), 1U);
  const auto other = Pattern::of(graph(R"(graph "p" {
    %x = input : f32[M,K]
    %two = f32[] {2.0}
    %1 = Erf.13 (%x)
    %2 = Add.14 (%1, %two)
    output "y" = %2
  })"));
  EXPECT_TRUE(found(*other, graph(kGelu)).empty());
}

TEST(Pattern, errors_say_the_line) {
  for (const auto& [text, line] : std::vector<std::pair<const char*, const char*>>{
           {"%x = input\n%y = NoSuch (%x)\noutput %y", "line 2"},
           {"%x = input\n%y = Exp (%z)\noutput %y", "line 2"},
           {"%x = input : f99\noutput %x", "line 1"},
           {"%x = input\n%x = input\noutput %x", "line 2"},
           {"%x = input", "output"},
           {"%x = input\n%y = Exp %x\noutput %y", "line 2"},
           {"%x = input\noutput %x more", "line 2"}}) {
    const auto parsed = Pattern::parse(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_NE(parsed.error().text().find(line), std::string::npos) << parsed.error().text();
  }
}

}  // namespace
}  // namespace sdx::typed
