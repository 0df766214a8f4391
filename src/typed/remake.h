// Remake: a typed graph being made anew from another one, node by node. All passes over graphs go
// through it, and it keeps the journal.
#pragma once

#include <deque>

#include "typed/graph.h"

namespace sdx::typed {

class Remake {
 public:
  Remake(const Graph& old, std::string_view pass);

  const Graph& old;
  Graph made;

  // What is made while this lives comes from the old node, as its copy unless a rule is named.
  class Place {
   public:
    Place(Remake& remake, Chapter::Old from);
    ~Place();
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    void by(std::string_view rule) { remake_.sections_[size_t(section_)].rule = rule; }

   private:
    Remake& remake_;
    int section_, outer_;
  };
  Place at(uint32_t old_node, uint32_t graph = 0) { return {*this, {graph, old_node}}; }
  // One more graph whose nodes are taken over: its number, for at(). `made` takes part of it as it
  // stands, until finish().
  uint32_t also_from(Graph graph);
  const Graph& other(uint32_t number) const { return others_[number - 1]; }

  // Old node `id` with its inputs at new wires: shared where nothing that it was typed by has
  // changed.
  Result<std::vector<Outlet>> copy(uint32_t id, std::vector<Outlet> inputs) {
    return made.take(old, id, std::move(inputs));
  }
  // The new graph, without nodes that no output needs.
  Graph finish();

 private:
  std::string_view pass_;
  std::deque<Graph> others_;
  std::vector<Section> sections_;
  int open_ = -1;  // the innermost section
};

// Every node made again, on what is known by now.
Result<Graph> made_again(const Graph& graph);

}  // namespace sdx::typed
