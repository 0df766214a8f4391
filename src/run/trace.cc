#include "run/trace.h"

namespace sdx::run {

using typed::Node;
using typed::Outlet;

void Trace::start(const plan::Plan& plan) {
  plan_ = &plan;
  const size_t size = plan.graph.size();
  missing_.assign(size, 0);
  is_step_.assign(size, false);
  part_of_.assign(size, UINT32_MAX);
  users_ = plan.graph.successors();
  for (const plan::Step& step : plan.steps) {
    is_step_[step.node] = true;
    if (!step.epilogue) continue;
    is_step_[step.epilogue->node] = true;
    part_of_[step.epilogue->node] = step.node;
  }
  for (uint32_t id = 0; id < size; ++id) {
    for (const Outlet input : plan.graph.node(id).inputs) missing_[id] += input.present() ? 1 : 0;
  }
  std::vector<uint32_t> without_inputs;
  for (uint32_t id = 0; id < size; ++id) {
    if (plan.graph.node(id).kind == Node::Kind::op && missing_[id] == 0)
      without_inputs.push_back(id);
  }
  for (const uint32_t id : without_inputs) executable(id);
  for (uint32_t id = 0; id < size; ++id) {
    const Node& node = plan.graph.node(id);
    if (node.kind == Node::Kind::source) define(id, "input");
    if (node.kind == Node::Kind::constant) define(id, "constant");
  }
}

std::string Trace::node_text(uint32_t id) const {
  const Node& node = plan_->graph.node(id);
  const std::string& name =
      node.use.name.empty() && !node.origin.empty() ? node.origin.back() : node.use.name;
  return fmt::format("{} ({})", name.empty() ? fmt::format("%{}", id) : name, node.op().name);
}

std::string Trace::wire_text(Outlet outlet) const {
  const Node& node = plan_->graph.node(outlet.node);
  if (node.kind == Node::Kind::op) {
    for (const typed::Output& output : plan_->graph.outputs()) {
      if (output.outlet == outlet) return output.name;
    }
    if (std::string name = name_ ? name_(node, outlet.slot) : ""; !name.empty()) return name;
  } else if (!node.use.name.empty()) {
    return node.use.name;
  }
  return outlet.slot == 0 ? fmt::format("%{}", outlet.node)
                          : fmt::format("%{}.{}", outlet.node, outlet.slot);
}

void Trace::line(const char* what, const std::string& of, const std::string& note) const {
  print_(fmt::format("{}{:<11} {}{}", indent_, what, of,
                     note.empty() ? "" : fmt::format(" ({})", note)));
}

void Trace::define(uint32_t id, const std::string& note, std::span<const View> values) {
  const Node& node = plan_->graph.node(id);
  for (uint32_t slot = 0; slot < node.outputs.size(); ++slot) {
    if (!node.outputs[slot].present()) continue;
    const bool seen = slot < values.size() && values[slot].present();
    const std::string type =
        seen ? fmt::format("{}{}", short_name(values[slot].type), to_string(values[slot].dims))
             : node.outputs[slot].text();
    line("defined", fmt::format("{} {}", wire_text({id, slot}), type), note);
  }
  for (const auto& readers : users_[id]) {
    for (const uint32_t reader : readers) {
      if (--missing_[reader] == 0) executable(reader);
    }
  }
}

void Trace::executable(uint32_t id) {
  line("executable", node_text(id));
  if (is_step_[id]) return;
  line("executes", node_text(id), "a view, no step");
  define(id, "");
}

void Trace::before(uint32_t id, const Node&) { line("executes", node_text(id)); }

void Trace::after(uint32_t id, const Node&, std::span<const View> outputs) {
  if (const uint32_t product = part_of_[id]; product != UINT32_MAX) {
    define(product, "inside the kernel");
    line("executes", node_text(id), "inside the kernel");
  }
  define(id, "", outputs);
}

Observer* Trace::inside(const Node&, const typed::Graph& body) {
  line("subgraph", body.name);
  inner_ = std::make_unique<Trace>(print_, name_, indent_ + "  ");
  return inner_.get();
}

}  // namespace sdx::run
