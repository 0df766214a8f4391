// If: which branch's facts count, and what an exporter's squeeze that depends on a size becomes.
#include <gtest/gtest.h>

#include "infer/test_infer.h"
#include "model/text.h"
#include "typed/eval.h"

namespace sdx::infer::test {
namespace {

model::Model parsed(std::string_view text) {
  auto model = model::parse_text(text);
  EXPECT_TRUE(model) << model.error().text();
  return model ? *std::move(model) : model::Model{};
}
// x squeezed at axis 2 if that has size 1, as PyTorch exports it, and `rest`, which makes y from s.
model::Model squeezed(const std::string& x, const std::string& rest) {
  return parsed(
      R"(<ir_version: 8, opset_import: ["" : 17]>
g (float)" +
      x + R"( x, bool c) => (float[] y) <int64 two = {2}, int64[1] last = {2}, int64 one = {1},
    int64 rank = {3}, int64[1] first = {0}, float[2, 3] m = {1, 2, 3, 4, 5, 6},
    float[1, 2, 3] w = {1, 2, 3, 4, 5, 6}, float[1, 2, 2] r = {1, 2, 3, 4}> {
  shape = Shape (x)
  size = Gather <axis = 0> (shape, two)
  is_one = Equal (size, one)
  s = If (is_one) <
    then_branch: graph = yes () => (float[] a) { a = Squeeze (x, last) },
    else_branch: graph = no () => (float[] b) { b = Identity (x) }>
)" + rest +
      "}");
}
Options thorough() {
  Options options;
  options.thorough = true;
  options.bodies = std::make_shared<BodyFacts>();
  return options;
}

TEST(Branches, a_known_size_takes_its_branch_alone) {
  EXPECT_EQ(fact_in(infer_model(squeezed("[N, 3, 1]", "y = Relu (s)")), "y"), "f32[N,3]");
  EXPECT_EQ(fact_in(infer_model(squeezed("[N, 3, 4]", "y = Relu (s)")), "y"), "f32[N,3,4]");
}

TEST(Branches, a_size_that_is_no_one_whatever_the_symbol_takes_the_other_branch) {
  const auto known = infer_model(
      squeezed("[N, 3, M]",
               "p = Concat <axis = 2> (x, x)\n d = Shape <start = 2> (p)\n"
               "e = Sub (d, one)\n n = Add (d, two)\n q = Less (e, n)\n z = Not (q)\n"
               "f = Squeeze (z, first)\n"
               "y = If (f) <then_branch: graph = t () => (float[] a) { a = Squeeze (x, first) },"
               "            else_branch: graph = e () => (float[] b) { b = Relu (x) }>"));
  EXPECT_EQ(fact_in(known, "y"), "f32[N,3,M]");
}

TEST(Branches, an_assertion_decides) {
  Options options;
  options.assertions = {"M==1"};
  EXPECT_EQ(fact_in(infer_model(squeezed("[N, 3, M]", "y = Relu (s)"), options), "y"), "f32[N,3]");
  const std::string inside = R"(
  y = If (c) <
    then_branch: graph = t () => (float[] a) {
      sizes = Shape (x)
      length = Gather <axis = 0> (sizes, two)
      short = Equal (length, one)
      a = If (short) <
        then_branch: graph = yes2 () => (float[] a2) { a2 = Squeeze (x, last) },
        else_branch: graph = no2 () => (float[] b2) { b2 = Identity (x) }>
    },
    else_branch: graph = e () => (float[] b) { b = Squeeze (x, last) }>
)";
  EXPECT_EQ(fact_in(infer_model(squeezed("[N, 3, M]", inside), options), "y"), "f32[N,3]");
}

TEST(Branches, a_rank_that_depends_on_a_free_size_is_unknown) {
  const auto known = infer_model(squeezed("[N, 3, M]", "y = Relu (s)"), thorough());
  EXPECT_EQ(fact_in(known, "y"), "f32[..]");
}

// Gemm takes matrices only: whoever runs the model to its end has x with a last axis of 1.
TEST(Branches, what_a_later_node_refuses_is_not_taken) {
  const auto known =
      infer_model(squeezed("[N, 2, M]", "t = Relu (s)\n y = Gemm (t, m)"), thorough());
  EXPECT_TRUE(known) << known.error().text();
  EXPECT_EQ(known->graph().fact(known->wires().at("s")).rank(), 2u);
  EXPECT_EQ(known->summary().open_ranks, 0u);
}

// The same inside of a subgraph, where the consumer is a subgraph too and asks for the rank itself.
TEST(Branches, ranks_are_learnt_inside_of_subgraphs) {
  const std::string inner = R"(
  y = If (c) <
    then_branch: graph = deep () => (float[] a) {
      in_shape = Shape (x)
      in_size = Gather <axis = 0> (in_shape, two)
      in_one = Equal (in_size, one)
      v = If (in_one) <
        then_branch: graph = yes2 () => (float[] a2) { a2 = Squeeze (x, last) },
        else_branch: graph = no2 () => (float[] b2) { b2 = Identity (x) }>
      a = If (c) <
        then_branch: graph = lstm () => (float[] a3) {
          vs = Shape (v)
          vr = Size (vs)
          is_batch = Equal (vr, rank)
          alone = Not (is_batch)
          seq = If (alone) <
            then_branch: graph = wide () => (float[] a4) { a4 = Unsqueeze (v, first) },
            else_branch: graph = same () => (float[] b4) { b4 = Identity (v) }>
          a3 = Gemm (v, m)
        },
        else_branch: graph = other () => (float[] b3) { b3 = Gemm <alpha = 2.0> (v, m) }>
    },
    else_branch: graph = flat () => (float[] b) { b = Identity (x) }>
)";
  const auto known = infer_model(squeezed("[N, 2, M]", inner), thorough());
  ASSERT_TRUE(known) << known.error().text();
  std::map<std::string, std::string> ranks;
  for (const auto& [graph, facts] : known->bodies()->graphs) {
    for (const auto& [name, fact] : facts)
      ranks[name] = fact.shape ? std::to_string(fact.rank()) : "?";
  }
  EXPECT_EQ(ranks["v"], "2");
  EXPECT_EQ(ranks["seq"], "3");
  EXPECT_EQ(ranks["a"], "2");
  EXPECT_FALSE(ranks.contains("b4"));  // not taken: a batch of rank 2 is no batch
}

const std::string kEither = R"(
  y = If (c) <
    then_branch: graph = as_matrix () => (float[] a) { t = Squeeze (x, last) a = Gemm (t, m) },
    else_branch: graph = as_it_is () => (float[] b) { b = Identity (x) }>
)";

// A condition that only running tells, and a branch for other sizes than those at hand.
TEST(Branches, a_branch_that_does_not_fit_the_sizes_is_an_error_where_it_is_taken) {
  const auto graph =
      type_model(std::make_shared<const model::Model>(squeezed("[1, 2, 3]", kEither)));
  ASSERT_TRUE(graph) << graph.error().text();
  EXPECT_EQ(graph->fact(graph->outputs()[0].outlet).text(), "f32[1,2,3]");
  const Value x = Tensor::of<float>({1, 2, 3}, {1, 2, 3, 4, 5, 6});
  const auto run = [&](bool c) {
    return typed::eval(*graph, std::vector<Value>{x, Tensor::scalar<bool>(c)});
  };
  const auto fits = run(false);
  ASSERT_TRUE(fits) << fits.error().text();
  EXPECT_TRUE(equal((*fits)[0], x));
  const auto unfit = run(true);
  ASSERT_FALSE(unfit);
  EXPECT_NE(unfit.error().text().find("Squeeze"), std::string::npos) << unfit.error().text();
}

TEST(Branches, one_that_fits_no_size_is_refused) {
  const model::Model wrong = parsed(R"(<ir_version: 8, opset_import: ["" : 17]>
g (float[2, 3] x, bool c) => (float[] y) <float[2, 2, 2] w = {1, 2, 3, 4, 5, 6, 7, 8}> {
  y = If (c) <then_branch: graph = t () => (float[] a) { a = Gemm (x, w) },
              else_branch: graph = e () => (float[] b) { b = Relu (x) }>
})");
  EXPECT_FALSE(infer_model(wrong));
}

TEST(Branches, both_unfit_is_an_error) {
  const model::Model wrong = parsed(R"(<ir_version: 8, opset_import: ["" : 17]>
g (float[2, 3] x, bool c) => (float[] y) <int64[1] first = {0}> {
  y = If (c) <then_branch: graph = t () => (float[] a) { a = Squeeze (x, first) },
              else_branch: graph = e () => (float[] b) { b0 = Squeeze (x, first) b = Relu (b0) }>
})");
  EXPECT_FALSE(infer_model(wrong));
}

}  // namespace
}  // namespace sdx::infer::test
