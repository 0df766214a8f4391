#include "stream/step_maker.h"

namespace sdx::stream {

Result<Step> StepMaker::run() {
  for (uint32_t id = 0; id < old_.size(); ++id) {
    if (old_.node(id).kind != typed::Node::Kind::op) continue;
    if (flows_.moves(id)) SDX_TRY(in(id, move(id)));
    if (flows_.nodes[id].kind == Kind::fold) SDX_TRY(in(id, fold(id)));
  }
  SDX_TRY(outputs());
  if (!end_) histories();
  for (const auto& [state, wire] : next_) {
    if (end_) break;
    give({Step::Port::Kind::state, state}, fmt::format("state.{}", state), wire);
  }
  SDX_TRY(build_.status());
  return std::move(step_);
}

Status StepMaker::in(uint32_t id, Status status) {
  if (status && !build_.status()) status = build_.status();
  if (status) return ok();
  return Error(status.error()).in(fmt::format("node {}", typed::shown(old_.node(id))));
}

Status StepMaker::outputs() {
  const auto& outputs = old_.outputs();
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Outlet old = outputs[i].outlet;
    const Step::Port port{Step::Port::Kind::model, i};
    if (flows_.at(old).moves()) {
      if (fresh(old) > 0) give(port, outputs[i].name, made(old));
    } else if (end_) {
      give(port, outputs[i].name, value(old));
      SDX_TRY(in(old.node, build_.status()));
    }
  }
  return ok();
}

void StepMaker::histories() {
  for (uint32_t id = 0; id < old_.size(); ++id) {
    for (uint32_t slot = 0; slot < flows_.wires[id].size(); ++slot) {
      if (!flows_.wires[id][slot].moves()) continue;
      const Outlet old{id, slot};
      const size_t wire = flows_.wire(old);
      const int64_t held = from_.certain[wire] - from_.kept[wire];
      const Rows keep{to_.kept[wire], to_.certain[wire]};
      if (keep.count() <= 0) {
        if (held > 0) step_.dropped.push_back(wire);
      } else if (fresh(old) > 0 || keep.first != from_.kept[wire]) {
        next_[wire] = turned(old, rows(old, keep));
      }
    }
  }
}

Result<Step> make_step(const Flows& flows, const States& states, const Position& from,
                       const Position& to, bool end) {
  return StepMaker(flows, states, from, to, end).run();
}

}  // namespace sdx::stream
