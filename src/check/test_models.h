// Small valid models that tests of the rules spoil in one place.
#pragma once

#include <string>
#include <vector>

#include "base/tensor.h"
#include "model/fields.h"
#include "model/tensor.h"

namespace sdx::check::test {

using model::Attribute;
using model::AttributeType;
using model::set;

inline model::ValueInfo value(const std::string& name, DType type = DType::f32,
                              const std::vector<int64_t>& dims = {2, 3}) {
  model::TensorType tensor;
  set(tensor, &model::TensorType::elem_type, static_cast<int32_t>(type));
  tensor.shape.emplace();
  for (const int64_t dim : dims) tensor.shape->dim.emplace_back().value = dim;
  model::ValueInfo info;
  set(info, &model::ValueInfo::name, name);
  info.type.emplace().value = std::move(tensor);
  return info;
}

inline model::Node node(const std::string& op, std::vector<std::string> inputs,
                        std::vector<std::string> outputs, std::vector<Attribute> attributes = {}) {
  model::Node node;
  set(node, &model::Node::op_type, op);
  node.input = std::move(inputs);
  node.output = std::move(outputs);
  node.attribute = std::move(attributes);
  return node;
}

inline Attribute attribute(const std::string& name, AttributeType type) {
  Attribute a;
  set(a, &Attribute::name, name);
  set(a, &Attribute::type, type);
  return a;
}
inline Attribute integer(const std::string& name, int64_t i) {
  Attribute a = attribute(name, AttributeType::i);
  set(a, &Attribute::i, i);
  return a;
}
inline Attribute real(const std::string& name, float f) {
  Attribute a = attribute(name, AttributeType::f);
  set(a, &Attribute::f, f);
  return a;
}
inline Attribute text(const std::string& name, const std::string& s) {
  Attribute a = attribute(name, AttributeType::s);
  set(a, &Attribute::s, s);
  return a;
}
inline Attribute integers(const std::string& name, std::vector<int64_t> ints) {
  Attribute a = attribute(name, AttributeType::ints);
  a.ints = std::move(ints);
  return a;
}
inline Attribute body(const std::string& name, model::Graph graph) {
  Attribute a = attribute(name, AttributeType::g);
  a.g = std::move(graph);
  return a;
}
inline Attribute tensor(const std::string& name, const Tensor& value) {
  Attribute a = attribute(name, AttributeType::t);
  a.t = model::from_tensor(value);
  return a;
}

inline model::TensorData weight(const std::string& name, const std::vector<int64_t>& dims) {
  size_t count = 1;
  for (const int64_t dim : dims) count *= static_cast<size_t>(dim);
  return model::from_tensor(Tensor::of<float>(dims, std::vector<float>(count, 1)), name);
}

inline model::OpsetId import(const std::string& domain, int64_t version) {
  model::OpsetId id;
  set(id, &model::OpsetId::domain, domain);
  set(id, &model::OpsetId::version, version);
  return id;
}

inline model::Model with_graph(std::vector<model::ValueInfo> inputs, std::vector<model::Node> nodes,
                               std::vector<model::ValueInfo> outputs, int64_t opset = 21) {
  model::Model m;
  set(m, &model::Model::ir_version, 10);
  m.opset_import.push_back(import("", opset));
  model::Graph& g = m.graph.emplace();
  set(g, &model::Graph::name, "main");
  g.input = std::move(inputs);
  g.node = std::move(nodes);
  g.output = std::move(outputs);
  return m;
}

// y = Relu(Add(x, w)), with w an initializer.
inline model::Model simple() {
  model::Model m = with_graph(
      {value("x")}, {node("Add", {"x", "w"}, {"s"}), node("Relu", {"s"}, {"y"})}, {value("y")});
  m.graph->initializer.push_back(weight("w", {2, 3}));
  return m;
}

// y = c ? x + x : -x.
inline model::Model with_if() {
  const auto branch = [](const std::string& name, model::Node inner) {
    model::Graph g;
    set(g, &model::Graph::name, name);
    g.output.push_back(value(inner.output[0]));
    g.node.push_back(std::move(inner));
    return g;
  };
  return with_graph({value("x"), value("c", DType::boolean, {})},
                    {node("If", {"c"}, {"y"},
                          {body("then_branch", branch("then", node("Add", {"x", "x"}, {"t"}))),
                           body("else_branch", branch("else", node("Neg", {"x"}, {"e"})))})},
                    {value("y")});
}

// y = x doubled while the condition holds; rows collects every value on the way.
inline model::Model with_loop() {
  model::Graph g;
  set(g, &model::Graph::name, "body");
  g.input = {value("i", DType::i64, {}), value("c", DType::boolean, {}), value("v")};
  g.node = {node("Identity", {"c"}, {"go_on"}), node("Add", {"v", "v"}, {"next"}),
            node("Identity", {"next"}, {"row"})};
  g.output = {value("go_on", DType::boolean, {}), value("next"), value("row")};
  return with_graph({value("m", DType::i64, {}), value("cond", DType::boolean, {}), value("x")},
                    {node("Loop", {"m", "cond", "x"}, {"y", "rows"}, {body("body", std::move(g))})},
                    {value("y")});
}

// y = the sum of the rows of x, partial = the sums on the way.
inline model::Model with_scan() {
  model::Graph g;
  set(g, &model::Graph::name, "body");
  g.input = {value("before", DType::f32, {3}), value("row", DType::f32, {3})};
  g.node = {node("Add", {"before", "row"}, {"sum"}), node("Identity", {"sum"}, {"copy"})};
  g.output = {value("sum", DType::f32, {3}), value("copy", DType::f32, {3})};
  return with_graph({value("zero", DType::f32, {3}), value("x")},
                    {node("Scan", {"zero", "x"}, {"y", "partial"},
                          {body("body", std::move(g)), integer("num_scan_inputs", 1)})},
                    {value("y", DType::f32, {3}), value("partial")});
}

// y = twice(x), where twice(a) = Add(a, a) has an attribute "alpha" that LeakyRelu takes.
inline model::Model with_function() {
  model::Model m =
      with_graph({value("x")}, {node("twice", {"x"}, {"y"}, {real("alpha", 0.5F)})}, {value("y")});
  set(m.graph->node[0], &model::Node::domain, "local");
  m.opset_import.push_back(import("local", 1));
  model::Function f;
  set(f, &model::Function::name, "twice");
  set(f, &model::Function::domain, "local");
  f.input = {"a"};
  f.output = {"r"};
  f.attribute = {"alpha"};
  f.opset_import.push_back(import("", 21));
  Attribute reference = attribute("alpha", AttributeType::f);
  set(reference, &Attribute::ref_attr_name, "alpha");
  f.node = {node("Add", {"a", "a"}, {"d"}), node("LeakyRelu", {"d"}, {"r"}, {reference})};
  m.functions.push_back(std::move(f));
  return m;
}

inline model::SparseTensorData sparse_weight() {
  model::SparseTensorData s;
  s.values = model::from_tensor(Tensor::of<float>({2}, {1, 2}), "sw");
  s.indices = model::from_tensor(Tensor::of<int64_t>({2}, {1, 4}), "");
  s.dims = {2, 3};
  return s;
}

inline model::Model with_sparse() {
  model::Model m = simple();
  m.graph->initializer.clear();
  m.graph->sparse_initializer.push_back(sparse_weight());
  m.graph->node[0].input[1] = "sw";
  return m;
}

inline model::StringEntry entry(const std::string& key, const std::string& value) {
  model::StringEntry e;
  set(e, &model::StringEntry::key, key);
  set(e, &model::StringEntry::value, value);
  return e;
}

// simple() with a training step that adds the gradient g to w.
inline model::Model with_training() {
  model::Model m = simple();
  model::TrainingInfo& info = m.training_info.emplace_back();
  model::Graph& g = info.algorithm.emplace();
  set(g, &model::Graph::name, "step");
  g.input = {value("g")};
  g.node = {node("Add", {"w", "g"}, {"w_new"})};
  g.output = {value("w_new")};
  info.update_binding = {entry("w", "w_new")};
  return m;
}

// simple() with its first node on device 1 of 2.
inline model::Model with_devices() {
  model::Model m = simple();
  set(m, &model::Model::ir_version, 11);
  model::DeviceConfiguration& c = m.configuration.emplace_back();
  c.name = "pair";
  c.num_devices = 2;
  model::NodeDeviceConfiguration& of_node = m.graph->node[0].device_configurations.emplace_back();
  of_node.configuration_id = "pair";
  model::ShardingSpec& spec = of_node.sharding_spec.emplace_back();
  spec.tensor_name = "w";
  spec.device = {1};
  spec.sharded_dim.emplace_back().simple_sharding.emplace_back().num_shards = 2;
  return m;
}

// y = op(x, ...), with initializers for the inputs after the first.
inline model::Model one(const std::string& op, const std::vector<model::TensorData>& weights,
                        std::vector<Attribute> attributes, model::ValueInfo x = value("x"),
                        int64_t opset = 21) {
  std::vector<std::string> inputs = {"x"};
  for (const model::TensorData& w : weights) inputs.push_back(w.name);
  model::Model m = with_graph({std::move(x)}, {node(op, inputs, {"y"}, std::move(attributes))},
                              {value("y")}, opset);
  m.graph->initializer = weights;
  return m;
}

}  // namespace sdx::check::test
