// Rows of wires, and those before row 0.
#include "ops/list.h"
#include "stream/pulsed_maker.h"
#include "stream/rows.h"
#include "typed/eval.h"

namespace sdx::stream {

Outlet PulsedMaker::add(std::string_view op, Outlets in, AttrMap attrs) {
  sdx::Node use;
  use.op = find_op("", op);
  use.opset = opset_;
  use.attrs = std::move(attrs);
  use.wanted = {true};
  use.formal_inputs = in.size();
  return add(std::move(use), std::move(in))[0];
}

Outlets PulsedMaker::add(sdx::Node use, Outlets in) {
  const size_t outputs = use.wanted.size();
  if (!status_) return Outlets(outputs);
  auto outs = made_.graph.add(std::move(use), std::move(in));
  if (outs) return *std::move(outs);
  status_ = std::move(outs).error();
  return Outlets(outputs);
}

Outlet PulsedMaker::ints(const std::vector<int64_t>& values) {
  return made_.graph.constant(
      Tensor::of<int64_t>({int64_t(values.size())}, std::span<const int64_t>(values)));
}

Outlet PulsedMaker::cut(Outlet wire, size_t axis, int64_t first, int64_t left, int64_t step) {
  if (first == 0 && left == 0 && step == 1) return wire;
  return add("Slice", {wire, ints({first}), ints({left == 0 ? INT64_MAX : -left}),
                       ints({int64_t(axis)}), ints({step})});
}

Outlet PulsedMaker::concat(Outlets parts, size_t axis) {
  std::erase_if(parts, [](const Outlet& part) { return !part.present(); });
  if (parts.size() == 1) return parts[0];
  return add("Concat", std::move(parts), {{"axis", int64_t(axis)}});
}

Outlet PulsedMaker::value(Outlet old) {
  if (!old.present()) return {};
  if (const auto found = values_.find(old); found != values_.end()) return found->second;
  const typed::Node& node = old_.node(old.node);
  if (node.kind == typed::Node::Kind::constant)
    return values_[old] = made_.graph.constant(*node.outputs[0].value, node.use.name);
  if (node.kind == typed::Node::Kind::source)
    return values_[old] = made_.graph.source(node.use.name, old_.fact(old));
  Outlets inputs;
  for (const Outlet input : node.inputs) inputs.push_back(value(input));
  const Outlets outs = add(node.use, std::move(inputs));
  for (uint32_t slot = 0; slot < outs.size(); ++slot) values_[{old.node, slot}] = outs[slot];
  return values_[old];
}

Outlet PulsedMaker::state(const std::string& name, Tensor initial, std::string words) {
  made_.states.push_back({name, name + ".next", initial, std::move(words)});
  return made_.graph.source(name, fact_of(initial));
}

Outlet PulsedMaker::fresh(Outlet old) {
  if (const auto found = fresh_.find(old); found != fresh_.end()) return found->second;
  Fact fact = Fact::tensor(old_.fact(old).type, *old_.fact(old).shape);
  (*fact.shape)[flows_.at(old).axis] = pulse_ == 0 ? Dim::symbol(flows_.symbol) : Dim(pulse_);
  return fresh_[old] = made_.graph.source(old_.node(old.node).use.name, std::move(fact));
}

std::string PulsedMaker::name_of(Outlet old) const {
  const typed::Node& node = old_.node(old.node);
  const std::string base = !node.use.name.empty() ? node.use.name
                           : !node.origin.empty() ? node.origin.front()
                                                  : fmt::format("wire{}", old.node);
  return old.slot == 0 ? base : fmt::format("{}.{}", base, old.slot);
}

std::string PulsedMaker::unique(std::string name) {
  while (!names_.insert(name).second) name += "_";
  return name;
}

Outlet PulsedMaker::all(Outlet old) {
  if (const auto found = all_.find(old); found != all_.end()) return found->second;
  const size_t wire = flows_.wire(old), axis = flows_.at(old).axis;
  const int64_t held = start_.certain[wire] - start_.kept[wire];
  if (held == 0) return all_[old] = fresh(old);
  const std::string name = unique(name_of(old) + ".history");
  const Outlet before = state(name, initial(old, held), words_[wire]);
  const Outlet both = all_[old] = concat({before, fresh(old)}, axis);
  // The last `held` rows, also of pulses that are shorter.
  keep(name, add("Slice", {both, ints({-held}), ints({INT64_MAX}), ints({int64_t(axis)})}));
  return both;
}

Outlet PulsedMaker::counter() {
  if (counter_.present()) return counter_;
  counter_name_ = unique("rows");
  counter_ = state(counter_name_, Tensor::of<int64_t>({1}, {0}), "0");
  return counter_;
}

Outlet PulsedMaker::masked(Outlet old, Outlet rows, int64_t first, int64_t least,
                           Outlet value_wire) {
  const size_t axis = flows_.at(old).axis, rank = old_.fact(old).rank();
  const Outlet index =
      add("Add", {add("Add", {numbered(rows, axis), ints({first})}), rows_before(old)});
  const Outlet real = add("Not", {add("Less", {index, ints({least})})});
  std::vector<int64_t> dims(rank, 1);
  dims[axis] = -1;
  return add("Where", {add("Reshape", {real, ints(dims)}), rows, value_wire});
}

Outlet PulsedMaker::begun(uint32_t id, Outlet rows) {
  const Outlet old = old_.node(id).inputs[0];
  const size_t axis = flows_.at(old).axis, wire = flows_.wire(old);
  const int64_t first = first_needed(id, 0, 0);
  if (flows_.nodes[id].mode == Streaming::Mode::constant) {
    if (start_.certain[wire] >= 0 && zero_filled(wire)) return rows;
    return masked(old, rows, first, 0, number(0, old_.fact(old).type));
  }
  // Where row 0 stands among them, if it is there.
  const Outlet place = numbered(rows, axis);
  const Outlet zero = add("Sub", {ints({-first}), rows_before(old)});
  const Outlet count = add("Gather", {add("Shape", {rows}), ints({int64_t(axis)})});
  const Outlet before = add("And", {add("Less", {place, zero}), add("Less", {zero, count})});
  return add("Gather", {rows, add("Where", {before, zero, place})}, {{"axis", int64_t(axis)}});
}

Outlet PulsedMaker::rows_before(Outlet old) {
  const Rate rate = report_.at(old).rate;
  Outlet rows = counter();
  if (rate.rows != 1) rows = add("Mul", {rows, ints({rate.rows})});
  if (rate.per != 1) rows = add("Div", {rows, ints({rate.per})});
  return rows;
}

Outlet PulsedMaker::numbered(Outlet rows, size_t axis) {
  const Outlet count = add("Gather", {add("Shape", {rows}), scalar(int64_t(axis))});
  return add("Range", {scalar(0), count, scalar(1)});
}

Outlet PulsedMaker::number(double value, DType type) {
  Tensor tensor = Tensor::make(type, {});
  set_f64(type, tensor.raw(), 0, value);
  return made_.graph.constant(std::move(tensor));
}

}  // namespace sdx::stream
