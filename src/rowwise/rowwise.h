// RowWise: a proof that a model works row by row, so that requests may share a run.
//
// A graph is row-wise along the open first size N of its inputs if row i of every output depends on
// row i of the inputs and on nothing else: not on other rows, and not on how many there are. The
// analysis walks the typed graph once and says of every wire where its rows lie, by a rule per
// family of operators (rules.h). An operator without a rule, or used across rows (a reduction over
// the first axis, DynamicQuantizeLinear, NonZero, random numbers), ends the proof, and is named.
#pragma once

#include <string>
#include <vector>

#include "typed/graph.h"

namespace sdx::rowwise {

struct RowWise {
  bool proved = false;
  std::string symbol;        // the size that counts rows
  std::string reason;        // why not, with the node's name
  std::vector<bool> inputs;  // by input of the graph: whether its first axis is that of the rows
};

RowWise analyse(const typed::Graph& graph);

}  // namespace sdx::rowwise
