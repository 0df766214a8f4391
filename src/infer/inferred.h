// The Inferred stage: every wire of a checked model with what is known of it, and why.
//
// One walk forwards is all that a model with declared inputs needs. Where a type or a rank is left
// open, partial facts flow both ways first (infer/solver.h), and the walk starts from what they
// gave.
#pragma once

#include <optional>

#include "check/check.h"
#include "infer/net.h"
#include "infer/typing.h"

namespace sdx::infer {

// How much is known, over all wires that nodes and inputs make, subgraphs included.
struct Summary {
  size_t wires = 0;
  size_t open_types = 0, open_ranks = 0;
  size_t dims = 0, symbolic_dims = 0;
  std::vector<std::string> named,
      fresh;  // symbols: of declarations, and of sizes only running tells
  std::string text() const;
};

class Inferred {
 public:
  const typed::Graph& graph() const { return graph_; }
  const Wires& wires() const { return wires_; }
  // Declared types that are not what the model computes: warnings, with both sides.
  const std::vector<check::Diagnostic>& stale() const { return stale_; }
  const std::shared_ptr<BodyFacts>& bodies() const { return bodies_; }
  Summary summary() const;
  // The chain of reasons for each piece of a wire's fact. Only of a thorough inference.
  Result<std::string> explain(const std::string& wire) const;

  // The next stage.
  typed::Graph typed() && { return std::move(graph_); }

 private:
  friend Result<Inferred> infer(const check::Checked&, const Options&);
  Inferred() = default;

  typed::Graph graph_;
  Wires wires_;
  std::vector<check::Diagnostic> stale_;
  std::shared_ptr<BodyFacts> bodies_;
  std::optional<Net> net_;  // if something had to be learnt, or of a thorough inference
  Wires net_wires_;
};

Result<Inferred> infer(const check::Checked& checked, const Options& options = {});

}  // namespace sdx::infer
