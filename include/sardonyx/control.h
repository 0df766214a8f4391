// Operators whose subgraphs are written as functions of wires; they may use wires from outside.
#pragma once

#include "sardonyx/graph.h"

namespace sardonyx::ops {

// What one turn of a Loop or Scan gives.
struct Step {
  Wires carried;    // the values for the next turn
  Wires scanned;    // stacked over all turns
  Wire go_on = {};  // of a Loop: whether there is a next turn; left out: as before
};

// If: the outputs of one branch. Both must give the same number and types.
Wires if_(const Wire& cond, const std::function<Wires()>& then_branch,
          const std::function<Wires()>& else_branch, Place place = Place::here());

// How often a Loop runs at most: a number, a wire of i64, or nothing for no limit.
struct Trips {
  Trips() = default;
  Trips(Wire count) : wire(std::move(count)) {}  // NOLINT: implicit
  template <std::integral T>
  Trips(T count) : wire(static_cast<int64_t>(count)) {}  // NOLINT
  Wire wire;
};

// Loop: `body` runs at most `trips` times while the condition holds. The
// results are the carried values at the end, then what was scanned.
//
//   loop(10, {}, {x}, [&](const Wire& i, const Wires& carried) -> Step { ... });
Wires loop(const Trips& trips, const Wire& cond, const Wires& initial,
           const std::function<Step(const Wire& iteration, const Wires& carried)>& body,
           Place place = Place::here());

struct ScanOptions {
  Given<std::vector<int64_t>> scan_input_axes = {};
  Given<std::vector<int64_t>> scan_input_directions = {};  // 1: from the end
  Given<std::vector<int64_t>> scan_output_axes = {};
  Given<std::vector<int64_t>> scan_output_directions = {};
};
// Scan: `body` runs on every slice of `inputs`.
Wires scan(const Wires& initial, const Wires& inputs,
           const std::function<Step(const Wires& carried, const Wires& slices)>& body,
           const ScanOptions& options = {}, Place place = Place::here());

// SequenceMap: `body` runs on every element of `sequence`, and of those among `additional` that are
// sequences.
Wires sequence_map(const Wire& sequence, const Wires& additional, const Body& body,
                   Place place = Place::here());

struct SplitOptions {
  Wire split = {};  // the size of each part; left out: equal parts
  int64_t axis = 0;
};
// Split: a tensor cut into parts along an axis.
Wires split(const Wire& input, size_t parts, const SplitOptions& options = {},
            Place place = Place::here());

}  // namespace sardonyx::ops
