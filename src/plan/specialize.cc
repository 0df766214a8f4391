#include "ops/list.h"
#include "plan/plan.h"
#include "rewrite/rewrite.h"
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

Result<Graph> rewritten(const Graph& graph, const Rewrites& rewrites) {
  Graph ready = graph.without_dead();
  if (!rewrites.strict) {
    SDX_ASSIGN(ready, rewrite::to_standard_numerics(ready));
  }
  if (rewrites.optimize) {
    SDX_ASSIGN(ready, rewrite::optimize(ready));
  }
  return ready;
}

namespace {

using Wires = std::vector<std::vector<Outlet>>;  // by node and slot: where it is now

class Specializer : public typed::Remake {
 public:
  Specializer(const Graph& graph, const Bindings& bindings, const Rewrites& rewrites)
      : Remake(graph, "specialize"), bindings_(bindings), rewrites_(rewrites) {
    made.assumptions.reset();  // the bindings have been held against them
  }

  // Makes the nodes of `from` again, the old graph or number `number` of the others; `wires` has
  // its sources' places.
  Status copy(const Graph& from, Wires& wires, uint32_t number = 0) {
    for (uint32_t id = 0; id < from.size(); ++id) {
      const typed::Node& node = from.node(id);
      if (node.kind == typed::Node::Kind::source) continue;
      Place here = at(id, number);
      if (node.kind == typed::Node::Kind::constant) {
        wires[id] = {made.constant(*node.outputs[0].value, node.use.name)};
        continue;
      }
      std::vector<Outlet> inputs;
      for (const Outlet input : node.inputs) {
        inputs.push_back(input.present() ? wires[input.node][input.slot] : Outlet{});
      }
      if (node.use.op == &ops::if_) {
        SDX_ASSIGN(const bool done, inline_branch(node, inputs, wires[id]));
        if (done) here.by("inline_branch");
        if (done) continue;
      }
      SDX_ASSIGN(wires[id], made.add(node.use, std::move(inputs), node.origin));
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
  // If whose condition is known now: the nodes of the branch take its place.
  Result<bool> inline_branch(const typed::Node& node, const std::vector<Outlet>& inputs,
                             std::vector<Outlet>& outputs) {
    const auto condition = made.fact(inputs[0]).constant_integers();
    if (!condition || condition->size() != 1) return false;
    const auto* attribute = (*condition)[0] != 0 ? "then_branch" : "else_branch";
    Facts captured;
    for (size_t i = node.use.formal_inputs; i < inputs.size(); ++i)
      captured.push_back(made.fact(inputs[i]));
    SDX_ASSIGN(const std::shared_ptr<const Body> body,
               node.use.get<std::shared_ptr<const BodySource>>(attribute)->type({}, captured));
    const auto* branch = dynamic_cast<const typed::GraphBody*>(body.get());
    if (branch == nullptr || branch->graph().outputs().size() < node.use.wanted.size())
      return false;
    SDX_ASSIGN(Graph ready, rewritten(branch->graph(), rewrites_));
    const uint32_t number = also_from(std::move(ready));
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

  const Bindings& bindings_;
  const Rewrites& rewrites_;
};

}  // namespace

Result<Graph> specialize(const Graph& graph, const Bindings& bindings, const Rewrites& rewrites) {
  Specializer specializer(graph, bindings, rewrites);
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
