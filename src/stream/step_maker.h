// StepMaker: makes the graph of one push, node by node. Its parts are files of their own:
//
//   step.cc          the order of things, outputs and histories
//   step_wires.cc    rows of wires: those that came, those that were kept, a stretch of both
//   step_nodes.cc    nodes on pieces: row by row, windows, cuts, padding
//   step_states.cc   what goes on from push to push: recurrences, running sums, keys and values
//   step_folds.cc    reductions, and what is known at the end
#pragma once

#include <map>

#include "gradient/builder.h"
#include "stream/step.h"

namespace sdx::stream {

using gradient::Builder;
using gradient::Outlets;

inline constexpr int64_t kLanes = 16;  // of sums, docs/numerics.md

class StepMaker {
 public:
  StepMaker(const Flows& flows, const States& states, const Position& from, const Position& to,
            bool end)
      : flows_(flows), old_(flows.graph), states_(states), from_(from), to_(to), end_(end) {}

  Result<Step> run();

 private:
  using Kind = Streaming::Kind;

  Status in(uint32_t id, Status status);

  // Wires of the new graph.

  size_t rank(Outlet old) const { return old_.fact(old).rank(); }
  int64_t fresh(Outlet old) const;
  Rows new_rows(Outlet old) const;
  // The fact of some rows of a wire.
  Fact rows_fact(Outlet old, int64_t rows) const;
  Outlet source(Step::Port port, std::string name, Fact fact);
  void give(Step::Port port, std::string name, Outlet wire);
  Outlet slice(Outlet wire, size_t axis, int64_t first, int64_t last, int64_t step = 1);
  Outlet concat(Outlets parts, size_t axis);
  // The rows of a moving wire that came in or were computed in this push.
  Outlet made(Outlet old);
  // From the order in which a history is kept to the wire's, or back: it is its own inverse.
  Outlet turned(Outlet old, Outlet wire);
  Outlet state(size_t number, Fact fact);
  // Rows [from.kept, to.certain).
  Outlet all(Outlet old);
  Outlet rows(Outlet old, Rows wanted);
  // A wire that does not move: fixed, or known now that the stream ends.
  Outlet value(Outlet old);
  Outlet length(const Fact& fact);
  std::vector<Outlet> add(sdx::Node use, std::vector<Outlet> inputs,
                          const std::vector<std::string>& origin);

  // Nodes on pieces.

  // The node on a piece: its inputs, with the attributes and constants that its declaration gives
  // for pieces.
  std::vector<Outlet> again(uint32_t id, std::vector<Outlet> inputs, AttrMap more = {});
  std::vector<Outlet> inputs_for(uint32_t id, uint32_t slot, Rows out);
  Rows needed(uint32_t id, uint32_t slot, size_t input, Rows out);
  Status move(uint32_t id);
  std::vector<Outlet> window(uint32_t id, uint32_t slot, Rows out, std::vector<Outlet> inputs);
  AttrMap padding(const Streaming& how, Rows out) const;
  // The node for its other axes alone, on rows of its input.
  Outlet other_axes(uint32_t id, Outlet piece);
  void cut(uint32_t id, uint32_t slot);
  Status pad(uint32_t id, Rows out);
  Status join(uint32_t id, Rows out);

  // What goes on from push to push.

  std::vector<Outlet> carry(uint32_t id, Rows out, std::vector<Outlet> inputs);
  // The fact of a carried state: that of the output, whether or not the model names it.
  Fact carried(uint32_t id, size_t k);
  // The last row goes in front of the piece: one chain goes on. An exclusive one begins with what
  // adds nothing, and its last row has seen all but the last of the piece.
  Outlet running(uint32_t id, Rows out, Outlet piece, Outlet axis_input);
  Outlet attend(uint32_t id, Rows out);
  // Keys or values of the past are [batch, heads, rows, size].
  Outlet by_heads(const typed::Node& node, Outlet wire, size_t along);

  // Reductions.

  bool by_lanes(const Streaming& how) const;
  Status fold(uint32_t id);
  Outlet folded(uint32_t id);
  // What a node along the axis gives when the stream has ended.
  Outlet late(Outlet old);

  // What comes out.

  Status outputs();
  void histories();

  const Flows& flows_;
  const typed::Graph& old_;
  const States& states_;
  const Position &from_, &to_;
  const bool end_;
  Step step_;
  Builder build_{step_.graph};
  std::map<Outlet, Outlet> made_, all_, values_;
  std::map<std::pair<Outlet, std::pair<int64_t, int64_t>>, Outlet> cuts_;
  std::map<size_t, Outlet> kept_, next_;  // states before and after
};

}  // namespace sdx::stream
