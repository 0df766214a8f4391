// Alike: which nodes of a graph do the same.
//
// The layers of a model repeat each other. Nodes of one kind, uses of an operator that differ in
// their names alone, make the same of inputs of the same types and sizes: what was found for one of
// them serves all. Facts have numbers here, so that a few integers tell whether that is so.
#pragma once

#include "typed/graph.h"

namespace sdx::plan {

// Whether a node that reads the one is what it is where it reads the other.
bool same_fact(const Fact& a, const Fact& b);
// The same where constants of few elements are equal, and not one and the same.
bool alike_facts(const Fact& a, const Fact& b);
// Equal for facts that are alike; 0 for what is only like itself.
size_t hash_of(const Fact& fact);

struct Alike {
  explicit Alike(const typed::Graph& graph);

  static constexpr uint32_t kNone = UINT32_MAX;
  // Wires are numbered in the order of the nodes, from 1; 0 is an input that is left out.
  std::vector<uint32_t> first_wire;             // by node, and the end
  std::vector<uint32_t> first_read, reads;      // by node: the wires that it reads
  std::vector<uint32_t> first_reader, readers;  // by wire: the nodes that read it
  std::vector<uint32_t> facts;  // by wire: those of one number have facts that are alike
  std::vector<size_t> hashes;   // by wire: of its fact
  uint32_t all_facts = 1;
  std::vector<uint32_t> kinds;  // by node; kNone: nothing is known to be like it
  uint32_t all_kinds = 0;

 private:
  void list_readers();
};

}  // namespace sdx::plan
