#include "stream/step_maker.h"

namespace sdx::stream {

std::vector<Outlet> StepMaker::again(uint32_t id, std::vector<Outlet> inputs, AttrMap more) {
  const typed::Node& node = old_.node(id);
  const Streaming& how = flows_.nodes[id];
  sdx::Node use = node.use;
  for (const auto& [name, attr] : how.attrs) use.attrs.insert_or_assign(name, attr);
  if (end_) {
    for (const auto& [name, attr] : how.last_attrs) use.attrs.insert_or_assign(name, attr);
  }
  for (const auto& [name, attr] : more) use.attrs.insert_or_assign(name, attr);
  for (const auto& [input, tensor] : how.constants) {
    if (inputs.size() <= input) inputs.resize(input + 1);
    inputs[input] = step_.graph.constant(tensor);
  }
  for (const auto& [input, output] : how.pairs) {
    if (use.wanted.size() <= output) use.wanted.resize(output + 1, false);
    use.wanted[output] = true;
    (void)input;
  }
  if (inputs.size() > node.inputs.size()) use.formal_inputs += inputs.size() - node.inputs.size();
  return add(std::move(use), std::move(inputs), node.origin);
}

std::vector<Outlet> StepMaker::inputs_for(uint32_t id, uint32_t slot, Rows out) {
  std::vector<Outlet> inputs;
  const typed::Node& node = old_.node(id);
  const auto replaced = [&](size_t i) {
    for (const auto& constant : flows_.nodes[id].constants) {
      if (constant.first == i) return true;
    }
    return false;
  };
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const Outlet input = node.inputs[i];
    if (!input.present() || replaced(i)) {
      inputs.emplace_back();
    } else if (flows_.at(input).moves()) {
      const int64_t have = to_.certain[flows_.wire(input)];
      inputs.push_back(rows(input, needed_rows(flows_.moving_at({id, slot}), i, out, have, end_)));
    } else {
      inputs.push_back(value(input));
    }
  }
  return inputs;
}

Rows StepMaker::needed(uint32_t id, uint32_t slot, size_t input, Rows out) {
  const int64_t have = to_.certain[flows_.wire(old_.node(id).inputs[input])];
  return needed_rows(flows_.moving_at({id, slot}), input, out, have, end_);
}

Status StepMaker::move(uint32_t id) {
  const typed::Node& node = old_.node(id);
  const Streaming& how = flows_.nodes[id];
  if (how.kind == Kind::slice) {
    for (uint32_t slot = 0; slot < node.outputs.size(); ++slot) {
      if (flows_.wires[id][slot].moves() && fresh({id, slot}) > 0) cut(id, slot);
    }
    return ok();
  }
  uint32_t slot = 0;
  while (!flows_.wires[id][slot].moves()) ++slot;
  const Rows out = new_rows({id, slot});
  if (out.count() <= 0) return ok();
  if (how.kind == Kind::pad) return pad(id, out);
  if (how.kind == Kind::join) return join(id, out);
  std::vector<Outlet> inputs = inputs_for(id, slot, out);
  const size_t axis = flows_.wires[id][slot].axis;
  std::vector<Outlet> outs;
  switch (how.kind) {
    case Kind::window:
      outs = window(id, slot, out, std::move(inputs));
      break;
    case Kind::spread: {
      outs = again(id, std::move(inputs));
      const int64_t start = out.first + how.before - needed(id, slot, 0, out).first * how.reach.den;
      outs[0] = slice(outs[0], axis, start, start + out.count());
      break;
    }
    case Kind::carry:
      outs = carry(id, out, std::move(inputs));
      break;
    case Kind::running:
      outs = {running(id, out, inputs[0], inputs[1])};
      break;
    case Kind::attend:
      outs = {attend(id, out)};
      break;
    default:
      outs = again(id, std::move(inputs));
  }
  for (uint32_t i = 0; i < node.outputs.size() && i < outs.size(); ++i) {
    if (flows_.wires[id][i].moves()) made_[{id, i}] = outs[i];
  }
  return ok();
}

std::vector<Outlet> StepMaker::window(uint32_t id, uint32_t slot, Rows out,
                                      std::vector<Outlet> inputs) {
  const Streaming& how = flows_.nodes[id];
  const int64_t first = end_ ? last_begins(how.overhangs, out.first) : out.first,
                more = out.first - first;
  std::vector<Outlet> outs = again(id, std::move(inputs), padding(how, {first, out.last}));
  if (more > 0) outs[0] = slice(outs[0], flows_.wires[id][slot].axis, more, more + out.count());
  return outs;
}

AttrMap StepMaker::padding(const Streaming& how, Rows out) const {
  if (!how.pads_at) return {};
  auto pads = std::get<std::vector<int64_t>>(how.attrs.find("pads")->second);
  pads[*how.pads_at] = std::max<int64_t>(0, -how.reach.first(out.first));
  pads[pads.size() / 2 + *how.pads_at] = end_ ? how.after : 0;
  return {{"pads", std::move(pads)}};
}

Outlet StepMaker::other_axes(uint32_t id, Outlet piece) {
  if (!flows_.nodes[id].other_axes) return piece;
  const typed::Node& node = old_.node(id);
  std::vector<Outlet> inputs{piece};
  for (size_t i = 1; i < node.inputs.size(); ++i) inputs.push_back(value(node.inputs[i]));
  return again(id, std::move(inputs))[0];
}

void StepMaker::cut(uint32_t id, uint32_t slot) {
  const Streaming::Slice& cut = flows_.nodes[id].slices[slot];
  const Rows wanted = needed(id, slot, 0, new_rows({id, slot}));
  const Outlet piece = other_axes(id, rows(old_.node(id).inputs[0], wanted));
  const size_t axis = flows_.wires[id][slot].axis;
  made_[{id, slot}] = cut.step == 1 ? piece : slice(piece, axis, 0, wanted.count(), cut.step);
}

Status StepMaker::pad(uint32_t id, Rows out) {
  const Streaming& how = flows_.nodes[id];
  const typed::Node& node = old_.node(id);
  const size_t axis = flows_.wires[id][0].axis;
  const Rows wanted = needed(id, 0, 0, out);
  Outlet piece;
  if (wanted.count() > 0) piece = other_axes(id, rows(node.inputs[0], wanted));
  if (how.mode == Streaming::Mode::constant) {
    const Outlet value_wire = how.value_input ? value(node.inputs[*how.value_input])
                                              : build_.number(how.value, node.outputs[0].type);
    const auto block = [&](int64_t count) -> Outlet {
      if (count <= 0) return {};
      Dims dims = rows_fact({id, 0}, count).dims();
      const Outlet scalar = build_.op("Reshape", {value_wire, build_.ints({1})});
      return build_.op("Expand", {scalar, build_.ints(dims)});
    };
    const int64_t left = out.first < how.before ? std::min(how.before, out.last) - out.first : 0;
    made_[{id, 0}] = concat({block(left), piece, block(out.count() - left - wanted.count())}, axis);
    return ok();
  }
  std::vector<int64_t> pads(2 * rank({id, 0}), 0);
  const int64_t left = out.first < how.before ? how.before : 0;
  pads[axis] = left;
  pads[pads.size() / 2 + axis] = end_ ? how.after : 0;
  const std::string mode = how.mode == Streaming::Mode::edge ? "edge" : "reflect";
  const Outlet padded = build_.op("Pad", {piece, build_.ints(pads)}, {{"mode", mode}});
  const int64_t start = out.first - (how.before - left) - wanted.first;
  made_[{id, 0}] = slice(padded, axis, start, start + out.count());
  return ok();
}

Status StepMaker::join(uint32_t id, Rows out) {
  const Streaming& how = flows_.nodes[id];
  const typed::Node& node = old_.node(id);
  const size_t axis = flows_.wires[id][0].axis;
  Outlets parts;
  for (size_t i = 0; i < how.input && out.first == 0; ++i) parts.push_back(value(node.inputs[i]));
  const Rows wanted = needed(id, 0, how.input, out);
  if (wanted.count() > 0) parts.push_back(rows(node.inputs[how.input], wanted));
  for (size_t i = how.input + 1; i < node.inputs.size() && end_; ++i)
    parts.push_back(value(node.inputs[i]));
  made_[{id, 0}] = concat(std::move(parts), axis);
  return ok();
}

}  // namespace sdx::stream
