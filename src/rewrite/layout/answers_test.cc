// What operators answer about layouts is true: every case of every operator that answers, in
// several layouts, gives the bits that it gives as it stands.
#include <gtest/gtest.h>

#include <algorithm>

#include "ops/list.h"
#include "rewrite/layout/choose.h"
#include "rewrite/rewrite_testing.h"

namespace sdx::rewrite {
namespace {

using typed::Graph;
using typed::Outlet;

std::vector<Layout> layouts_of(size_t rank) {
  if (rank < 2) return {};
  Layout reversed = plain_layout(rank), exchanged = reversed;
  std::reverse(reversed.order.begin(), reversed.order.end());
  std::swap(exchanged.order[rank - 2], exchanged.order[rank - 1]);
  std::vector<Layout> layouts = {reversed, exchanged};
  if (rank > 2) layouts.push_back(channels_last(rank));
  if (rank == 4) layouts.push_back(channels_blocked(rank));
  return layouts;
}

// The case as a graph in which input `from` is all that the run tells.
Result<Graph> graph_of(const Op& op, const Case& test, size_t from) {
  Graph graph;
  std::vector<Outlet> inputs;
  for (size_t i = 0; i < test.inputs.size(); ++i) {
    const Value& value = test.inputs[i];
    inputs.push_back(value.is_none() ? Outlet()
                     : i == from     ? graph.source("x", fact_of(value))
                                     : graph.constant(value.tensor()));
  }
  sdx::Node use;
  use.op = &op;
  use.opset = test.opset;
  use.attrs = test.attrs;
  use.wanted.assign(test.outputs, true);
  SDX_ASSIGN(const std::vector<Outlet> wires, graph.add(std::move(use), std::move(inputs)));
  for (size_t i = 0; i < wires.size(); ++i) graph.output(fmt::format("y{}", i), wires[i]);
  return graph;
}

// Vectors as images of one pixel: samples of element-wise operators have no axes to move.
Case with_axes(Case test) {
  for (Value& value : test.inputs) {
    if (value.is_tensor() && value.tensor().rank() == 1 && value.tensor().count() > 1)
      value = value.tensor().reshaped({1, int64_t(value.tensor().count()), 1, 1});
  }
  return test;
}

// How many layouts the operator answered for.
size_t tried(const Op& op, const Case& test, size_t from) {
  const auto graph = graph_of(op, test, from);
  if (!graph) return 0;
  const uint32_t id = graph->outputs()[0].outlet.node;
  const Fact& x = graph->fact(graph->inputs()[0]);
  size_t answers = 0;
  for (const Layout& layout : layouts_of(x.rank())) {
    if (!convertible(x, layout)) continue;
    Choice choice(graph->size());
    choice[id] = ask(*graph, graph->node(id), from, layout);
    if (!choice[id]) continue;
    ++answers;
    const auto made = relay(*graph, std::move(choice));
    EXPECT_TRUE(made.ok()) << made.error().text();
    if (made.ok()) expect_same_answers(*graph, *made, {test.inputs[from]});
  }
  return answers;
}

TEST(Layouts, operators_give_the_same_bits_wherever_their_inputs_lie) {
  for (const Op* op : all_ops()) {
    if (op->layout == nullptr || op->cases == nullptr) continue;
    size_t answers = 0;
    const std::vector<Case> cases = op->cases();
    for (size_t i = 0; i < 2 * cases.size(); ++i) {
      const Case test = i % 2 == 0 ? cases[i / 2] : with_axes(cases[i / 2]);
      SCOPED_TRACE(fmt::format("{} {}", op->name, test.name));
      const bool tensors = std::all_of(test.inputs.begin(), test.inputs.end(),
                                       [](const Value& v) { return v.is_none() || v.is_tensor(); });
      for (size_t from = 0; tensors && from < test.inputs.size(); ++from) {
        if (test.inputs[from].is_tensor()) answers += tried(*op, test, from);
      }
    }
    EXPECT_GT(answers, 0u) << op->name << " declares a layout, and no case of it shows one";
  }
}

}  // namespace
}  // namespace sdx::rewrite
