#include "plan/plan.h"
#include "typed/body.h"
#include "typed/remake.h"

namespace sdx::plan {

using typed::Graph;
using typed::Outlet;

std::string rank_symbol(size_t input) { return fmt::format("?input{}.rank", input); }
std::string size_symbol(size_t input, size_t axis) {
  return fmt::format("?input{}.{}", input, axis);
}
std::string type_symbol(size_t input) { return fmt::format("?input{}.type", input); }

std::string expression_symbol(const Dim& dim) { return "=" + dim.text(); }

namespace {

using Wires = std::vector<std::vector<Outlet>>;  // by node and slot: where it is now

class Specializer : public typed::Remake {
 public:
  Specializer(const rewrite::Rewritten& rewritten, const Bindings& bindings)
      : Remake(rewritten.graph(), "specialize"), rewritten_(rewritten), bindings_(bindings) {
    made.assumptions.reset();  // the bindings have been held against them
  }

  // Makes the nodes of `from` again, the old graph or number `number` of the others; `wires` has
  // its sources' places.
  Status copy(const Graph& from, Wires& wires, uint32_t number = 0) {
    for (uint32_t id = 0; id < from.size(); ++id) {
      const typed::Node& node = from.node(id);
      if (node.kind == typed::Node::Kind::source) continue;
      Place here = at(id, number);
      std::vector<Outlet> inputs;
      for (const Outlet input : node.inputs) {
        inputs.push_back(input.present() ? wires[input.node][input.slot] : Outlet{});
      }
      if (node.kind == typed::Node::Kind::op && node.op().taken != nullptr) {
        SDX_ASSIGN(const bool done, inline_branch(node, inputs, wires[id]));
        if (done) here.by("inline_branch");
        if (done) continue;
      }
      SDX_ASSIGN(wires[id], made.take(from, id, std::move(inputs)));
    }
    return ok();
  }

  Fact bound(Fact fact, size_t input) const {
    if (const auto type = bindings_.find(type_symbol(input)); type != bindings_.end()) {
      fact.type = static_cast<DType>(type->second);
    }
    if (fact.shape) {
      for (Dim& dim : *fact.shape) {
        const auto whole =
            dim.is_const() ? bindings_.end() : bindings_.find(expression_symbol(dim));
        dim = whole != bindings_.end() ? Dim(whole->second) : dim.bind(bindings_);
      }
    } else if (const auto rank = bindings_.find(rank_symbol(input)); rank != bindings_.end()) {
      fact.shape.emplace();
      for (int64_t axis = 0; axis < rank->second; ++axis)
        fact.shape->emplace_back(bindings_.at(size_symbol(input, size_t(axis))));
    }
    if (fact.symbolic) {
      for (Dim& element : *fact.symbolic) element = element.bind(bindings_);
    }
    return fact;
  }

 private:
  // Where it is known now which subgraph runs, its nodes take the node's place.
  Result<bool> inline_branch(const typed::Node& node, const std::vector<Outlet>& inputs,
                             std::vector<Outlet>& outputs) {
    const Facts in = made.facts(inputs);
    SDX_ASSIGN(const std::shared_ptr<const void> attrs, node.op().read(node.use, in));
    const std::shared_ptr<const Body> body = node.op().taken(attrs.get(), in);
    const auto* branch = dynamic_cast<const typed::GraphBody*>(body.get());
    if (branch == nullptr || branch->graph().outputs().size() < node.use.wanted.size())
      return false;
    SDX_ASSIGN(rewrite::Rewritten ready, rewritten_.inside(branch->graph()));
    const uint32_t number = also_from(ready.take_graph());
    const Graph& graph = other(number);
    Wires wires(graph.size());
    for (size_t i = 0; i < graph.inputs().size(); ++i)
      wires[graph.inputs()[i].node] = {inputs[node.use.formal_inputs + i]};
    SDX_TRY(copy(graph, wires, number));
    for (size_t slot = 0; slot < node.use.wanted.size(); ++slot) {
      const Outlet outlet = graph.outputs()[slot].outlet;
      outputs.push_back(wires[outlet.node][outlet.slot]);
    }
    return true;
  }

  const rewrite::Rewritten& rewritten_;
  const Bindings& bindings_;
};

}  // namespace

Result<Graph> specialize(const rewrite::Rewritten& rewritten, const Bindings& bindings) {
  Specializer specializer(rewritten, bindings);
  const Graph& graph = rewritten.graph();
  Graph& made = specializer.made;
  Wires wires(graph.size());
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const uint32_t id = graph.inputs()[i].node;
    const auto here = specializer.at(id);
    wires[id] = {made.source(graph.node(id).use.name, specializer.bound(graph.fact({id, 0}), i))};
  }
  SDX_TRY(specializer.copy(graph, wires));
  for (const typed::Output& output : graph.outputs()) {
    made.output(output.name, wires[output.outlet.node][output.outlet.slot]);
  }
  return specializer.finish();
}

}  // namespace sdx::plan
