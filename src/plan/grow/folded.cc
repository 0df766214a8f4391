#include "plan/grow/folded.h"

#include <algorithm>

namespace sdx::plan {

using typed::Outlet;

std::vector<size_t> needed_entries(const Trace& trace) {
  std::vector<bool> needed(trace.entries.size(), false), wire(trace.made.size(), false);
  for (size_t e = trace.entries.size(); e-- > 0;) {
    const Trace::Entry& entry = trace.entries[e];
    size_t read = entry.inputs.size();
    if (entry.outputs.empty()) {
      needed[e] = true;
      read = std::min(read, entry.from->use.formal_inputs);
    }
    for (const Outlet output : entry.outputs) {
      if (!output.present()) continue;
      const bool lives = entry.folded && trace.moved[output.node] != UINT32_MAX;
      needed[e] = needed[e] || lives || wire[output.node];
    }
    for (size_t i = 0; needed[e] && i < read; ++i) {
      if (entry.inputs[i].present()) wire[entry.inputs[i].node] = true;
    }
  }
  std::vector<size_t> entries;
  for (size_t e = 0; e < needed.size(); ++e) {
    if (needed[e]) entries.push_back(e);
  }
  return entries;
}

void Folded::input(Outlet source, const Fact& fact) {
  if (needed_.empty() || same_fact(fact, trace_.made.fact(source))) return;
  now_[source.node] = {fresh_.source(trace_.made.node(source.node).use.name, fact)};
}

Result<bool> Folded::walk() {
  for (const size_t e : needed_) {
    const Trace::Entry& entry = trace_.entries[e];
    if (!touched(entry)) continue;
    if (entry.outputs.empty()) {
      if (other_condition(entry)) return false;
      continue;
    }
    SDX_ASSIGN(const std::vector<Outlet> outlets,
               fresh_.add(entry.from->use, inputs(entry), entry.from->origin));
    if (!note(entry, outlets)) return false;
  }
  return true;
}

bool Folded::touched(const Trace::Entry& entry) const {
  return std::any_of(entry.inputs.begin(), entry.inputs.end(), [&](const Outlet input) {
    return input.present() && !now_[input.node].empty();
  });
}

bool Folded::other_condition(const Trace::Entry& entry) const {
  const size_t formal = std::min(entry.from->use.formal_inputs, entry.inputs.size());
  for (size_t i = 0; i < formal; ++i) {
    const Outlet input = entry.inputs[i];
    if (!input.present() || now_[input.node].empty()) continue;
    const Fact& fact = fresh_.fact(now_[input.node][input.slot]);
    if (fact.constant_integers() != trace_.made.fact(input).constant_integers()) return true;
  }
  return false;
}

std::vector<Outlet> Folded::inputs(const Trace::Entry& entry) {
  std::vector<Outlet> outlets;
  for (const Outlet input : entry.inputs) {
    if (!input.present()) {
      outlets.push_back(input);
    } else if (!now_[input.node].empty()) {
      outlets.push_back(now_[input.node][input.slot]);
    } else {
      outlets.push_back(fresh_.source({}, trace_.made.fact(input)));
    }
  }
  return outlets;
}

bool Folded::note(const Trace::Entry& entry, const std::vector<Outlet>& outlets) {
  if (outlets.size() != entry.outputs.size()) return false;
  for (size_t slot = 0; slot < outlets.size(); ++slot) {
    const Outlet old = entry.outputs[slot];
    if (old.present() != outlets[slot].present()) return false;
    if (!old.present()) continue;
    const typed::Node& before = trace_.made.node(old.node);
    if (before.kind != fresh_.node(outlets[slot].node).kind) return false;
    // A size that only running tells has a name that would mean another one here.
    if (!is_settled(fresh_.fact(outlets[slot]))) return false;
    auto& now = now_[old.node];
    now.resize(before.outputs.size());
    now[old.slot] = outlets[slot];
  }
  return true;
}

}  // namespace sdx::plan
