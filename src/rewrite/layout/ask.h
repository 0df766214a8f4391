// Asking the operators of a graph about a layout.
#pragma once

#include <span>

#include "op/layout.h"
#include "typed/graph.h"

namespace sdx::rewrite {

// A layout that a graph may take on: how its tensors of each rank lie then.
struct Family {
  std::string_view name;
  Layout (*of)(size_t rank);
  bool (*takes)(const Fact&);  // tensors that can be brought into it
};
std::span<const Family> families();

// Whether an operand can be brought into this layout.
bool convertible(const Fact& fact, const Layout& layout);

// What a node answers, if input `from` lies like this.
std::optional<Relaid> ask(const typed::Graph& graph, const typed::Node& node, size_t from,
                          const Layout& layout);

// What it answers where images lie as the family has them: its outputs do, or are plain.
std::optional<Relaid> ask(const typed::Graph& graph, const typed::Node& node, const Family& family);

// Whether any NaN of a wire is the canonical one, since an operation made it.
bool is_computed(const typed::Graph& graph, typed::Outlet wire);

// A node that only gives its input's elements other axes.
bool is_view(const typed::Graph& graph, const typed::Node& node);

}  // namespace sdx::rewrite
