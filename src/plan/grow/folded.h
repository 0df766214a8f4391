// Folded: what follows from other sizes before a plan's graph is made, by the trace of how the
// graph was specialised: constants that sizes were folded into, and which branch runs.
#pragma once

#include <span>

#include "plan/grow/alike.h"
#include "plan/specialize.h"

namespace sdx::plan {

// Entries of the trace that a constant of the plan, or the choice of a branch, depends on, in
// order.
std::vector<size_t> needed_entries(const Trace& trace);

class Folded {
 public:
  Folded(const Trace& trace, std::span<const size_t> needed)
      : trace_(trace), needed_(needed), now_(needed.empty() ? 0 : trace.made.size()) {}

  // What an input is now, before the walk.
  void input(typed::Outlet source, const Fact& fact);
  // False: more than sizes changes.
  Result<bool> walk();
  // Whether any constant may be another one.
  bool any() const { return fresh_.size() != 0; }
  // The constant in the place of the trace's; null if it is what it was.
  const Fact* constant(uint32_t node) const {
    return now_[node].empty() ? nullptr : &fresh_.fact(now_[node][0]);
  }

 private:
  bool touched(const Trace::Entry& entry) const;
  bool other_condition(const Trace::Entry& entry) const;
  std::vector<typed::Outlet> inputs(const Trace::Entry& entry);
  bool note(const Trace::Entry& entry, const std::vector<typed::Outlet>& outlets);

  const Trace& trace_;
  const std::span<const size_t> needed_;
  typed::Graph fresh_;                           // what was typed again
  std::vector<std::vector<typed::Outlet>> now_;  // by node of the trace and slot; empty: as it was
};

}  // namespace sdx::plan
