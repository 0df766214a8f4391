// Sizes that a model computes with are often known before it runs.
//
//   Slice(Shape(x), 2, 3)                     ->   a constant        x : f32[2,N,36]
//   Gather(Shape(a), 1), Gather(Shape(b), 1)  ->   the first of them    both have N there
//
// Exporters write such nodes for every layer: the square root of a head's width, the length that a
// mask is cut to. As constants they fold with what is computed from them, and other rules see a
// factor where there was a chain of nodes.
#include "rewrite/known_values.h"

#include <algorithm>
#include <map>

#include "base/elem.h"
#include "typed/remake.h"

namespace sdx::rewrite {
namespace {

using typed::Graph;
using typed::Node;
using typed::Outlet;

// Whether a node computes integers that inference follows, as numbers or as expressions.
bool has_known_elements(const Node& node) {
  return node.kind == Node::Kind::op && std::any_of(node.outputs.begin(), node.outputs.end(),
                                                    [](const Fact& fact) { return fact.symbolic; });
}

// Whether what inference says of the only output is what a run computes, given that it is so of the
// inputs: narrow types wrap around, and so may large numbers, which expressions do not.
bool is_exact(const Node& node) {
  if (!node.op().deterministic || node.outputs.size() != 1) return false;
  const Fact& fact = node.outputs[0];
  return fact.type == DType::i64 && fact.is_concrete() &&
         std::all_of(fact.symbolic->begin(), fact.symbolic->end(),
                     [](const Dim& element) { return element.never_wraps(); });
}

bool are_numbers(const Fact& fact) {
  return std::all_of(fact.symbolic->begin(), fact.symbolic->end(),
                     [](const Dim& element) { return element.is_const(); });
}

Tensor tensor_of(const Fact& fact) {
  Tensor tensor = Tensor::make(fact.type, fact.dims());
  for (size_t i = 0; i < tensor.count(); ++i)
    set_i64(fact.type, tensor.raw(), i, (*fact.symbolic)[i].value());
  return tensor;
}

// Equal for wires of equal elements.
std::string text_of(const Fact& fact) {
  std::string text = fact.text();
  for (const Dim& element : *fact.symbolic) text += ' ' + element.text();
  return text;
}

class KnownValues {
 public:
  explicit KnownValues(const Graph& graph) : graph_(graph) {
    std::vector<bool> is_output(graph.size(), false);
    for (const typed::Output& output : graph.outputs()) is_output[output.outlet.node] = true;
    std::vector<bool> exact(graph.size(), true);
    std::map<std::string, uint32_t> first;
    for (uint32_t id = 0; id < graph.size(); ++id) {
      const Node& node = graph.node(id);
      if (!has_known_elements(node)) continue;
      exact[id] =
          is_exact(node) && std::all_of(node.inputs.begin(), node.inputs.end(),
                                        [&](Outlet in) { return !in.present() || exact[in.node]; });
      if (!exact[id] || is_output[id]) continue;
      const Fact& fact = node.outputs[0];
      if (are_numbers(fact)) {
        same_as_[id] = id;
      } else if (const auto [at, fresh] = first.emplace(text_of(fact), id); !fresh) {
        same_as_[id] = at->second;
      }
    }
  }

  bool any() const { return !same_as_.empty(); }

  Result<Graph> made() const {
    typed::Remake remake(graph_, "known_values");
    std::vector<std::vector<Outlet>> wires(graph_.size());
    const auto now = [&](Outlet old) { return old.present() ? wires[old.node][old.slot] : old; };
    for (uint32_t id = 0; id < graph_.size(); ++id) {
      typed::Remake::Place here = remake.at(id);
      const Node& node = graph_.node(id);
      const auto known = same_as_.find(id);
      if (known == same_as_.end()) {
        std::vector<Outlet> inputs;
        for (const Outlet input : node.inputs) inputs.push_back(now(input));
        SDX_ASSIGN(wires[id], remake.copy(id, std::move(inputs)));
        continue;
      }
      here.by("known_values");
      wires[id] =
          known->second != id
              ? wires[known->second]
              : std::vector{remake.made.constant(tensor_of(node.outputs[0]), node.use.name)};
    }
    for (const typed::Output& output : graph_.outputs())
      remake.made.output(output.name, now(output.outlet));
    return remake.finish();
  }

 private:
  const Graph& graph_;
  std::map<uint32_t, uint32_t> same_as_;  // an earlier node of equal elements; itself: a constant
};

}  // namespace

Result<Graph> with_known_values(Graph graph) {
  const KnownValues known(graph);
  if (!known.any()) return graph;
  return known.made();
}

}  // namespace sdx::rewrite
