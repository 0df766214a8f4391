// Whole networks: every chunking gives the whole run's bits, and so does the pulsed model.
#include "stream/models.h"

#include <gtest/gtest.h>

#include "api/engine.h"
#include "stream/pulsed.h"

namespace sdx::stream {
namespace {

Dims dims_of(const NetworkCase& network, int64_t rows) {
  Dims dims;
  for (const Dim& dim : network.input) dims.push_back(dim.is_const() ? dim.value() : rows);
  return dims;
}

// As another engine would get it: the model's bytes, with the states as inputs.
Result<std::shared_ptr<const plan::Compiled>> written_and_read(const Pulsed& pulsed) {
  SDX_ASSIGN(const model::Model made, to_model(pulsed));
  const std::string bytes = model::write(made);
  SDX_ASSIGN(const auto read, model::read_bytes(std::as_bytes(std::span(bytes))));
  CompileOptions options;
  options.threads = 1;
  for (const Pulsed::State& state : pulsed.states) options.overridden.insert(state.input);
  return compile(read, options);
}

class Networks : public testing::TestWithParam<size_t> {
 protected:
  void SetUp() override {
    made = built(network());
    ASSERT_TRUE(made.status) << made.status.error().text();
    auto found = Source::make(made.graph, "T", plain_settings(), std::make_shared<Pool>(1));
    ASSERT_TRUE(found) << found.error().text();
    source = *found;
    x = noise(DType::f32, dims_of(network(), network().rows), 7);
    const auto run = whole(made.graph, {x});
    ASSERT_TRUE(run) << run.error().text();
    expected = (*run)[0].tensor();
  }
  const NetworkCase& network() const { return networks()[GetParam()]; }

  BuiltNetwork made;
  std::shared_ptr<const Source> source;
  Tensor x, expected;
};

TEST_P(Networks, give_the_whole_run_in_chunks) {
  for (const std::vector<int64_t>& chunks :
       {std::vector<int64_t>{1}, {7}, {network().pulse}, {3, 50, 1, 1, 20, 4}, {network().rows}}) {
    Stream stream(source);
    const auto got = streamed(stream, {x}, {network().axis}, network().rows, chunks);
    ASSERT_TRUE(got) << got.error().text();
    ASSERT_EQ(got->outputs[0].dims(), expected.dims());
    EXPECT_TRUE(got->outputs[0] == expected) << "chunks of " << chunks[0];
  }
}

TEST_P(Networks, give_the_whole_run_as_a_pulsed_model) {
  const auto flows = source->flows({});
  ASSERT_TRUE(flows) << flows.error().text();
  auto pulsed = make_pulsed(*flows, network().pulse);
  ASSERT_TRUE(pulsed) << pulsed.error().text();
  const auto compiled = written_and_read(*pulsed);
  ASSERT_TRUE(compiled) << compiled.error().text();
  const typed::Graph& graph = (*compiled)->graph();
  run::Session session(*compiled);
  std::map<std::string, Tensor> held;
  for (const Pulsed::State& state : pulsed->states) held[state.input] = state.initial;
  const Flow& flow = flows->at(flows->graph.outputs()[0].outlet);
  std::vector<Tensor> parts;
  for (int64_t at = 0; at + network().pulse <= network().rows; at += network().pulse) {
    std::vector<Value> inputs;
    for (const Outlet input : graph.inputs()) {
      const std::string& name = graph.node(input.node).use.name;
      inputs.emplace_back(name == "x" ? rows_of(x, network().axis, at, at + network().pulse)
                                      : held.at(name));
    }
    const auto results = session.run(inputs);
    ASSERT_TRUE(results) << results.error().text();
    for (size_t i = 0; i < results->size(); ++i) {
      const std::string& name = graph.outputs()[i].name;
      if (name == "y") parts.push_back((*results)[i].tensor());
      for (const Pulsed::State& state : pulsed->states) {
        if (state.output == name) held[state.input] = (*results)[i].tensor();
      }
    }
  }
  const Tensor all = joined(parts, flow.axis);
  const int64_t delay = pulsed->delays.at("y"), rows = all.dims()[flow.axis];
  ASSERT_LT(delay, rows);
  // Rows whose windows reach the end have the end's padding in the whole run.
  Position none(*flows), there(*flows);
  advance(*flows, none, network().rows / network().pulse * network().pulse, nullptr, there);
  const int64_t certain = there.certain[flows->wire(flows->graph.outputs()[0].outlet)];
  const int64_t count = std::min(rows - delay, certain);
  EXPECT_GT(count, 0);
  EXPECT_TRUE(rows_of(all, flow.axis, delay, delay + count) ==
              rows_of(expected, flow.axis, 0, count));
}

TEST_P(Networks, are_models_that_can_be_written) {
  Pulsed whole_model;
  whole_model.graph = made.graph;
  whole_model.opset = oldest_opset(made.graph);
  const auto compiled = written_and_read(whole_model);
  ASSERT_TRUE(compiled) << compiled.error().text();
  const auto results = run::Session(*compiled).run(std::vector<Value>{x});
  ASSERT_TRUE(results) << results.error().text();
  EXPECT_TRUE((*results)[0].tensor() == expected);
  // For bench/streamed.py.
  if (const char* folder = std::getenv("SDX_STREAM_MODELS")) {
    const auto model = to_model(whole_model);
    ASSERT_TRUE(model::write_file(*model, fmt::format("{}/{}.onnx", folder, network().name)));
  }
}

INSTANTIATE_TEST_SUITE_P(, Networks, testing::Range<size_t>(0, networks().size()),
                         [](const auto& info) { return std::string(networks()[info.param].name); });

TEST(WakeWord, keeps_2920_floats_and_is_182_rows_late) {
  const BuiltNetwork made = built(networks()[0]);
  const auto source = Source::make(made.graph, "T", plain_settings(), std::make_shared<Pool>(1));
  ASSERT_TRUE(source);
  const auto flows = (*source)->flows({});
  ASSERT_TRUE(flows) << flows.error().text();
  const Report report(*flows);
  const auto cost = report.cost(8);
  ASSERT_TRUE(cost) << cost.error().text();
  EXPECT_EQ(cost->state_bytes, 4 * 2920u);
  EXPECT_LE(cost->multiply_adds, 2'060'448u);
  EXPECT_FALSE(cost->grows);
  EXPECT_EQ(report.at(flows->graph.outputs()[0].outlet).delay, 182) << report.text();
  const auto pulsed = make_pulsed(*flows, 8);
  ASSERT_TRUE(pulsed) << pulsed.error().text();
  EXPECT_EQ(pulsed->state_bytes(), 4 * 2920u);
}

TEST(Scanned, costs_what_its_body_costs_for_each_row) {
  const auto& all = networks();
  const auto network = std::find_if(all.begin(), all.end(), [](const NetworkCase& c) {
    return std::string_view(c.name) == "scanned";
  });
  const BuiltNetwork made = built(*network);
  const auto source = Source::make(made.graph, "T", plain_settings(), std::make_shared<Pool>(1));
  ASSERT_TRUE(source);
  const auto flows = (*source)->flows({});
  ASSERT_TRUE(flows) << flows.error().text();
  const auto cost = Report(*flows).cost(6);
  ASSERT_TRUE(cost) << cost.error().text();
  EXPECT_EQ(cost->multiply_adds, uint64_t{6 * (8 * 6 * 3 + (8 * 5 + 5 * 5) + 3 * 5 * 2)});
}

}  // namespace
}  // namespace sdx::stream
