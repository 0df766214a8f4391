// A pulsed graph as an ONNX model.
#include "model/tensor.h"
#include "ops/control/bodies_of.h"
#include "stream/pulsed.h"
#include "typed/body.h"

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

Error no_place(const std::string& attribute) {
  return fail("SDX-S0063", "attribute \"{}\" has no place in a pulsed model", attribute);
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
    return no_place(name);
  }
  return attr;
}

// A graph, and those inside its nodes, as the messages of a model.
class ModelWriter {
 public:
  using Imported = std::map<std::string, int>;  // operator sets by domain

  // Names of wires without one begin with `prefix`.
  ModelWriter(const typed::Graph& graph, Imported& imported, std::string open, std::string prefix)
      : graph_(graph), imported_(imported), open_(std::move(open)), prefix_(std::move(prefix)) {}

  // `captured`: inputs of a graph inside that are wires of the one around it.
  Result<model::Graph> run(const std::map<Outlet, std::string>& captured = {}) {
    names_ = captured;
    for (const typed::Output& output : graph_.outputs()) outputs_[output.outlet] = output.name;
    for (const Outlet input : graph_.inputs()) {
      if (!captured.contains(input)) source(input);
    }
    for (uint32_t id = 0; id < graph_.size(); ++id) {
      if (graph_.node(id).kind == typed::Node::Kind::source) continue;
      if (Status status = node(id); !status)
        return std::move(status).error().in(fmt::format("node {}", typed::shown(graph_.node(id))));
    }
    for (const typed::Output& output : graph_.outputs()) {
      const std::string& made = names_.at(output.outlet);
      const std::string name = output_name(output.name);
      // One wire under two names, or an input that is an output.
      if (made != name) copy(made, name);
      model::ValueInfo& info = made_.output.emplace_back();
      info.name = name;
      info.type = type_of(graph_.fact(output.outlet), open_);
    }
    return std::move(made_);
  }

 private:
  // Names are unique in all graphs together.
  std::string output_name(const std::string& name) const { return prefix_ + name; }

  void source(Outlet input) {
    const std::string& own = graph_.node(input.node).use.name;
    names_[input] = prefix_.empty() ? own : fmt::format("{}%{}.0", prefix_, input.node);
    model::ValueInfo& info = made_.input.emplace_back();
    info.name = names_[input];
    info.type = type_of(graph_.fact(input), open_);
  }
  void copy(const std::string& from, const std::string& to) {
    model::Node& identity = made_.node.emplace_back();
    identity.op_type = "Identity";
    identity.input = {from};
    identity.output = {to};
  }
  std::string name(Outlet outlet) const {
    const auto output = outputs_.find(outlet);
    if (output != outputs_.end()) return output_name(output->second);
    return fmt::format("{}%{}.{}", prefix_, outlet.node, outlet.slot);
  }

  Status node(uint32_t id) {
    const typed::Node& node = graph_.node(id);
    for (uint32_t slot = 0; slot < node.outputs.size(); ++slot)
      names_[{id, slot}] = name({id, slot});
    if (node.kind == typed::Node::Kind::constant) {
      made_.initializer.push_back(model::from_tensor(*node.outputs[0].value, names_[{id, 0}]));
      return ok();
    }
    if (node.op().taken != nullptr) {
      const Facts in = graph_.facts(node.inputs);
      if (const auto body = node.op().taken(node.resolved.get(), in)) return inlined(id, *body);
    }
    model::Node made;
    made.op_type = node.op().name;
    made.domain = node.op().domain;
    made.name = node.use.name;
    SDX_TRY(import(node));
    const ops::NamedBodies bodies = ops::bodies_of(node.use, node.resolved.get());
    const size_t formal = bodies.empty() ? node.inputs.size() : node.use.formal_inputs;
    for (size_t i = 0; i < formal; ++i)
      made.input.push_back(node.inputs[i].present() ? names_.at(node.inputs[i]) : "");
    while (!made.input.empty() && made.input.back().empty()) made.input.pop_back();
    for (uint32_t slot = 0; slot < node.outputs.size(); ++slot)
      made.output.push_back(node.use.wants(slot) ? names_[{id, slot}] : "");
    for (const auto& [key, value] : node.use.attrs) {
      if (std::holds_alternative<std::shared_ptr<const BodySource>>(value)) continue;
      SDX_ASSIGN(made.attribute.emplace_back(), attribute_of(key, value));
    }
    for (const auto& [key, body] : bodies) {
      SDX_ASSIGN(made.attribute.emplace_back(), body_of(id, std::string(key), *body));
    }
    made_.node.push_back(std::move(made));
    return ok();
  }

  Result<model::Graph> inside(uint32_t id, const std::string& key, const Body& body) {
    const typed::Node& node = graph_.node(id);
    const auto* typed_body = dynamic_cast<const typed::GraphBody*>(&body);
    if (typed_body == nullptr) return no_place(key);
    const typed::Graph& graph = typed_body->graph();
    // What it reads of the graph around it are its last inputs.
    std::map<Outlet, std::string> captured;
    const size_t count = node.inputs.size() - node.use.formal_inputs;
    const size_t first = graph.inputs().size() - count;
    for (size_t i = 0; i < count; ++i)
      captured[graph.inputs()[first + i]] = names_.at(node.inputs[node.use.formal_inputs + i]);
    return ModelWriter(graph, imported_, open_, fmt::format("{}%{}.{}.", prefix_, id, key))
        .run(captured);
  }
  Result<model::Attribute> body_of(uint32_t id, const std::string& key, const Body& body) {
    model::Attribute attr;
    attr.name = key;
    attr.type = model::AttributeType::g;
    SDX_ASSIGN(model::Graph made, inside(id, key, body));
    made.name = key;
    attr.g = std::move(made);
    return attr;
  }
  // Where it is known which branch runs, its nodes stand here.
  Status inlined(uint32_t id, const Body& body) {
    SDX_ASSIGN(model::Graph branch, inside(id, "taken", body));
    std::move(branch.node.begin(), branch.node.end(), std::back_inserter(made_.node));
    std::move(branch.initializer.begin(), branch.initializer.end(),
              std::back_inserter(made_.initializer));
    for (uint32_t slot = 0; slot < graph_.node(id).outputs.size(); ++slot)
      names_[{id, slot}] = branch.output[slot].name;
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

  const typed::Graph& graph_;
  Imported& imported_;
  const std::string open_, prefix_;
  model::Graph made_;
  std::map<Outlet, std::string> names_, outputs_;
};

Result<model::Model> written(const Pulsed& pulsed, const std::string& open) {
  model::Model made;
  made.ir_version = kIrVersion;
  made.producer_name = "sardonyx";
  ModelWriter::Imported imported{{"", pulsed.opset}};
  SDX_ASSIGN(made.graph, ModelWriter(pulsed.graph, imported, open, "").run());
  made.graph->name = pulsed.graph.name.empty() ? "pulsed" : pulsed.graph.name;
  for (const Pulsed::State& state : pulsed.states)
    made.graph->initializer.push_back(model::from_tensor(state.initial, state.input));
  for (const auto& [domain, version] : imported) {
    model::OpsetId& import = made.opset_import.emplace_back();
    import.domain = domain;
    import.version = version;
  }
  return made;
}

}  // namespace

Result<model::Model> to_model(const Pulsed& pulsed) {
  std::string open;
  for (const Outlet input : pulsed.graph.inputs()) {
    for (const Dim& dim : *pulsed.graph.fact(input).shape) {
      if (!dim.is_const()) open = dim.text();
    }
  }
  return written(pulsed, open);
}

}  // namespace sdx::stream
