#include "infer/stale.h"

namespace sdx::infer {
namespace {

// Whether the declaration states another type, shapes aside.
bool other_type(const Fact& declared, const Fact& found) {
  if (declared.kind != found.kind) return true;
  if (!declared.is_tensor()) return declared.onnx_type() != found.onnx_type();
  return declared.type != DType::undefined && found.type != DType::undefined &&
         declared.type != found.type;
}

// What differs, for people; empty if the declaration can hold.
std::string difference(const Fact& declared, const Fact& found) {
  if (other_type(declared, found)) return "another type";
  if (!declared.is_tensor()) return "";
  if (!declared.shape || !found.shape) return "";
  if (declared.rank() != found.rank())
    return fmt::format("rank {} against {}", declared.rank(), found.rank());
  for (size_t axis = 0; axis < declared.rank(); ++axis) {
    const Dim &a = declared.dim(axis), &b = found.dim(axis);
    if (a.is_const() && b.is_const() && !(a == b))
      return fmt::format("dimension {} is {} against {}", axis, a.text(), b.text());
  }
  return "";
}

std::string place_of(const typed::Node& node) {
  const std::string name = node.use.name.empty() ? "" : " " + check::in_quotes(node.use.name);
  if (node.kind == typed::Node::Kind::source) return "input" + name;
  if (node.kind == typed::Node::Kind::constant) return "constant" + name;
  return fmt::format("node{} ({})", name, node.op().name);
}

}  // namespace

std::vector<check::Diagnostic> stale_types(const model::Graph& graph, const typed::Graph& typed,
                                           const Wires& wires) {
  std::vector<check::Diagnostic> found;
  const auto compare = [&](const std::vector<model::ValueInfo>& list, std::string_view what) {
    for (const model::ValueInfo& value : list) {
      const auto at = wires.find(value.name);
      if (at == wires.end() || !at->second.present() || !value.type) continue;
      const Fact declared = check::declared_fact(value);
      const Fact& fact = typed.fact(at->second);
      const std::string why = difference(declared, fact);
      if (why.empty()) continue;
      const typed::Node& maker = typed.node(at->second.node);
      check::Diagnostic d;
      d.code = kStaleType;
      // Exporters leave wrong shapes behind, and give outputs of open sizes a wrong rank; everybody
      // accepts that. A wrong type, or another size of an output, misleads the caller.
      const bool output = what != "value_info";
      const bool open = !declared.is_concrete() && declared.rank() != fact.rank();
      d.severity = other_type(declared, fact) || (output && !open) ? check::Severity::error
                                                                   : check::Severity::warning;
      d.message = fmt::format("{} says that {} is {}; the model computes {}: {}", what,
                              check::in_quotes(value.name), declared.text(), fact.text(), why);
      d.place = fmt::format("graph {}, value {}", check::in_quotes(graph.name),
                            check::in_quotes(value.name));
      d.inputs = {fmt::format("declared = {}  {}", declared.text(), what),
                  fmt::format("computed = {}  {}", fact.text(), place_of(maker))};
      d.help = "the declaration is not used; an exporter that changed the graph may have left it";
      found.push_back(std::move(d));
    }
  };
  compare(graph.value_info, "value_info");
  compare(graph.output, "the declared output");
  return found;
}

}  // namespace sdx::infer
