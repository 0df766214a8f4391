#include "rowwise/rowwise.h"

#include <algorithm>

#include "rowwise/rules.h"

namespace sdx::rowwise {
namespace {

bool counts(const std::string& symbol, const Dim& dim) {
  std::vector<std::string> symbols;
  dim.symbols(symbols);
  return std::find(symbols.begin(), symbols.end(), symbol) != symbols.end();
}

std::string label(const typed::Node& node) {
  const std::string& name = !node.use.name.empty() ? node.use.name
                            : node.origin.empty()  ? ""
                                                   : node.origin.back();
  return fmt::format("node \"{}\" ({})", name, node.op().name);
}

// The size that counts rows: the one that the inputs' first axes share.
std::string choose_symbol(const typed::Graph& graph, RowWise& result) {
  std::string symbol;
  for (const typed::Outlet source : graph.inputs()) {
    const Fact& fact = graph.fact(source);
    if (!fact.is_tensor() || !fact.has_rank()) {
      result.reason =
          fmt::format("input \"{}\" is {}", graph.node(source.node).use.name, fact.text());
      return "";
    }
    if (symbol.empty() && fact.rank() > 0 && !fact.dim(0).is_const()) {
      const std::string text = fact.dim(0).text();
      if (fact.dim(0) == Dim::symbol(text)) symbol = text;
    }
  }
  if (symbol.empty()) result.reason = "no input has an open first size";
  return symbol;
}

class Walk {
 public:
  Walk(const typed::Graph& graph, RowWise& result) : graph_(graph), result_(result) {}

  bool inputs() {
    states_.resize(graph_.nodes().size());
    for (const typed::Outlet source : graph_.inputs()) {
      const Fact& fact = graph_.fact(source);
      const bool rows = fact.rank() > 0 && fact.dim(0) == Dim::symbol(result_.symbol);
      for (size_t axis = rows ? 1 : 0; axis < fact.rank(); ++axis) {
        if (counts(result_.symbol, fact.dim(axis))) {
          result_.reason = fmt::format("input \"{}\" has the rows' number {} along axis {}",
                                       graph_.node(source.node).use.name, result_.symbol, axis);
          return false;
        }
      }
      result_.inputs.push_back(rows);
      states_[source.node] = {rows ? Rows::at(0) : Rows{}};
    }
    return true;
  }

  bool node(uint32_t id) {
    const typed::Node& node = graph_.node(id);
    if (node.kind == typed::Node::Kind::source) {
      if (states_[id].empty()) states_[id] = {Rows{}};
      return true;
    }
    states_[id].assign(std::max<size_t>(1, node.outputs.size()), Rows{});
    if (node.kind == typed::Node::Kind::constant) return true;
    if (!node.op().deterministic) return refuse(node, "it draws random numbers");
    Asked asked{node, {}, {}, result_.symbol, ""};
    bool rows = false, size = false;
    for (const typed::Outlet input : node.inputs) {
      asked.in.push_back(graph_.fact(input));
      asked.rows.push_back(input.present() ? states_[input.node][input.slot] : Rows{});
      rows = rows || asked.rows.back().has();
      size = size || asked.rows.back().kind == Rows::Kind::size;
    }
    if (!rows && !size) return true;
    const std::string_view name = node.op().name;
    const bool makes_rows = name == "ConstantOfShape" || name == "Expand";
    if (name == "Shape" || name == "Size" || (!rows && !makes_rows)) return shape_arithmetic(id);
    if (name == "Reshape" || makes_rows)
      asked.rows.resize(1);  // the shape's own value is in the facts
    if (!rows && (!node.outputs[0].has_rank() || !counting_axis(asked, *node.outputs[0].shape)))
      return shape_arithmetic(id);
    return by_rule(id, asked);
  }

  bool outputs() {
    for (const typed::Output& output : graph_.outputs()) {
      const Rows& rows = states_[output.outlet.node][output.outlet.slot];
      const Fact& fact = graph_.fact(output.outlet);
      if (!rows.has() || rows.axis != 0 || !(fact.dim(0) == Dim::symbol(result_.symbol))) {
        result_.reason = fmt::format(
            "output \"{}\" does not have one row for each row of the inputs", output.name);
        return false;
      }
    }
    return true;
  }

 private:
  bool refuse(const typed::Node& node, const std::string& why) {
    result_.reason = label(node) + ": " + why;
    return false;
  }

  // Sizes computed from sizes; those that the number of rows does not enter are the same for all.
  bool shape_arithmetic(uint32_t id) {
    const typed::Node& node = graph_.node(id);
    for (size_t slot = 0; slot < node.outputs.size(); ++slot) {
      const Fact& fact = node.outputs[slot];
      if (!fact.present()) continue;
      if (!fact.is_tensor() || !fact.has_rank())
        return refuse(node, "its output's shape is not known");
      for (const Dim& dim : *fact.shape) {
        if (counts(result_.symbol, dim))
          return refuse(node, "its output's size is the number of rows, and its elements differ");
      }
      const auto integers = fact.integers();
      const bool free =
          integers && std::none_of(integers->begin(), integers->end(),
                                   [&](const Dim& dim) { return counts(result_.symbol, dim); });
      states_[id][slot].kind = free ? Rows::Kind::same : Rows::Kind::size;
    }
    return true;
  }

  bool by_rule(uint32_t id, const Asked& asked) {
    const typed::Node& node = graph_.node(id);
    const Rule rule = rule_of(node.op().domain, node.op().name);
    if (rule == nullptr) return refuse(node, "it is not known to work row by row");
    for (const Fact& fact : asked.in) {
      if (fact.present() && (!fact.is_tensor() || !fact.has_rank()))
        return refuse(node, "an input's rank is not known");
    }
    for (const Fact& fact : node.outputs) {
      if (fact.present() && (!fact.is_tensor() || !fact.has_rank()))
        return refuse(node, "its output's rank is not known");
    }
    const Answer answer = rule(asked);
    if (!answer) return refuse(node, asked.why);
    for (size_t slot = 0; slot < node.outputs.size(); ++slot) {
      const Fact& fact = node.outputs[slot];
      if (!fact.present()) continue;
      const Rows& rows = (*answer)[slot];
      if (!well_formed(fact, rows.axis))
        return refuse(node, "its output " + fact.text() + " does not keep the rows apart");
      states_[id][slot] = rows;
    }
    return true;
  }

  // N times something along the axis of the rows, and nothing of N elsewhere.
  bool well_formed(const Fact& fact, size_t axis) const {
    for (size_t i = 0; i < fact.rank(); ++i) {
      if (i != axis && counts(result_.symbol, fact.dim(i))) return false;
    }
    if (axis >= fact.rank()) return false;
    const Dim each = fact.dim(axis).bind({{result_.symbol, 1}});
    return !counts(result_.symbol, each) && Dim::symbol(result_.symbol) * each == fact.dim(axis);
  }

  const typed::Graph& graph_;
  RowWise& result_;
  std::vector<std::vector<Rows>> states_;  // by node and slot
};

}  // namespace

RowWise analyse(const typed::Graph& graph) {
  RowWise result;
  result.symbol = choose_symbol(graph, result);
  if (result.symbol.empty()) return result;
  Walk walk(graph, result);
  if (!walk.inputs()) return result;
  for (uint32_t id = 0; id < graph.nodes().size(); ++id) {
    if (!walk.node(id)) return result;
  }
  result.proved = walk.outputs();
  return result;
}

}  // namespace sdx::rowwise
