// FEATURES T1, T2: nodes, outlets, successors, sources and outputs; the verifier.
#include "typed/graph.h"

#include <gtest/gtest.h>

#include "ops/list.h"

namespace sdx::typed {
namespace {

Outlet add(Graph& graph, const char* op, std::vector<Outlet> inputs, AttrMap attrs = {}) {
  sdx::Node use;
  use.op = find_op("", op);
  use.opset = 21;
  use.attrs = std::move(attrs);
  use.wanted = {true};
  const auto made = graph.add(std::move(use), std::move(inputs));
  EXPECT_TRUE(made) << made.error().text();
  return made ? (*made)[0] : Outlet{};
}

TEST(Graph, inputs_are_sources_and_any_outlet_can_be_an_output) {
  Graph graph;
  const Outlet x = graph.source("x", Fact::tensor(DType::f32, {Dim::symbol("N"), 3}));
  const Outlet r = add(graph, "Relu", {x});
  const Outlet s = add(graph, "Add", {r, x});
  graph.output("inner", r);
  graph.output("same", x);
  graph.output("last", s);
  EXPECT_EQ(graph.node(x.node).kind, Node::Kind::source);
  EXPECT_EQ(graph.inputs(), std::vector<Outlet>{x});
  EXPECT_EQ(graph.fact(s).text(), "f32[N,3]");
  const Status status = graph.verify();
  EXPECT_TRUE(status) << status.error().text();
}

TEST(Graph, successors_list_each_reading_input_once) {
  Graph graph;
  const Outlet x = graph.source("x", Fact::tensor(DType::f32, {2}));
  const Outlet a = add(graph, "Add", {x, x});
  const Outlet b = add(graph, "Relu", {a});
  graph.output("y", b);
  const auto users = graph.successors();
  EXPECT_EQ(users[x.node][0], (std::vector<uint32_t>{a.node, a.node}));
  EXPECT_EQ(users[a.node][0], std::vector<uint32_t>{b.node});
  EXPECT_TRUE(users[b.node][0].empty());
}

TEST(Graph, a_copy_with_other_sizes_has_every_node_at_its_number) {
  Graph graph;
  const Outlet x = graph.source("x", Fact::tensor(DType::f32, {2, 3}));
  const Outlet z = graph.source("z", Fact::tensor(DType::f32, {4}));
  const Outlet a = add(graph, "Relu", {x}), b = add(graph, "Relu", {x}), c = add(graph, "Neg", {z});
  graph.output("a", a);
  graph.output("b", b);
  graph.output("c", c);
  Graph other = graph;
  for (const int64_t rows : {7, 9}) {
    other.renew(x.node, Fact::tensor(DType::f32, {rows, 3}));
    const auto renewed = other.renew(a.node, graph), shared = other.renew(c.node, graph);
    ASSERT_TRUE(renewed && *renewed && shared && *shared);
    other.renew_like(b.node, a.node, graph);
    const std::string shape = fmt::format("f32[{},3]", rows);
    EXPECT_EQ(other.fact(a).text(), shape);
    EXPECT_EQ(other.fact(b).text(), shape);
    EXPECT_EQ(&other.node(c.node), &graph.node(c.node));
    EXPECT_TRUE(other.verify());
  }
  EXPECT_EQ(graph.fact(b).text(), "f32[2,3]") << "the graph that was copied is what it was";
}

TEST(Graph, a_node_that_would_fold_is_not_made_again) {
  Graph graph;
  const Outlet x = graph.source("x", Fact::tensor(DType::f32, {2}));
  const Outlet y = add(graph, "Relu", {x});
  graph.output("y", y);
  Graph other = graph;
  other.renew(x.node, Fact::constant(Tensor::of<float>({2}, {1, 2})));
  const auto renewed = other.renew(y.node, graph);
  ASSERT_TRUE(renewed);
  EXPECT_FALSE(*renewed);
  EXPECT_EQ(&other.node(y.node), &graph.node(y.node));
}

TEST(Graph, without_dead_keeps_sources_and_renumbers_consistently) {
  Graph graph;
  const Outlet x = graph.source("x", Fact::tensor(DType::f32, {2}));
  graph.source("unused", Fact::tensor(DType::f32, {2}));
  add(graph, "Neg", {x});
  const Outlet y = add(graph, "Relu", {x});
  graph.output("y", y);
  const Graph kept = graph.without_dead();
  EXPECT_EQ(kept.size(), 3u);
  EXPECT_EQ(kept.inputs().size(), 2u);
  EXPECT_TRUE(kept.verify());
}

TEST(Graph, a_copy_without_dead_shares_the_nodes_whose_inputs_kept_their_numbers) {
  Graph graph;
  const Outlet x = graph.source("x", Fact::tensor(DType::f32, {2}));
  const Outlet a = add(graph, "Relu", {x});
  add(graph, "Neg", {x});
  const Outlet b = add(graph, "Abs", {a});
  const Outlet c = add(graph, "Exp", {b});
  graph.output("y", c);
  const Graph kept = graph.without_dead();
  ASSERT_EQ(kept.size(), 4u);
  EXPECT_EQ(&kept.node(1), &graph.node(a.node));
  EXPECT_EQ(&kept.node(2), &graph.node(b.node));
  EXPECT_NE(&kept.node(3), &graph.node(c.node));
  EXPECT_EQ(&kept.without_dead().node(3), &kept.node(3));
}

TEST(Graph, a_node_is_typed_again_only_if_a_fact_of_its_inputs_changed) {
  Graph from;
  const Outlet x = from.source("x", Fact::tensor(DType::f32, {Dim::symbol("N"), 3}));
  const Outlet r = add(from, "Relu", {x});
  Graph same, other;
  const Outlet y = same.source("x", Fact::tensor(DType::f32, {Dim::symbol("N"), 3}));
  const Outlet z = other.source("x", Fact::tensor(DType::f32, {2, 3}));
  ASSERT_TRUE(same.take(from, r.node, {y}));
  ASSERT_TRUE(other.take(from, r.node, {z}));
  EXPECT_EQ(&same.node(1), &from.node(r.node));
  EXPECT_EQ(other.fact({1, 0}).text(), "f32[2,3]");
}

// The size of a NonZero has a name of its own, made of the node's number.
TEST(Graph, two_taken_nodes_never_share_a_size_that_only_running_tells) {
  Graph from;
  const Outlet x = from.source("x", Fact::tensor(DType::f32, {4}));
  const Outlet first = add(from, "NonZero", {x}), second = add(from, "NonZero", {x});
  Graph made;
  const Outlet y = made.source("x", Fact::tensor(DType::f32, {4}));
  const auto later = made.take(from, second.node, {y}), sooner = made.take(from, first.node, {y});
  ASSERT_TRUE(later && sooner);
  EXPECT_NE(made.fact((*later)[0]).dim(1).text(), made.fact((*sooner)[0]).dim(1).text());
}

TEST(Graph, a_type_error_is_found_as_the_node_is_made_and_leaves_the_graph_as_it_was) {
  Graph graph;
  const Outlet x = graph.source("x", Fact::tensor(DType::f32, {2, 3}));
  const Outlet w = graph.source("w", Fact::tensor(DType::f32, {5, 7}));
  sdx::Node use;
  use.op = find_op("", "MatMul");
  use.opset = 21;
  use.wanted = {true};
  EXPECT_FALSE(graph.add(use, {x, w}));
  EXPECT_EQ(graph.size(), 2u);
  EXPECT_TRUE(graph.verify());
}

TEST(Verifier, a_constant_without_a_value_is_found) {
  Graph graph;
  const Outlet x = graph.source("x", Fact::tensor(DType::f32, {2}));
  const Outlet w = graph.constant(Tensor::of<float>({2}, {1, 2}));
  graph.output("y", add(graph, "Add", {x, w}));
  EXPECT_TRUE(graph.verify());
  graph.forget_value(w.node);
  const Status status = graph.verify();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, "SDX-V0002");
}

TEST(Verifier, an_output_without_a_wire_is_found) {
  Graph graph;
  graph.source("x", Fact::tensor(DType::f32, {2}));
  graph.output("y", {7, 0});
  const Status status = graph.verify();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, "SDX-V0004");
}

TEST(Graph, what_was_learnt_completes_an_open_fact_with_symbols_only) {
  Graph graph;
  const Outlet x = graph.source("x", Fact::tensor(DType::f32));
  const Outlet y = add(graph, "Relu", {x});
  graph.learn(y, Fact::tensor(DType::f32, {4, 5}));
  ASSERT_TRUE(graph.fact(y).has_rank());
  EXPECT_EQ(graph.fact(y).rank(), 2u);
  EXPECT_FALSE(graph.fact(y).dim(0).is_const());
}

}  // namespace
}  // namespace sdx::typed
