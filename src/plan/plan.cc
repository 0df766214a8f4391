#include "plan/plan.h"

#include <algorithm>

#include "plan/memory.h"

namespace sdx::plan {
namespace {

bool concrete(const Fact& fact) { return !fact.present() || (fact.is_concrete() && fact.type != DType::undefined); }

// The first kernel that fits. A late step chooses when it runs.
void choose_kernel(Step& step, const typed::Graph& graph, const Options& options, Pool& pool) {
  const typed::Node& node = graph.node(step.node);
  Facts in;
  for (const typed::Outlet input : node.inputs) in.push_back(graph.fact(input));
  const bool known = std::all_of(in.begin(), in.end(), concrete) &&
                     std::all_of(node.outputs.begin(), node.outputs.end(), concrete);
  step.late = !known;
  // Strings own heap memory: an arena cannot hold them.
  for (const Fact& fact : node.outputs) step.late |= fact.type == DType::string;
  if (step.late || options.reference) return;
  const Call call{in, node.outputs, options.isa, options.threads};
  for (const Op::AnyKernel& kernel : node.op().kernels) {
    if (!kernel.fits(node.resolved.get(), call)) continue;
    step.kernel = &kernel;
    step.scratch_bytes = kernel.scratch(node.resolved.get(), call);
    if (kernel.pack != nullptr) step.packed = kernel.pack(node.resolved.get(), call, pool);
    return;
  }
}

}  // namespace

Result<Plan> make_plan(typed::Graph graph, const Options& options, Pool& pool) {
  Plan plan;
  plan.graph = std::move(graph);
  plan.options = options;
  for (uint32_t id = 0; id < plan.graph.size(); ++id) {
    if (plan.graph.node(id).kind != typed::Node::Kind::op) continue;
    Step step;
    step.node = id;
    choose_kernel(step, plan.graph, options, pool);
    plan.steps.push_back(std::move(step));
  }
  place_wires(plan);
  return plan;
}

static std::string text(const Place& place) {
  switch (place.kind) {
    case Place::Kind::none: return "-";
    case Place::Kind::arena: return fmt::format("arena+{}", place.offset);
    case Place::Kind::constant: return fmt::format("constant {}+{}", place.index, place.offset);
    case Place::Kind::input: return fmt::format("input {}+{}", place.index, place.offset);
    case Place::Kind::output: return fmt::format("output {}+{}", place.index, place.offset);
    case Place::Kind::late: return "late";
  }
  return "";
}

std::string to_text(const Plan& plan) {
  std::string out = fmt::format("arena {} bytes, at most {} live at once\n", plan.arena_bytes, plan.live_bytes);
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    const Step& step = plan.steps[s];
    const typed::Node& node = plan.graph.node(step.node);
    out += fmt::format("step {}: {} \"{}\" [{}]", s, node.op().name, node.use.name,
                       step.late       ? "when its inputs are known"
                       : step.kernel   ? step.kernel->name
                                       : std::string_view("reference"));
    for (const typed::Outlet input : node.inputs) {
      out += input.present() ? fmt::format(" {}", text(plan.places[input.node][input.slot])) : " -";
    }
    out += " ->";
    for (size_t slot = 0; slot < node.outputs.size(); ++slot) {
      if (!node.outputs[slot].present()) continue;
      out += fmt::format(" {} {}", node.outputs[slot].text(), text(plan.places[step.node][slot]));
    }
    if (step.scratch_bytes > 0) out += fmt::format(" (scratch {} bytes)", step.scratch_bytes);
    out += "\n";
  }
  return out;
}

}  // namespace sdx::plan
