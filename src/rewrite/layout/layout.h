// How the tensors of a graph lie, chosen for all of it. Operators declare how they run on tensors
// that lie otherwise (op/layout.h); this room asks them and knows none by name, but for those it
// turns tensors with.
//
//   ask.h       the layouts that are tried, and what a node answers in one
//   choose.h    which nodes run in which layout: the parting that moves fewest elements
//   relay.cc    the graph made anew, each wire in the forms that its readers want
//   min_cut.h   what choosing comes down to
//
// Transposes are names for axes until somebody needs the tensor as it was meant: those that follow
// each other become one, and those that undo each other go.
#pragma once

#include "rewrite/rewrite.h"

namespace sdx::rewrite {

// What makes a layout worth it.
enum class Aim : uint8_t {
  turns,    // the model's own Transposes go
  kernels,  // operators gain, too
};

Result<typed::Graph> lay_out(const typed::Graph& graph, Aim aim);

}  // namespace sdx::rewrite
