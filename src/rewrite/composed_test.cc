// Operators that are compositions: the optimiser leaves none of them, and what it puts in their
// place gives the bits of their references on every case.
#include <gtest/gtest.h>

#include "cases/cases.h"
#include "ops/composed/composition.h"
#include "ops/list.h"
#include "rewrite/rewrite.h"
#include "typed/eval.h"

namespace sdx::rewrite {
namespace {

using typed::Graph;

// A graph of one node that takes the case's inputs.
Result<Graph> graph_of(const Op& op, const Case& test, std::vector<Value>& fed) {
  Graph graph;
  std::vector<typed::Outlet> inputs;
  for (const Value& value : test.inputs) {
    if (value.is_none()) {
      inputs.emplace_back();
      continue;
    }
    inputs.push_back(graph.source(fmt::format("i{}", fed.size()), fact_of(value)));
    fed.push_back(value);
  }
  Node use;
  use.op = &op;
  use.opset = test.opset;
  use.attrs = test.attrs;
  use.wanted.assign(test.outputs, true);
  SDX_ASSIGN(const std::vector<typed::Outlet> outputs, graph.add(use, inputs));
  for (size_t i = 0; i < outputs.size(); ++i) graph.output(fmt::format("o{}", i), outputs[i]);
  return graph;
}

TEST(Composed, nodes_in_the_place_of_an_operator_give_its_bits) {
  size_t operators = 0;
  for (const Op* op : all_ops()) {
    if (!is_composed(*op)) continue;
    ++operators;
    const std::vector<Case> cases = cases_of(*op);
    ASSERT_FALSE(cases.empty()) << op->name;
    for (const Case& test : cases) {
      const std::string who = fmt::format("{}.{}.{}", op->domain, op->name, test.name);
      std::vector<Value> fed;
      const Result<Graph> graph = graph_of(*op, test, fed);
      ASSERT_TRUE(graph) << who << ": " << graph.error().text();
      const Result<Graph> made = optimize(*graph);
      ASSERT_TRUE(made) << who << ": " << made.error().text();
      for (const typed::Node& node : made->nodes()) {
        if (node.kind != typed::Node::Kind::op || !is_composed(node.op())) continue;
        EXPECT_TRUE(static_cast<const Composition*>(node.resolved.get())->open) << who;
      }
      const auto want = typed::eval(*graph, fed);
      const auto got = typed::eval(*made, fed, {.reference = false});
      ASSERT_TRUE(want) << who << ": " << want.error().text();
      ASSERT_TRUE(got) << who << ": " << got.error().text();
      for (size_t i = 0; i < want->size(); ++i) {
        EXPECT_TRUE(equal((*got)[i], (*want)[i])) << who << ", output " << i;
      }
    }
  }
  EXPECT_GT(operators, 50u);
}

}  // namespace
}  // namespace sdx::rewrite
