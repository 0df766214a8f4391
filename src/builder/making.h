// Making: one operator on its way into a graph; what the helpers of sardonyx/ops.h are written
// with.
#pragma once

#include <map>

#include "sardonyx/graph.h"

namespace sardonyx::detail {

class Making {
 public:
  Making(std::string_view domain, std::string_view op) : domain_(domain), op_(op) {}

  Making& within(const Graph& graph);  // for operators that have no input
  Making& in(const Wire& wire) {
    inputs_.push_back(wire);
    return *this;
  }
  Making& in(const Wires& wires) {
    inputs_.insert(inputs_.end(), wires.begin(), wires.end());
    return *this;
  }
  Making& set(const char* name, Attribute value) {
    attributes_.emplace_back(name, std::move(value));
    return *this;
  }
  template <class T>
  Making& set(const char* name, const Given<T>& value) {
    if (value.value()) attributes_.emplace_back(name, Attribute(*value.value()));
    return *this;
  }
  Making& set_body(const char* name, Body body) {
    if (body) bodies_.emplace(name, std::move(body));
    return *this;
  }

  Wire one(Place place) { return outputs(1, place)[0]; }
  // `count` 0: as many as the subgraphs give.
  Wires outputs(size_t count, Place place);

 private:
  Wires evaluated(size_t count, Place place);

  std::string domain_, op_;
  std::shared_ptr<State> state_;
  Wires inputs_;
  Attributes attributes_;
  std::map<std::string, Body> bodies_;
};

}  // namespace sardonyx::detail
