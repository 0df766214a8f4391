#include "plan/specialize.h"

#include <algorithm>

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

Fact bound_input(Fact fact, size_t input, const Bindings& bindings) {
  if (fact.type == DType::undefined) {
    const auto type = bindings.find(type_symbol(input));
    if (type != bindings.end()) fact.type = static_cast<DType>(type->second);
  }
  if (fact.shape) return bound(std::move(fact), bindings);
  if (const auto rank = bindings.find(rank_symbol(input)); rank != bindings.end()) {
    fact.shape.emplace();
    for (int64_t axis = 0; axis < rank->second; ++axis)
      fact.shape->emplace_back(bindings.at(size_symbol(input, size_t(axis))));
  }
  return fact;
}

namespace {

using Wires = std::vector<std::vector<Outlet>>;  // by node and slot: where it is now

class Specializer : public typed::Remake {
 public:
  Specializer(const rewrite::Rewritten& rewritten, const Bindings& bindings, Trace& trace,
              Lasting& lasting)
      : Remake(rewritten.graph(), "specialize"),
        rewritten_(rewritten),
        bindings_(bindings),
        trace_(trace),
        lasting_(lasting) {
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
      if (node.kind != typed::Node::Kind::op) {
        SDX_ASSIGN(wires[id], made.take(from, id, {}));
        continue;
      }
      std::optional<sdx::Node> lasts;
      if (has_bodies(node.use)) {
        SDX_ASSIGN(const bool done, inline_branch(node, inputs, wires[id]));
        if (done) here.by("inline_branch");
        if (done) continue;
        SDX_ASSIGN(lasts, lasting_.use(from, node, bindings_));
      }
      const std::vector<Outlet> read = inputs;
      if (lasts) {
        SDX_ASSIGN(wires[id], made.add(*std::move(lasts), std::move(inputs), node.origin));
      } else {
        SDX_ASSIGN(wires[id], made.take(from, id, std::move(inputs)));
      }
      const auto is_constant = [&](Outlet outlet) {
        return outlet.present() && made.node(outlet.node).kind == typed::Node::Kind::constant;
      };
      const bool folded = std::any_of(wires[id].begin(), wires[id].end(), is_constant);
      trace_.entries.push_back({&node, read, wires[id], folded});
    }
    return ok();
  }

 private:
  // Where it is known now which subgraph runs, its nodes take the node's place.
  Result<bool> inline_branch(const typed::Node& node, const std::vector<Outlet>& inputs,
                             std::vector<Outlet>& outputs) {
    if (node.op().taken == nullptr) return false;
    const Facts in = made.facts(inputs);
    std::shared_ptr<const Body> body = node.op().taken(node.resolved.get(), in);
    if (body == nullptr) return false;  // the condition is not known
    SDX_ASSIGN(auto ready, lasting_.branch(*body, rewritten_, bindings_));
    if (ready == nullptr) {
      trace_.whole = false;
      SDX_ASSIGN(const std::shared_ptr<const void> attrs, node.op().read(node.use, in));
      body = node.op().taken(attrs.get(), in);
      const auto* branch = dynamic_cast<const typed::GraphBody*>(body.get());
      if (branch == nullptr) return false;
      SDX_ASSIGN(rewrite::Rewritten inside, rewritten_.inside(branch->graph()));
      ready = std::make_shared<const rewrite::Rewritten>(std::move(inside));
    }
    if (ready->graph().outputs().size() < node.use.wanted.size()) return false;
    trace_.entries.push_back({&node, inputs, {}, false});
    trace_.branches.push_back(ready);
    const uint32_t number = also_from(ready->graph());
    const Graph& graph = ready->graph();
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
  Trace& trace_;
  Lasting& lasting_;
};

}  // namespace

Result<Graph> specialize(const rewrite::Rewritten& rewritten, const Bindings& bindings,
                         Trace& trace, Lasting& lasting) {
  Specializer specializer(rewritten, bindings, trace, lasting);
  const Graph& graph = rewritten.graph();
  Graph& made = specializer.made;
  Wires wires(graph.size());
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const uint32_t id = graph.inputs()[i].node;
    const auto here = specializer.at(id);
    const Fact fact = bound_input(graph.fact({id, 0}), i, bindings);
    wires[id] = {made.source(graph.node(id).use.name, fact)};
  }
  SDX_TRY(specializer.copy(graph, wires));
  for (const typed::Output& output : graph.outputs()) {
    made.output(output.name, wires[output.outlet.node][output.outlet.slot]);
  }
  if (graph.journal != nullptr) {  // it tells of every plan by itself
    trace.whole = false;
    return specializer.finish();
  }
  Graph ready = made.live_part(trace.moved);
  trace.made = std::move(made);
  return ready;
}

Result<Graph> specialize(const rewrite::Rewritten& rewritten, const Bindings& bindings) {
  Trace trace;
  Lasting lasting;
  return specialize(rewritten, bindings, trace, lasting);
}

}  // namespace sdx::plan
