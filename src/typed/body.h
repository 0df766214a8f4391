// GraphBody: a subgraph as a typed graph.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "typed/eval.h"
#include "typed/graph.h"

namespace sdx::typed {

class GraphBody final : public Body {
 public:
  explicit GraphBody(Graph graph) : graph_(std::move(graph)) {
    for (const Outlet input : graph_.inputs()) inputs_.push_back(graph_.fact(input));
    for (const Output& output : graph_.outputs()) outputs_.push_back(graph_.fact(output.outlet));
  }
  const Facts& inputs() const override { return inputs_; }
  const Facts& outputs() const override { return outputs_; }
  const Graph& graph() const { return graph_; }
  Result<std::vector<Value>> run(std::span<const Value> inputs, Pool& pool,
                                 Isa isa) const override {
    return eval(graph_, inputs, {.pool = &pool, .reference = false, .isa = isa});
  }

 private:
  Graph graph_;
  Facts inputs_, outputs_;
};

// The subgraphs of a node before they are typed, by attribute.
using BodySources = std::map<std::string, std::shared_ptr<const BodySource>, std::less<>>;
BodySources body_sources(const sdx::Node& use);
// The same node with these in the place of its own.
sdx::Node with_body_sources(sdx::Node use, const BodySources& sources);

}  // namespace sdx::typed
