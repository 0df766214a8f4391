// The graph of one push: what is kept of earlier rows and the new rows go in, rows that are now
// certain and what the next push needs come out.
//
// Each node is made as the model has it, on just the rows that its new rows need, so that its
// kernels perform the same operations in the same order as over the whole axis. Padding stands
// where the stream begins and, in the last push, where it ends.
#pragma once

#include "stream/flow.h"

namespace sdx::stream {

// What a stream keeps from one push to the next: of each wire its last rows, of some nodes a state.
// Numbered: wires first, then the states of nodes.
struct States {
  explicit States(const Flows& flows);
  size_t count = 0;
  std::vector<size_t> first;  // by node: the number of its first own state
};

// How the history of a wire lies. Signals [N, C, T] are kept as [N, T, C], the form in which few
// rows are convolved: old rows stay together, and new ones stand behind them.
bool kept_with_rows_first(const Flows& flows, Outlet wire);
Fact kept_fact(const Flows& flows, Outlet wire, int64_t rows);

struct Step {
  struct Port {
    enum class Kind : uint8_t { model, state } kind;
    size_t index;  // of the model's input or output, or of the state
  };
  typed::Graph graph;
  std::vector<Port> inputs, outputs;
  std::vector<size_t> dropped;  // states that are empty afterwards
};

// All that the graph of the push from one position to another depends on.
void step_key(const Flows& flows, const Position& from, const Position& to, bool end,
              std::vector<int64_t>& key);
Result<Step> make_step(const Flows& flows, const States& states, const Position& from,
                       const Position& to, bool end);

}  // namespace sdx::stream
