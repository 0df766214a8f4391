// What a graph means, shown on small graphs.
#include <gtest/gtest.h>

#include <cstring>

#include "api/engine.h"
#include "builder/state.h"
#include "check/check.h"
#include "model/fields.h"
#include "run/session.h"
#include "sardonyx/ops.h"

namespace {

using namespace sardonyx;

Tensor floats(Dims dims, std::vector<float> values) { return Tensor(std::move(dims), values); }

std::vector<float> list(const Tensor& tensor) {
  const auto values = tensor.values<float>();
  return {values.begin(), values.end()};
}

std::shared_ptr<const sdx::model::Model> model_of(const Graph& g) {
  return detail::emit(*detail::Access::state(g));
}

sdx::check::Report under_profile(const Graph& g) {
  return sdx::check::check(*model_of(g), {.profile = sdx::check::Profile::sonnx});
}

// O1 = I1 + I2, O2 = O1 * 2, and a difference that nobody reads.
Graph four_nodes() {
  Graph g("Test");
  const Wire i1 = g.parameter("I1", Type::f32, {2, 2}), i2 = g.parameter("I2", Type::f32, {2, 2});
  const Wire o1 = ops::add(i1, i2);
  const Wire op2_out = ops::constant(g, {.value = floats({}, {2})});
  g.result("O1", o1);
  g.result("O2", ops::mul(o1, op2_out));
  ops::sub(i1, i2).named("op4_out");
  return g;
}

TEST(GraphSemantics, the_four_node_example_gives_both_outputs) {
  const Graph g = four_nodes();
  EXPECT_EQ(g.nodes().size(), 4U);
  const Outputs outputs = g.compile().run(
      {{"I1", floats({2, 2}, {1, 2, 3, 4})}, {"I2", floats({2, 2}, {10, 20, 30, 40})}});
  EXPECT_EQ(list(outputs["O1"]), (std::vector<float>{11, 22, 33, 44}));
  EXPECT_EQ(list(outputs["O2"]), (std::vector<float>{22, 44, 66, 88}));
}

TEST(GraphSemantics, an_input_that_nobody_uses_is_reported_under_the_profile) {
  Graph g;
  const Wire x = g.parameter("x", Type::f32, {2});
  g.parameter("unused", Type::f32, {2});
  g.result("y", ops::relu(x));
  const auto report = under_profile(g);
  const auto* found = report.find("SONNX-C2");
  ASSERT_NE(found, nullptr);
  EXPECT_NE(found->message.find("unused"), std::string::npos) << found->message;
}

TEST(GraphSemantics, an_output_that_nobody_defines_is_an_error_before_running) {
  auto model = std::make_shared<sdx::model::Model>(*model_of(four_nodes()));
  sdx::model::ValueInfo missing = model->graph->output[0];
  set(missing, &sdx::model::ValueInfo::name, std::string("O3"));
  model->graph->output.push_back(missing);
  const auto compiled = sdx::compile(model);
  ASSERT_FALSE(compiled.ok());
  EXPECT_NE(compiled.error().text().find("O3"), std::string::npos) << compiled.error().text();
  EXPECT_FALSE(sdx::check::check(*model).valid());
}

TEST(GraphSemantics, a_seeded_random_operator_is_reproducible_and_refused_under_the_profile) {
  Graph g;
  g.result("y", ops::random_normal(g, {.seed = 3, .shape = {4}}));
  const std::string digest = g.compile().run({})[0].digest();
  EXPECT_EQ(g.compile({.threads = 3}).run({})[0].digest(), digest);
  EXPECT_NE(under_profile(g).find("SONNX-R2"), nullptr);
}

TEST(GraphSemantics, sums_are_computed_as_they_are_written) {
  Graph g;
  const Wire a = g.parameter("a", Type::f32, {4}), b = g.parameter("b", Type::f32, {4}),
             c = g.parameter("c", Type::f32, {4});
  g.result("left", (a + b) + c);
  g.result("right", a + (b + c));
  const auto filled = [](float value) { return floats({4}, {value, value, value, value}); };
  for (const bool optimize : {true, false}) {
    const Outputs outputs = g.compile({.optimize = optimize})
                                .run({{"a", filled(1e8F)}, {"b", filled(-1e8F)}, {"c", filled(1)}});
    EXPECT_EQ(list(outputs["left"])[0], 1.0F);
    EXPECT_EQ(list(outputs["right"])[0], 0.0F);
  }
}

TEST(GraphSemantics, a_run_changes_nothing_but_its_results) {
  Graph g;
  const Wire x = g.parameter("x", Type::f32, {3, 4});
  g.result("y", ops::relu(ops::neg(ops::exp(ops::transpose(x)))));
  Session session = g.compile();
  Tensor in(Type::f32, {3, 4});
  for (size_t i = 0; i < in.count(); ++i) in.values<float>()[i] = float(i) * 0.25F;
  const std::vector<float> before = list(in);
  const std::string first = session.run({{"x", in}})[0].digest();
  session.run({{"x", Tensor(Type::f32, {3, 4})}});  // another in between
  EXPECT_EQ(session.run({{"x", in}})[0].digest(), first);
  EXPECT_EQ(list(in), before);
}

TEST(Planning, index_operators_are_views_of_one_buffer) {
  Graph g;
  const Wire x = g.parameter("x", Type::f32, {4, 6});
  const Wire computed = ops::softmax(x);
  const Wire part = ops::slice(computed, {1}, {3}, {.axes = {0}});
  const Wire flat = ops::reshape(part, {12});
  g.result("y", ops::softmax(flat));
  const auto compiled = sdx::compile(model_of(g));
  ASSERT_TRUE(compiled.ok()) << compiled.error().text();
  const auto plan = (*compiled)->plan_under({});
  ASSERT_TRUE(plan.ok()) << plan.error().text();
  const sdx::plan::Place *whole = nullptr, *slice = nullptr, *shaped = nullptr;
  for (uint32_t id = 0; id < (*plan)->graph.size(); ++id) {
    const auto& node = (*plan)->graph.node(id);
    if (node.kind != sdx::typed::Node::Kind::op) continue;
    const sdx::plan::Place& place = (*plan)->places[id][0];
    if (node.op().name == "Slice") slice = &place;
    if (node.op().name == "Reshape") shaped = &place;
    if (node.op().name == "Softmax" && whole == nullptr) whole = &place;
  }
  ASSERT_TRUE(whole != nullptr && slice != nullptr && shaped != nullptr);
  EXPECT_EQ(whole->kind, sdx::plan::Place::Kind::arena);
  EXPECT_EQ(slice->kind, sdx::plan::Place::Kind::arena);
  EXPECT_EQ(slice->offset, whole->offset + 6 * sizeof(float));
  EXPECT_EQ(shaped->offset, slice->offset);
  EXPECT_EQ((*plan)->steps.size(), 2U) << "views cost no step";
}

TEST(TypedGraph, nodes_know_their_inputs_outputs_and_successors) {
  const Graph g = four_nodes();
  const sdx::typed::Graph& graph = detail::Access::state(g)->main.own;
  EXPECT_TRUE(graph.verify().ok());
  const auto users = graph.successors();
  ASSERT_EQ(graph.inputs().size(), 2U);
  for (const auto source : graph.inputs()) {
    EXPECT_EQ(graph.node(source.node).kind, sdx::typed::Node::Kind::source);
    EXPECT_EQ(users[source.node][source.slot].size(), 2U);  // Add and Sub
  }
  for (uint32_t id = 0; id < graph.size(); ++id) {
    for (const auto input : graph.node(id).inputs) {
      const auto& readers = users[input.node][input.slot];
      EXPECT_NE(std::find(readers.begin(), readers.end(), id), readers.end());
    }
  }
}

TEST(TypedGraph, any_outlet_can_be_an_output) {
  Graph g;
  const Wire x = g.parameter("x", Type::f32, {2, 3});
  const Wires parts = ops::split(x, 3, {.axis = 1});
  g.result("second", parts[1]);
  g.result("input", x);
  g.result("last", ops::neg(parts[1]));
  g.result("constant", floats({1}, {5}));
  const Outputs outputs = g.compile().run({{"x", floats({2, 3}, {1, 2, 3, 4, 5, 6})}});
  EXPECT_EQ(list(outputs["second"]), (std::vector<float>{2, 5}));
  EXPECT_EQ(list(outputs["input"]), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(list(outputs["last"]), (std::vector<float>{-2, -5}));
  EXPECT_EQ(list(outputs["constant"]), std::vector<float>{5});
}

TEST(SizeNames, stand_for_one_size_in_all_inputs) {
  Graph g;
  const Wire a = g.parameter("a", Type::f32, {"K", "M"}),
             b = g.parameter("b", Type::f32, {"M", "N"});
  const Wire scalar = g.parameter("s", Type::f32, {});
  const Wire product = ops::matmul(a, b) * scalar;
  EXPECT_EQ(product.fact().text(), "f32[K,N]");
  g.result("y", product);
  Session session = g.compile();
  const auto run = [&](int64_t left, int64_t right) {
    return session.run({{"a", Tensor(Type::f32, {2, left})},
                        {"b", Tensor(Type::f32, {right, 5})},
                        {"s", floats({}, {1})}});
  };
  EXPECT_EQ(run(3, 3)[0].dims(), (Dims{2, 5}));
  EXPECT_EQ(run(4, 4)[0].dims(), (Dims{2, 5}));
  try {
    run(3, 4);
    FAIL() << "M was two sizes";
  } catch (const Error& error) {
    const std::string text = error.what();
    for (const char* part : {"\"a\"", "\"b\"", "M", "3", "4"}) {
      EXPECT_NE(text.find(part), std::string::npos) << text;
    }
  }
  EXPECT_THROW(session.run({{"a", Tensor(Type::f32, {2, 3})},
                            {"b", Tensor(Type::f32, {3, 5})},
                            {"s", floats({1}, {1})}}),
               Error);  // a vector of one element is no scalar
}

TEST(Optional, inputs_are_left_out_and_outputs_that_nobody_reads_are_not_computed) {
  Graph g;
  const Wire x = g.parameter("x", Type::f32, {2, 4});
  g.result("clipped", ops::clip(x, {.max = 0.5F}));
  g.result("most", ops::max({x, 0.0F, ops::neg(x), 1.0F}));
  g.result("normal", ops::layer_normalization(x, Tensor({4}, std::vector<float>(4, 1))).y);
  const auto model = model_of(g);
  EXPECT_EQ(model->graph->node[0].input.size(), 3U);
  EXPECT_EQ(model->graph->node[0].input[1], "");
  EXPECT_EQ(model->graph->node.back().output.size(), 1U);
  const Outputs outputs = g.compile().run({{"x", floats({2, 4}, {-2, -1, 0, 1, 2, 3, 4, 5})}});
  EXPECT_EQ(list(outputs["clipped"])[4], 0.5F);
  EXPECT_EQ(list(outputs["clipped"])[0], -2.0F);
  EXPECT_EQ(list(outputs["most"])[0], 2.0F);
}

std::vector<Type> every_type() {
  std::vector<Type> types;
  for (int number = 1; number <= 28; ++number) types.push_back(static_cast<Type>(number));
  return types;
}

TEST(ElementTypes, all_28_pass_through_a_graph_bit_for_bit) {
  for (const Type type : every_type()) {
    SCOPED_TRACE(name_of(type));
    Graph g;
    const Wire x = g.parameter("x", type, {2, 3});
    // ONNX's only operator on 6-bit floats is Cast.
    const bool cast_only = type == Type::f6e2m3 || type == Type::f6e3m2;
    g.result("y", cast_only ? ops::cast(x, {.to = type}) : ops::reshape(x, {3, 2}));
    Tensor in(type, {2, 3});
    if (type == Type::string) {
      for (std::string& text : in.values<std::string>()) text = "h\u00e9llo \u4e16\u754c";
    } else if (type != Type::boolean) {
      for (size_t i = 0; i < in.bytes(); ++i) {
        static_cast<uint8_t*>(in.data())[i] = static_cast<uint8_t>(i * 37 + 1);
      }
    }
    const Tensor out = g.compile({.threads = 1}).run({{"x", in}})[0];
    EXPECT_EQ(out.count(), 6U);
    EXPECT_EQ(out.digest(), in.digest());
  }
}

TEST(ElementTypes, every_real_type_casts_to_every_other) {
  const Tensor small = floats({2}, {1, 0});
  for (const Type from : every_type()) {
    if (from == Type::c64 || from == Type::c128) continue;
    const Value narrow = eval("Cast", {small}, {{"to", from}})[0];
    for (const Type to : every_type()) {
      if (to == Type::c64 || to == Type::c128) continue;
      if (from == Type::boolean && to == Type::string) continue;  // "True" is no number to go back
      SCOPED_TRACE(std::string(name_of(from)) + " to " + std::string(name_of(to)));
      // One and zero are values of all of them, but f8e8m0 has no zero.
      const Value there = eval("Cast", {narrow}, {{"to", to}})[0];
      const Tensor back = eval("Cast", {there}, {{"to", Type::f32}})[0].tensor();
      EXPECT_EQ(list(back)[0], 1.0F);
      if (from != Type::f8e8m0 && to != Type::f8e8m0) {
        EXPECT_EQ(list(back)[1], 0.0F);
      }
    }
  }
}

TEST(Values, maps_sequences_and_optionals_go_in_and_out) {
  Graph g;
  const Wire x = g.parameter("x", Type::f32, {1, 2});
  const Wire words = g.parameter("words", Fact::map(Type::string, Fact::tensor(Type::i64, {})));
  const Wire list_in = g.parameter("list", Fact::sequence(Fact::tensor(Type::f32, {"N"})));
  const Wire maybe = g.parameter("maybe", Fact::optional(Fact::tensor(Type::f32, {2})));
  g.result("zipped", ops::ml::zip_map(x, {.classlabels_strings = {"cat", "dog"}}));
  g.result("counts", ops::ml::dict_vectorizer(words, {.string_vocabulary = {"a", "b", "c"}}));
  g.result("longer", ops::sequence_insert(list_in, floats({1}, {9})));
  g.result("is_there", ops::optional_has_element(g, {.input = maybe}));
  Session session = g.compile();
  const Map counted = {{"c", Tensor(Dims{}, {int64_t{5}})}, {"a", Tensor(Dims{}, {int64_t{2}})}};
  const Outputs outputs = session.run({{"x", floats({1, 2}, {0.25F, 0.75F})},
                                       {"words", counted},
                                       {"list", Sequence{floats({2}, {1, 2})}},
                                       {"maybe", Value()}});
  const Map& zipped = outputs.value("zipped").sequence()[0].map();
  EXPECT_EQ(zipped.at("dog").tensor().values<float>()[0], 0.75F);
  const auto vector = outputs["counts"].values<int64_t>();
  EXPECT_EQ(std::vector<int64_t>(vector.begin(), vector.end()), (std::vector<int64_t>{2, 0, 5}));
  EXPECT_EQ(outputs.value("longer").sequence().size(), 2U);
  EXPECT_FALSE(outputs["is_there"].values<bool>()[0]);
}

}  // namespace
