// make_seeds FOLDER: the cases of every operator as small models, to start fuzzing from. A case's
// tensors are inputs with defaults, so that a model brings the values that its operator needs.
#include <cstdio>

#include "cases/cases.h"
#include "model/fields.h"
#include "model/io.h"
#include "model/tensor.h"
#include "ops/list.h"

namespace {

using namespace sdx;  // NOLINT: a small program
using model::Attribute;
using model::AttributeType;
using model::set;

constexpr size_t kMostBytes = 2048;  // of one model
constexpr size_t kMostCases = 3;     // of one operator

bool to_attribute(const std::string& name, const AttrValue& value, Attribute& a) {
  set(a, &Attribute::name, name);
  const auto kind = [&](AttributeType type) { set(a, &Attribute::type, type); };
  if (const auto* i = std::get_if<int64_t>(&value)) {
    kind(AttributeType::i);
    set(a, &Attribute::i, *i);
  } else if (const auto* f = std::get_if<float>(&value)) {
    kind(AttributeType::f);
    set(a, &Attribute::f, *f);
  } else if (const auto* s = std::get_if<std::string>(&value)) {
    kind(AttributeType::s);
    set(a, &Attribute::s, *s);
  } else if (const auto* ints = std::get_if<std::vector<int64_t>>(&value)) {
    kind(AttributeType::ints);
    a.ints = *ints;
  } else if (const auto* floats = std::get_if<std::vector<float>>(&value)) {
    kind(AttributeType::floats);
    a.floats = *floats;
  } else if (const auto* strings = std::get_if<std::vector<std::string>>(&value)) {
    kind(AttributeType::strings);
    a.strings = *strings;
  } else if (const auto* tensor = std::get_if<Tensor>(&value)) {
    kind(AttributeType::t);
    a.t = model::from_tensor(*tensor);
  } else {
    return false;
  }
  return true;
}

model::Type type_of(const Fact& fact) {
  model::Type type;
  if (fact.kind == Fact::Kind::sequence) {
    model::SequenceType sequence;
    sequence.elem_type = type_of(*fact.element);
    type.value = std::move(sequence);
  } else if (fact.kind == Fact::Kind::map) {
    model::MapType map;
    set(map, &model::MapType::key_type, static_cast<int32_t>(fact.type));
    map.value_type = type_of(*fact.element);
    type.value = std::move(map);
  } else {
    model::TensorType tensor;
    set(tensor, &model::TensorType::elem_type, static_cast<int32_t>(fact.type));
    tensor.shape.emplace();
    for (const Dim& dim : *fact.shape) tensor.shape->dim.emplace_back().value = dim.value();
    type.value = std::move(tensor);
  }
  return type;
}

// Nothing if the case has something that no model holds.
std::string model_of(const Op& op, const Case& test) {
  model::Model m;
  set(m, &model::Model::ir_version, 10);
  model::OpsetId id;
  set(id, &model::OpsetId::domain, std::string(op.domain));
  set(id, &model::OpsetId::version, test.opset);
  m.opset_import.push_back(id);
  model::Graph& graph = m.graph.emplace();
  set(graph, &model::Graph::name, std::string("g"));
  model::Node node;
  set(node, &model::Node::op_type, std::string(op.name));
  if (!op.domain.empty()) set(node, &model::Node::domain, std::string(op.domain));
  for (const auto& [name, value] : test.attrs) {
    if (!to_attribute(name, value, node.attribute.emplace_back())) return {};
  }
  for (size_t i = 0; i < test.inputs.size(); ++i) {
    const Value& input = test.inputs[i];
    const std::string name = "x" + std::to_string(i);
    node.input.push_back(input.is_none() ? "" : name);
    if (input.is_none()) continue;
    if (input.is_map()) return {};
    const Fact fact = fact_of(input);
    if (fact.is_tensor() && !fact.is_concrete()) return {};
    if (!fact.is_tensor() && !(fact.element && fact.element->is_concrete())) return {};
    model::ValueInfo info;
    set(info, &model::ValueInfo::name, name);
    info.type = type_of(fact);
    graph.input.push_back(std::move(info));
    if (input.is_tensor()) graph.initializer.push_back(model::from_tensor(input.tensor(), name));
  }
  for (size_t i = 0; i < test.outputs; ++i) {
    model::ValueInfo info;
    set(info, &model::ValueInfo::name, "y" + std::to_string(i));
    node.output.push_back(info.name);
    graph.output.push_back(std::move(info));
  }
  graph.node.push_back(std::move(node));
  return model::write(m);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_seeds FOLDER\n");
    return 2;
  }
  size_t models = 0, bytes = 0;
  for (const Op* op : all_ops()) {
    if (op->domain == "sardonyx") continue;
    std::vector<std::string> small;
    for (const Case& test : cases_of(*op)) {
      std::string model = model_of(*op, test);
      if (!model.empty() && model.size() <= kMostBytes) small.push_back(std::move(model));
    }
    for (size_t i = 0; i < std::min(small.size(), kMostCases); ++i) {
      // The first, the last, and one between.
      const std::string& model = small[i * (small.size() - 1) /
                                       std::max<size_t>(std::min(small.size(), kMostCases) - 1, 1)];
      const std::string path = fmt::format("{}/{}{}.onnx", argv[1], op->name, i);
      std::FILE* file = std::fopen(path.c_str(), "wb");
      if (file == nullptr || std::fwrite(model.data(), 1, model.size(), file) != model.size() ||
          std::fclose(file) != 0) {
        std::perror(path.c_str());
        return 1;
      }
      ++models;
      bytes += model.size();
    }
  }
  std::printf("%zu models, %zu bytes\n", models, bytes);
  return 0;
}
