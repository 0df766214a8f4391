// Bodies: the subgraphs of one operator, made by calling the user's functions on wires whose facts
// the operator tells.
#pragma once

#include "builder/state.h"

namespace sardonyx::detail {

class TracedBody;

class Bodies {
 public:
  // `captured` is filled with the outer wires that the functions use.
  Bodies(State& state, const std::map<std::string, Body>& functions,
         std::vector<uint32_t>& captured);

  // Puts the subgraphs into `use` and traces each as often as the operator's rules ask for.
  void trace(sdx::Node& use, std::vector<sdx::typed::Outlet> inputs, Place place);
  size_t outputs(const sdx::Op& op) const;
  std::map<std::string, std::shared_ptr<BodyRecord>> records() const;

 private:
  State& state_;
  std::vector<uint32_t>& captured_;
  std::map<std::string, std::shared_ptr<TracedBody>> bodies_;
};

// The results of a user's function as wires of the current scope, each made by a node of it.
std::vector<uint32_t> results_of(State& state, const Wires& wires, Place place);

}  // namespace sardonyx::detail
