// Which rows are certain, which are needed and which are kept: the arithmetic of positions.
#include <algorithm>

#include "stream/flow.h"

namespace sdx::stream {
namespace {

using Kind = Streaming::Kind;

int64_t padded(const Moving& at, int64_t certain) {
  switch (at.mode) {
    case Streaming::Mode::constant:
      return certain + at.before;
    case Streaming::Mode::edge:
      return certain == 0 ? 0 : certain + at.before;
    case Streaming::Mode::reflect:
      return at.before > 0 && certain <= at.before ? 0 : certain + at.before;
  }
  return 0;
}

// Keys are kept from a whole number of 16 on, so that sums over them keep their lanes.
int64_t first_key(const Moving& at, int64_t query) {
  return at.behind < 0 ? 0 : std::max<int64_t>(0, query - at.behind) / 16 * 16;
}

// Of all inputs that move.
int64_t least_rows(const Moving& at, const std::vector<int64_t>& rows) {
  int64_t least = kNever;
  for (const Moving::Input& input : at.inputs) least = std::min(least, rows[input.like]);
  return least;
}

int64_t sliced(const Streaming::Slice& cut, int64_t rows) {
  if (rows <= cut.start) return 0;
  return cut.step == 1 ? rows - cut.start : (rows - 1 - cut.start) / cut.step + 1;
}

// How many rows an output has if the stream ends now, where `sure` are those of each wire.
int64_t sure_rows(const Moving& at, const std::vector<int64_t>& sure) {
  const auto rows = [&](size_t i) { return sure[at.input_at(i).like]; };
  switch (at.kind) {
    case Kind::window: {
      const int64_t left = rows(0) + at.before + at.after - (at.reach.hi - at.reach.lo + 1);
      if (left < 0) return 0;
      if (at.reach.num == 1 && !at.overhangs) return left + 1;
      if (!at.overhangs) return left / at.reach.num + 1;
      const int64_t more = (left + at.reach.num - 1) / at.reach.num;
      return more * at.reach.num >= rows(0) + at.before ? more : more + 1;
    }
    case Kind::spread:
      return rows(0) == 0 ? 0 : std::max<int64_t>(0, rows(0) * at.reach.den + at.longer);
    case Kind::pad:
      return rows(0) + at.before + at.after;
    case Kind::slice:
      return sliced(at.slice, std::min(rows(0) - at.slice.trimmed, at.slice.end));
    case Kind::join:
      return at.before + rows(at.input) + at.after;
    default:
      return least_rows(at, sure);
  }
}

// How many rows of an output are certain once those of `position` are, of which `sure` there will
// be.
int64_t certain_rows(const Moving& at, const Position& position, int64_t sure) {
  const auto rows = [&](size_t i) { return position.certain[at.input_at(i).like]; };
  switch (at.kind) {
    case Kind::window:
      return at.reach.certain(rows(0));
    case Kind::spread:
      return std::min(at.reach.certain(rows(0)), sure);
    case Kind::pad:
      return padded(at, rows(0));
    case Kind::slice: {
      const int64_t there = position.sure[at.input_at(0).like] - at.slice.trimmed;
      return sliced(at.slice, std::min({rows(0), there, at.slice.end}));
    }
    case Kind::join:
      return at.before + rows(at.input);
    case Kind::attend:
      return std::max<int64_t>(0, std::min(rows(0), std::min(rows(1), rows(2)) - at.ahead));
    case Kind::running:
      // The sum of all rows before is known without the row itself, if there is to be one.
      return at.exclusive ? std::min(rows(0) + 1, sure) : rows(0);
    default:
      return least_rows(at, position.certain);
  }
}

// The first row of input `input` that rows from `next` on of an output need; `have` are there.
int64_t kept_from(const Moving& at, size_t input, int64_t next, int64_t have) {
  switch (at.kind) {
    case Kind::window:
    case Kind::spread:
      return std::max<int64_t>(0, at.reach.first(last_begins(at.overhangs, next)));
    case Kind::pad: {
      if (at.mode == Streaming::Mode::constant) return std::max<int64_t>(0, next - at.before);
      if (next == 0) return 0;
      const int64_t reach = at.mode == Streaming::Mode::edge ? 1 : at.after + 1;
      return std::max<int64_t>(
          0, std::min(next - at.before, at.after > 0 ? have - reach : next - at.before));
    }
    case Kind::slice: {
      const int64_t row = at.slice.start + next * at.slice.step;
      return row >= at.slice.end ? kNever : row;
    }
    case Kind::join:
      return std::max<int64_t>(0, next - at.before);
    case Kind::running:
      return at.exclusive ? std::max<int64_t>(0, next - 1) : next;
    case Kind::fold:
      return have;
    case Kind::tail:
      return std::max<int64_t>(0, have - at.count);
    case Kind::whole:
      return 0;
    case Kind::attend:
      return input == 0 ? next : first_key(at, next);
    default:
      return next;
  }
}

}  // namespace

int64_t last_begins(bool overhangs, int64_t row) { return overhangs && row > 0 ? row - 1 : row; }

Rows needed_rows(const Moving& at, size_t input, Rows out, int64_t have, bool end) {
  if (out.count() <= 0) return {};
  switch (at.kind) {
    case Kind::window:
    case Kind::spread: {
      const bool all = end && (at.padded || at.kind == Kind::spread);
      const int64_t first = end ? last_begins(at.overhangs, out.first) : out.first;
      return {std::clamp<int64_t>(at.reach.first(first), 0, have),
              all ? have : std::clamp<int64_t>(at.reach.last(out.last - 1) + 1, 0, have)};
    }
    case Kind::pad: {
      if (at.mode == Streaming::Mode::constant)
        return {std::clamp<int64_t>(out.first - at.before, 0, have),
                std::clamp<int64_t>(out.last - at.before, 0, have)};
      Rows rows{std::max<int64_t>(0, out.first - at.before), std::min(have, out.last - at.before)};
      if (out.first < at.before) rows.last = std::max(rows.last, std::min(have, at.before + 1));
      if (end) {
        const int64_t reach = at.mode == Streaming::Mode::edge ? 1 : at.after + 1;
        rows.first = std::max<int64_t>(0, std::min(rows.first, have - reach));
        rows.last = have;
      }
      return rows;
    }
    case Kind::slice:
      return {at.slice.start + out.first * at.slice.step,
              at.slice.start + (out.last - 1) * at.slice.step + 1};
    case Kind::join:
      return {std::clamp<int64_t>(out.first - at.before, 0, have),
              std::clamp<int64_t>(out.last - at.before, 0, have)};
    case Kind::running:
      if (at.exclusive) return {std::max<int64_t>(0, out.first - 1), out.last - 1};
      return out;
    case Kind::attend:
      if (input == 0) return out;
      return {first_key(at, out.first), std::min(have, out.last + at.ahead)};
    default:
      return out;
  }
}

void advance(const Flows& flows, const Position& from, int64_t more,
             const std::vector<int64_t>* ends, Position& to) {
  to.rows = from.rows + more;
  for (const uint32_t wire : flows.held) to.kept[wire] = kNever;
  for (const Moving& at : flows.moving) {
    int64_t next = 0;
    if (at.rows) {
      int64_t now = to.rows, sure = to.rows;
      if (!at.source) {
        sure = ends != nullptr ? (*ends)[at.wire] : sure_rows(at, to.sure);
        now = ends != nullptr ? sure : certain_rows(at, to, sure);
      }
      to.sure[at.wire] = sure;
      next = to.certain[at.wire] = std::max(from.certain[at.wire], now);
      if (!at.held) to.kept[at.wire] = next;
    }
    for (const auto& [input, source, like] : at.inputs)
      to.kept[source] = std::min(to.kept[source], kept_from(at, input, next, to.certain[like]));
  }
  for (const auto& [wire, like, held] : flows.followers) {
    to.sure[wire] = ends != nullptr ? (*ends)[wire] : to.sure[like];
    to.certain[wire] =
        ends != nullptr ? std::max(from.certain[wire], (*ends)[wire]) : to.certain[like];
    if (!held) to.kept[wire] = to.certain[wire];
  }
  for (const uint32_t wire : flows.held)
    to.kept[wire] = std::max(from.kept[wire], std::min(to.kept[wire], to.certain[wire]));
}

}  // namespace sdx::stream
