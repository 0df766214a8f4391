#include "typed/pattern.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace sdx::typed {
namespace {

bool commutes(const Op& op) {
  static const std::set<std::string_view> kNames = {
      "Add",  "And", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Equal", "Max",
      "Mean", "Min", "Mul",        "Or",        "Sum",        "Xor"};
  return op.domain.empty() && kNames.contains(op.name);
}

bool equal_values(const AttrValue& a, const AttrValue& b) {
  if (a.index() != b.index()) return false;
  return std::visit(
      [&](const auto& x) {
        using T = std::remove_cvref_t<decltype(x)>;
        if constexpr (requires { x == x; } && !std::is_same_v<T, Fact>) {
          return x == std::get<T>(b);
        } else {
          return true;  // types: the facts of the wires say the same
        }
      },
      a);
}

}  // namespace

// Depth first over what is still to be matched; a state is small and copied where there is a
// choice.
class Search {
 public:
  Search(const Pattern& pattern, const Graph& graph, const Uses& uses)
      : pattern_(pattern), graph_(graph), uses_(uses) {}

  std::optional<Match> from(Outlet outlet) {
    State state;
    state.bound.resize(pattern_.nodes_.size());
    state.goals.push_back({pattern_.output_, outlet});
    root_ = outlet;
    if (!solve(state)) return std::nullopt;
    Match match;
    match.sizes = found_.sizes;
    for (size_t i = 0; i < pattern_.nodes_.size(); ++i) {
      const PatternNode& wanted = pattern_.nodes_[i];
      if (!found_.bound[i].present()) continue;  // a part that the output does not need
      if (wanted.kind == PatternNode::Kind::op) match.nodes.push_back(found_.bound[i].node);
      for (uint32_t slot = 0; slot < wanted.names.size(); ++slot) {
        match.wires[wanted.names[slot]] = wanted.kind == PatternNode::Kind::op
                                              ? Outlet{found_.bound[i].node, slot}
                                              : found_.bound[i];
      }
    }
    return match;
  }

 private:
  struct Goal {
    PatternWire wanted;
    Outlet found;
  };
  struct State {
    std::vector<Outlet> bound;  // by node of the pattern; of an operator: its output 0
    std::map<std::string, Dim, std::less<>> sizes;
    std::vector<Goal> goals;
  };

  bool solve(State state) {
    while (!state.goals.empty()) {
      const Goal goal = state.goals.back();
      state.goals.pop_back();
      if (goal.wanted.node == UINT32_MAX) {
        if (goal.found.present()) return false;
        continue;
      }
      if (!goal.found.present()) return false;
      const PatternNode& wanted = pattern_.nodes_[goal.wanted.node];
      Outlet& bound = state.bound[goal.wanted.node];
      const bool is_op = wanted.kind == PatternNode::Kind::op;
      const Outlet key = is_op ? Outlet{goal.found.node, 0} : goal.found;
      if (is_op && goal.found.slot != goal.wanted.slot) return false;
      if (bound.present()) {
        if (bound != key) return false;
        continue;
      }
      if (!fits(wanted, goal.found, state.sizes)) return false;
      bound = key;
      if (!is_op) continue;
      return inputs(wanted, graph_.node(goal.found.node), state);
    }
    found_ = std::move(state);
    return true;
  }

  bool fits(const PatternNode& wanted, Outlet outlet,
            std::map<std::string, Dim, std::less<>>& sizes) {
    const Node& node = graph_.node(outlet.node);
    const Fact& fact = graph_.fact(outlet);
    if (wanted.kind == PatternNode::Kind::constant) {
      if (fact.value == nullptr) return false;
      if (wanted.value != nullptr && !(*wanted.value == *fact.value)) return false;
    }
    if (wanted.kind == PatternNode::Kind::op) {
      if (node.kind != Node::Kind::op || node.use.op != wanted.op) return false;
      if (wanted.once && outlet != root_ && uses_(outlet) != 1) return false;
      for (const auto& [name, value] : wanted.attrs) {
        const auto at = node.use.attrs.find(name);
        if (at == node.use.attrs.end() || !equal_values(value, at->second)) return false;
      }
    }
    if (wanted.type != DType::undefined && fact.type != wanted.type) return false;
    if (wanted.dims) {
      if (!fact.has_rank() || fact.rank() != wanted.dims->size()) return false;
      for (size_t axis = 0; axis < fact.rank(); ++axis) {
        const PatternNode::Size& size = (*wanted.dims)[axis];
        if (const auto* number = std::get_if<int64_t>(&size)) {
          if (!fact.dim(axis).is_const(*number)) return false;
        } else if (const auto* symbol = std::get_if<std::string>(&size)) {
          const auto [at, first] = sizes.try_emplace(*symbol, fact.dim(axis));
          if (!first && !(at->second == fact.dim(axis))) return false;
        }
      }
    }
    return !wanted.accept || wanted.accept(fact);
  }

  bool inputs(const PatternNode& wanted, const Node& node, const State& state) {
    std::vector<Outlet> given = node.inputs;
    while (given.size() > wanted.inputs.size() && !given.back().present()) given.pop_back();
    if (given.size() > wanted.inputs.size() && !wanted.more_inputs) return false;
    given.resize(std::max(given.size(), wanted.inputs.size()));
    std::vector<size_t> order(given.size());
    std::iota(order.begin(), order.end(), 0);
    // Five inputs have 120 orders; longer lists are matched as they stand.
    const bool permute = commutes(*wanted.op) && given.size() <= 5;
    do {
      State next = state;
      for (size_t i = wanted.inputs.size(); i-- > 0;) {
        next.goals.push_back({wanted.inputs[i], given[order[i]]});
      }
      if (solve(std::move(next))) return true;
    } while (permute && std::next_permutation(order.begin(), order.end()));
    return false;
  }

  const Pattern& pattern_;
  const Graph& graph_;
  const Uses& uses_;
  Outlet root_;
  State found_;
};

Result<Pattern> Pattern::of(const Graph& graph) {
  if (graph.outputs().size() != 1) {
    return fail("SDX-T0924", "a pattern has one output; this graph has {}", graph.outputs().size());
  }
  Pattern pattern;
  for (const Node& node : graph.nodes()) {
    PatternNode wanted;
    const Fact& fact = node.outputs[0];
    if (node.kind == Node::Kind::op) {
      wanted.kind = PatternNode::Kind::op;
      wanted.op = node.use.op;
      for (const Outlet input : node.inputs) wanted.inputs.push_back({input.node, input.slot});
      for (const auto& [name, value] : node.use.attrs) {
        const AttrDecl* decl = node.op().at(node.use.opset)->attribute(name);
        if (decl == nullptr || !decl->fallback || !equal_values(*decl->fallback, value)) {
          wanted.attrs.emplace(name, value);
        }
      }
      for (size_t slot = 0; slot < node.outputs.size(); ++slot) {
        wanted.names.push_back(slot == 0 ? node.use.name
                                         : fmt::format("{}.{}", node.use.name, slot));
      }
    } else {
      wanted.kind =
          node.kind == Node::Kind::source ? PatternNode::Kind::input : PatternNode::Kind::constant;
      wanted.value = fact.value;
      wanted.names.push_back(node.use.name);
      wanted.type = fact.type;
      if (fact.shape) wanted.dims.emplace();
      for (const Dim& dim : fact.shape.value_or(Shape())) {
        const std::string text = dim.text();
        wanted.dims->push_back(dim.is_const()          ? PatternNode::Size(dim.value())
                               : text.starts_with('?') ? PatternNode::Size()
                                                       : PatternNode::Size(text));
      }
    }
    pattern.nodes_.push_back(std::move(wanted));
  }
  pattern.output_ = {graph.outputs()[0].outlet.node, graph.outputs()[0].outlet.slot};
  return pattern;
}

Pattern& Pattern::where(std::string_view name, std::function<bool(const Fact&)> accept) {
  for (PatternNode& node : nodes_) {
    if (!node.names.empty() && node.names[0] == name) node.accept = accept;
  }
  return *this;
}

std::optional<Match> Pattern::at(const Graph& graph, uint32_t node, const Uses& uses) const {
  const PatternNode& root = nodes_[output_.node];
  if (root.kind != PatternNode::Kind::op || graph.node(node).use.op != root.op) return std::nullopt;
  return Search(*this, graph, uses).from({node, output_.slot});
}

std::vector<Match> Pattern::chain(const Graph& graph, uint32_t node, const Uses& uses) const {
  std::vector<Match> blocks;
  while (std::optional<Match> block = at(graph, node, uses)) {
    blocks.push_back(*std::move(block));
    const Outlet before = blocks.back()[through_];
    // A block inside of a chain is read by the next one alone.
    if (before.slot != output_.slot || uses(before) != 1) break;
    node = before.node;
  }
  return blocks;
}

}  // namespace sdx::typed
