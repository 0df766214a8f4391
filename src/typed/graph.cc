#include "typed/graph.h"

#include <algorithm>

#include "fact/assume.h"
#include "op/body_runner.h"
#include "op/conform.h"
#include "typed/eval.h"
#include "typed/folding.h"

namespace sdx::typed {
namespace {

const Fact kAbsent;

std::string place(const sdx::Node& use) {
  const std::string name = use.name.empty() ? "" : fmt::format(" \"{}\"", use.name);
  return fmt::format("node{} ({}, {} {})", name, use.op->name,
                     use.op->domain.empty() ? "ai.onnx" : use.op->domain, use.opset);
}

// What follows '@' in the name of a subgraph: its place among all graphs. Names of sizes start with
// it, so that those of different graphs differ.
std::string_view place_in(std::string_view name) {
  const size_t at = name.rfind('@');
  return at == std::string_view::npos ? "" : name.substr(at + 1);
}

// Where a wire comes from, for people.
std::string made_by(const Node& node) {
  const std::string name = node.use.name.empty() ? "" : fmt::format(" \"{}\"", node.use.name);
  if (node.kind == Node::Kind::source) return "input" + name;
  if (node.kind == Node::Kind::constant) return "constant" + name;
  return fmt::format("node{} ({})", name, node.op().name);
}

// The error with the node that could not be made and its inputs, one line each: "A = f32[2,3]  node
// "proj" (MatMul)".
Error at_node(Error error, const sdx::Node& use, const Signature& signature, const Graph& graph,
              const std::vector<Outlet>& inputs, const Facts& in) {
  constexpr size_t kMostShown = 16;
  error = std::move(error).in(place(use));
  size_t width = 0;
  for (const Fact& fact : in) width = std::max(width, std::min<size_t>(fact.text().size(), 40));
  for (size_t i = 0; i < std::min(in.size(), kMostShown); ++i) {
    const Formal* formal = signature.input(i);
    const std::string label =
        i < use.formal_inputs && formal != nullptr ? formal->name : "captured";
    error.where.push_back(
        fmt::format("| {} = {:<{}}  {}", label, in[i].text(), width,
                    inputs[i].present() ? made_by(graph.node(inputs[i].node)) : "left out"));
  }
  if (in.size() > kMostShown)
    error.where.push_back(fmt::format("| and {} more", in.size() - kMostShown));
  return error;
}

bool all_constant(const Facts& in) {
  return std::all_of(in.begin(), in.end(),
                     [](const Fact& f) { return !f.present() || f.value != nullptr; });
}

bool is_left_to_run(const Error& error) {
  return error.code == kTooManyIterations || error.code == kTooMuchWork ||
         error.code == kTooManyBytes;
}

// What is large is computed by a kernel, which gives the reference's bits. Work that sizes do not
// bound is left to the reference, which counts it.
bool wants_kernel(const sdx::Node& use, std::span<const Value> values) {
  constexpr size_t kLarge = 1 << 14;
  size_t bytes = 0;
  for (const Value& value : values) bytes += value.is_tensor() ? value.tensor().bytes() : 0;
  return bytes >= kLarge && is_linear(*use.op);
}

Result<std::vector<Value>> evaluated(const sdx::Node& use, std::span<const Value> values) {
  try {
    return eval(use, values, {.reference = !wants_kernel(use, values), .most_bytes = kMostMoved});
  } catch (const TimeIsUp&) {
    if (!Deadline::Steps::spent()) throw;
    return fail(kTooMuchWork, "more steps than are taken before the model runs");
  }
}

std::vector<Outlet> outlets_of(uint32_t id, size_t slots) {
  std::vector<Outlet> outlets(slots);
  for (uint32_t slot = 0; slot < slots; ++slot) outlets[slot] = {id, slot};
  return outlets;
}

bool same(const Fact& a, const Fact& b) {
  return &a == &b || (a.kind == b.kind && a.type == b.type && a.value == b.value &&
                      a.shape == b.shape && a.symbolic == b.symbolic && !a.element && !b.element);
}

// Whether making the node again would give this very fact: nothing in it is named after the node's
// number or was learnt elsewhere.
bool is_settled(const Fact& fact) {
  if (!fact.present()) return true;
  if (!fact.is_tensor() || fact.type == DType::undefined || !fact.has_rank()) return false;
  const auto is_own = [](const Dim& dim) {
    std::vector<std::string> names;
    if (!dim.is_const()) dim.symbols(names);
    return std::any_of(names.begin(), names.end(),
                       [](const std::string& name) { return name.starts_with('?'); });
  };
  return std::none_of(fact.shape->begin(), fact.shape->end(), is_own) &&
         (!fact.symbolic || std::none_of(fact.symbolic->begin(), fact.symbolic->end(), is_own));
}

}  // namespace

const Fact& Graph::fact(Outlet outlet) const {
  return outlet.present() ? node(outlet.node).outputs[outlet.slot] : kAbsent;
}

Facts Graph::facts(const std::vector<Outlet>& outlets) const {
  Facts facts;
  facts.reserve(outlets.size());
  for (const Outlet outlet : outlets) facts.push_back(fact(outlet));
  return facts;
}

uint32_t Graph::push(Node node) {
  nodes_.push_back(std::make_shared<Node>(std::move(node)));
  return uint32_t(nodes_.size() - 1);
}

Outlet Graph::source(std::string name, Fact fact) {
  Node node;
  node.kind = Node::Kind::source;
  node.use.name = std::move(name);
  node.outputs.push_back(std::move(fact));
  inputs_.push_back({push(std::move(node)), 0});
  return inputs_.back();
}

Outlet Graph::constant(Tensor value, std::string name) {
  Node node;
  node.kind = Node::Kind::constant;
  node.use.name = std::move(name);
  node.outputs.push_back(Fact::constant(std::move(value)));
  return {push(std::move(node)), 0};
}

namespace {

// What a use of an operator comes to: a node's attributes and facts, or values that it folds into.
struct Typed {
  std::shared_ptr<const void> resolved;
  Facts outputs;
  std::optional<std::vector<Value>> folded;
};

// A size that only running tells gets a symbol of its own: the one that it had in `before`, if it
// had one.
Dim named(const Graph& graph, uint32_t id, size_t slot, size_t axis, const Facts* before) {
  std::string name = "?";
  name += place_in(graph.name);
  name += std::to_string(id) + '.' + std::to_string(slot) + '.' + std::to_string(axis);
  if (before != nullptr && slot < before->size()) {
    const auto& shape = (*before)[slot].shape;
    if (shape && axis < shape->size() && !(*shape)[axis].is_const() &&
        (*shape)[axis].text() == name) {
      return (*shape)[axis];
    }
  }
  return Dim::symbol(std::move(name));
}

// As node `id` of the graph. `known`: attributes are complete and types are those of the operator.
// `before`: what node `id` gives in a graph of the same name. `in` lacks what subgraphs capture
// where they do not look at it.
Result<Typed> type(const Graph& graph, uint32_t id, sdx::Node& use,
                   const std::vector<Outlet>& inputs, const Facts& in, bool known,
                   const Facts* before = nullptr) {
  const Op& op = *use.op;
  if (use.formal_inputs == 0) use.formal_inputs = in.size();
  const auto here = [&](Error error) {
    error.what = fmt::format("{}: {}", op.name, error.what);
    return at_node(std::move(error), use, *op.at(use.opset), graph, inputs, in);
  };
  if (!known) {
    const Signature* signature = op.at(use.opset);
    if (signature == nullptr) {
      return fail("SDX-T0007", "{} does not exist in version {} of its operator set", op.name,
                  use.opset)
          .in(place(use));
    }
    Result<AttrMap> attrs = complete(*signature, std::move(use.attrs));
    if (!attrs) return here(std::move(attrs).error());
    use.attrs = *std::move(attrs);
    if (Status status = conforms(*signature, in, use.formal_inputs, use.wanted.size()); !status) {
      return here(std::move(status).error());
    }
  }
  Result<std::shared_ptr<const void>> resolved = op.read(use, in);
  if (!resolved) return here(std::move(resolved).error());
  Result<Facts> out = op.infer(resolved->get(), in);
  if (!out) return here(std::move(out).error());

  out->resize(use.wanted.size());
  for (size_t slot = 0; slot < out->size(); ++slot) {
    Fact& fact = (*out)[slot];
    if (!use.wants(slot)) {
      fact = Fact{};
      continue;
    }
    if (fact.is_tensor() && fact.is_concrete()) {
      const auto count = element_count(fact.dims());
      if (!count) return here(count.error());
    }
    for (size_t axis = 0; fact.shape && axis < fact.shape->size(); ++axis) {
      Dim& dim = (*fact.shape)[axis];
      if (dim.is_unknown()) dim = named(graph, id, slot, axis, before);
    }
    if (graph.assumptions && !graph.assumptions->empty()) graph.assumptions->simplify(fact);
    if (fact.symbolic && std::any_of(fact.symbolic->begin(), fact.symbolic->end(),
                                     [](const Dim& dim) { return dim.is_unknown(); })) {
      fact.symbolic.reset();
    }
  }

  Typed made;
  const bool tensors_only = std::all_of(
      out->begin(), out->end(), [](const Fact& f) { return !f.present() || f.is_tensor(); });
  const bool constant =
      op.deterministic && tensors_only && in.size() == inputs.size() && all_constant(in);
  if (constant) made.folded = seen_through(op, resolved->get(), in, *out);
  if (constant && !made.folded && worth_folding(op, use, resolved->get(), in, *out)) {
    std::vector<Value> values;
    for (const Fact& fact : in) values.push_back(fact.value ? Value(*fact.value) : Value());
    const FoldingAttempt attempt;
    Result<std::vector<Value>> folded = evaluated(use, values);
    // What turns out to be long or large is left to the run, which has limits of its own.
    if (!folded && !is_left_to_run(folded.error())) return here(std::move(folded).error());
    if (folded) made.folded = *std::move(folded);
  }
  made.resolved = *std::move(resolved);
  made.outputs = *std::move(out);
  return made;
}

struct Made {
  Node node;
  std::optional<std::vector<Value>> folded;
};

Result<Made> make(const Graph& graph, uint32_t id, sdx::Node use, std::vector<Outlet> inputs,
                  std::vector<std::string> origin, bool known) {
  SDX_ASSIGN(Typed typed, type(graph, id, use, inputs, graph.facts(inputs), known));
  Made made;
  made.folded = std::move(typed.folded);
  made.node.use = std::move(use);
  made.node.resolved = std::move(typed.resolved);
  made.node.inputs = std::move(inputs);
  made.node.outputs = std::move(typed.outputs);
  made.node.origin = std::move(origin);
  return made;
}

// push(node) puts a node at the end of the graph and gives its number.
template <class Push>
std::vector<Outlet> put(Made made, const Push& push) {
  if (!made.folded) {
    const size_t slots = made.node.outputs.size();
    const uint32_t id = push(std::move(made.node));
    return outlets_of(id, slots);
  }
  std::vector<uint32_t> from;
  for (const Outlet input : made.node.inputs) {
    if (input.present()) from.push_back(input.node);
  }
  std::vector<Outlet> outlets(made.folded->size());
  for (size_t slot = 0; slot < made.folded->size(); ++slot) {
    if (!made.node.use.wants(slot)) continue;
    Node value;
    value.kind = Node::Kind::constant;
    value.use.name = made.node.use.name;
    value.outputs.push_back(Fact::constant((*made.folded)[slot].tensor()));
    value.folded_from = from;
    outlets[slot] = {push(std::move(value)), 0};
  }
  return outlets;
}

// Inputs of the same types, of which only sizes and values may differ.
bool same_type(const Fact& a, const Fact& b) {
  return a.is_tensor() && b.is_tensor() && a.type == b.type;
}
bool same_types(const Facts& a, const Facts& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), same_type);
}

}  // namespace

Result<std::vector<Outlet>> Graph::add(sdx::Node use, std::vector<Outlet> inputs,
                                       std::vector<std::string> origin) {
  SDX_ASSIGN(Made made, make(*this, uint32_t(nodes_.size()), std::move(use), std::move(inputs),
                             std::move(origin), false));
  return put(std::move(made), [&](Node node) { return push(std::move(node)); });
}

Result<std::vector<Outlet>> Graph::take(const Graph& from, uint32_t id,
                                        std::vector<Outlet> inputs) {
  const Node& node = from.node(id);
  const auto here = uint32_t(nodes_.size());
  if (node.kind == Node::Kind::source) {
    nodes_.push_back(from.nodes_[id]);
    inputs_.push_back({here, 0});
    return std::vector<Outlet>{{here, 0}};
  }
  if (node.kind == Node::Kind::constant) {
    nodes_.push_back(from.nodes_[id]);
    if (!node.folded_from.empty()) {  // from nodes of the other graph
      Node value = node;
      value.folded_from.clear();
      nodes_.back() = std::make_shared<Node>(std::move(value));
    }
    return std::vector<Outlet>{{here, 0}};
  }
  const auto unchanged = [&] {
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!same(fact(inputs[i]), from.fact(node.inputs[i]))) return false;
    }
    return std::all_of(node.outputs.begin(), node.outputs.end(), is_settled);
  };
  if (inputs.size() != node.inputs.size()) return add(node.use, std::move(inputs), node.origin);
  if (!unchanged()) {
    const bool known = same_types(facts(inputs), from.facts(node.inputs));
    SDX_ASSIGN(Made made, make(*this, here, node.use, std::move(inputs), node.origin, known));
    return put(std::move(made), [&](Node fresh) { return push(std::move(fresh)); });
  }
  if (node.inputs == inputs) {
    nodes_.push_back(from.nodes_[id]);
  } else {
    Node moved = node;
    moved.inputs = std::move(inputs);
    push(std::move(moved));
  }
  return outlets_of(here, node.outputs.size());
}

// The node, to be written over: a copy if others have it too.
Node* Graph::own(uint32_t id, const Graph& from) {
  std::shared_ptr<const Node>& node = nodes_[id];
  if (node == from.nodes_[id] || node.use_count() != 1)
    node = std::make_shared<Node>(from.node(id));
  return const_cast<Node*>(node.get());
}

void Graph::renew(uint32_t id, Fact fact) {
  if (nodes_[id].use_count() == 1) {  // this graph alone has it
    Node& node = const_cast<Node&>(*nodes_[id]);
    node.outputs[0] = std::move(fact);
    node.folded_from.clear();
    return;
  }
  Node node;
  node.kind = nodes_[id]->kind;
  node.use.name = nodes_[id]->use.name;
  node.outputs.push_back(std::move(fact));
  nodes_[id] = std::make_shared<Node>(std::move(node));
}

Result<bool> Graph::renew(uint32_t id, sdx::Node use, const Graph& from) {
  const Node& node = from.node(id);
  // A subgraph captures many wires, and most nodes are those of the other graph.
  const bool known = std::all_of(node.inputs.begin(), node.inputs.end(), [&](const Outlet input) {
    return (input.present() && nodes_[input.node] == from.nodes_[input.node]) ||
           same_type(fact(input), from.fact(input));
  });
  const auto formal = node.inputs.begin() + std::ptrdiff_t(use.formal_inputs);
  SDX_ASSIGN(Typed made, type(*this, id, use, node.inputs, facts({node.inputs.begin(), formal}),
                              known, &node.outputs));
  if (made.folded) return false;
  Node* mine = own(id, from);
  mine->use = std::move(use);
  mine->resolved = std::move(made.resolved);
  mine->outputs = std::move(made.outputs);
  return true;
}

Result<bool> Graph::renew(uint32_t id, const Graph& from) {
  const Node& node = from.node(id);
  const auto of_all_inputs = [&](bool (*holds)(const Fact&, const Fact&)) {
    return std::all_of(node.inputs.begin(), node.inputs.end(), [&](const Outlet input) {
      return !input.present() || nodes_[input.node] == from.nodes_[input.node] ||
             holds(fact(input), from.fact(input));
    });
  };
  if (of_all_inputs(same) && std::all_of(node.outputs.begin(), node.outputs.end(), is_settled)) {
    share(id, from);
    return true;
  }
  const bool known = of_all_inputs(same_type);
  const bool owned = nodes_[id] != from.nodes_[id] && nodes_[id].use_count() == 1;
  std::optional<sdx::Node> copy;
  sdx::Node& use = owned ? own(id, from)->use : copy.emplace(node.use);
  SDX_ASSIGN(Typed made,
             type(*this, id, use, node.inputs, facts(node.inputs), known, &node.outputs));
  if (made.folded) return false;
  Node* mine = own(id, from);
  if (copy) mine->use = *std::move(copy);
  mine->resolved = std::move(made.resolved);
  mine->outputs = std::move(made.outputs);
  return true;
}

void Graph::renew_like(uint32_t id, uint32_t like, const Graph& from) {
  Node* node = own(id, from);
  node->resolved = nodes_[like]->resolved;
  node->outputs = nodes_[like]->outputs;
}

Facts& Graph::renew_known(uint32_t id, std::shared_ptr<const void> resolved, const Graph& from) {
  Node* node = own(id, from);
  node->resolved = std::move(resolved);
  return node->outputs;
}

Facts* Graph::own_facts(uint32_t id) {
  const std::shared_ptr<const Node>& node = nodes_[id];
  return node.use_count() == 1 ? &const_cast<Node&>(*node).outputs : nullptr;
}

void Graph::learn(Outlet outlet, const Fact& learnt) {
  const Fact& known = nodes_[outlet.node]->outputs[outlet.slot];
  if (!known.is_tensor() || (known.type != DType::undefined && (known.shape || !learnt.shape)))
    return;
  Node node = *nodes_[outlet.node];
  Fact& fact = node.outputs[outlet.slot];
  if (fact.type == DType::undefined) fact.type = learnt.type;
  if (!fact.shape && learnt.shape) {
    fact.shape.emplace();
    for (size_t axis = 0; axis < learnt.rank(); ++axis) {
      fact.shape->push_back(
          Dim::symbol(fmt::format("?{}{}.{}.{}", place_in(name), outlet.node, outlet.slot, axis)));
    }
  }
  nodes_[outlet.node] = std::make_shared<Node>(std::move(node));
}

void Graph::forget_value(uint32_t id) {
  Node node = *nodes_[id];
  node.outputs[0].value.reset();
  nodes_[id] = std::make_shared<Node>(std::move(node));
}

std::vector<std::vector<std::vector<uint32_t>>> Graph::successors() const {
  std::vector<std::vector<std::vector<uint32_t>>> users(nodes_.size());
  for (uint32_t id = 0; id < nodes_.size(); ++id) users[id].resize(node(id).outputs.size());
  for (uint32_t id = 0; id < nodes_.size(); ++id) {
    for (const Outlet input : node(id).inputs) {
      if (input.present()) users[input.node][input.slot].push_back(id);
    }
  }
  return users;
}

Graph Graph::without_dead() const {
  std::vector<uint32_t> moved;
  Graph kept = live_part(moved);
  kept.journal = journal;
  if (journal == nullptr || kept.size() == size()) return kept;
  std::vector<Section> copies(nodes_.size());
  for (uint32_t id = 0; id < nodes_.size(); ++id) copies[id] = {{0, id}, id, id + 1, {}};
  const Graph* const olds[] = {this};
  kept.journal = write_chapter("dead_code", olds, copies, moved, kept);
  return kept;
}

Graph Graph::live_part(std::vector<uint32_t>& moved) const {
  std::vector<bool> live(nodes_.size(), false);
  for (const Output& output : outputs_) live[output.outlet.node] = true;
  for (size_t id = nodes_.size(); id-- > 0;) {
    if (nodes_[id]->kind == Node::Kind::source) live[id] = true;
    if (!live[id]) continue;
    for (const Outlet input : nodes_[id]->inputs) {
      if (input.present()) live[input.node] = true;
    }
  }
  Graph kept;
  kept.name = name;
  kept.assumptions = assumptions;
  moved.assign(nodes_.size(), UINT32_MAX);
  const auto map = [&](Outlet outlet) {
    return outlet.present() ? Outlet{moved[outlet.node], outlet.slot} : outlet;
  };
  for (uint32_t id = 0; id < nodes_.size(); ++id) {
    if (!live[id]) continue;
    moved[id] = uint32_t(kept.nodes_.size());
    std::vector<Outlet> inputs = node(id).inputs;
    for (Outlet& input : inputs) input = map(input);
    if (inputs == node(id).inputs && node(id).folded_from.empty()) {
      kept.nodes_.push_back(nodes_[id]);
      continue;
    }
    Node changed = node(id);
    changed.inputs = std::move(inputs);
    changed.folded_from.clear();
    kept.push(std::move(changed));
  }
  for (const Outlet input : inputs_) kept.inputs_.push_back(map(input));
  for (const Output& output : outputs_) kept.outputs_.push_back({output.name, map(output.outlet)});
  return kept;
}

Status Graph::verify() const {
  const auto exists = [&](Outlet outlet, size_t before) {
    return outlet.node < before && outlet.slot < node(outlet.node).outputs.size() &&
           fact(outlet).present();
  };
  size_t sources = 0;
  for (size_t id = 0; id < nodes_.size(); ++id) {
    const Node& node = *nodes_[id];
    sources += node.kind == Node::Kind::source ? 1 : 0;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i].present() && !exists(node.inputs[i], id)) {
        return fail("SDX-V0001", "node {} reads wire {}.{}, which does not stand before it", id,
                    node.inputs[i].node, node.inputs[i].slot);
      }
    }
    if (node.kind == Node::Kind::constant && node.outputs[0].value == nullptr) {
      return fail("SDX-V0002", "constant {} has no value", id);
    }
    if (node.kind != Node::Kind::op) continue;
    SDX_ASSIGN(Facts out, node.op().infer(node.resolved.get(), facts(node.inputs)));
    for (size_t slot = 0; slot < node.outputs.size(); ++slot) {
      const Fact& kept = node.outputs[slot];
      if (!kept.present()) continue;
      // A type or rank that the inputs leave open may have been learnt elsewhere.
      if (slot >= out.size() || out[slot].kind != kept.kind ||
          (out[slot].type != kept.type && out[slot].type != DType::undefined) ||
          (out[slot].has_rank() && kept.has_rank() && out[slot].rank() != kept.rank())) {
        return fail("SDX-V0003", "node {} ({}): its fact {} is not what its inputs give", id,
                    node.op().name, kept.text());
      }
      const bool ranked = out[slot].has_rank() && kept.has_rank();
      for (size_t axis = 0; ranked && axis < kept.rank(); ++axis) {
        const Dim &kept_size = kept.dim(axis), &given = out[slot].dim(axis);
        if (kept_size.is_const() && given.is_const() && !(kept_size == given)) {
          return fail("SDX-V0003", "node {} ({}): dimension {} of {} is {} by its inputs", id,
                      node.op().name, axis, kept.text(), given.text());
        }
      }
    }
  }
  if (sources != inputs_.size())
    return fail("SDX-V0005", "{} sources, {} inputs", sources, inputs_.size());
  for (const Outlet input : inputs_) {
    if (!exists(input, nodes_.size()) || node(input.node).kind != Node::Kind::source) {
      return fail("SDX-V0005", "input {}.{} is no source", input.node, input.slot);
    }
  }
  for (const Output& output : outputs_) {
    if (!exists(output.outlet, nodes_.size())) {
      return fail("SDX-V0004", "output \"{}\" has no wire", output.name);
    }
  }
  return ok();
}

}  // namespace sdx::typed
