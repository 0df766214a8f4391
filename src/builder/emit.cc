// A graph that was built as a model: names given, optional outputs that nobody reads left out, the
// oldest operator sets imported that mean the same.
#include <algorithm>

#include "builder/state.h"
#include "model/fields.h"
#include "model/io.h"
#include "model/tensor.h"
#include "op/conform.h"
#include "ops/list.h"

namespace sardonyx::detail {
namespace {

namespace model = sdx::model;
using model::set;

model::Type type_of(const sdx::Fact& fact) {
  model::Type type;
  if (fact.kind == sdx::Fact::Kind::sequence) {
    type.value = model::SequenceType{{}, type_of(*fact.element)};
  } else if (fact.kind == sdx::Fact::Kind::optional) {
    type.value = model::OptionalType{{}, type_of(*fact.element)};
  } else if (fact.kind == sdx::Fact::Kind::map) {
    model::MapType map;
    set(map, &model::MapType::key_type, static_cast<int32_t>(fact.type));
    map.value_type = type_of(*fact.element);
    type.value = std::move(map);
  } else {
    model::TensorType tensor;
    set(tensor, &model::TensorType::elem_type, static_cast<int32_t>(fact.type));
    if (fact.shape) tensor.shape.emplace();
    for (size_t axis = 0; fact.shape && axis < fact.rank(); ++axis) {
      model::Dimension& dim = tensor.shape->dim.emplace_back();
      std::vector<std::string> symbols;
      fact.dim(axis).symbols(symbols);
      if (fact.dim(axis).is_const()) {
        dim.value = fact.dim(axis).value();
      } else if (symbols.size() == 1 && symbols[0] == fact.dim(axis).text() &&
                 !symbols[0].starts_with('?')) {
        dim.value = symbols[0];
      }
    }
    type.value = std::move(tensor);
  }
  return type;
}

model::ValueInfo value_info(const std::string& name, const sdx::Fact& fact) {
  model::ValueInfo info;
  set(info, &model::ValueInfo::name, name);
  info.type = type_of(fact);
  return info;
}

// The elements that are not zero, as ONNX's coordinate form has them.
model::SparseTensorData sparse(const sdx::Tensor& dense) {
  const size_t width = sdx::bytes_for(dense.type(), 1);
  const auto* bytes = static_cast<const std::byte*>(dense.raw());
  std::vector<int64_t> positions;
  for (size_t i = 0; i < dense.count(); ++i) {
    if (std::any_of(bytes + i * width, bytes + (i + 1) * width,
                    [](std::byte b) { return b != std::byte{0}; })) {
      positions.push_back(int64_t(i));
    }
  }
  const auto count = int64_t(positions.size());
  sdx::Tensor values = sdx::Tensor::make(dense.type(), {count});
  for (size_t i = 0; i < positions.size(); ++i) {
    std::memcpy(static_cast<std::byte*>(values.raw()) + i * width,
                bytes + size_t(positions[i]) * width, width);
  }
  model::SparseTensorData data;
  data.values = model::from_tensor(values);
  data.indices =
      model::from_tensor(sdx::Tensor::of<int64_t>({count}, std::span<const int64_t>(positions)));
  data.dims = dense.dims();
  return data;
}

model::Attribute attribute(const std::string& name, const sdx::AttrValue& value,
                           const sdx::AttrDecl* decl) {
  using Kind = model::AttributeType;
  model::Attribute a;
  set(a, &model::Attribute::name, name);
  const auto kind = [&](Kind type) { set(a, &model::Attribute::type, type); };
  std::visit(
      [&](const auto& v) {
        using T = std::remove_cvref_t<decltype(v)>;
        if constexpr (std::is_same_v<T, int64_t>) {
          kind(Kind::i);
          set(a, &model::Attribute::i, v);
        } else if constexpr (std::is_same_v<T, float>) {
          kind(Kind::f);
          set(a, &model::Attribute::f, v);
        } else if constexpr (std::is_same_v<T, std::string>) {
          kind(Kind::s);
          set(a, &model::Attribute::s, v);
        } else if constexpr (std::is_same_v<T, std::vector<int64_t>>) {
          kind(Kind::ints);
          a.ints = v;
        } else if constexpr (std::is_same_v<T, std::vector<float>>) {
          kind(Kind::floats);
          a.floats = v;
        } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
          kind(Kind::strings);
          a.strings = v;
        } else if constexpr (std::is_same_v<T, sdx::Tensor>) {
          if (decl != nullptr && decl->type == sdx::AttrType::sparse_tensor) {
            kind(Kind::sparse_tensor);
            a.sparse_tensor = sparse(v);
          } else {
            kind(Kind::t);
            a.t = model::from_tensor(v);
          }
        } else if constexpr (std::is_same_v<T, std::vector<sdx::Tensor>>) {
          kind(Kind::tensors);
          for (const sdx::Tensor& tensor : v) a.tensors.push_back(model::from_tensor(tensor));
        } else if constexpr (std::is_same_v<T, sdx::Fact>) {
          kind(Kind::type);
          a.tp = type_of(v);
        }
      },
      value);
  return a;
}

// Whether the only change from one version to the next is that more types are allowed.
bool only_wider(const sdx::Signature& older, const sdx::Signature& newer) {
  const auto same = [](const std::vector<sdx::Formal>& a, const std::vector<sdx::Formal>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
      return x.name == y.name && x.type == y.type && x.option == y.option &&
             x.homogeneous == y.homogeneous;
    });
  };
  const auto same_attributes = [](const sdx::AttrDecl& a, const sdx::AttrDecl& b) {
    if (a.name != b.name || a.type != b.type || a.required != b.required ||
        a.fallback.has_value() != b.fallback.has_value()) {
      return false;
    }
    if (!a.fallback) return true;
    const model::Attribute x = attribute("", *a.fallback, nullptr);
    return model::write(x) == model::write(attribute("", *b.fallback, nullptr));
  };
  return older.types != newer.types && !older.deprecated && same(older.inputs, newer.inputs) &&
         same(older.outputs, newer.outputs) && older.min_inputs == newer.min_inputs &&
         std::equal(older.attributes.begin(), older.attributes.end(), newer.attributes.begin(),
                    newer.attributes.end(), same_attributes);
}

bool allows(const sdx::Signature& signature, const sdx::Formal* formal, const sdx::Fact& fact) {
  if (formal == nullptr || !fact.present()) return true;
  const auto variable = signature.types.find(formal->type);
  if (variable == signature.types.end()) return formal->type == fact.onnx_type();
  return std::binary_search(variable->second.begin(), variable->second.end(), fact.onnx_type());
}

class Emitter {
 public:
  // `own_names`: names that depend on nothing but the order of definition.
  Emitter(const State& state, bool own_names) : state_(state), own_names_(own_names) {
    for (const NodeRecord& node : state.nodes) {
      read_.insert(node.inputs.begin(), node.inputs.end());
      for (const auto& [name, body] : node.bodies) {
        read_.insert(body->outputs.begin(), body->outputs.end());
      }
    }
    for (const auto& [name, id] : state.results) read_.insert(id);
  }

  void call_by(uint32_t id, std::string name) { names_[id] = std::move(name); }
  void read(uint32_t id) { read_.insert(id); }

  std::string name(uint32_t id) {
    if (id == kNone) return "";
    if (const auto at = names_.find(id); at != names_.end()) return at->second;
    return names_[id] = own_names_ ? fmt::format("t{}", names_.size()) : state_.wires[id].name;
  }

  std::vector<model::Node> nodes(const std::vector<uint32_t>& constants,
                                 const std::vector<uint32_t>& ids) {
    std::vector<model::Node> list;
    for (const uint32_t id : constants) {
      list.push_back(made("", "Constant", "", {}, {name(id)}));
      list.back().attribute.push_back(
          attribute("value", sdx::AttrValue(*state_.wires[id].value), nullptr));
      import(sdx::ops::constant, {}, {state_.wires[id].fact}, 0);
    }
    for (const uint32_t id : ids) list.push_back(node(state_.nodes[id]));
    return list;
  }

  model::Node identity(const std::string& from, const std::string& to, const sdx::Fact& fact) {
    import(sdx::ops::identity, {fact}, {fact}, 1);
    return made("", "Identity", "", {from}, {to});
  }

  std::vector<model::OpsetId> imports() const {
    std::vector<model::OpsetId> list;
    for (const auto& [domain, version] : opsets_) {
      model::OpsetId id;
      set(id, &model::OpsetId::domain, domain);
      set(id, &model::OpsetId::version, version);
      list.push_back(std::move(id));
    }
    return list;
  }
  std::map<std::string, int64_t>& opsets() { return opsets_; }

 private:
  static model::Node made(const std::string& domain, const std::string& type,
                          const std::string& name, std::vector<std::string> inputs,
                          std::vector<std::string> outputs) {
    model::Node node;
    node.input = std::move(inputs);
    node.output = std::move(outputs);
    set(node, &model::Node::op_type, type);
    if (!name.empty()) set(node, &model::Node::name, name);
    if (!domain.empty()) set(node, &model::Node::domain, domain);
    return node;
  }

  // The oldest version that differs from the newest in types alone, none of which is needed here.
  void import(const sdx::Op& op, const sdx::Facts& in, const sdx::Facts& out, size_t formal) {
    const std::vector<sdx::Signature>& versions = op.signatures();
    size_t at = versions.size() - 1;
    const auto fits = [&](const sdx::Signature& older) {
      if (!sdx::conforms(older, in, formal, out.size())) return false;
      for (size_t i = 0; i < out.size(); ++i) {
        if (!allows(older, older.output(i), out[i])) return false;
      }
      return true;
    };
    while (at > 0 && only_wider(versions[at - 1], versions[at]) && fits(versions[at - 1])) --at;
    int64_t& version = opsets_[std::string(op.domain)];
    version = std::max<int64_t>(version, versions[at].since);
  }

  model::Node node(const NodeRecord& record) {
    std::vector<std::string> inputs, outputs;
    sdx::Facts in, out;
    const auto fact = [&](uint32_t id) {
      return id == kNone ? sdx::Fact() : state_.wires[id].fact;
    };
    for (const uint32_t id : record.inputs) {
      inputs.push_back(name(id));
      in.push_back(fact(id));
    }
    const sdx::Signature* signature =
        record.op == nullptr ? nullptr : &record.op->signatures().back();
    for (size_t slot = 0; slot < record.outputs.size(); ++slot) {
      const uint32_t id = record.outputs[slot];
      const sdx::Formal* formal = signature == nullptr ? nullptr : signature->output(slot);
      const bool unread = formal != nullptr && formal->option == sdx::Formal::Option::optional &&
                          !read_.contains(id);
      outputs.push_back(unread ? "" : name(id));
      out.push_back(unread ? sdx::Fact() : fact(id));
    }
    while (outputs.size() > 1 && outputs.back().empty()) outputs.pop_back();
    out.resize(outputs.size());
    model::Node node = made(record.domain, record.type, own_names_ ? "" : record.name,
                            std::move(inputs), std::move(outputs));
    if (record.op == nullptr) {
      opsets_.try_emplace(record.domain, 1);
    } else {
      import(*record.op, in, out, in.size());
    }
    for (const auto& [attribute_name, value] : record.attributes) {
      const sdx::AttrDecl* decl =
          signature == nullptr ? nullptr : signature->attribute(attribute_name);
      model::Attribute made_attribute = attribute(attribute_name, value, decl);
      const bool is_default = decl != nullptr && decl->fallback &&
                              model::write(attribute(attribute_name, *decl->fallback, decl)) ==
                                  model::write(made_attribute);
      if (!is_default) node.attribute.push_back(std::move(made_attribute));
    }
    for (const auto& [attribute_name, body] : record.bodies) {
      model::Attribute graph;
      set(graph, &model::Attribute::name, attribute_name);
      set(graph, &model::Attribute::type, model::AttributeType::g);
      graph.g = subgraph(*body);
      node.attribute.push_back(std::move(graph));
    }
    return node;
  }

  model::Graph subgraph(const BodyRecord& body) {
    model::Graph graph;
    set(graph, &model::Graph::name, own_names_ ? std::string("body") : body.name);
    for (const uint32_t id : body.inputs) {
      graph.input.push_back(value_info(name(id), state_.wires[id].fact));
    }
    graph.node = nodes(body.constants, body.nodes);
    for (const uint32_t id : body.outputs) {
      graph.output.push_back(value_info(name(id), state_.wires[id].fact));
    }
    return graph;
  }

  const State& state_;
  bool own_names_;
  std::set<uint32_t> read_;
  std::map<uint32_t, std::string> names_;
  std::map<std::string, int64_t> opsets_;
};

// The oldest IR version of a release of ONNX that has this operator set.
int64_t ir_for(int64_t opset) {
  constexpr std::pair<int64_t, int64_t> kLast[] = {{18, 8},  {20, 9},  {22, 10},
                                                   {23, 11}, {24, 12}, {26, 13}};
  for (const auto& [last, ir] : kLast) {
    if (opset <= last) return ir;
  }
  return 14;
}

}  // namespace

model::Function emit_function(const State& state, const BodyRecord& body) {
  Emitter emitter(state, true);
  model::Function function;
  for (size_t i = 0; i < body.inputs.size(); ++i) {
    function.input.push_back(fmt::format("x{}", i));
    emitter.call_by(body.inputs[i], function.input.back());
  }
  for (const uint32_t id : body.outputs) emitter.read(id);
  function.node = emitter.nodes(body.constants, body.nodes);
  for (const uint32_t id : body.outputs) function.output.push_back(emitter.name(id));
  function.opset_import = emitter.imports();
  return function;
}

std::shared_ptr<const model::Model> emit(const State& state) {
  Emitter emitter(state, false);
  model::Graph graph;
  set(graph, &model::Graph::name, state.name);
  std::set<uint32_t> renamed;
  for (const auto& [name, id] : state.results) {
    const WireRecord& wire = state.wires[id];
    if (wire.node != kNone && renamed.insert(id).second) emitter.call_by(id, name);
  }
  for (const uint32_t id : state.parameters) {
    graph.input.push_back(value_info(emitter.name(id), state.wires[id].fact));
  }
  for (const uint32_t id : state.main.constants) {
    graph.initializer.push_back(model::from_tensor(*state.wires[id].value, emitter.name(id)));
  }
  graph.node = emitter.nodes({}, state.main.nodes);
  for (const auto& [name, id] : state.results) {
    const sdx::Fact& fact = state.wires[id].fact;
    if (emitter.name(id) != name) {
      graph.node.push_back(emitter.identity(emitter.name(id), name, fact));
    }
    graph.output.push_back(value_info(name, fact));
  }

  auto made = std::make_shared<model::Model>();
  for (const FunctionRecord& record : state.functions) {
    made->functions.push_back(record.function);
    for (const model::OpsetId& id : record.function.opset_import) {
      int64_t& version = emitter.opsets()[id.domain];
      version = std::max(version, id.version);
    }
  }
  int64_t& opset = emitter.opsets()[""];
  opset = std::max<int64_t>(opset, 13);  // of a graph that uses no operator
  // A function means by its operators what the graph means by them.
  made->opset_import = emitter.imports();
  for (model::Function& function : made->functions) {
    for (model::OpsetId& id : function.opset_import) {
      set(id, &model::OpsetId::version, emitter.opsets().at(id.domain));
    }
  }
  set(*made, &model::Model::ir_version, ir_for(opset));
  set(*made, &model::Model::producer_name, std::string("sardonyx"));
  made->graph = std::move(graph);
  return made;
}

}  // namespace sardonyx::detail
