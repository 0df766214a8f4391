#include "stream/step_maker.h"

namespace sdx::stream {

std::vector<Outlet> StepMaker::carry(uint32_t id, Rows out, std::vector<Outlet> inputs) {
  const Streaming& how = flows_.nodes[id];
  for (size_t k = 0; k < how.pairs.size() && out.first > 0; ++k) {
    const size_t input = how.pairs[k].first;
    if (inputs.size() <= input) inputs.resize(input + 1);
    inputs[input] = state(states_.first[id] + k, carried(id, k));
  }
  const std::vector<Outlet> outs = again(id, std::move(inputs));
  for (size_t k = 0; k < how.pairs.size(); ++k)
    next_[states_.first[id] + k] = outs[how.pairs[k].second];
  return outs;
}

Fact StepMaker::carried(uint32_t id, size_t k) {
  const typed::Node& node = old_.node(id);
  sdx::Node use = node.use;
  const size_t output = flows_.nodes[id].pairs[k].second;
  if (use.wanted.size() <= output) use.wanted.resize(output + 1, false);
  use.wanted[output] = true;
  Facts in;
  for (const Outlet input : node.inputs) in.push_back(old_.fact(input));
  auto attrs = node.op().read(use, in);
  if (!attrs) {
    build_.refuse(std::move(attrs).error());
    return {};
  }
  auto facts = node.op().infer(attrs->get(), in);
  if (!facts || facts->size() <= output || !(*facts)[output].is_concrete()) {
    build_.refuse(fail("SDX-S0012", "the shape of the state of output {} is not known", output));
    return {};
  }
  return Fact::tensor((*facts)[output].type, *(*facts)[output].shape);
}

Outlet StepMaker::running(uint32_t id, Rows out, Outlet piece, Outlet axis_input) {
  const Streaming& how = flows_.nodes[id];
  const size_t axis = flows_.wires[id][0].axis, number = states_.first[id];
  const Fact row = rows_fact({id, 0}, 1);
  const int64_t n = out.count(), in_front = out.first > 0 ? 1 : 0;
  Outlet chain = piece;
  if (in_front != 0) {
    chain = concat({state(number, row), piece}, axis);
  } else if (how.exclusive) {
    const Outlet neutral = build_.number(how.product ? 1 : 0, row.type);
    chain = concat({build_.op("Expand", {neutral, build_.ints(row.dims())}), piece}, axis);
  }
  const Outlet sums = again(id, {chain, axis_input})[0];
  next_[number] = slice(sums, axis, n - 1 + in_front, n + in_front);
  return slice(sums, axis, in_front, in_front + n);
}

Outlet StepMaker::attend(uint32_t id, Rows out) {
  const typed::Node& node = old_.node(id);
  const Outlet q = rows(node.inputs[0], out);
  std::vector<Outlet> inputs{q, {}, {}};
  const size_t along = flows_.at(node.inputs[0]).axis;
  Outlets past;
  for (size_t i = 1; i < 3; ++i) {
    const Rows keys = needed(id, 0, i, out);
    inputs[i] = rows(node.inputs[i], {out.first, keys.last});
    if (keys.first < out.first)
      past.push_back(by_heads(node, rows(node.inputs[i], {keys.first, out.first}), along));
  }
  if (!past.empty()) inputs.insert(inputs.end(), {Outlet{}, past[0], past[1]});
  return again(id, std::move(inputs))[0];
}

Outlet StepMaker::by_heads(const typed::Node& node, Outlet wire, size_t along) {
  const Fact& fact = build_.fact(wire);
  if (!fact.has_rank() || fact.rank() == 4) return wire;
  const int64_t heads = node.use.i("kv_num_heads");
  const Outlet split =
      build_.op("Reshape", {wire, build_.ints({fact.dim(0).value(), fact.dim(along).value(), heads,
                                               fact.dim(2).value() / heads})});
  return build_.transpose(split, {0, 2, 1, 3});
}

}  // namespace sdx::stream
