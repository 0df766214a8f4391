// What a push depends on, and what a stream keeps.
#include "stream/step_maker.h"

namespace sdx::stream {
namespace {

using Kind = Streaming::Kind;

}  // namespace

bool kept_with_rows_first(const Flows& flows, Outlet wire) {
  const Fact& fact = flows.graph.fact(wire);
  return fact.type == DType::f32 && fact.rank() == 3 && flows.at(wire).axis == 2 &&
         !fact.dim(1).is_const(1);
}

Fact kept_fact(const Flows& flows, Outlet wire, int64_t rows) {
  Fact fact = Fact::tensor(flows.graph.fact(wire).type, *flows.graph.fact(wire).shape);
  (*fact.shape)[flows.at(wire).axis] = Dim(rows);
  if (kept_with_rows_first(flows, wire)) std::swap((*fact.shape)[1], (*fact.shape)[2]);
  return fact;
}

States::States(const Flows& flows) : count(flows.count()) {
  for (const Streaming& how : flows.nodes) {
    first.push_back(count);
    if (how.kind == Kind::carry) count += how.pairs.size();
    if (how.kind == Kind::running || how.kind == Kind::fold) ++count;
  }
}

void step_key(const Flows& flows, const Position& from, const Position& to, bool end,
              std::vector<int64_t>& key) {
  key.resize(1 + 5 * flows.moving.size() + 3 * flows.moving_inputs.size() +
             2 * flows.followers.size());
  int64_t* next = key.data();
  *next++ = end ? to.rows : -1;
  const auto add_kept = [&](uint32_t wire) {
    *next++ = from.certain[wire] - from.kept[wire];
    *next++ = to.kept[wire] - from.kept[wire];
  };
  for (const Moving& at : flows.moving) {
    if (!at.rows) {
      if (at.kind != Kind::fold) continue;
      const int64_t done = from.certain[at.inputs[0].wire];
      *next++ = done == 0 ? -1 : done % kLanes;
      continue;
    }
    const Rows out{from.certain[at.wire], to.certain[at.wire]};
    *next++ = out.count();
    *next++ = int64_t(out.first > 0);
    add_kept(at.wire);
    if (out.count() <= 0 || at.source) continue;
    if (at.kind == Kind::window) *next++ = std::max<int64_t>(0, -at.reach.first(out.first));
    for (const auto& [input, source, like] : at.inputs) {
      const Rows rows = needed_rows(at, input, out, to.certain[source], end);
      *next++ = rows.first - from.kept[source];
      *next++ = rows.count();
      *next++ = at.kind == Kind::slice ? 0 : out.first * at.reach.num - rows.first * at.reach.den;
    }
  }
  // Of those that follow, all else is told by what they follow.
  for (const auto& [wire, like, held] : flows.followers) {
    if (held) add_kept(wire);
  }
  key.resize(size_t(next - key.data()));
}

}  // namespace sdx::stream
