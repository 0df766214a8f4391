// Rewrites: a typed graph becomes a faster one that gives every output the same bits. One rule per
// file.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "typed/remake.h"

namespace sdx::rewrite {

// A graph being rewritten: the old one, and the new one as far as it has been made.
class Rewriting : public typed::Remake {
 public:
  Rewriting(const typed::Graph& old, std::string_view pass, Isa isa);

  const Isa isa;  // of kernels that make constants now; no bit depends on it

  // The new wire that stands for an old one; all inputs of the node at hand have one.
  typed::Outlet now(typed::Outlet old_outlet) const {
    return old_outlet.present() ? moved_[old_outlet.node][old_outlet.slot] : old_outlet;
  }
  // How many inputs and graph outputs read an old wire.
  size_t uses(typed::Outlet old_outlet) const { return uses_[old_outlet.node][old_outlet.slot]; }
  // The old operator node that makes a wire, if it is an `op` whose only reader is here; null
  // otherwise.
  const typed::Node* only_from(typed::Outlet old_outlet, const Op& op) const;
  // The old nodes that read an old wire, once per reading input.
  const std::vector<uint32_t>& readers(typed::Outlet old_outlet) const;
  // Adds a node to the new graph that stands for the given old nodes.
  Result<std::vector<typed::Outlet>> add(const Op& op, AttrMap attrs,
                                         std::vector<typed::Outlet> inputs, size_t outputs,
                                         std::span<const typed::Node* const> stands_for);
  // The same with the attributes that `op` shares with the operator of `like`, but for those in
  // `changed`.
  Result<std::vector<typed::Outlet>> add_like(const typed::Node& like, const Op& op,
                                              AttrMap changed, std::vector<typed::Outlet> inputs,
                                              std::span<const typed::Node* const> stands_for);

  // Puts the next old node into the new graph: by the first rule that applies, else as it is.
  Result<bool> apply(uint32_t id, std::span<const struct Rule> rules);

 private:
  std::vector<std::vector<typed::Outlet>> moved_;
  std::vector<std::vector<size_t>> uses_;
  mutable std::vector<std::vector<std::vector<uint32_t>>> readers_;  // made when first asked for
};

// Types that programs of element-wise operations compute in float.
inline bool runs_in_float(DType type) {
  return type == DType::f32 || type == DType::f16 || type == DType::bf16;
}

// Looks at one old node; if the rule applies there, adds its replacement and returns the new wires,
// one per output.
struct Rule {
  std::string_view name;
  Result<std::optional<std::vector<typed::Outlet>>> (*at)(Rewriting&, uint32_t node);
};

// One pass of all rules over the graph, in order; the first that applies at a node wins, and what
// then has no reader goes. Where none applies, the graph stays as it is and nothing is copied.
Result<typed::Graph> apply_rules(const typed::Graph& graph, std::span<const Rule> rules,
                                 std::string_view pass = "rules", Isa isa = Isa::portable);

// All rules that keep every bit, and the layouts.
Result<typed::Graph> optimize(const typed::Graph& graph);

// The published rules that change bits (docs/numerics.md); the same for every machine and
// optimisation level.
Result<typed::Graph> to_standard_numerics(const typed::Graph& graph);

}  // namespace sdx::rewrite
