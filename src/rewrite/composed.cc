// An operator that is a composition gives way to its nodes (ops/composed/composition.h), which
// other rules and kernels then serve. Its reference performs the same nodes, so no bit changes.
#include "ops/composed/composition.h"
#include "rewrite/rules.h"

namespace sdx::rewrite {
namespace {

using typed::Outlet;

Result<std::optional<std::vector<Outlet>>> expand(Rewriting& r, uint32_t id) {
  const typed::Node& node = r.old.node(id);
  const std::optional<std::vector<Outlet>> not_here;
  if (!is_composed(node.op())) return not_here;
  const auto& composition = *static_cast<const Composition*>(node.resolved.get());
  if (composition.open) return not_here;
  std::vector<Outlet> wires;
  for (const Outlet input : node.inputs) wires.push_back(r.now(input));
  wires.resize(composition.inputs);
  const auto outlet = [&](Wire wire) { return wire.present() ? wires[wire.id] : Outlet{}; };
  for (const Composition::Step& step : composition.steps) {
    if (step.use.op == nullptr) {
      wires.push_back(r.made.constant(step.constant));
      continue;
    }
    std::vector<Outlet> inputs;
    for (const Wire wire : step.inputs) inputs.push_back(outlet(wire));
    SDX_ASSIGN(const std::vector<Outlet> made,
               r.made.add(step.use, std::move(inputs), node.origin));
    wires.insert(wires.end(), made.begin(), made.end());
  }
  std::vector<Outlet> outputs;
  for (const Wire wire : composition.outputs) outputs.push_back(outlet(wire));
  outputs.resize(node.outputs.size());
  return std::optional(std::move(outputs));
}

}  // namespace

const Rule composed{"composed", expand};

}  // namespace sdx::rewrite
