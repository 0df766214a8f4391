#include "gradient/gradient.h"

#include <algorithm>
#include <map>
#include <set>

#include "gradient/rule.h"

namespace sdx::gradient {
namespace {

using typed::Graph;

Rule find_rule(const Op& op) {
  static const std::map<std::string_view, Rule> kRules = [] {
    std::map<std::string_view, Rule> rules;
    for (const auto table :
         {unary_rules(), binary_rules(), reduction_rules(), move_rules(), product_rules(),
          normalization_rules(), convolution_rules(), loss_rules()}) {
      for (const Entry& entry : table) rules.emplace(entry.op, entry.rule);
    }
    return rules;
  }();
  if (!op.domain.empty()) return nullptr;
  const auto at = kRules.find(op.name);
  return at == kRules.end() ? nullptr : at->second;
}

// Wires through which a change of some x reaches: floating-point results of nodes that read one.
std::set<Outlet> reached(const Graph& graph, const Outlets& xs, size_t start, size_t end) {
  std::set<Outlet> active(xs.begin(), xs.end());
  for (size_t id = start; id < end; ++id) {
    const typed::Node& node = graph.node(uint32_t(id));
    if (std::none_of(node.inputs.begin(), node.inputs.end(),
                     [&](Outlet in) { return active.contains(in); })) {
      continue;
    }
    for (uint32_t slot = 0; slot < node.outputs.size(); ++slot) {
      const Fact& fact = node.outputs[slot];
      if (fact.present() && (!fact.is_tensor() || is_float(fact.type)))
        active.insert({uint32_t(id), slot});
    }
  }
  return active;
}

}  // namespace

Outlets walk_back(Builder& b, const Outlets& ys, const Outlets& grads, const Outlets& xs,
                  size_t start) {
  const Graph& graph = b.graph();
  const size_t end = graph.size();
  const std::set<Outlet> active = reached(graph, xs, start, end);
  const std::set<Outlet> goals(xs.begin(), xs.end());
  std::map<Outlet, Outlet> found;
  const auto arrive = [&](Outlet at, Outlet grad) {
    if (!at.present() || !grad.present() || !active.contains(at)) return;
    const auto [entry, first] = found.emplace(at, grad);
    if (!first) entry->second = b.add(entry->second, grad);
  };
  for (size_t i = 0; i < ys.size(); ++i) arrive(ys[i], grads[i]);

  for (size_t id = end; id-- > start && b.status();) {
    const typed::Node& node = graph.node(uint32_t(id));
    if (node.kind != typed::Node::Kind::op) continue;
    Step step{b, node, node.inputs, {}, {}, graph.size()};
    bool touched = false, goal = false;
    for (uint32_t slot = 0; slot < node.outputs.size(); ++slot) {
      const Outlet out{uint32_t(id), slot};
      const auto at = found.find(out);
      step.out.push_back(node.outputs[slot].present() ? out : Outlet{});
      step.grad.push_back(at == found.end() ? Outlet{} : at->second);
      touched |= at != found.end();
      goal |= goals.contains(out);
    }
    if (!touched || goal) continue;
    const Rule rule = find_rule(node.op());
    if (rule == nullptr) {
      b.refuse(fail("SDX-D0001", "operator {} has no derivative rule", node.op().name)
                   .in(fmt::format("node \"{}\"", node.use.name)));
      break;
    }
    const Outlets back = rule(step);
    for (size_t i = 0; i < back.size() && i < node.inputs.size(); ++i)
      arrive(node.inputs[i], back[i]);
  }
  Outlets result;
  for (const Outlet x : xs) {
    const auto at = found.find(x);
    result.push_back(at == found.end() ? Outlet{} : at->second);
  }
  return result;
}

Outlets Step::through(const Outlets& ys) const {
  return b.status() ? walk_back(b, ys, grad, in, start) : Outlets{};
}

Result<std::vector<Outlet>> differentiate(Graph& graph, Outlet y, std::span<const Outlet> xs) {
  Builder b(graph);
  const Fact& fact = graph.fact(y);
  if (!fact.is_tensor() || !is_float(fact.type))
    return fail("SDX-D0003", "y is {}; only tensors of floats have derivatives", fact.text());
  const Outlets goals(xs.begin(), xs.end());
  Outlets grads = walk_back(b, {y}, {b.ones(y)}, goals, 0);
  for (size_t i = 0; i < goals.size(); ++i) {
    if (!grads[i].present()) grads[i] = b.zeros(goals[i]);
  }
  SDX_TRY(b.status());
  return grads;
}

}  // namespace sdx::gradient
