// Nodes on the rows of a pulse.
#include "ops/list.h"
#include "stream/pulsed_maker.h"
#include "stream/rows.h"
#include "typed/eval.h"

namespace sdx::stream {

Outlet PulsedMaker::piece(uint32_t id, uint32_t slot, size_t input) {
  const Outlet old = old_.node(id).inputs[input];
  const size_t wire = flows_.wire(old);
  return cut(all(old), flows_.at(old).axis, first_needed(id, slot, input) - start_.kept[wire],
             start_.left_over(id, slot, input));
}

Outlets PulsedMaker::inputs_for(uint32_t id, uint32_t slot) {
  Outlets inputs;
  const typed::Node& node = old_.node(id);
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const Outlet input = node.inputs[i];
    const auto& constants = flows_.nodes[id].constants;
    const bool replaced = std::any_of(constants.begin(), constants.end(),
                                      [&](const auto& constant) { return constant.first == i; });
    if (!input.present() || replaced) {
      inputs.emplace_back();
    } else {
      inputs.push_back(flows_.at(input).moves() ? piece(id, slot, i) : value(input));
    }
  }
  return inputs;
}

Outlets PulsedMaker::again(uint32_t id, Outlets inputs, AttrMap more) {
  const typed::Node& node = old_.node(id);
  const Streaming& how = flows_.nodes[id];
  sdx::Node use = node.use;
  for (const auto& [name, attr] : how.attrs) use.attrs.insert_or_assign(name, attr);
  for (const auto& [name, attr] : more) use.attrs.insert_or_assign(name, attr);
  for (const auto& [input, tensor] : how.constants) {
    if (inputs.size() <= input) inputs.resize(input + 1);
    inputs[input] = made_.graph.constant(tensor);
  }
  for (const auto& pair : how.pairs) {
    if (use.wanted.size() <= pair.second) use.wanted.resize(pair.second + 1, false);
    use.wanted[pair.second] = true;
  }
  if (inputs.size() > node.inputs.size()) use.formal_inputs += inputs.size() - node.inputs.size();
  return add(std::move(use), std::move(inputs));
}

Status PulsedMaker::move(uint32_t id) {
  const typed::Node& node = old_.node(id);
  const Streaming& how = flows_.nodes[id];
  uint32_t slot = 0;
  while (!flows_.wires[id][slot].moves()) ++slot;
  const size_t axis = flows_.wires[id][slot].axis;
  switch (how.kind) {
    case Kind::slice:
      for (slot = 0; slot < node.outputs.size(); ++slot) {
        if (!flows_.wires[id][slot].moves()) continue;
        const Outlet rows = others(id, piece(id, slot, 0));
        fresh_[{id, slot}] = cut(rows, axis, 0, 0, how.slices[slot].step);
      }
      return ok();
    case Kind::window:
      return window(id);
    case Kind::spread: {
      Outlets inputs = inputs_for(id, 0);
      if (how.reach.first(0) < 0) inputs[0] = begun(id, inputs[0]);
      const Outlet whole = again(id, std::move(inputs))[0];
      const int64_t next = start_.certain[flows_.wire({id, 0})];
      const int64_t first = next + how.before - how.reach.first(next) * how.reach.den;
      if (!status_) return ok();
      const Dim rows =
          pulse_ == 0 ? Dim::symbol(flows_.symbol) * Dim(how.reach.den) : Dim(per_pulse({id, 0}));
      const Dim left = made_.graph.fact(whole).dim(axis) - Dim(first) - rows;
      if (!left.is_const())
        return fail("SDX-S0059", "how many rows it gives cannot be told: {}", left.text());
      fresh_[{id, 0}] = cut(whole, axis, first, left.value());
      return ok();
    }
    case Kind::pad:
      return pad(id);
    case Kind::join:
      fresh_[{id, 0}] = piece(id, 0, how.input);
      return ok();
    case Kind::carry:
      return carry(id, slot);
    case Kind::running:
      return running(id);
    case Kind::attend:
      return attend(id);
    default: {
      const Outlets outs = again(id, inputs_for(id, slot));
      for (uint32_t i = 0; i < outs.size(); ++i) {
        if (i < flows_.wires[id].size() && flows_.wires[id][i].moves()) fresh_[{id, i}] = outs[i];
      }
      return ok();
    }
  }
}

Outlet PulsedMaker::others(uint32_t id, Outlet rows) {
  if (!flows_.nodes[id].other_axes) return rows;
  Outlets inputs{rows};
  const auto& old = old_.node(id).inputs;
  for (size_t i = 1; i < old.size(); ++i) inputs.push_back(value(old[i]));
  return again(id, std::move(inputs))[0];
}

Status PulsedMaker::window(uint32_t id) {
  const Streaming& how = flows_.nodes[id];
  const Outlet old = old_.node(id).inputs[0];
  const size_t wire = flows_.wire(old);
  AttrMap more;
  if (how.pads_at) {
    auto pads = std::get<std::vector<int64_t>>(how.attrs.find("pads")->second);
    pads[*how.pads_at] = pads[pads.size() / 2 + *how.pads_at] = 0;
    more.emplace("pads", std::move(pads));
  }
  if (how.before == 0) {
    fresh_[{id, 0}] = again(id, inputs_for(id, 0), std::move(more))[0];
    return ok();
  }
  if (how.leaves_padding_out)
    return fail("SDX-S0060", "its means leave padding out, which pulses cannot");
  const int64_t first = first_needed(id, 0, 0);
  const DType type = old_.fact(old).type;
  double value = how.value;
  Outlet value_wire;
  if (how.value_input) {
    const Outlet zero = old_.node(id).inputs[*how.value_input];
    const auto constant = old_.fact(zero).value;
    if (!constant || constant->count() != 1)
      return fail("SDX-S0061", "what its padding holds is not constant");
    value = get_f64(type, constant->raw(), 0);
  }
  value_wire = number(value, type);
  // Rows before row 0 that no pulse brings are in the history from the start.
  const bool comes = start_.certain[wire] < 0;
  const auto held = padded_with_.find(wire);
  const bool agrees = !all_.contains(old) && (held == padded_with_.end() || held->second == value);
  if (!comes && agrees) padded_with_[wire] = value;
  Outlets inputs = inputs_for(id, 0);
  if (first < 0 && (comes || !agrees) && !(value == 0 && !comes && zero_filled(wire)))
    inputs[0] = masked(old, inputs[0], first, 0, value_wire);
  fresh_[{id, 0}] = again(id, std::move(inputs), std::move(more))[0];
  return ok();
}

bool PulsedMaker::zero_filled(size_t wire) const {
  return !padded_with_.contains(wire) || padded_with_.at(wire) == 0;
}

Status PulsedMaker::repeat(uint32_t id) {
  const Streaming& how = flows_.nodes[id];
  const Outlet old = old_.node(id).inputs[0];
  const size_t axis = flows_.at(old).axis;
  const int64_t start = start_.certain[flows_.wire({id, 0})], first = start - how.before;
  const Outlet rows = others(id, cut(all(old), axis, first - start_.kept[flows_.wire(old)], 0));
  const Outlet place = numbered(fresh(old), axis), before = rows_before({id, 0});
  const Outlet row = add("Add", {add("Add", {place, ints({start})}), before});
  const bool edge = how.mode == Streaming::Mode::edge;
  // Where the repeated row stands among `rows`, whose first one has index first + before.
  const Outlet shifted = edge ? before : add("Add", {before, row});
  const Outlet repeated = add("Sub", {ints({edge ? -first : how.before - first}), shifted});
  const Outlet in_front = add(
      "And", {add("Less", {row, ints({how.before})}), add("Not", {add("Less", {row, ints({0})})})});
  fresh_[{id, 0}] =
      add("Gather", {rows, add("Where", {in_front, repeated, place})}, {{"axis", int64_t(axis)}});
  return ok();
}

Status PulsedMaker::pad(uint32_t id) {
  const Streaming& how = flows_.nodes[id];
  const typed::Node& node = old_.node(id);
  if (repeats_rows(how)) return repeat(id);
  const Outlet rows = others(id, piece(id, 0, 0));
  const int64_t next = start_.certain[flows_.wire({id, 0})];
  if (next >= how.before) {
    fresh_[{id, 0}] = rows;
    return ok();
  }
  const Outlet filled = how.value_input
                            ? add("Reshape", {value(node.inputs[*how.value_input]), ints({1})})
                            : number(how.value, node.outputs[0].type);
  fresh_[{id, 0}] = masked({id, 0}, rows, next, how.before, filled);
  return ok();
}

Status PulsedMaker::carry(uint32_t id, uint32_t slot) {
  const Streaming& how = flows_.nodes[id];
  const typed::Node& node = old_.node(id);
  Outlets inputs = inputs_for(id, slot);
  std::vector<Outlet> before;
  std::vector<std::string> names;
  Facts in_facts;
  for (const Outlet input : node.inputs) in_facts.push_back(old_.fact(input));
  sdx::Node use = node.use;
  for (const auto& [input, output] : how.pairs) {
    if (use.wanted.size() <= output) use.wanted.resize(output + 1, false);
    use.wanted[output] = true;
  }
  SDX_ASSIGN(const auto attrs, node.op().read(use, in_facts));
  SDX_ASSIGN(const Facts facts, node.op().infer(attrs.get(), in_facts));
  for (const auto& [input, output] : how.pairs) {
    const Outlet given = input < node.inputs.size() ? node.inputs[input] : Outlet{};
    Tensor first;
    std::string words = "zeros";
    if (given.present()) {
      const auto constant = old_.fact(given).value;
      words = constant ? "constant" : fmt::format("the input \"{}\"", name_of(given));
      first = constant ? *constant : Tensor::make(old_.fact(given).type, old_.fact(given).dims());
    } else {
      first = Tensor::make(facts[output].type, facts[output].dims());
    }
    names.push_back(unique(fmt::format("{}.state{}", name_of({id, slot}), names.size())));
    before.push_back(state(names.back(), std::move(first), std::move(words)));
    if (inputs.size() <= input) inputs.resize(input + 1);
    inputs[input] = before.back();
  }
  const Outlets outs = again(id, std::move(inputs));
  const int64_t next = start_.certain[flows_.wire({id, slot})];
  for (size_t k = 0; k < how.pairs.size(); ++k) {
    Outlet after = outs[how.pairs[k].second];
    if (next < 0) {
      const Outlet begun = add("Not", {add("Less", {rows_before({id, slot}), ints({-next})})});
      after = add("Where", {begun, after, before[k]});
    }
    keep(names[k], after);
  }
  for (uint32_t i = 0; i < outs.size() && i < flows_.wires[id].size(); ++i) {
    if (flows_.wires[id][i].moves()) fresh_[{id, i}] = outs[i];
  }
  return ok();
}

Status PulsedMaker::running(uint32_t id) {
  const Streaming& how = flows_.nodes[id];
  const size_t axis = flows_.wires[id][0].axis;
  const DType type = old_.fact({id, 0}).type;
  Outlets inputs = inputs_for(id, 0);
  const double neutral = how.product ? 1 : 0;
  const int64_t next = start_.certain[flows_.wire({id, 0})];
  if (next < 0) inputs[0] = masked({id, 0}, inputs[0], next, 0, number(neutral, type));
  Fact fact = Fact::tensor(type, *old_.fact({id, 0}).shape);
  (*fact.shape)[axis] = Dim(1);
  Tensor first = Tensor::make(type, fact.dims());
  for (size_t i = 0; i < first.count(); ++i) set_f64(type, first.raw(), i, neutral);
  const std::string name = unique(name_of({id, 0}) + ".state");
  const Outlet before = state(name, std::move(first), how.product ? "ones" : "zeros");
  inputs[0] = concat({before, inputs[0]}, axis);
  const Outlet sums = again(id, std::move(inputs))[0];
  keep(name, add("Slice", {sums, ints({-1}), ints({INT64_MAX}), ints({int64_t(axis)})}));
  fresh_[{id, 0}] = how.exclusive ? cut(sums, axis, 0, 1) : cut(sums, axis, 1, 0);
  return ok();
}

Status PulsedMaker::attend(uint32_t id) {
  const Streaming& how = flows_.nodes[id];
  const typed::Node& node = old_.node(id);
  const size_t along = flows_.at(node.inputs[0]).axis;
  const int64_t next = start_.certain[flows_.wire({id, 0})];
  const int64_t first = first_needed(id, 0, 1), past = next - first;
  Outlets inputs{piece(id, 0, 0), {}, {}, {}, {}, {}};
  for (size_t i = 1; i < 3; ++i) {
    const Outlet keys = piece(id, 0, i);
    inputs[i] = cut(keys, along, past, 0);
    Outlet old_keys = add("Slice", {keys, ints({0}), ints({past}), ints({int64_t(along)})});
    if (status_ && old_.fact(node.inputs[i]).rank() == 3) {
      const int64_t heads = node.use.i("kv_num_heads");
      const Fact& fact = made_.graph.fact(old_keys);
      const std::vector<int64_t> dims{fact.dim(0).value(), past, heads,
                                      fact.dim(2).value() / heads};
      old_keys = add("Transpose", {add("Reshape", {old_keys, ints(dims)})},
                     {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
    }
    inputs[3 + i] = old_keys;
  }
  // Keys before row 0 are not seen.
  const int64_t keys = past + per_pulse({id, 0}) + how.ahead;
  std::vector<int64_t> indices;
  for (int64_t j = 0; j < keys; ++j) indices.push_back(first + j);
  const Outlet seen =
      add("Not", {add("Less", {add("Add", {ints(indices), rows_before({id, 0})}), ints({0})})});
  inputs[3] = add("Reshape", {seen, ints({1, keys})});
  fresh_[{id, 0}] = again(id, std::move(inputs))[0];
  return ok();
}

}  // namespace sdx::stream
