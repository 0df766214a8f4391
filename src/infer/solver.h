// Solver: lets partial facts flow through a net, forwards and backwards, until nothing more can be
// learnt.
#pragma once

#include "infer/net.h"

namespace sdx::infer {

// A type that the model states for a wire that a node makes.
struct Stated {
  typed::Outlet wire;
  Fact fact;
};

// `guess`: assume likely ranks where nothing decides them; for people alone. `place`: of a
// subgraph, among all graphs; names of sizes that are still open start with it.
void solve(Net& net, const std::vector<Stated>& stated, bool guess, const std::string& place = "");

// A subgraph that can say what it requires of the outer wires it captures.
class PartialBody : public BodySource {
 public:
  virtual Facts required(const Facts& captured) const = 0;
};

}  // namespace sdx::infer
