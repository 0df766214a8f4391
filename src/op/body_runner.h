// BodyRunner: how an operator with subgraphs gets them run.
//
// Whoever runs such an operator hands it Args::late that is a NodeBodies too: a session plans each
// body and keeps its memory between iterations, folding runs it node by node.
#pragma once

#include <span>
#include <vector>

#include "op/args.h"
#include "op/node.h"

namespace sdx {

class BodyRunner {
 public:
  virtual ~BodyRunner() = default;
  // `inputs`: the formal ones, then the captured wires. Results own their memory.
  virtual Result<std::vector<Value>> run_body(const Body& body, std::span<const Value> inputs) = 0;
  // How often a Loop may go round before it is stopped.
  virtual int64_t most_iterations() const = 0;
  // Bytes that the operator keeps until it is done, beside its inputs and outputs; an error if that
  // is too much.
  virtual Status hold(size_t bytes) = 0;
};

// What Args::late is for the operator itself.
class NodeBodies : public BodyRunner {
 public:
  // The node's own inputs. Hundreds of captured wires may stand at their end, which can be handed
  // on as they are.
  virtual std::span<const Value> inputs() const = 0;
};

// The code of the error that a Loop beyond its limit gives.
inline constexpr std::string_view kTooManyIterations = "SDX-R0610";

}  // namespace sdx
