#include "infer/learnt.h"

#include <algorithm>

namespace sdx::infer {

using typed::Outlet;

Outlet LearntSink::source(std::string name, Fact) {
  Fact fact = net_.at({next_++, 0}).fact;
  for (size_t axis = 0; fact.shape && axis < fact.rank(); ++axis)
    (*fact.shape)[axis] = fact.dim(axis).bind(set_);
  return GraphSink::source(std::move(name), std::move(fact));
}

Outlet LearntSink::constant(Tensor value, std::string name) {
  ++next_;
  return GraphSink::constant(std::move(value), std::move(name));
}

Result<std::vector<Outlet>> LearntSink::add(sdx::Node use, std::vector<Outlet> inputs,
                                            std::vector<std::string> origin) {
  const uint32_t id = next_++;
  auto made = GraphSink::add(std::move(use), std::move(inputs), std::move(origin));
  if (!made) {
    failed_ = id;
    return made;
  }
  for (uint32_t slot = 0; slot < made->size(); ++slot) {
    const Fact& learnt = net_.nodes[id].outputs[slot].fact;
    if ((*made)[slot].present() && learnt.is_tensor()) graph_.learn((*made)[slot], learnt);
  }
  return made;
}

bool has_gap(const Fact& fact) {
  return fact.is_tensor() && (fact.type == DType::undefined || !fact.shape);
}

bool has_gap(const typed::Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), [](const typed::Node& node) {
    return std::any_of(node.outputs.begin(), node.outputs.end(),
                       [](const Fact& fact) { return has_gap(fact); });
  });
}

}  // namespace sdx::infer
