#include "stream/pulse_start.h"

namespace sdx::stream {
namespace {

using Kind = Streaming::Kind;

// When row 0 of such a padding comes, the input's rows that it repeats must be there.
int64_t repeating_start(const Streaming& how, int64_t input, int64_t pulse) {
  const int64_t least = how.mode == Streaming::Mode::edge ? 1 : how.before + 1;
  const int64_t surely = input - least + 1;
  if (pulse == 0) return surely;
  int64_t start = input;
  while (start > surely && input + (-start / pulse + 1) * pulse < least) --start;
  return start;
}

}  // namespace

bool repeats_rows(const Streaming& how) {
  return how.kind == Kind::pad && how.mode != Streaming::Mode::constant && how.before > 0;
}

PulseStart::PulseStart(const Report& report, int64_t pulse)
    : certain(report.flows().count(), 0),
      kept(report.flows().count(), 0),
      report_(report),
      flows_(report.flows()),
      graph_(report.flows().graph),
      pulse_(pulse) {}

int64_t PulseStart::per_pulse(Outlet old) const {
  const Rate rate = report_.at(old).rate;
  return pulse_ / rate.per * rate.rows;
}

Status PulseStart::find() {
  for (uint32_t id = 0; id < graph_.size(); ++id) {
    const typed::Node& node = graph_.node(id);
    if (node.kind != typed::Node::Kind::op || !flows_.moves(id)) continue;
    for (uint32_t slot = 0; slot < node.outputs.size(); ++slot) {
      if (!flows_.wires[id][slot].moves()) continue;
      if (const Status status = begin(id, slot); !status)
        return Error(status.error()).in(fmt::format("node {}", typed::shown(node)));
    }
  }
  // What is kept before the first pulse.
  kept = certain;
  for (uint32_t id = 0; id < graph_.size(); ++id) {
    const typed::Node& node = graph_.node(id);
    if (node.kind != typed::Node::Kind::op || !flows_.moves(id)) continue;
    for (uint32_t slot = 0; slot < node.outputs.size(); ++slot) {
      if (!flows_.wires[id][slot].moves()) continue;
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        if (!node.inputs[i].present() || !flows_.at(node.inputs[i]).moves()) continue;
        int64_t& first = kept[flows_.wire(node.inputs[i])];
        first = std::min(first, first_needed(id, slot, i));
      }
    }
  }
  for (const typed::Output& output : graph_.outputs()) {
    if (!flows_.at(output.outlet).moves()) continue;
    int64_t& first = kept[flows_.wire(output.outlet)];
    first = std::min(first, of_output(output.outlet));
  }
  return ok();
}

int64_t PulseStart::of_output(Outlet old) const {
  return std::min<int64_t>(0, certain[flows_.wire(old)]);
}

Status PulseStart::begin(uint32_t id, uint32_t slot) {
  const Streaming& how = flows_.nodes[id];
  const auto& inputs = graph_.node(id).inputs;
  const auto at = [&](size_t i) { return certain[flows_.wire(inputs[i])]; };
  int64_t& row = certain[flows_.wire({id, slot})];
  switch (how.kind) {
    case Kind::window:
    case Kind::spread:
      row = Reach::floored(at(0) * how.reach.den - how.reach.hi - 1, how.reach.num) + 1;
      return ok();
    case Kind::pad:
      if (repeats_rows(how) && at(0) > 0)
        return fail("SDX-S0052", "it pads constant rows, which come before the stream's, anew");
      row = repeats_rows(how) ? repeating_start(how, at(0), per_pulse({id, slot}))
                              : at(0) + how.before;
      return ok();
    case Kind::slice: {
      const Streaming::Slice& cut = how.slices[slot];
      if (cut.end < kNever) return fail("SDX-S0053", "its output ends before the stream does");
      row = Reach::floored(at(0) - cut.trimmed - 1 - cut.start, cut.step) + 1;
      return ok();
    }
    case Kind::join:
      if (at(how.input) < 0) return fail("SDX-S0054", "rows are put before a wire with a delay");
      row = at(how.input);
      for (size_t i = 0; i < how.input; ++i)
        row += graph_.fact(inputs[i]).dim(flows_.at(inputs[how.input]).axis).value();
      return ok();
    case Kind::attend:
      if (how.behind < 0) return fail("SDX-S0055", "it sees all rows before: its state grows");
      if (pulse_ == 0 || per_pulse({id, slot}) % 16 != 0)
        return fail("SDX-S0056", "attention needs pulses of a multiple of 16 rows");
      row = std::min(at(0), std::min(at(1), at(2)) - how.ahead);
      return ok();
    default:
      break;
  }
  row = kNever;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].present() && flows_.at(inputs[i]).moves()) row = std::min(row, at(i));
  }
  if (how.kind == Kind::carry && row != 0) {
    // Pulses before row 0 leave the state alone: row 0 must begin a pulse.
    if (pulse_ == 0)
      return fail("SDX-S0057", "--pulse is needed: a state begins after a delay of {} rows", -row);
    const int64_t rows = per_pulse({id, slot});
    row = Reach::floored(row, rows) * rows;
  }
  return ok();
}

int64_t PulseStart::first_needed(uint32_t id, uint32_t slot, size_t input) const {
  const Streaming& how = flows_.nodes[id];
  const int64_t next = certain[flows_.wire({id, slot})];
  switch (how.kind) {
    case Kind::window:
    case Kind::spread:
      return how.reach.first(next);
    case Kind::pad:
      return next - how.before;
    case Kind::slice:
      return how.slices[slot].start + next * how.slices[slot].step;
    case Kind::attend:
      return input == 0 ? next : Reach::floored(next - how.behind, 16) * 16;
    case Kind::join:
      return certain[flows_.wire(graph_.node(id).inputs[how.input])];
    default:
      return next;
  }
}

int64_t PulseStart::left_over(uint32_t id, uint32_t slot, size_t input) const {
  const Streaming& how = flows_.nodes[id];
  const int64_t next = certain[flows_.wire({id, slot})];
  const int64_t have = certain[flows_.wire(graph_.node(id).inputs[input])];
  switch (how.kind) {
    case Kind::window:
    case Kind::spread:
      return have - how.reach.last(next - 1) - 1;
    case Kind::pad:
      return have - (next - how.before);
    case Kind::slice:
      return have - (how.slices[slot].start + (next - 1) * how.slices[slot].step + 1);
    case Kind::attend:
      return input == 0 ? have - next : have - next - how.ahead;
    case Kind::join:
      return 0;
    default:
      return have - next;
  }
}

}  // namespace sdx::stream
