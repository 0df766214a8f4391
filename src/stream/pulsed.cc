#include "stream/pulsed.h"

#include "ops/control/bodies_of.h"
#include "stream/pulsed_maker.h"
#include "stream/rows.h"
#include "typed/body.h"
#include "typed/eval.h"

namespace sdx::stream {
namespace {

constexpr int kLeastOpset = 11;

}  // namespace

Result<Pulsed> PulsedMaker::run() {
  if (pulse_ == 0 && report_.multiple() != 1)
    return fail("SDX-S0050", "--pulse is needed: rows come at several rates, {} at a time",
                report_.multiple());
  if (pulse_ != 0) SDX_TRY(report_.check(pulse_));
  SDX_TRY(start_.find());
  SDX_TRY(find_initial());
  for (uint32_t id = 0; id < old_.size(); ++id) {
    if (old_.node(id).kind != typed::Node::Kind::op || !flows_.moves(id)) continue;
    SDX_TRY(in(id, move(id)));
  }
  SDX_TRY(finish());
  made_.pulse = pulse_;
  made_.opset = opset_;
  return std::move(made_);
}

Status PulsedMaker::in(uint32_t id, Status status) {
  if (status && !status_) status = status_;
  if (status) return ok();
  return Error(status.error()).in(fmt::format("node {}", typed::shown(old_.node(id))));
}

int64_t PulsedMaker::first_needed(uint32_t id, uint32_t slot, size_t input) const {
  return start_.first_needed(id, slot, input);
}

Status PulsedMaker::find_initial() {
  words_.assign(flows_.count(), "zeros");
  Position none(flows_), begun(flows_);
  advance(flows_, none, 0, nullptr, begun);
  SDX_ASSIGN(Step step, make_step(flows_, states_, none, begun, false));
  if (!step.inputs.empty())
    return fail("SDX-S0058", "what is known before the first row depends on a fixed input");
  SDX_ASSIGN(const std::vector<Value> values, typed::eval(step.graph, {}));
  for (size_t i = 0; i < step.outputs.size(); ++i) {
    if (step.outputs[i].kind == Step::Port::Kind::state)
      begun_[step.outputs[i].index] = values[i].tensor();
  }
  return ok();
}

Tensor PulsedMaker::initial(Outlet old, int64_t held) {
  const size_t wire = flows_.wire(old), axis = flows_.at(old).axis;
  Fact fact = Fact::tensor(old_.fact(old).type, *old_.fact(old).shape);
  (*fact.shape)[axis] = Dim(held);
  const int64_t known = std::clamp<int64_t>(start_.certain[wire], 0, held);
  (*fact.shape)[axis] = Dim(held - known);
  Tensor nothing = Tensor::make(fact.type, fact.dims());
  if (const auto zero = padded_with_.find(wire); zero != padded_with_.end()) {
    for (size_t i = 0; i < nothing.count(); ++i) set_f64(fact.type, nothing.raw(), i, zero->second);
    words_[wire] = fmt::format("{}", zero->second);
  }
  if (known == 0) return nothing;
  words_[wire] = held == known ? "constant rows" : "zeros, then constant rows";
  const Tensor& rows = begun_.at(wire);
  const int64_t end = rows.dims()[axis];
  return joined({nothing, rows_of(rows, axis, end - known, end)}, axis);
}

Status PulsedMaker::finish() {
  for (const typed::Output& output : old_.outputs()) {
    const Outlet old = output.outlet;
    if (!flows_.at(old).moves()) {
      made_.left_out.push_back(output.name);
      continue;
    }
    const size_t wire = flows_.wire(old);
    const int64_t start = start_.of_output(old);
    const Outlet rows = start == start_.certain[wire]
                            ? fresh(old)
                            : cut(all(old), flows_.at(old).axis, start - start_.kept[wire],
                                  start_.certain[wire] - start);
    made_.delays[output.name] = -start;
    results_.emplace_back(output.name, rows);
  }
  SDX_TRY(status_);
  if (results_.empty()) return fail("SDX-S0062", "every output is known at the stream's end only");
  if (counter_.present()) {
    Outlet more;
    if (pulse_ != 0) {
      more = ints({pulse_});
    } else {
      for (const Outlet input : old_.inputs()) {
        if (!flows_.at(input).moves()) continue;
        more =
            add("Gather", {add("Shape", {fresh(input)}), ints({int64_t(flows_.at(input).axis)})});
      }
    }
    keep(counter_name_, add("Add", {counter_, more}));
  }
  SDX_TRY(status_);
  // The model's own outputs come first.
  for (auto& [name, wire] : results_) made_.graph.output(name, wire);
  for (auto& [name, wire] : next_) made_.graph.output(name, wire);
  return ok();
}

int oldest_opset(const typed::Graph& graph) {
  int opset = kLeastOpset;
  for (const typed::Node& node : graph.nodes()) {
    if (node.kind != typed::Node::Kind::op || !node.op().domain.empty()) continue;
    if (const Signature* own = node.op().at(node.use.opset)) opset = std::max(opset, own->since);
    for (const auto& [name, body] : ops::bodies_of(node.use, node.resolved.get())) {
      if (const auto* inside = dynamic_cast<const typed::GraphBody*>(body))
        opset = std::max(opset, oldest_opset(inside->graph()));
    }
  }
  return opset;
}

size_t Pulsed::state_bytes() const {
  size_t bytes = 0;
  for (const State& state : states) bytes += state.initial.bytes();
  return bytes;
}

Result<Pulsed> make_pulsed(const Flows& flows, int64_t pulse) {
  SDX_TRY(flows.check());
  return PulsedMaker(flows, pulse).run();
}

}  // namespace sdx::stream
