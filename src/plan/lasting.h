// Lasting: subgraphs that are typed once, with the model's symbols, and serve every size.
//
// A subgraph is typed when the facts of what it reads are known. Typed for integers, it would have
// to be typed, rewritten and planned again for each size; typed with symbols it binds them when it
// runs, as a model does. That is enough where all its sizes follow from the symbols.
#pragma once

#include <map>

#include "rewrite/rewritten.h"
#include "typed/body.h"

namespace sdx::plan {

// A subgraph typed with symbols, with what its outputs are for the sizes at hand.
class LastingBody final : public Body {
 public:
  LastingBody(std::shared_ptr<const typed::GraphBody> body, std::shared_ptr<const Facts> outputs)
      : body_(std::move(body)), outputs_(std::move(outputs)) {}
  const Facts& inputs() const override { return body_->inputs(); }
  const Facts& outputs() const override { return *outputs_; }
  Result<std::vector<Value>> run(std::span<const Value> inputs, Pool& pool,
                                 Isa isa) const override {
    return body_->run(inputs, pool, isa);
  }
  const typed::GraphBody& shared() const { return *body_; }

 private:
  std::shared_ptr<const typed::GraphBody> body_;
  std::shared_ptr<const Facts> outputs_;
};

// Those of one compiled graph.
class Lasting {
 public:
  // A use of the node's operator whose subgraphs last; none if they must be typed for these sizes.
  // Only for nodes that run one of their subgraphs, as it is: those that tell `taken`.
  Result<std::optional<sdx::Node>> use(const typed::Graph& graph, const typed::Node& node,
                                       const Bindings& bindings);
  // The subgraph after the rules, to take its node's place; null if it does not last.
  Result<std::shared_ptr<const rewrite::Rewritten>> branch(const Body& body,
                                                           const rewrite::Rewritten& outer,
                                                           const Bindings& bindings);

 private:
  using Bodies = std::map<std::string, std::shared_ptr<const typed::GraphBody>>;  // by attribute
  Result<const Bodies*> bodies(const typed::Graph& graph, const typed::Node& node,
                               const Bindings& bindings);

  std::map<const typed::Node*, Bodies> bodies_;  // empty ones: must be typed each time
  std::map<const Body*, std::shared_ptr<const rewrite::Rewritten>> branches_;
};

// What the subgraphs of a use that was made by Lasting give, with symbols; none for other uses.
std::vector<const Facts*> lasting_outputs(const sdx::Node& use);
// Whether the use was made by Lasting, and the same for other sizes.
bool has_lasting_bodies(const sdx::Node& use);
sdx::Node with_sizes(sdx::Node use, const Bindings& bindings);

// A fact with its symbols bound.
Fact bound(Fact fact, const Bindings& bindings);
// A tensor of known type and size, or an output that nobody named.
bool is_settled(const Fact& fact);

}  // namespace sdx::plan
