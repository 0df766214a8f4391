// A pulsed graph as an ONNX model.
#include "model/tensor.h"
#include "stream/pulsed.h"

namespace sdx::stream {
namespace {

constexpr int64_t kIrVersion = 8;

model::Type type_of(const Fact& fact, const std::string& open) {
  model::TensorType tensor;
  tensor.elem_type = int32_t(fact.type);
  tensor.shape.emplace();
  for (const Dim& dim : *fact.shape) {
    model::Dimension& size = tensor.shape->dim.emplace_back();
    if (dim.is_const()) {
      size.value = dim.value();
    } else if (dim == Dim::symbol(open)) {
      size.value = open;
    }
  }
  model::Type type;
  type.value = std::move(tensor);
  return type;
}

Result<model::Attribute> attribute_of(const std::string& name, const AttrValue& value) {
  model::Attribute attr;
  attr.name = name;
  using Kind = model::AttributeType;
  if (const auto* i = std::get_if<int64_t>(&value)) {
    attr.type = Kind::i;
    attr.i = *i;
  } else if (const auto* f = std::get_if<float>(&value)) {
    attr.type = Kind::f;
    attr.f = *f;
  } else if (const auto* s = std::get_if<std::string>(&value)) {
    attr.type = Kind::s;
    attr.s = *s;
  } else if (const auto* is = std::get_if<std::vector<int64_t>>(&value)) {
    attr.type = Kind::ints;
    attr.ints = *is;
  } else if (const auto* fs = std::get_if<std::vector<float>>(&value)) {
    attr.type = Kind::floats;
    attr.floats = *fs;
  } else if (const auto* ss = std::get_if<std::vector<std::string>>(&value)) {
    attr.type = Kind::strings;
    attr.strings = *ss;
  } else if (const auto* t = std::get_if<Tensor>(&value)) {
    attr.type = Kind::t;
    attr.t = model::from_tensor(*t);
  } else {
    return fail("SDX-S0063", "attribute \"{}\" has no place in a pulsed model", name);
  }
  return attr;
}

class Writer {
 public:
  explicit Writer(const Pulsed& pulsed) : pulsed_(pulsed), graph_(pulsed.graph) {}

  Result<model::Model> run(const std::string& open) {
    made_.ir_version = kIrVersion;
    made_.producer_name = "sardonyx";
    made_.graph.emplace();
    made_.graph->name = graph_.name.empty() ? "pulsed" : graph_.name;
    for (const typed::Output& output : graph_.outputs()) outputs_[output.outlet] = output.name;
    imported_[""] = pulsed_.opset;
    for (uint32_t id = 0; id < graph_.size(); ++id) {
      if (Status status = node(id, open); !status)
        return std::move(status).error().in(fmt::format("node {}", typed::shown(graph_.node(id))));
    }
    for (const typed::Output& output : graph_.outputs()) {
      const std::string& made = names_.at(output.outlet);
      // One wire under two names, or an input that is an output.
      if (made != output.name) copy(made, output.name);
      model::ValueInfo& info = made_.graph->output.emplace_back();
      info.name = output.name;
      info.type = type_of(graph_.fact(output.outlet), open);
    }
    for (const Pulsed::State& state : pulsed_.states)
      made_.graph->initializer.push_back(model::from_tensor(state.initial, state.input));
    for (const auto& [domain, version] : imported_) {
      model::OpsetId& import = made_.opset_import.emplace_back();
      import.domain = domain;
      import.version = version;
    }
    return std::move(made_);
  }

 private:
  void copy(const std::string& from, const std::string& to) {
    model::Node& identity = made_.graph->node.emplace_back();
    identity.op_type = "Identity";
    identity.input = {from};
    identity.output = {to};
  }
  std::string name(Outlet outlet) const {
    const auto output = outputs_.find(outlet);
    const bool source = graph_.node(outlet.node).kind == typed::Node::Kind::source;
    if (output != outputs_.end() && !source) return output->second;
    if (source) return graph_.node(outlet.node).use.name;
    return fmt::format("%{}.{}", outlet.node, outlet.slot);
  }

  Status node(uint32_t id, const std::string& open) {
    const typed::Node& node = graph_.node(id);
    for (uint32_t slot = 0; slot < node.outputs.size(); ++slot)
      names_[{id, slot}] = name({id, slot});
    if (node.kind == typed::Node::Kind::source) {
      model::ValueInfo& info = made_.graph->input.emplace_back();
      info.name = node.use.name;
      info.type = type_of(node.outputs[0], open);
      return ok();
    }
    if (node.kind == typed::Node::Kind::constant) {
      made_.graph->initializer.push_back(
          model::from_tensor(*node.outputs[0].value, names_[{id, 0}]));
      return ok();
    }
    model::Node& made = made_.graph->node.emplace_back();
    made.op_type = node.op().name;
    made.domain = node.op().domain;
    made.name = node.use.name;
    SDX_TRY(import(node));
    for (const Outlet input : node.inputs)
      made.input.push_back(input.present() ? names_.at(input) : "");
    while (!made.input.empty() && made.input.back().empty()) made.input.pop_back();
    for (uint32_t slot = 0; slot < node.outputs.size(); ++slot)
      made.output.push_back(node.use.wants(slot) ? names_[{id, slot}] : "");
    for (const auto& [key, value] : node.use.attrs) {
      SDX_ASSIGN(made.attribute.emplace_back(), attribute_of(key, value));
    }
    return ok();
  }
  // Operators that another version of their set gave to the graph must mean the same in this one.
  Status import(const typed::Node& node) {
    int& version = imported_.emplace(std::string(node.op().domain), node.use.opset).first->second;
    const Signature* own = node.op().at(node.use.opset);
    const Signature* here = node.op().at(version);
    if (own == nullptr || here == nullptr || own->since != here->since)
      return fail("SDX-S0064", "it is of opset {}, the pulsed model of opset {}", node.use.opset,
                  version);
    return ok();
  }

  const Pulsed& pulsed_;
  const typed::Graph& graph_;
  model::Model made_;
  std::map<Outlet, std::string> names_, outputs_;
  std::map<std::string, int> imported_;
};

}  // namespace

Result<model::Model> to_model(const Pulsed& pulsed) {
  std::string open;
  for (const Outlet input : pulsed.graph.inputs()) {
    for (const Dim& dim : *pulsed.graph.fact(input).shape) {
      if (!dim.is_const()) open = dim.text();
    }
  }
  return Writer(pulsed).run(open);
}

}  // namespace sdx::stream
