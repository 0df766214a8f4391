#include "stream/report.h"

#include <numeric>

#include "ops/control/bodies_of.h"
#include "ops/list.h"
#include "typed/body.h"

namespace sdx::stream {
namespace {

using Kind = Streaming::Kind;

Rate reduced(int64_t rows, int64_t per) {
  const int64_t common = std::gcd(rows, per);
  return {rows / common, per / common};
}

std::string plural(int64_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

uint64_t multiply_adds(const typed::Graph& graph);

// Of the dearest subgraph, as often as a scanned input has slices.
uint64_t multiply_adds_inside(const typed::Graph& graph, const typed::Node& node) {
  uint64_t most = 0;
  for (const auto& [name, body] : ops::bodies_of(node.use, node.resolved.get())) {
    const auto* inside = dynamic_cast<const typed::GraphBody*>(body);
    if (inside == nullptr) continue;
    uint64_t count = multiply_adds(inside->graph());
    if (node.is(ops::scan)) {
      const size_t scanned = node.use.formal_inputs - 1;
      const Fact &all = graph.fact(node.inputs[scanned]), &slice = inside->inputs()[scanned];
      const bool known = all.is_concrete() && slice.is_concrete();
      const size_t elements = known ? *element_count(slice.dims()) : 0;
      if (elements > 0) count *= *element_count(all.dims()) / elements;
    }
    most = std::max(most, count);
  }
  return most;
}

uint64_t multiply_adds(const typed::Graph& graph) {
  uint64_t all = 0;
  for (const typed::Node& node : graph.nodes()) {
    if (node.kind != typed::Node::Kind::op) continue;
    all += multiply_adds_inside(graph, node);
    if (node.op().multiply_adds == nullptr) continue;
    Facts in;
    bool known = true;
    for (const Outlet input : node.inputs) {
      in.push_back(graph.fact(input));
      known &= !input.present() || in.back().is_concrete();
    }
    for (const Fact& fact : node.outputs) known &= !fact.present() || fact.is_concrete();
    if (!known) continue;
    all += node.op().multiply_adds(node.resolved.get(), {in, node.outputs, Isa::portable, 1});
  }
  return all;
}

}  // namespace

std::string Rate::text() const {
  return per == 1 ? fmt::format("{}", rows) : fmt::format("{}/{}", rows, per);
}

std::string words(const Streaming& how) {
  const Reach& r = how.reach;
  switch (how.kind) {
    case Kind::refused:
      return "";
    case Kind::rows:
      return "row by row";
    case Kind::window:
      return fmt::format("window of {}, stride {}{}", r.hi - r.lo + 1, r.num,
                         how.before + how.after > 0
                             ? fmt::format(", padding {} and {}", how.before, how.after)
                             : "");
    case Kind::spread:
      return fmt::format("each row spreads over {}", r.den);
    case Kind::pad:
      return fmt::format("{} before, {} after", plural(how.before, "row"), how.after);
    case Kind::slice:
      return fmt::format("every {}. row from {}", how.slices[0].step, how.slices[0].start);
    case Kind::join:
      return "rows joined to fixed ones";
    case Kind::carry:
      return "carries its state";
    case Kind::running:
      return "goes on from its last row";
    case Kind::fold:
      return "folded as rows come";
    case Kind::tail:
      return fmt::format("the last {}", plural(how.count, "row"));
    case Kind::whole:
      return "held until the end";
    case Kind::attend:
      return how.behind < 0
                 ? "sees all rows before"
                 : fmt::format("sees {} before and {} after", plural(how.behind, "row"), how.ahead);
  }
  return "";
}

Report::Report(const Flows& flows) : flows_(flows), movements_(flows.count()) {
  const typed::Graph& graph = flows.graph;
  int64_t reach = 1;
  for (uint32_t id = 0; id < graph.size(); ++id) {
    const typed::Node& node = graph.node(id);
    const Streaming& how = flows.nodes[id];
    Rate rate;
    for (const Outlet input : node.inputs) {
      if (input.present() && flows.at(input).moves()) {
        rate = at(input).rate;
        break;
      }
    }
    for (uint32_t slot = 0; slot < node.outputs.size(); ++slot) {
      if (!flows.wires[id][slot].moves()) continue;
      Rate own = rate;
      if (how.kind == Kind::window || how.kind == Kind::spread)
        own = reduced(rate.rows * how.reach.den, rate.per * how.reach.num);
      if (how.kind == Kind::slice) own = reduced(rate.rows, rate.per * how.slices[slot].step);
      movements_[flows.wire({id, slot})].rate = own;
      multiple_ = std::lcm(multiple_, own.per);
    }
    // Far enough that no row looks back to the stream's beginning.
    const int64_t back = std::abs(how.reach.lo) + std::abs(how.reach.hi) + how.before +
                         std::max<int64_t>(0, how.behind) + how.ahead + 16;
    int64_t starts = 0;
    for (const auto& cut : how.slices) starts += cut.start + cut.trimmed;
    reach += (back + starts) * std::max<int64_t>(1, rate.per) * std::max<int64_t>(1, how.reach.num);
  }
  under_way_ = (reach / multiple_ + 2) * multiple_;
  Position none(flows), steady(flows), later(flows);
  advance(flows, none, under_way_, nullptr, steady);
  advance(flows, steady, 16 * multiple_, nullptr, later);
  for (uint32_t id = 0; id < graph.size(); ++id) {
    for (uint32_t slot = 0; slot < flows.wires[id].size(); ++slot) {
      if (!flows.wires[id][slot].moves()) continue;
      const size_t wire = flows.wire({id, slot});
      Movement& move = movements_[wire];
      move.delay = under_way_ / move.rate.per * move.rate.rows - steady.certain[wire];
      move.history = steady.certain[wire] - steady.kept[wire];
      move.grows = later.kept[wire] == steady.kept[wire] && move.history > 0 &&
                   later.certain[wire] > steady.certain[wire] + move.rate.rows;
    }
  }
}

double Report::input_delay(Outlet outlet) const {
  const Movement& move = at(outlet);
  return double(move.delay) * double(move.rate.per) / double(move.rate.rows);
}

Status Report::check(int64_t pulse) const {
  if (pulse >= 1 && pulse % multiple_ == 0) return ok();
  return fail("SDX-S0032", "a pulse of {} rows is no multiple of {}", pulse, multiple_);
}

Result<PulseCost> Report::cost(int64_t pulse) const {
  SDX_TRY(check(pulse));
  PulseCost cost;
  cost.pulse = pulse;
  Position none(flows_), from(flows_), to(flows_);
  advance(flows_, none, (under_way_ / pulse + 1) * pulse, nullptr, from);
  advance(flows_, from, pulse, nullptr, to);
  SDX_ASSIGN(const Step step, make_step(flows_, States(flows_), from, to, false));
  const typed::Graph& graph = step.graph;
  for (size_t i = 0; i < step.outputs.size(); ++i) {
    const Fact& fact = graph.fact(graph.outputs()[i].outlet);
    if (step.outputs[i].kind != Step::Port::Kind::state || !fact.is_concrete()) continue;
    cost.state_bytes += bytes_for(fact.type, *element_count(fact.dims()));
  }
  for (const Movement& move : movements_) cost.grows |= move.grows;
  cost.multiply_adds = multiply_adds(graph);
  return cost;
}

std::string Report::text(Outlet outlet) const {
  const Flow& flow = flows_.at(outlet);
  switch (flow.kind) {
    case Flow::Kind::fixed:
      return "fixed";
    case Flow::Kind::length:
      return "follows from the length";
    case Flow::Kind::late:
      return "known at the end";
    case Flow::Kind::refused:
      return "cannot be streamed";
    case Flow::Kind::rows:
      break;
  }
  const Movement& move = at(outlet);
  std::string history = move.grows         ? "all rows are kept"
                        : move.history > 0 ? fmt::format("history {}", move.history)
                                           : std::string("no history");
  return fmt::format("axis {}, stride {}, delay {}, {}", flow.axis,
                     Rate{move.rate.per, move.rate.rows}.text(), move.delay, history);
}

std::string Report::text() const {
  std::string lines;
  const typed::Graph& graph = flows_.graph;
  for (uint32_t id = 0; id < graph.size(); ++id) {
    const typed::Node& node = graph.node(id);
    if (node.kind == typed::Node::Kind::constant) continue;
    const bool source = node.kind == typed::Node::Kind::source;
    if (!source && flows_.wires[id][0].kind == Flow::Kind::fixed) continue;
    for (uint32_t slot = 0; slot < node.outputs.size(); ++slot) {
      if (!node.outputs[slot].present()) continue;
      lines += fmt::format("%{}{} = {} : {}\n", id, slot == 0 ? "" : fmt::format(".{}", slot),
                           source ? fmt::format("input \"{}\"", node.use.name) : typed::shown(node),
                           node.outputs[slot].text());
      lines += fmt::format("    {}", text({id, slot}));
      const std::string does = source ? "" : words(flows_.nodes[id]);
      lines += does.empty() ? "\n" : fmt::format("; {}\n", does);
    }
    for (const Refusal& refusal : flows_.refused) {
      if (refusal.node == id) lines += fmt::format("    refused: {}\n", refusal.reason);
    }
  }
  for (const typed::Output& output : graph.outputs())
    lines += fmt::format("output \"{}\" = %{}: {}\n", output.name, output.outlet.node,
                         text(output.outlet));
  return lines;
}

}  // namespace sdx::stream
