// The journal of a plan: the model's nodes that each step stems from, the rules that led there, and
// what became of every node of the model.
#pragma once

#include <string>
#include <vector>

#include "model/model.h"
#include "plan/plan.h"

namespace sdx {

// A rule, applied once. Nodes are named as they were in the graph of that pass: Relu "relu1".
struct Replacement {
  std::string pass, rule;
  std::vector<std::string> gone, came;
};

struct TracedStep {
  std::string operation, name, kernel;
  std::vector<std::string> nodes;         // of the model: node 7 "residual" (Add)
  std::vector<std::string> initializers;  // that a rule worked into it
  std::vector<Replacement> by;            // in the order in which they happened
};

struct Fate {
  enum class Kind : uint8_t {
    step,      // it runs, alone or with others
    view,      // its result is its input's memory: nothing runs
    constant,  // it was computed when the model was compiled
    inside,    // it runs within the step that holds its subgraph
    removed,
  };
  std::string node;
  Kind kind = Kind::removed;
  std::vector<size_t> steps;  // those, or those that read the constant
  std::string reason;         // of a removed one

  std::string text() const;  // "step 3", "folded to a constant, read by step 4"
};
std::string_view name_of(Fate::Kind kind);

struct Journal {
  std::vector<TracedStep> steps;
  std::vector<Fate> nodes;  // every one, those of subgraphs and functions too
  // The passes that changed something, in order: each made the graph anew.
  std::vector<std::string> passes;
  std::string text() const;
};

// Of a plan compiled from this model with CompileOptions::journal.
Result<Journal> journal_of(const model::Model& model, const plan::Plan& plan);

}  // namespace sdx
