#include "certificate/views.h"

#include <algorithm>
#include <numeric>

#include "ops/list.h"

namespace sdx::certificate {
namespace {

using typed::Graph;
using typed::Node;

// A list of integers that older versions take as an attribute and newer ones as an input.
std::optional<std::vector<int64_t>> list_of(const Graph& graph, const Node& node,
                                            std::string_view attribute, size_t input) {
  if (node.use.has(attribute)) return node.use.ints(attribute);
  if (input >= node.inputs.size() || !node.inputs[input].present()) return std::nullopt;
  return graph.fact(node.inputs[input]).constant_integers();
}

int64_t resolved(int64_t axis, size_t rank) { return axis < 0 ? axis + int64_t(rank) : axis; }

// ONNX: a negative start counts from the end; then it is clamped into the axis, for a negative step
// to its last element.
std::vector<int64_t> slice_starts(const Graph& graph, const Node& node) {
  const Dims dims = graph.fact(node.inputs[0]).dims();
  std::vector<int64_t> starts(dims.size(), 0);
  const auto given = list_of(graph, node, "starts", 1);
  const auto axes = list_of(graph, node, "axes", 3), steps = list_of(graph, node, "steps", 4);
  for (size_t i = 0; given && i < given->size(); ++i) {
    const auto axis = size_t(resolved(axes ? (*axes)[i] : int64_t(i), dims.size()));
    if (axis >= dims.size()) continue;
    const bool backwards = steps && (*steps)[i] < 0;
    const int64_t start = (*given)[i] < 0 ? (*given)[i] + dims[axis] : (*given)[i];
    starts[axis] = std::clamp<int64_t>(start, 0, dims[axis] - (backwards && dims[axis] > 0));
  }
  return starts;
}

}  // namespace

std::string_view name_of(ViewRule::Kind kind) {
  switch (kind) {
    case ViewRule::Kind::same:
      return "same";
    case ViewRule::Kind::slice:
      return "slice";
    case ViewRule::Kind::split:
      return "split";
    case ViewRule::Kind::transpose:
      return "transpose";
  }
  return "";
}

ViewRule view_rule(const Graph& graph, const Node& node) {
  const size_t rank = graph.fact(node.inputs[0]).rank();
  if (node.use.op == &ops::slice) return {ViewRule::Kind::slice, slice_starts(graph, node)};
  if (node.use.op == &ops::split)
    return {ViewRule::Kind::split, {resolved(node.use.i_or("axis", 0), rank)}};
  if (node.use.op == &ops::transpose) {
    std::vector<int64_t> perm = node.use.ints_or_empty("perm");
    if (perm.empty()) {
      perm.resize(rank);
      std::iota(perm.rbegin(), perm.rend(), 0);
    }
    return {ViewRule::Kind::transpose, std::move(perm)};
  }
  return {};
}

std::optional<std::vector<int64_t>> unit_axes(const Graph& graph, const Node& node) {
  const Fact& x = graph.fact(node.inputs[0]);
  const Fact& wide = node.use.op == &ops::unsqueeze ? node.outputs[0] : x;
  if (!x.has_rank() || !wide.has_rank()) return std::nullopt;
  auto axes = list_of(graph, node, "axes", 1);
  if (!axes && node.use.op == &ops::squeeze && node.inputs.size() < 2) {
    axes.emplace();  // all of size 1
    for (size_t i = 0; i < x.rank(); ++i) {
      if (x.dim(i).is_const(1)) axes->push_back(int64_t(i));
    }
  }
  if (!axes) return std::nullopt;
  for (int64_t& axis : *axes) axis = resolved(axis, wide.rank());
  return axes;
}

std::optional<size_t> join_axis(const Graph& graph, const Node& node) {
  if (node.use.op != &ops::concat || !node.outputs[0].is_concrete()) return std::nullopt;
  const Dims dims = node.outputs[0].dims();
  const int64_t axis = resolved(node.use.i_or("axis", 1), dims.size());
  if (is_packed(node.outputs[0].type) || axis < 0 || axis >= int64_t(dims.size()))
    return std::nullopt;
  for (const typed::Outlet input : node.inputs) {
    if (!graph.fact(input).is_concrete()) return std::nullopt;
  }
  const bool first = std::all_of(dims.begin(), dims.begin() + ptrdiff_t(axis),
                                 [](int64_t size) { return size == 1; });
  return first ? std::optional(size_t(axis)) : std::nullopt;
}

}  // namespace sdx::certificate
