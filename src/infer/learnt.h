// LearntSink: a typed graph from what a net knows. Both number their nodes by the same walk.
#pragma once

#include <optional>

#include "infer/net.h"

namespace sdx::infer {

class LearntSink final : public GraphSink {
 public:
  LearntSink(typed::Graph& graph, const Net& net, Assumptions* assumptions, const Bindings& set,
             bool journal)
      : GraphSink(graph, assumptions, journal), net_(net), set_(set) {}

  typed::Outlet source(std::string name, Fact) override;
  typed::Outlet constant(Tensor value, std::string name) override;
  Result<std::vector<typed::Outlet>> add(sdx::Node use, std::vector<typed::Outlet> inputs,
                                         std::vector<std::string> origin) override;
  // The node that was refused.
  std::optional<uint32_t> failed() const { return failed_; }

 private:
  const Net& net_;
  const Bindings& set_;
  uint32_t next_ = 0;
  std::optional<uint32_t> failed_;
};

// Whether the type or the rank of a wire is not known.
bool has_gap(const Fact& fact);
bool has_gap(const typed::Graph& graph);

}  // namespace sdx::infer
