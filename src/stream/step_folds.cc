#include "stream/step_maker.h"

namespace sdx::stream {

bool StepMaker::by_lanes(const Streaming& how) const {
  return how.fold != Streaming::Fold::max && how.fold != Streaming::Fold::min;
}

Status StepMaker::fold(uint32_t id) {
  const Streaming& how = flows_.nodes[id];
  const Outlet input = old_.node(id).inputs[0];
  const size_t axis = flows_.at(input).axis, number = states_.first[id];
  const int64_t n = fresh(input), done = new_rows(input).first;
  if (n == 0) return ok();
  const Outlet piece = made(input);
  if (!by_lanes(how)) {
    const bool max = how.fold == Streaming::Fold::max;
    Outlet most = build_.op(max ? "ReduceMax" : "ReduceMin", {piece, build_.ints({int64_t(axis)})},
                            {{"keepdims", int64_t{1}}});
    if (done > 0) most = build_.op(max ? "Max" : "Min", {state(number, rows_fact(input, 1)), most});
    next_[number] = most;
    return ok();
  }
  const bool product = how.fold == Streaming::Fold::product;
  const Fact fact = rows_fact(input, kLanes);
  Outlet lanes = done > 0 ? state(number, fact)
                          : build_.op("Expand", {build_.number(product ? 1 : 0, fact.type),
                                                 build_.ints(fact.dims())});
  // Row i belongs to lane i % 16.
  for (int64_t at = 0; at < n;) {
    const int64_t lane = (done + at) % kLanes, count = std::min(kLanes - lane, n - at);
    const Outlet part = slice(piece, axis, at, at + count);
    const Outlet more =
        build_.op(product ? "Mul" : "Add", {slice(lanes, axis, lane, lane + count), part});
    lanes = concat({lane > 0 ? slice(lanes, axis, 0, lane) : Outlet{}, more,
                    lane + count < kLanes ? slice(lanes, axis, lane + count, kLanes) : Outlet{}},
                   axis);
    at += count;
  }
  next_[number] = lanes;
  return ok();
}

Outlet StepMaker::folded(uint32_t id) {
  const Streaming& how = flows_.nodes[id];
  const typed::Node& node = old_.node(id);
  const Outlet input = node.inputs[0];
  const size_t axis = flows_.at(input).axis, number = states_.first[id];
  std::vector<Outlet> inputs;
  for (size_t i = 1; i < node.inputs.size(); ++i) inputs.push_back(value(node.inputs[i]));
  const bool none = to_.certain[flows_.wire(input)] == 0;
  Outlet state_wire;
  if (none) {
    state_wire = rows(input, {});
  } else if (const auto found = next_.find(number); found != next_.end()) {
    state_wire = found->second;
  } else {
    state_wire = state(number, rows_fact(input, by_lanes(how) ? kLanes : 1));
  }
  if (how.fold != Streaming::Fold::mean || none) {
    inputs.insert(inputs.begin(), state_wire);
    return again(id, std::move(inputs))[0];
  }
  const Outlet sum = build_.op("ReduceSum", {state_wire, build_.ints({int64_t(axis)})},
                               {{"keepdims", int64_t{1}}});
  const Outlet mean = build_.over(sum, double(to_.certain[flows_.wire(input)]));
  return build_.op("Reshape", {mean, build_.ints(node.outputs[0].dims())});
}

Outlet StepMaker::late(Outlet old) {
  const uint32_t id = old.node;
  const Streaming& how = flows_.nodes[id];
  const typed::Node& node = old_.node(id);
  if (how.kind == Kind::fold) return folded(id);
  if (how.kind == Kind::carry) {
    for (size_t k = 0; k < how.pairs.size(); ++k) {
      if (how.pairs[k].second != old.slot) continue;
      const size_t number = states_.first[id] + k;
      if (const auto found = next_.find(number); found != next_.end()) return found->second;
      return state(number, carried(id, k));
    }
  }
  if (how.kind == Kind::tail) {
    const int64_t have = to_.certain[flows_.wire(node.inputs[0])];
    return other_axes(id, rows(node.inputs[0], {std::max<int64_t>(0, have - how.count), have}));
  }
  std::vector<Outlet> inputs;
  for (const Outlet input : node.inputs) {
    if (input.present() && flows_.at(input).moves()) {
      inputs.push_back(rows(input, {0, to_.certain[flows_.wire(input)]}));
    } else {
      inputs.push_back(value(input));
    }
  }
  const std::vector<Outlet> outs = again(id, std::move(inputs));
  for (uint32_t slot = 0; slot < outs.size(); ++slot) values_[{id, slot}] = outs[slot];
  return outs[old.slot];
}

}  // namespace sdx::stream
