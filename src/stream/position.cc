// Which rows are certain, which are needed and which are kept: the arithmetic of positions.
#include <algorithm>

#include "stream/flow.h"

namespace sdx::stream {
namespace {

using Kind = Streaming::Kind;

int64_t padded(const Streaming& how, int64_t certain) {
  switch (how.mode) {
    case Streaming::Mode::constant:
      return certain + how.before;
    case Streaming::Mode::edge:
      return certain == 0 ? 0 : certain + how.before;
    case Streaming::Mode::reflect:
      return how.before > 0 && certain <= how.before ? 0 : certain + how.before;
  }
  return 0;
}

// Rows of the fixed inputs that stand before the streamed one.
int64_t rows_before(const Flows& flows, uint32_t id) {
  const Streaming& how = flows.nodes[id];
  const typed::Node& node = flows.graph.node(id);
  const size_t axis = flows.at(node.inputs[how.input]).axis;
  int64_t rows = 0;
  for (size_t i = 0; i < how.input; ++i) rows += flows.graph.fact(node.inputs[i]).dim(axis).value();
  return rows;
}

// Keys are kept from a whole number of 16 on, so that sums over them keep their lanes.
int64_t first_key(const Streaming& how, int64_t query) {
  return how.behind < 0 ? 0 : std::max<int64_t>(0, query - how.behind) / 16 * 16;
}

// Of all inputs that move.
int64_t least_rows(const Flows& flows, uint32_t id, const std::vector<int64_t>& rows) {
  int64_t least = kNever;
  for (const Outlet input : flows.graph.node(id).inputs) {
    if (input.present() && flows.at(input).moves())
      least = std::min(least, rows[flows.wire(input)]);
  }
  return least;
}

}  // namespace

int64_t last_begins(const Streaming& how, int64_t row) {
  return how.overhangs && row > 0 ? row - 1 : row;
}

int64_t sure_rows(const Flows& flows, uint32_t id, uint32_t slot,
                  const std::vector<int64_t>& sure) {
  const Streaming& how = flows.nodes[id];
  const typed::Node& node = flows.graph.node(id);
  const auto rows = [&](size_t i) { return sure[flows.wire(node.inputs[i])]; };
  switch (how.kind) {
    case Kind::window: {
      const int64_t padded_rows = rows(0) + how.before + how.after;
      const int64_t left = padded_rows - (how.reach.hi - how.reach.lo + 1);
      if (left < 0) return 0;
      if (!how.overhangs) return left / how.reach.num + 1;
      const int64_t more = (left + how.reach.num - 1) / how.reach.num;
      return more * how.reach.num >= rows(0) + how.before ? more : more + 1;
    }
    case Kind::spread:
      return rows(0) == 0 ? 0 : std::max<int64_t>(0, rows(0) * how.reach.den + how.longer);
    case Kind::pad:
      return rows(0) + how.before + how.after;
    case Kind::slice: {
      const Streaming::Slice& cut = how.slices[slot];
      const int64_t n = std::min(rows(0) - cut.trimmed, cut.end);
      return n > cut.start ? (n - 1 - cut.start) / cut.step + 1 : 0;
    }
    case Kind::join: {
      int64_t all = rows(how.input);
      const size_t axis = flows.at(node.inputs[how.input]).axis;
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        if (i != how.input) all += flows.graph.fact(node.inputs[i]).dim(axis).value();
      }
      return all;
    }
    default:
      return least_rows(flows, id, sure);
  }
}

int64_t certain_rows(const Flows& flows, uint32_t id, uint32_t slot, const Position& at,
                     int64_t sure) {
  const Streaming& how = flows.nodes[id];
  const auto& inputs = flows.graph.node(id).inputs;
  const auto rows = [&](size_t i) { return at.certain[flows.wire(inputs[i])]; };
  switch (how.kind) {
    case Kind::window:
      return how.reach.certain(rows(0));
    case Kind::spread:
      return std::min(how.reach.certain(rows(0)), sure);
    case Kind::pad:
      return padded(how, rows(0));
    case Kind::slice: {
      const Streaming::Slice& cut = how.slices[slot];
      const int64_t there = at.sure[flows.wire(inputs[0])] - cut.trimmed;
      const int64_t n = std::min({rows(0), there, cut.end});
      return n > cut.start ? (n - 1 - cut.start) / cut.step + 1 : 0;
    }
    case Kind::join:
      return rows(how.input) + rows_before(flows, id);
    case Kind::attend:
      return std::max<int64_t>(0, std::min(rows(0), std::min(rows(1), rows(2)) - how.ahead));
    case Kind::running:
      // The sum of all rows before is known without the row itself, if there is to be one.
      return how.exclusive ? std::min(rows(0) + 1, sure) : rows(0);
    default:
      return least_rows(flows, id, at.certain);
  }
}

Rows needed_rows(const Flows& flows, uint32_t id, uint32_t slot, size_t input, Rows out,
                 int64_t have, bool end) {
  const Streaming& how = flows.nodes[id];
  if (out.count() <= 0) return {};
  switch (how.kind) {
    case Kind::window:
    case Kind::spread: {
      const bool all = end && (how.pads_at || how.kind == Kind::spread);
      const int64_t first = end ? last_begins(how, out.first) : out.first;
      return {std::clamp<int64_t>(how.reach.first(first), 0, have),
              all ? have : std::clamp<int64_t>(how.reach.last(out.last - 1) + 1, 0, have)};
    }
    case Kind::pad: {
      if (how.mode == Streaming::Mode::constant)
        return {std::clamp<int64_t>(out.first - how.before, 0, have),
                std::clamp<int64_t>(out.last - how.before, 0, have)};
      Rows rows{std::max<int64_t>(0, out.first - how.before),
                std::min(have, out.last - how.before)};
      if (out.first < how.before) rows.last = std::max(rows.last, std::min(have, how.before + 1));
      if (end) {
        const int64_t reach = how.mode == Streaming::Mode::edge ? 1 : how.after + 1;
        rows.first = std::max<int64_t>(0, std::min(rows.first, have - reach));
        rows.last = have;
      }
      return rows;
    }
    case Kind::slice: {
      const Streaming::Slice& cut = how.slices[slot];
      return {cut.start + out.first * cut.step, cut.start + (out.last - 1) * cut.step + 1};
    }
    case Kind::join: {
      const int64_t before = rows_before(flows, id);
      return {std::clamp<int64_t>(out.first - before, 0, have),
              std::clamp<int64_t>(out.last - before, 0, have)};
    }
    case Kind::running:
      if (how.exclusive) return {std::max<int64_t>(0, out.first - 1), out.last - 1};
      return out;
    case Kind::attend:
      if (input == 0) return out;
      return {first_key(how, out.first), std::min(have, out.last + how.ahead)};
    default:
      return out;
  }
}

int64_t kept_from(const Flows& flows, uint32_t id, uint32_t slot, size_t input, int64_t next,
                  int64_t have) {
  const Streaming& how = flows.nodes[id];
  switch (how.kind) {
    case Kind::window:
    case Kind::spread:
      return std::max<int64_t>(0, how.reach.first(last_begins(how, next)));
    case Kind::pad: {
      if (how.mode == Streaming::Mode::constant) return std::max<int64_t>(0, next - how.before);
      if (next == 0) return 0;
      const int64_t reach = how.mode == Streaming::Mode::edge ? 1 : how.after + 1;
      return std::max<int64_t>(
          0, std::min(next - how.before, how.after > 0 ? have - reach : next - how.before));
    }
    case Kind::slice: {
      const Streaming::Slice& cut = how.slices[slot];
      const int64_t row = cut.start + next * cut.step;
      return row >= cut.end ? kNever : row;
    }
    case Kind::join:
      return std::max<int64_t>(0, next - rows_before(flows, id));
    case Kind::running:
      return how.exclusive ? std::max<int64_t>(0, next - 1) : next;
    case Kind::fold:
      return have;
    case Kind::tail:
      return std::max<int64_t>(0, have - how.count);
    case Kind::whole:
      return 0;
    case Kind::attend:
      return input == 0 ? next : first_key(how, next);
    default:
      return next;
  }
}

void advance(const Flows& flows, const Position& from, int64_t more,
             const std::vector<int64_t>* ends, Position& to) {
  const typed::Graph& graph = flows.graph;
  to.rows = from.rows + more;
  std::fill(to.kept.begin(), to.kept.end(), kNever);
  for (const Outlet input : graph.inputs()) {
    if (flows.at(input).moves())
      to.certain[flows.wire(input)] = to.sure[flows.wire(input)] = to.rows;
  }
  for (uint32_t id = 0; id < graph.size(); ++id) {
    const typed::Node& node = graph.node(id);
    if (node.kind != typed::Node::Kind::op || flows.nodes[id].kind == Kind::refused) continue;
    for (uint32_t slot = 0; slot < node.outputs.size(); ++slot) {
      const bool rows = flows.wires[id][slot].moves();
      if (!rows && (!flows.folds(id) || slot > 0)) continue;
      const size_t wire = flows.wire({id, slot});
      int64_t next = 0;
      if (rows) {
        to.sure[wire] = ends != nullptr ? (*ends)[wire] : sure_rows(flows, id, slot, to.sure);
        const int64_t now =
            ends != nullptr ? (*ends)[wire] : certain_rows(flows, id, slot, to, to.sure[wire]);
        next = to.certain[wire] = std::max(from.certain[wire], now);
      }
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        if (!node.inputs[i].present() || !flows.at(node.inputs[i]).moves()) continue;
        const size_t source = flows.wire(node.inputs[i]);
        to.kept[source] =
            std::min(to.kept[source], kept_from(flows, id, slot, i, next, to.certain[source]));
      }
    }
  }
  for (size_t wire = 0; wire < flows.count(); ++wire)
    to.kept[wire] = std::max(from.kept[wire], std::min(to.kept[wire], to.certain[wire]));
}

}  // namespace sdx::stream
