// Why a node without a step is a view, in words that a checker can follow from shapes alone.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "typed/graph.h"

namespace sdx::certificate {

struct ViewRule {
  enum class Kind : uint8_t {
    same,       // the same elements in the same order
    slice,      // starts at `numbers`, one per axis; the output's sizes say how much
    split,      // pieces one after another along axis numbers[0]
    transpose,  // axis i of the output is axis numbers[i] of the input
  };
  Kind kind = Kind::same;
  std::vector<int64_t> numbers = {};
};
std::string_view name_of(ViewRule::Kind kind);

// From the operator, its attributes and its constant inputs; not from what the plan made of them.
ViewRule view_rule(const typed::Graph& graph, const typed::Node& node);

// The axes that an Unsqueeze puts into its output, or a Squeeze takes out of its input; nothing if
// they are not known.
std::optional<std::vector<int64_t>> unit_axes(const typed::Graph& graph, const typed::Node& node);

// If the node is a Concat along the first axis that is not 1: that axis.
std::optional<size_t> join_axis(const typed::Graph& graph, const typed::Node& node);

}  // namespace sdx::certificate
