// What inference is asked for, and what declared types say.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "check/declared.h"
#include "model/model.h"
#include "typed/graph.h"

namespace sdx::infer {

// Names of a graph's wires.
using Wires = std::map<std::string, typed::Outlet, std::less<>>;

// The wires of subgraphs, for people: what was known of each when its graph was last typed.
struct BodyFacts {
  std::map<const model::Graph*, std::map<std::string, Fact, std::less<>>> graphs;
  void note(const model::Graph& graph, const Wires& wires, const typed::Graph& typed) {
    auto& facts = graphs[&graph];
    for (const auto& [name, outlet] : wires) facts[name] = typed.fact(outlet);
  }
};

struct Options {
  Bindings set;                         // sizes for symbolic dimensions of the inputs
  std::set<std::string> overridden;     // inputs that are given although they have a default
  std::vector<std::string> assertions;  // of the symbols: "N<=512", "H%32==0"
  size_t most_nodes = 1 << 22;          // after inlining: nested functions can grow exponentially
  // For people: learn all that can be learnt, keep why, and compare with what the model states. A
  // model whose inputs have types and ranks does not need it to run.
  bool thorough = false;
  std::shared_ptr<BodyFacts> bodies;  // filled if given
  // What holds of the symbols, for subgraphs; made from the assertions.
  std::shared_ptr<const Assumptions> assumptions;
  // Of a branch that did not fit the sizes at hand and is tried with any: its own must fit.
  bool any_sizes = false;
  bool journal = false;  // keep which of the model's nodes each typed one comes from
};

}  // namespace sdx::infer
