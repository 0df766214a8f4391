#include "stream/pulsed.h"

#include <set>

#include "gradient/builder.h"
#include "ops/control/bodies_of.h"
#include "ops/list.h"
#include "stream/pulse_start.h"
#include "stream/rows.h"
#include "typed/body.h"
#include "typed/eval.h"

namespace sdx::stream {
namespace {

using Kind = Streaming::Kind;
using Outlets = std::vector<Outlet>;

constexpr int kLeastOpset = 11;

class PulsedMaker {
 public:
  PulsedMaker(const Flows& flows, int64_t pulse)
      : flows_(flows),
        old_(flows.graph),
        report_(flows),
        states_(flows),
        pulse_(pulse),
        opset_(oldest_opset(flows.graph)),
        start_(report_, pulse) {}

  Result<Pulsed> run() {
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

 private:
  Status in(uint32_t id, Status status) {
    if (status && !status_) status = status_;
    if (status) return ok();
    return Error(status.error()).in(fmt::format("node {}", typed::shown(old_.node(id))));
  }

  int64_t per_pulse(Outlet old) const { return start_.per_pulse(old); }
  int64_t first_needed(uint32_t id, uint32_t slot, size_t input) const {
    return start_.first_needed(id, slot, input);
  }

  // --- wires ---

  Outlet add(std::string_view op, Outlets in, AttrMap attrs = {}) {
    sdx::Node use;
    use.op = find_op("", op);
    use.opset = opset_;
    use.attrs = std::move(attrs);
    use.wanted = {true};
    use.formal_inputs = in.size();
    return add(std::move(use), std::move(in))[0];
  }
  Outlets add(sdx::Node use, Outlets in) {
    const size_t outputs = use.wanted.size();
    if (!status_) return Outlets(outputs);
    auto outs = made_.graph.add(std::move(use), std::move(in));
    if (outs) return *std::move(outs);
    status_ = std::move(outs).error();
    return Outlets(outputs);
  }
  Outlet ints(const std::vector<int64_t>& values) {
    return made_.graph.constant(
        Tensor::of<int64_t>({int64_t(values.size())}, std::span<const int64_t>(values)));
  }
  // Without `first` rows in front and `left` rows at the end.
  Outlet cut(Outlet wire, size_t axis, int64_t first, int64_t left, int64_t step = 1) {
    if (first == 0 && left == 0 && step == 1) return wire;
    return add("Slice", {wire, ints({first}), ints({left == 0 ? INT64_MAX : -left}),
                         ints({int64_t(axis)}), ints({step})});
  }
  Outlet concat(Outlets parts, size_t axis) {
    std::erase_if(parts, [](const Outlet& part) { return !part.present(); });
    if (parts.size() == 1) return parts[0];
    return add("Concat", std::move(parts), {{"axis", int64_t(axis)}});
  }
  Outlet value(Outlet old) {
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
  Outlet state(const std::string& name, Tensor initial, std::string words) {
    made_.states.push_back({name, name + ".next", initial, std::move(words)});
    return made_.graph.source(name, fact_of(initial));
  }
  void keep(const std::string& name, Outlet wire) { next_.emplace_back(name + ".next", wire); }

  Outlet fresh(Outlet old) {
    if (const auto found = fresh_.find(old); found != fresh_.end()) return found->second;
    Fact fact = Fact::tensor(old_.fact(old).type, *old_.fact(old).shape);
    (*fact.shape)[flows_.at(old).axis] = pulse_ == 0 ? Dim::symbol(flows_.symbol) : Dim(pulse_);
    return fresh_[old] = made_.graph.source(old_.node(old.node).use.name, std::move(fact));
  }
  std::string name_of(Outlet old) const {
    const typed::Node& node = old_.node(old.node);
    const std::string base = !node.use.name.empty() ? node.use.name
                             : !node.origin.empty() ? node.origin.front()
                                                    : fmt::format("wire{}", old.node);
    return old.slot == 0 ? base : fmt::format("{}.{}", base, old.slot);
  }
  std::string unique(std::string name) {
    while (!names_.insert(name).second) name += "_";
    return name;
  }
  // What is kept of a wire, and its new rows.
  Outlet all(Outlet old) {
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

  // --- what a stream holds before its first row ---

  Status find_initial() {
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
  // Rows [kept, certain) of a wire: nothing before row 0, then what constant rows give.
  Tensor initial(Outlet old, int64_t held) {
    const size_t wire = flows_.wire(old), axis = flows_.at(old).axis;
    Fact fact = Fact::tensor(old_.fact(old).type, *old_.fact(old).shape);
    (*fact.shape)[axis] = Dim(held);
    const int64_t known = std::clamp<int64_t>(start_.certain[wire], 0, held);
    (*fact.shape)[axis] = Dim(held - known);
    Tensor nothing = Tensor::make(fact.type, fact.dims());
    if (const auto zero = padded_with_.find(wire); zero != padded_with_.end()) {
      for (size_t i = 0; i < nothing.count(); ++i)
        set_f64(fact.type, nothing.raw(), i, zero->second);
      words_[wire] = fmt::format("{}", zero->second);
    }
    if (known == 0) return nothing;
    words_[wire] = held == known ? "constant rows" : "zeros, then constant rows";
    const Tensor& rows = begun_.at(wire);
    const int64_t end = rows.dims()[axis];
    return joined({nothing, rows_of(rows, axis, end - known, end)}, axis);
  }

  // --- rows before row 0 ---

  // i64 [1]: rows of the input that came before this pulse.
  Outlet counter() {
    if (counter_.present()) return counter_;
    counter_name_ = unique("rows");
    counter_ = state(counter_name_, Tensor::of<int64_t>({1}, {0}), "0");
    return counter_;
  }
  // `rows`, of which the first has index `first` in the first pulse, with `value` in place of those
  // with an index below `least`.
  Outlet masked(Outlet old, Outlet rows, int64_t first, int64_t least, Outlet value_wire) {
    const size_t axis = flows_.at(old).axis, rank = old_.fact(old).rank();
    const Outlet index =
        add("Add", {add("Add", {numbered(rows, axis), ints({first})}), rows_before(old)});
    const Outlet real = add("Not", {add("Less", {index, ints({least})})});
    std::vector<int64_t> dims(rank, 1);
    dims[axis] = -1;
    return add("Where", {add("Reshape", {real, ints(dims)}), rows, value_wire});
  }
  // The rows that a spreading node takes, of which those before row 0 add nothing, or are row 0.
  Outlet begun(uint32_t id, Outlet rows) {
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
  // i64 [1]: rows of a wire that came before this pulse.
  Outlet rows_before(Outlet old) {
    const Rate rate = report_.at(old).rate;
    Outlet rows = counter();
    if (rate.rows != 1) rows = add("Mul", {rows, ints({rate.rows})});
    if (rate.per != 1) rows = add("Div", {rows, ints({rate.per})});
    return rows;
  }
  // 0, 1, 2 ... for the rows of a wire of the new graph.
  Outlet numbered(Outlet rows, size_t axis) {
    const Outlet count = add("Gather", {add("Shape", {rows}), scalar(int64_t(axis))});
    return add("Range", {scalar(0), count, scalar(1)});
  }
  Outlet scalar(int64_t value) { return made_.graph.constant(Tensor::scalar<int64_t>(value)); }
  Outlet number(double value, DType type) {
    Tensor tensor = Tensor::make(type, {});
    set_f64(type, tensor.raw(), 0, value);
    return made_.graph.constant(std::move(tensor));
  }

  // --- nodes ---

  Outlet piece(uint32_t id, uint32_t slot, size_t input) {
    const Outlet old = old_.node(id).inputs[input];
    const size_t wire = flows_.wire(old);
    return cut(all(old), flows_.at(old).axis, first_needed(id, slot, input) - start_.kept[wire],
               start_.left_over(id, slot, input));
  }
  Outlets inputs_for(uint32_t id, uint32_t slot) {
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
  Outlets again(uint32_t id, Outlets inputs, AttrMap more = {}) {
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

  Status move(uint32_t id) {
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
  Outlet others(uint32_t id, Outlet rows) {
    if (!flows_.nodes[id].other_axes) return rows;
    Outlets inputs{rows};
    const auto& old = old_.node(id).inputs;
    for (size_t i = 1; i < old.size(); ++i) inputs.push_back(value(old[i]));
    return again(id, std::move(inputs))[0];
  }

  Status window(uint32_t id) {
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
    const bool agrees =
        !all_.contains(old) && (held == padded_with_.end() || held->second == value);
    if (!comes && agrees) padded_with_[wire] = value;
    Outlets inputs = inputs_for(id, 0);
    if (first < 0 && (comes || !agrees) && !(value == 0 && !comes && zero_filled(wire)))
      inputs[0] = masked(old, inputs[0], first, 0, value_wire);
    fresh_[{id, 0}] = again(id, std::move(inputs), std::move(more))[0];
    return ok();
  }
  bool zero_filled(size_t wire) const {
    return !padded_with_.contains(wire) || padded_with_.at(wire) == 0;
  }

  // Row j of the output is row j - before of the input; below row 0, row 0 or its mirror image.
  Status repeat(uint32_t id) {
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
    const Outlet in_front = add("And", {add("Less", {row, ints({how.before})}),
                                        add("Not", {add("Less", {row, ints({0})})})});
    fresh_[{id, 0}] =
        add("Gather", {rows, add("Where", {in_front, repeated, place})}, {{"axis", int64_t(axis)}});
    return ok();
  }

  Status pad(uint32_t id) {
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

  Status carry(uint32_t id, uint32_t slot) {
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

  Status running(uint32_t id) {
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

  Status attend(uint32_t id) {
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

  // --- outputs ---

  Status finish() {
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
    if (results_.empty())
      return fail("SDX-S0062", "every output is known at the stream's end only");
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

  const Flows& flows_;
  const typed::Graph& old_;
  const Report report_;
  const States states_;
  const int64_t pulse_;
  const int opset_;
  PulseStart start_;
  Pulsed made_;
  Status status_;
  std::map<Outlet, Outlet> fresh_, all_, values_;
  std::map<size_t, Tensor> begun_;        // by wire: rows that are certain before the first pulse
  std::map<size_t, double> padded_with_;  // by wire: what rows before row 0 hold at first
  std::vector<std::string> words_;
  std::set<std::string> names_;
  std::vector<std::pair<std::string, Outlet>> results_, next_;  // outputs: rows, and states
  Outlet counter_;
  std::string counter_name_;
};

}  // namespace

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
