// Where an operator's outputs have their rows, given where its inputs have theirs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "typed/graph.h"

namespace sdx::rowwise {

// What a wire has to do with rows.
struct Rows {
  enum class Kind : uint8_t {
    same,  // nothing: its value and shape are those of a run with any number of rows
    size,  // its value follows from the number of rows: what shape arithmetic computes
    rows,  // stretch i of `axis`, of size N, holds what belongs to row i
  };
  Kind kind = Kind::same;
  size_t axis = 0;

  static Rows at(size_t axis) { return {Kind::rows, axis}; }
  bool has() const { return kind == Kind::rows; }
  bool operator==(const Rows&) const = default;
};

// A node, what is known of its wires, and how it refuses.
struct Asked {
  const typed::Node& node;
  Facts in;
  std::vector<Rows> rows;  // by input
  std::string symbol;      // that counts rows
  mutable std::string why;

  const sdx::Node& use() const { return node.use; }
  const Fact& out(size_t slot = 0) const { return node.outputs[slot]; }
  bool given(size_t input) const { return input < in.size() && in[input].present(); }
  bool has(size_t input) const { return input < rows.size() && rows[input].has(); }
  // The inputs from `first` on, but for `except`, are the same for all rows.
  bool same_from(size_t first, size_t except = SIZE_MAX) const;
  bool counts(const Dim& dim) const;  // whether a size depends on the number of rows
  std::nullopt_t refuse(std::string reason) const {
    if (why.empty()) why = std::move(reason);
    return std::nullopt;
  }
};
using Answer = std::optional<std::vector<Rows>>;  // by output
using Rule = Answer (*)(const Asked&);

// The rule of an operator that gets rows; null if it has none.
Rule rule_of(std::string_view domain, std::string_view op);

// The only axis of a shape that counts rows; none if there is no one such axis.
std::optional<size_t> counting_axis(const Asked& asked, const Shape& shape);

}  // namespace sdx::rowwise
