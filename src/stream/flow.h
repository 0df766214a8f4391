// Streaming: a model over an axis without an end, run as its rows come in.
//
// Flow is the fact that a wire carries: it moves along the axis row by row, or it stays the same,
// or it is known at the end only. `analyse` infers it for every wire of a typed graph, by asking
// each operator's declaration (op/streaming.h) and, where there is none, the operator itself
// (rows.h). Everything else follows from that fact:
//
//   flow.h      what moves and how: rows that are certain, rows that are still needed
//   step.h      the graph of one push: histories and new rows in, certain rows and histories out
//   stream.h    Stream: push, finish, fork, save and restore
//   pulsed.h    the same as one ordinary ONNX model with its state as inputs and outputs
//   report.h    tables and JSON: delay, history, stride, state, cost
//
// docs/streaming.md has the rule and an example.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "op/streaming.h"
#include "typed/graph.h"

namespace sdx::stream {

using typed::Outlet;

struct Flow {
  enum class Kind : uint8_t {
    fixed,    // the same for every row: weights, and what depends on fixed inputs alone
    rows,     // moves along the axis
    length,   // sizes: integers that follow from the number of rows
    late,     // known when the stream has ended
    refused,  // depends on a node that cannot be streamed
  };
  Kind kind = Kind::fixed;
  size_t axis = 0;  // rows: the axis along which they come
  Dim length;       // rows: how many there are in the end of a long stream
  bool moves() const { return kind == Kind::rows; }
};

// One node that cannot be streamed, and why.
struct Refusal {
  uint32_t node;
  std::string reason;
};

// An output that moves, or that folds what does: all that a push asks of it, side by side in
// memory.
struct Moving {
  struct Input {
    uint32_t index;  // of the node's inputs
    uint32_t wire;
    uint32_t like;  // the wire that it follows, or itself
  };
  uint32_t node, slot, wire;
  bool rows;          // moves; else it is answered at the end
  bool source;        // an input of the model
  bool held = false;  // rows of it may be kept
  // What of the node's Streaming concerns positions.
  Streaming::Kind kind = Streaming::Kind::rows;
  Streaming::Mode mode = Streaming::Mode::constant;
  bool overhangs = false, exclusive = false, padded = false;
  std::span<const Input> inputs;  // those that move; in Flows::moving_inputs
  Reach reach;
  int64_t before = 0, after = 0, longer = 0, count = 0, behind = -1, ahead = 0;
  Streaming::Slice slice;
  size_t input = 0;  // join: the streamed one; rows of the fixed ones are before and after it

  const Input& input_at(size_t index) const {
    size_t i = 0;
    while (inputs[i].index != index) ++i;
    return inputs[i];
  }
};

// An output that has the rows that another wire has, always: it works row by row on wires that do.
struct Follower {
  uint32_t wire, like;
  bool held;
};

struct Flows {
  typed::Graph graph;                    // sizes other than the axis' are known
  std::string symbol;                    // of the axis
  std::vector<std::vector<Flow>> wires;  // by node and slot
  std::vector<Streaming> nodes;          // by node: how those move that do
  std::vector<size_t> first_wire;        // by node: the number of its wire 0; then the total
  std::vector<Refusal> refused;
  std::vector<Moving> moving;     // in the graph's order, but for those that follow others
  std::vector<Moving> following;  // the same of those
  std::vector<Moving::Input> moving_inputs;
  std::vector<Follower> followers;
  std::vector<uint32_t> held;  // wires of which rows may be kept; of others none are

  Flows() = default;
  Flows(Flows&&) = default;  // `moving` points into `moving_inputs`: no copies
  Flows& operator=(Flows&&) = default;

  const Flow& at(Outlet outlet) const { return wires[outlet.node][outlet.slot]; }
  size_t wire(Outlet outlet) const { return first_wire[outlet.node] + outlet.slot; }
  // Of an output that moves.
  const Moving& moving_at(Outlet outlet) const;
  size_t count() const { return first_wire.back(); }
  // A node whose outputs come row by row.
  bool moves(uint32_t node) const;
  // A node that works along the axis and is answered at the end.
  bool folds(uint32_t node) const;
  // The error of the first node that cannot be streamed.
  Status check() const;
};

// `graph`: typed, with no other open sizes than `symbol`. Nodes that cannot be streamed are listed;
// an error is one of the graph's inputs.
Result<Flows> analyse(typed::Graph graph, const std::string& symbol);

// How many rows each wire has when the stream ends after `rows` rows of the input. A length that
// the model cannot have is the error that the whole run gives.
Result<std::vector<int64_t>> lengths(const Flows& flows, int64_t rows);

// Where a stream is: of each moving wire, how many rows are certain and from which one on they are
// kept.
struct Position {
  std::vector<int64_t> certain, kept;  // by wire
  std::vector<int64_t> sure;           // by wire: rows that there will be, whatever comes
  int64_t rows = 0;                    // that came in

  explicit Position(const Flows& flows)
      : certain(flows.count(), 0), kept(flows.count(), 0), sure(flows.count(), 0), rows(0) {}
};

// The rows [first, last) of an input that a node needs to give some rows.
struct Rows {
  int64_t first = 0, last = 0;
  int64_t count() const { return last - first; }
};
inline constexpr int64_t kNever = INT64_MAX / 4;

// The row with which the last push begins to compute, for `row` to come out: a window that reaches
// behind the end stands beside a whole one.
int64_t last_begins(bool overhangs, int64_t row);
// What rows [out.first, out.last) of an output need of input `input`, of which `have` rows are
// there; with `end` there will be no more.
Rows needed_rows(const Moving& output, size_t input, Rows out, int64_t have, bool end);

// Where the stream is after `more` rows. With `ends`, the lengths of all wires, the stream ends
// with them.
void advance(const Flows& flows, const Position& from, int64_t more,
             const std::vector<int64_t>* ends, Position& to);

}  // namespace sdx::stream
