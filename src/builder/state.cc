#include "builder/state.h"

#include "api/bridge.h"
#include "builder/body.h"
#include "check/supported.h"
#include "op/conform.h"
#include "ops/list.h"

namespace sardonyx::detail {

using sdx::typed::Outlet;

State::State(std::string graph_name) : name(std::move(graph_name)) { main.graph = &main.own; }

uint32_t State::add_wire(std::string wire_name, Outlet outlet) {
  const auto id = uint32_t(wires.size());
  wires.push_back(
      {std::move(wire_name), current->graph->fact(outlet), current->id, kNone, nullptr});
  current->outlets[id] = outlet;
  return id;
}

uint32_t State::add_constant(std::string wire_name, sdx::Tensor value) {
  const Outlet outlet = current->graph->constant(value, wire_name);
  const uint32_t id = add_wire(std::move(wire_name), outlet);
  wires[id].value = std::make_shared<const sdx::Tensor>(std::move(value));
  current->constants.push_back(id);
  return id;
}

Outlet State::resolve(Scope& scope, uint32_t wire, Place place) {
  if (const auto at = scope.outlets.find(wire); at != scope.outlets.end()) return at->second;
  if (scope.kind == Scope::Kind::function) {
    refuse(sdx::fail("SDX-W0004",
                     "function \"{}\" uses %{}, which is made outside of it; functions "
                     "see only what they are given",
                     scope.name, wires[wire].name),
           place);
  }
  if (scope.kind == Scope::Kind::main) {
    refuse(sdx::fail("SDX-W0003", "%{} belongs to a subgraph or function that has ended",
                     wires[wire].name),
           place);
  }
  const Outlet outer = resolve(*scope.outer, wire, place);
  scope.captured->push_back(wire);
  return scope.outlets[wire] = scope.own.source(wires[wire].name, scope.outer->graph->fact(outer));
}

uint32_t State::use(const Wire& wire, Place place) {
  if (!wire.present()) return kNone;
  if (const auto& literal = Access::literal(wire)) {
    const auto* tensor = std::get_if<Tensor>(literal.get());
    if (tensor == nullptr) {
      refuse(sdx::fail("SDX-W0005", "a literal that is no tensor cannot stand in a graph"), place);
    }
    // The literal's memory may be the caller's and change.
    return add_constant(fresh("constant"), Bridge::in(*tensor).copy());
  }
  if (Access::state(wire).get() != this) {
    refuse(sdx::fail("SDX-W0002", "%{} is a wire of another graph, \"{}\"", wire.name(),
                     Access::state(wire)->name),
           place);
  }
  return Access::id(wire);
}

std::vector<uint32_t> State::add(NodeRecord node, const std::map<std::string, Body>& bodies,
                                 size_t count, Place place) {
  const sdx::Signature& signature = node.op->signatures().back();
  while (!node.inputs.empty() && node.inputs.back() == kNone) node.inputs.pop_back();
  node.name = fresh(snake_case(node.op->name));
  node.place = place;

  std::vector<Outlet> inputs;
  for (const uint32_t id : node.inputs)
    inputs.push_back(id == kNone ? Outlet{} : resolve(id, place));
  sdx::Node use;
  use.op = node.op;
  use.opset = signature.since;
  use.name = node.name;
  use.attrs = node.attributes;
  use.formal_inputs = inputs.size();
  if (!bodies.empty()) {
    Bodies traced(*this, bodies, node.captured);
    traced.trace(use, inputs, place);
    for (const uint32_t id : node.captured) inputs.push_back(resolve(id, place));
    if (count == 0) count = std::max<size_t>(traced.outputs(*node.op), 1);
    node.bodies = traced.records();
  }

  const auto made_with = [&](size_t wanted) {
    sdx::Node one = use;
    one.wanted.assign(wanted, true);
    return current->graph->add(std::move(one), inputs);
  };
  auto made = made_with(count);
  // Optional outputs that these attributes do not give are left out.
  size_t required = 0;
  while (required < signature.outputs.size() &&
         signature.outputs[required].option != sdx::Formal::Option::optional) {
    ++required;
  }
  if (!made && required < count && required < signature.outputs.size()) {
    auto fewer = made_with(std::max<size_t>(required, 1));
    if (fewer) made = std::move(fewer);
  }
  if (!made) refuse(std::move(made).error(), place);

  made->resize(count);
  for (size_t slot = 0; slot < count; ++slot) {
    if (!(*made)[slot].present() || !current->graph->fact((*made)[slot]).present()) {
      node.outputs.push_back(kNone);
      continue;
    }
    const std::string name = count == 1 ? node.name
                             : slot < signature.outputs.size() && signature.outputs.size() > 1
                                 ? fresh(node.name + "_" + snake_case(signature.outputs[slot].name))
                                 : fresh(node.name + "_out");
    node.outputs.push_back(add_wire(name, (*made)[slot]));
    wires[node.outputs.back()].node = uint32_t(nodes.size());
  }
  current->nodes.push_back(uint32_t(nodes.size()));
  nodes.push_back(std::move(node));
  return nodes.back().outputs;
}

std::string State::fresh(const std::string& stem) {
  while (true) {
    std::string candidate = fmt::format("{}_{}", stem, ++counters[stem]);
    if (names.insert(candidate).second) return candidate;
  }
}

void State::claim(const std::string& wanted, Place place) {
  if (wanted.empty()) refuse(sdx::fail("SDX-W0001", "a name is not empty"), place);
  if (!names.insert(wanted).second) {
    refuse(sdx::fail("SDX-W0001", "the name \"{}\" is taken in graph \"{}\"", wanted, name), place);
  }
  claims.push_back(wanted);
}

std::string text(Place place) { return fmt::format("{}:{}", place.file, place.line); }

void refuse(sdx::Error error, Place place) {
  // "file.cc:12, node "add_1" (Add, ai.onnx 14)": the place in the graph starts with the user's.
  for (std::string& where : error.where) {
    if (!where.starts_with("node")) continue;
    where = fmt::format("{}, {}", text(place), where);
    throw Bridge::error(error);
  }
  throw Bridge::error(std::move(error).in(text(place)));
}

std::pair<std::string, std::string> split_name(std::string_view op) {
  const size_t at = op.rfind("::");
  if (at == std::string_view::npos) return {"", std::string(op)};
  const std::string_view domain = op.substr(0, at);
  return {domain == "ai.onnx" ? "" : std::string(domain), std::string(op.substr(at + 2))};
}

const sdx::Op& operator_named(std::string_view domain, std::string_view name, Place place) {
  const sdx::Op* op = sdx::find_op(domain, name);
  if (op == nullptr) {
    refuse(sdx::check::not_supported(domain, name), place);
  }
  return *op;
}

std::string snake_case(std::string_view name) {
  // Words that capital letters alone would cut or join.
  static const std::pair<std::string_view, std::string_view> kWhole[] = {
      {"MatMul", "Matmul"}, {"NaN", "Nan"}, {"QLinear", "Qlinear"},    {"PRelu", "Prelu"},
      {"GRU", "Gru"},       {"SVM", "Svm"}, {"SwiGLU", "Swiglu"},      {"TfIdf", "TfIdf"},
      {"RMS", "Rms"},       {"ND", "Nd"},   {"Col2Im", "Col2im"},      {"LRN", "Lrn"},
      {"CumSum", "CumSum"}, {"Lp", "Lp"},   {"LSTM", "Lstm"},          {"STFT", "Stft"},
      {"DFT", "Dft"},       {"RNN", "Rnn"}, {"InvStdDev", "InvStdDev"}};
  std::string words(name);
  for (const auto& [from, to] : kWhole) {
    for (size_t at = words.find(from); at != std::string::npos; at = words.find(from, at + 1)) {
      words.replace(at, from.size(), to);
    }
  }
  std::string snake;
  for (size_t i = 0; i < words.size(); ++i) {
    const bool upper = words[i] >= 'A' && words[i] <= 'Z';
    if (upper && i > 0 && words[i - 1] != '_') {
      const bool after_lower = !(words[i - 1] >= 'A' && words[i - 1] <= 'Z');
      const bool before_lower = i + 1 < words.size() && words[i + 1] >= 'a' && words[i + 1] <= 'z';
      if (after_lower || before_lower) snake += '_';
    }
    snake += upper ? char(words[i] - 'A' + 'a') : words[i];
  }
  return snake;
}

}  // namespace sardonyx::detail
