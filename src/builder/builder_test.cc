// Graphs built in C++, as a user writes them.
#include <gtest/gtest.h>

#include <filesystem>
#include <numeric>
#include <sstream>

#include "sardonyx/ops.h"

namespace {

using namespace sardonyx;

Tensor floats(Dims dims, std::vector<float> values) { return Tensor(std::move(dims), values); }

std::vector<float> list(const Tensor& tensor) {
  const auto values = tensor.values<float>();
  return {values.begin(), values.end()};
}

// The error that `make` throws; a test fails where it throws none.
template <class F>
Error refused(const F& make) {
  try {
    make();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "nothing was refused";
  return Error("", "", {}, "");
}

TEST(Tensors, have_type_shape_rank_and_size) {
  const Tensor matrix(Type::f32, {2, 3});
  EXPECT_EQ(matrix.type(), Type::f32);
  EXPECT_EQ(matrix.dims(), (Dims{2, 3}));
  EXPECT_EQ(matrix.dims().size(), 2U);
  EXPECT_EQ(matrix.count(), 6U);
  EXPECT_EQ(matrix.bytes(), 24U);
  const Tensor scalar(Type::i64, {});
  EXPECT_EQ(scalar.dims().size(), 0U);
  EXPECT_EQ(scalar.count(), 1U);
  const Tensor empty(Type::f64, {4, 0, 5});
  EXPECT_EQ(empty.count(), 0U);
  EXPECT_EQ(empty.bytes(), 0U);
  EXPECT_EQ(Tensor(Type::i4, {3}).bytes(), 2U);
}

TEST(Tensors, of_rank_0_and_of_size_0_run) {
  Graph g;
  const Wire a = g.parameter("a", Type::f32, {}), b = g.parameter("b", Type::f32, {0, 3});
  g.result("y", ops::add(a, b));
  g.result("z", ops::neg(a));
  const Outputs outputs =
      g.compile().run({{"a", floats({}, {2})}, {"b", Tensor(Type::f32, {0, 3})}});
  EXPECT_EQ(outputs["y"].dims(), (Dims{0, 3}));
  EXPECT_EQ(outputs["z"].dims(), Dims{});
  EXPECT_EQ(list(outputs["z"]), std::vector<float>{-2});
}

TEST(Builder, a_function_of_parameters_is_called_with_row_major_arguments) {
  Graph g;
  const Wire a = g.parameter("a", Type::f32, {2, 3}), b = g.parameter("b", Type::f32, {2, 3}),
             c = g.parameter("c", Type::f32, {3});
  g.result("y", (a + b) * c);
  Session session = g.compile();
  const Tensor in[] = {floats({2, 3}, {1, 2, 3, 4, 5, 6}), floats({2, 3}, {10, 20, 30, 40, 50, 60}),
                       floats({3}, {1, 2, 3})};
  Tensor out[] = {Tensor(Type::f32, {2, 3})};
  session.run_into(in, out);
  EXPECT_EQ(list(out[0]), (std::vector<float>{11, 44, 99, 44, 110, 198}));
}

TEST(Builder, types_are_checked_at_the_line_that_makes_the_operator) {
  Graph g;
  const Wire a = g.parameter("a", Type::f32, {2, 3}), b = g.parameter("b", Type::i32, {2, 3});
  const int line = __LINE__ + 1;
  const Error error = refused([&] { return ops::add(a, b); });
  const std::string text = error.what();
  EXPECT_NE(text.find("builder_test.cc:" + std::to_string(line) + ", node"), std::string::npos)
      << text;
  EXPECT_NE(text.find("Add"), std::string::npos) << text;
  EXPECT_NE(text.find("A = f32[2,3]"), std::string::npos) << text;
  EXPECT_NE(text.find("B = i32[2,3]"), std::string::npos) << text;
  EXPECT_TRUE(g.nodes().empty()) << "what does not type is not in the graph";
}

TEST(Builder, shapes_are_checked_at_the_line_that_makes_the_operator) {
  Graph g;
  const Wire x = g.parameter("x", Type::f32, {2, 3}), w = g.parameter("w", Type::f32, {3, 2});
  const int line = __LINE__ + 1;
  const Error error = refused([&] { return x + w; });
  const std::string text = error.what();
  EXPECT_NE(text.find("Add: shapes [2,3] and [3,2] do not broadcast"), std::string::npos) << text;
  EXPECT_NE(text.find("builder_test.cc:" + std::to_string(line)), std::string::npos) << text;
  EXPECT_NE(text.find("input \"x\""), std::string::npos) << text;
  // Symbols too: what the two call M must be one size.
  const Wire k = g.parameter("k", Type::f32, {4, 5}), m = g.parameter("m", Type::f32, {6, "N"});
  refused([&] { return ops::matmul(k, m); });
}

TEST(Builder, attributes_are_checked_too) {
  Graph g;
  const Wire x = g.parameter("x", Type::f32, {2, 3});
  const Error axis = refused([&] { return ops::softmax(x, {.axis = 5}); });
  EXPECT_NE(std::string(axis.what()).find("axis"), std::string::npos) << axis.what();
  const Error unknown = refused([&] { return g.node("Softmax", x, {{"axes", 1}}); });
  EXPECT_EQ(unknown.code(), "SDX-T0003");
  refused([&] { return g.node("Softmax", x, {{"axis", "one"}}); });
  refused([&] { return g.node("NoSuchOperator", x); });
}

// A wire exists before a node can read it, so there is no expression for a cycle: nodes take wires
// by value, and nothing changes what a node reads.
template <class N>
concept CanBeRewired = requires(N node, Wire wire) {
  node.input(0) = wire;
}
|| requires(N node, Wire wire) { node.set_input(0, wire); };
static_assert(!CanBeRewired<Node>);

TEST(Builder, every_node_stands_after_what_it_reads) {
  Graph g;
  Wire x = g.parameter("x", Type::f32, {3});
  for (int i = 0; i < 20; ++i) x = ops::add(ops::relu(x), x);
  std::set<std::string> defined = {"x"};
  for (const Node& node : g.nodes()) {
    for (const Wire& input : node.inputs()) EXPECT_TRUE(defined.contains(input.name()));
    for (const Wire& output : node.outputs()) defined.insert(output.name());
  }
}

TEST(Builder, a_parameter_or_name_is_given_once) {
  Graph g;
  const Wire a = g.parameter("a", Type::f32, {2});
  EXPECT_EQ(refused([&] { return g.parameter("a", Type::f32, {2}); }).code(), "SDX-W0001");
  EXPECT_EQ(refused([&] { return g.constant("a", floats({1}, {1})); }).code(), "SDX-W0001");
  g.result("y", ops::relu(a));
  EXPECT_EQ(refused([&] { g.result("y", a); }).code(), "SDX-W0001");
  EXPECT_EQ(refused([&] { g.result("a", ops::neg(a)); }).code(), "SDX-W0001");
  refused([&] { return g.parameter("c", Type::f32, {-1}); });
  Graph other;
  const Wire foreign = other.parameter("z", Type::f32, {2});
  EXPECT_EQ(refused([&] { return ops::add(a, foreign); }).code(), "SDX-W0002");
}

TEST(Builder, arguments_must_match_and_results_have_memory_of_their_own) {
  Graph g;
  const Wire a = g.parameter("a", Type::f32, {2}), b = g.parameter("b", Type::f32, {2});
  g.result("sum", a + b);
  g.result("a_too", a);
  g.result("sum_too", ops::add(a, b));
  Session session = g.compile();
  const Tensor x = floats({2}, {1, 2});
  // Arguments may share memory.
  const Tensor in[] = {x, x};
  Tensor out[] = {Tensor(Type::f32, {2}), Tensor(Type::f32, {2}), Tensor(Type::f32, {2})};
  session.run_into(in, out);
  EXPECT_EQ(list(out[0]), (std::vector<float>{2, 4}));
  // Results may not, with each other or with arguments.
  Tensor twice[] = {out[0], out[1], out[0]};
  EXPECT_EQ(session.try_run_into(in, twice)->code(), "SDX-A0008");
  Tensor over[] = {x, out[1], out[2]};
  EXPECT_EQ(session.try_run_into(in, over)->code(), "SDX-A0008");
  float memory[5] = {};
  Tensor apart[] = {Tensor(Type::f32, {2}, memory), Tensor(Type::f32, {2}, memory + 2), out[2]};
  EXPECT_FALSE(session.try_run_into(in, apart));
  Tensor overlapping[] = {Tensor(Type::f32, {2}, memory), Tensor(Type::f32, {2}, memory + 1),
                          out[2]};
  EXPECT_EQ(session.try_run_into(in, overlapping)->code(), "SDX-A0008");
  const Outputs outputs = session.run({{"a", x}, {"b", x}});
  EXPECT_NE(outputs["a_too"].data(), x.data());
  EXPECT_NE(outputs["sum"].data(), outputs["sum_too"].data());
  // Types and shapes must be the parameters'.
  EXPECT_THROW(session.run({{"a", floats({3}, {1, 2, 3})}, {"b", x}}), Error);
  EXPECT_THROW(session.run({{"a", Tensor(Type::f64, {2})}, {"b", x}}), Error);
  EXPECT_THROW(session.run({{"a", x}}), Error);
}

TEST(Literals, have_the_type_of_their_cpp_value) {
  Graph g;
  const Wire x = g.parameter("x", Type::f32, {2}), n = g.parameter("n", Type::i64, {2});
  EXPECT_EQ((x * 2.0F).type(), Type::f32);
  EXPECT_EQ((n + int64_t{1}).type(), Type::i64);
  EXPECT_EQ((n + 1LL).type(), Type::i64);
  EXPECT_EQ(ops::reshape(x, {1, 2}).fact().text(), "f32[1,2]");
  const Error wrong = refused([&] { return x * 2.0; });  // f64
  EXPECT_NE(std::string(wrong.what()).find("f64"), std::string::npos) << wrong.what();
  refused([&] { return x + 1; });
  refused([&] { return ops::reshape(x, floats({1}, {2})); });
}

TEST(Literals, in_text_are_values_of_their_type) {
  Graph g;
  EXPECT_EQ(g.literal(Type::i32, "[[1, -2], [3, 4]]").fact().text(), "i32[2,2]");
  EXPECT_EQ(list(g.literal(Type::f32, "[0.5, 1e3]").value()), (std::vector<float>{0.5F, 1000}));
  EXPECT_EQ(g.literal(Type::boolean, "true").value().values<bool>()[0], true);
  EXPECT_EQ(g.literal(Type::string, "[\"a\", \"b\"]").fact().text(), "string[2]");
  EXPECT_EQ(g.literal(Type::f16, "0.5").fact().text(), "f16[]");
  EXPECT_EQ(g.literal(Type::i4, "[-8, 7]").fact().text(), "i4[2]");
  for (const auto& [type, text] : std::vector<std::pair<Type, const char*>>{{Type::u8, "300"},
                                                                            {Type::u8, "-1"},
                                                                            {Type::i32, "1.5"},
                                                                            {Type::f32, "abc"},
                                                                            {Type::boolean, "2"},
                                                                            {Type::f32, ""},
                                                                            {Type::f32, "[1, 2"},
                                                                            {Type::i4, "8"},
                                                                            {Type::i64, "[1, [2]]"},
                                                                            {Type::f16, "1e9"},
                                                                            {Type::string, "a"},
                                                                            {Type::c64, "1"},
                                                                            {Type::i64, "1 2"},
                                                                            {Type::f32, "1e99"}}) {
    EXPECT_EQ(refused([&, t = type, s = text] { return g.literal(t, s); }).code(), "SDX-W0010")
        << text;
  }
}

Wire swish(const Wire& x, float beta) { return x * ops::sigmoid(x * beta); }

TEST(Functions, are_called_several_times_and_kept_once) {
  const auto body = [](const Wire& x, const Wire& s) { return ops::mul(x, ops::sigmoid(x * s)); };
  const Function swish2("Swish2", body);
  Graph g, inlined;
  Wire x = g.parameter("x", Type::f32, {"N", 3});
  x = swish2(swish2(x, 2.0F), 0.5F);
  g.result("y", swish2(x, 1.0F));
  Wire y = inlined.parameter("x", Type::f32, {"N", 3});
  inlined.result("y", swish(swish(swish(y, 2), 0.5F), 1));
  EXPECT_EQ(g.nodes().size(), 3U);
  EXPECT_EQ(g.nodes()[0].op(), "local::Swish2");
  EXPECT_EQ(inlined.nodes().size(), 9U);
  const Tensor in = floats({2, 3}, {-2, -1, 0, 1, 2, 3});
  EXPECT_EQ(g.compile().run({{"x", in}})[0].digest(),
            inlined.compile().run({{"x", in}})[0].digest());
}

TEST(Functions, nest_have_several_results_and_do_not_recur) {
  const Function halves("Halves", [](const Wire& x) {
    const Wires parts = ops::split(x, 2, {.axis = -1});
    return make_tuple(parts[0], parts[1]);
  });
  const Function gated("Gated", [&](const Wire& x) {
    const auto [value, gate] = halves(x);
    return ops::mul(value, ops::sigmoid(gate));
  });
  Graph g;
  const Wire x = g.parameter("x", Type::f32, {4, 8});
  const Wire y = gated(gated(x));
  EXPECT_EQ(y.fact().text(), "f32[4,2]");
  g.result("y", y);
  EXPECT_EQ(g.compile().run({{"x", Tensor(Type::f32, {4, 8})}})[0].dims(), (Dims{4, 2}));

  std::function<Wire(const Wire&)> again;
  const Function endless("Endless", [&](const Wire& w) { return again(w); });
  again = [&](const Wire& w) { return endless(w); };
  const Error error = refused([&] { return endless(x); });
  EXPECT_NE(std::string(error.what()).find("Endless -> Endless"), std::string::npos);
  const Function outside("Outside", [&](const Wire& w) { return w + x; });
  EXPECT_EQ(refused([&] { return outside(x); }).code(), "SDX-W0004");
}

template <class T>
concept HasThird = requires(T t) {
  get<2>(t);
};

TEST(Tuples, are_made_appended_to_and_taken_apart_by_a_compile_time_index) {
  Graph g;
  const Wire a = g.parameter("a", Type::f32, {2}), b = g.parameter("b", Type::f32, {2});
  const auto pair = make_tuple(a, b);
  static_assert(pair.size() == 2);
  static_assert(!HasThird<Tuple<2>> && HasThird<Tuple<3>>);
  const auto three = append(pair, a + b);
  EXPECT_EQ(get<1>(three).name(), "b");
  const auto [x, y, z] = three;
  EXPECT_EQ(z.name(), get<2>(three).name());
  g.result("y", ops::sum(three));  // a tuple is a list of wires
  // Nothing in the graph stands for the tuple.
  ASSERT_EQ(g.nodes().size(), 2U);
  EXPECT_EQ(g.nodes()[1].op(), "Sum");
  const Tensor one = floats({2}, {1, 1});
  EXPECT_EQ(list(g.compile().run({{"a", one}, {"b", one}})[0]), (std::vector<float>{4, 4}));
}

TEST(Nodes, know_what_must_be_computed_before_them) {
  Graph g;
  const Wire x = g.parameter("x", Type::f32, {2});
  const Wire a = ops::relu(x).named("a"), b = ops::neg(x).named("b"), c = ops::exp(a).named("c");
  const Wire d = ops::add(c, b).named("d");
  const Wire chosen = ops::if_(
      ops::greater(ops::reduce_sum(x, {.keepdims = 0}), 0.0F), [&] { return c * 2.0F; },
      [&] { return b; })[0];
  const auto names = [](const Wire& wire) {
    std::vector<std::string> list;
    for (const Node& node : wire.node()->before()) list.push_back(node.outputs()[0].name());
    return list;
  };
  EXPECT_EQ(names(a), std::vector<std::string>{});
  EXPECT_EQ(names(c), (std::vector<std::string>{"a"}));
  EXPECT_EQ(names(d), (std::vector<std::string>{"a", "b", "c"}));
  const auto all = names(chosen);  // what its branches use, too
  EXPECT_NE(std::find(all.begin(), all.end(), "c"), all.end());
  EXPECT_NE(std::find(all.begin(), all.end(), "b"), all.end());
  EXPECT_EQ(std::find(all.begin(), all.end(), "d"), all.end());
}

TEST(Printing, shows_a_wire_a_node_and_a_graph) {
  Graph g("small");
  const Wire x = g.parameter("x", Type::f32, {"N", 4});
  const Wire y = ops::relu(x);
  g.result("y", y);
  std::ostringstream wire, node, graph;
  wire << x;
  node << *y.node();
  graph << g;
  EXPECT_EQ(wire.str(), "%x: f32[N,4]");
  EXPECT_EQ(node.str(), "%relu_1: f32[N,4] = Relu(%x: f32[N,4])");
  EXPECT_EQ(graph.str(),
            "graph small {\n"
            "  %x: f32[N,4] = parameter\n"
            "  %relu_1: f32[N,4] = Relu(%x: f32[N,4])\n"
            "  result y = %relu_1: f32[N,4]\n"
            "}\n");
  EXPECT_EQ(y.node()->place().line, __LINE__ - 14);
}

TEST(Helpers, take_options_by_name_and_leave_optional_inputs_out) {
  Graph g;
  const Wire x = g.parameter("x", Type::f32, {1, 3, 8, 8});
  const Wire w = g.constant("w", Tensor(Type::f32, {4, 3, 3, 3}));
  EXPECT_EQ(ops::conv(x, w, {.strides = {2, 2}}).fact().text(), "f32[1,4,3,3]");
  EXPECT_EQ(ops::conv(x, w, {.b = Tensor(Type::f32, {4}), .pads = {1, 1, 1, 1}}).fact().text(),
            "f32[1,4,8,8]");
  EXPECT_EQ(ops::clip(x, {.max = 6.0F}).fact().text(), "f32[1,3,8,8]");
  EXPECT_EQ(ops::max({x, 0.0F, x}).fact().text(), "f32[1,3,8,8]");
  EXPECT_EQ(ops::cast(x, {.to = Type::f16}).type(), Type::f16);
  EXPECT_EQ(ops::not_(ops::and_(ops::greater(x, 0.0F), ops::less(x, 1.0F))).type(), Type::boolean);
  const auto [values, indices] = ops::top_k(x, {2});
  EXPECT_EQ(values.fact().text(), "f32[1,3,8,2]");
  EXPECT_EQ(indices.type(), Type::i64);
  EXPECT_EQ(ops::ml::scaler(x, {.offset = {0.5}, .scale = {2}}).type(), Type::f32);
  EXPECT_EQ(ops::constant(g, {.value_ints = {1, 2, 3}}).fact().text(), "i64[3]");
  EXPECT_EQ(ops::sequence_length(ops::sequence_construct({x, x})).fact().text(), "i64[]");
  // An optional output that these attributes do not give is no wire.
  const Wire one = Tensor({3}, {1.0F, 1.0F, 1.0F});
  const auto normal = ops::batch_normalization(x, one, one, one, one);
  EXPECT_TRUE(normal.y.present());
}

TEST(Saving, gives_a_valid_file_that_reads_back_with_equal_answers) {
  Graph g("saved");
  const Wire x = g.parameter("x", Type::f32, {"N", 6});
  const Wire w = g.constant("w", floats({6, 4}, std::vector<float>(24, 0.25F)));
  const Function act("Act", [](const Wire& v) { return ops::relu(v - 0.5F); });
  const auto [top, at] = ops::top_k(act(ops::matmul(x, w)), {2});
  g.result("top", top);
  g.result("at", at);
  g.result("top_again", top);
  g.result("x_again", x);
  g.result("two", 2.0F);
  const std::string path = std::filesystem::temp_directory_path() / "sardonyx_saved.onnx";
  g.save(path);
  const Model read = Model::load(path);
  std::filesystem::remove(path);
  EXPECT_TRUE(read.check().empty());
  ASSERT_EQ(read.outputs().size(), 5U);
  EXPECT_EQ(read.inputs()[0].text, "f32[N,6]");
  std::vector<float> values(12);
  std::iota(values.begin(), values.end(), -3.0F);
  const Tensor in = floats({2, 6}, values);
  const Outputs a = g.compile().run({{"x", in}}), b = read.compile().run({{"x", in}});
  for (size_t i = 0; i < a.size(); ++i) EXPECT_EQ(a[i].digest(), b[i].digest()) << a.name(i);
  EXPECT_EQ(list(b["x_again"]), values);
}

TEST(Saving, a_graph_of_constants_runs) {
  Graph constants;
  constants.result("y", ops::add(constants.constant("a", floats({2}, {1, 2})), 1.0F));
  EXPECT_EQ(list(constants.compile().run({})[0]), (std::vector<float>{2, 3}));
}

TEST(Control, if_runs_one_branch_and_its_branches_agree) {
  Graph g;
  const Wire x = g.parameter("x", Type::f32, {3}), c = g.parameter("c", Type::boolean, {});
  const Wires y = ops::if_(
      c, [&] { return x * 2.0F; }, [&] { return ops::neg(x); });
  g.result("y", y[0]);
  Session session = g.compile();
  const Tensor in = floats({3}, {1, 2, 3});
  const auto run = [&](bool cond) {
    return list(session.run({{"x", in}, {"c", Tensor(Dims{}, {cond})}})[0]);
  };
  EXPECT_EQ(run(true), (std::vector<float>{2, 4, 6}));
  EXPECT_EQ(run(false), (std::vector<float>{-1, -2, -3}));
  const Error types = refused([&] {
    return ops::if_(
        c, [&] { return x; }, [&] { return ops::cast(x, {.to = Type::i32}); });
  });
  EXPECT_EQ(types.code(), "SDX-T0603") << types.what();
  const Error counts = refused([&] {
    return ops::if_(
        c, [&] { return x; },
        [&] {
          return Wires{x, x};
        });
  });
  EXPECT_EQ(counts.code(), "SDX-T0603") << counts.what();
  refused([&] {
    return ops::if_(
        x, [&] { return x; }, [&] { return x; });
  });
}

TEST(Control, loop_carries_and_scans_and_sees_outer_wires) {
  Graph g;
  const Wire x = g.parameter("x", Type::f32, {2}), step = g.parameter("step", Type::f32, {});
  const Wires y = ops::loop(4, {}, {x}, [&](const Wire& i, const Wires& carried) -> ops::Step {
    const Wire next = carried[0] + step;
    return {.carried = {next},
            .scanned = {ops::mul(next, ops::cast(i, {.to = Type::f32}))},
            .go_on = ops::less(ops::reduce_max(next, {.keepdims = 0}), 100.0F)};
  });
  ASSERT_EQ(y.size(), 2U);
  g.result("last", y[0]);
  g.result("rows", y[1]);
  Session session = g.compile();
  const Outputs all = session.run({{"x", floats({2}, {1, 2})}, {"step", floats({}, {10})}});
  EXPECT_EQ(list(all["last"]), (std::vector<float>{41, 42}));
  EXPECT_EQ(all["rows"].dims(), (Dims{4, 2}));
  EXPECT_EQ(list(all["rows"]), (std::vector<float>{0, 0, 21, 22, 62, 64, 123, 126}));
  const Outputs early = session.run({{"x", floats({2}, {1, 2})}, {"step", floats({}, {60})}});
  EXPECT_EQ(early["rows"].dims(), (Dims{2, 2}));
}

TEST(Control, a_carried_value_may_grow) {
  Graph g;
  const Wire x = g.parameter("x", Type::f32, {1}), n = g.parameter("n", Type::i64, {});
  const Wires y = ops::loop(n, {}, {x}, [&](const Wire&, const Wires& carried) -> ops::Step {
    return {.carried = {ops::concat({carried[0], x}, {.axis = 0})}, .scanned = {}};
  });
  g.result("y", y[0]);
  EXPECT_EQ(y[0].fact().dims->size(), 1U);
  EXPECT_FALSE((*y[0].fact().dims)[0].number);
  Session session = g.compile();
  const Outputs outputs =
      session.run({{"x", floats({1}, {7})}, {"n", Tensor(Dims{}, {int64_t{3}})}});
  EXPECT_EQ(list(outputs[0]), (std::vector<float>{7, 7, 7, 7}));
}

TEST(Control, scan_and_sequence_map_and_nested_bodies) {
  Graph g;
  const Wire x = g.parameter("x", Type::f32, {"T", 2}), k = g.parameter("k", Type::f32, {});
  const Wires sums = ops::scan({Tensor(Type::f32, {2})}, {x},
                               [&](const Wires& carried, const Wires& row) -> ops::Step {
                                 const Wire sum = carried[0] + row[0] * k;
                                 return {.carried = {sum}, .scanned = {sum}};
                               });
  g.result("sums", sums[1]);
  // A loop in a branch of an if: both see wires of the graph.
  const Wires nested = ops::if_(
      ops::greater(k, 0.0F),
      [&] {
        return ops::loop(3, {}, {k}, [&](const Wire&, const Wires& carried) -> ops::Step {
          return {.carried = {carried[0] * k}, .scanned = {}};
        });
      },
      [&] { return k; });
  g.result("nested", nested[0]);
  const Wire parts = ops::split_to_sequence(x, {.axis = 0, .keepdims = 0});
  const Wires mapped = ops::sequence_map(parts, {}, [&](const Wires& in) { return in[0] * k; });
  g.result("mapped", ops::concat_from_sequence(mapped[0], {.axis = 0, .new_axis = 1}));
  Session session = g.compile();
  const Outputs outputs =
      session.run({{"x", floats({3, 2}, {1, 2, 3, 4, 5, 6})}, {"k", floats({}, {2})}});
  EXPECT_EQ(list(outputs["sums"]), (std::vector<float>{2, 4, 8, 12, 18, 24}));
  EXPECT_EQ(list(outputs["nested"]), std::vector<float>{16});
  EXPECT_EQ(list(outputs["mapped"]), (std::vector<float>{2, 4, 6, 8, 10, 12}));
}

TEST(Control, a_wire_of_a_body_is_not_one_of_the_graph) {
  Graph g;
  const Wire x = g.parameter("x", Type::f32, {3}), c = g.parameter("c", Type::boolean, {});
  Wire inner;
  ops::if_(
      c, [&] { return inner = ops::neg(x); }, [&] { return x; });
  EXPECT_EQ(refused([&] { return ops::relu(inner); }).code(), "SDX-W0003");
  // An error in a body names the line there, and leaves the graph as it was.
  const size_t before = g.nodes().size();
  refused([&] {
    return ops::if_(
        c, [&] { return x + 1; }, [&] { return x; });
  });
  EXPECT_EQ(g.nodes().size(), before);
  g.result("y", ops::relu(x));
  EXPECT_TRUE(g.model().check().empty());
}

TEST(Eval, runs_one_operator_by_itself) {
  const Tensor x = floats({1, 3}, {1, 1, 1});
  const auto softmax = eval("Softmax", {x}, {{"axis", 1}});
  EXPECT_EQ(list(softmax[0].tensor()), (std::vector<float>{1 / 3.F, 1 / 3.F, 1 / 3.F}));
  // The version selects the meaning: up to 11, Softmax is over all axes from its axis on.
  const Tensor square = floats({2, 2}, {0, 0, 0, 0});
  EXPECT_EQ(list(eval("Softmax", {square}, {{"axis", 0}}, 1, 11)[0].tensor())[0], 0.25F);
  EXPECT_EQ(list(eval("Softmax", {square}, {{"axis", 0}}, 1, 13)[0].tensor())[0], 0.5F);
  const auto clipped = eval("Clip", {x, Value(), floats({}, {0.5F})});
  EXPECT_EQ(list(clipped[0].tensor()), (std::vector<float>{0.5F, 0.5F, 0.5F}));
  const auto scaled = eval("ai.onnx.ml::Scaler", {x},
                           {{"offset", std::vector<float>{1}}, {"scale", std::vector<float>{3}}});
  EXPECT_EQ(list(scaled[0].tensor()), (std::vector<float>{0, 0, 0}));
  const auto sequence = eval("SequenceConstruct", {x, x});
  EXPECT_EQ(sequence[0].sequence().size(), 2U);
  const auto both = eval("TopK", {x, Tensor({1}, {int64_t{2}})}, {}, 2);
  EXPECT_EQ(both[1].tensor().values<int64_t>()[1], 1);
  refused([&] { return eval("Add", {x, Tensor(Type::i32, {3})}); });
  refused([&] { return eval("Softmax", {x}, {{"axis", 7}}); });
}

TEST(Eval, operators_on_literals_are_evaluated_at_once) {
  const Wire sum = ops::add(floats({2}, {1, 2}), 1.0F);
  EXPECT_EQ(list(sum.value()), (std::vector<float>{2, 3}));
  EXPECT_EQ(list(ops::softmax(floats({2}, {0, 0})).value()), (std::vector<float>{0.5F, 0.5F}));
}

}  // namespace
