#include "stream/step.h"

#include <map>

#include "gradient/builder.h"

namespace sdx::stream {
namespace {

using Kind = Streaming::Kind;
using gradient::Builder;
using gradient::Outlets;

constexpr int64_t kLanes = 16;  // of sums, docs/numerics.md

class StepMaker {
 public:
  StepMaker(const Flows& flows, const States& states, const Position& from, const Position& to,
            bool end)
      : flows_(flows), old_(flows.graph), states_(states), from_(from), to_(to), end_(end) {}

  Result<Step> run() {
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

 private:
  Status in(uint32_t id, Status status) {
    if (status && !build_.status()) status = build_.status();
    if (status) return ok();
    return Error(status.error()).in(fmt::format("node {}", typed::shown(old_.node(id))));
  }

  // --- wires of the new graph ---

  size_t rank(Outlet old) const { return old_.fact(old).rank(); }
  int64_t fresh(Outlet old) const {
    const size_t wire = flows_.wire(old);
    return to_.certain[wire] - from_.certain[wire];
  }
  Rows new_rows(Outlet old) const {
    const size_t wire = flows_.wire(old);
    return {from_.certain[wire], to_.certain[wire]};
  }
  // The fact of some rows of a wire.
  Fact rows_fact(Outlet old, int64_t rows) const {
    Fact fact = Fact::tensor(old_.fact(old).type, *old_.fact(old).shape);
    (*fact.shape)[flows_.at(old).axis] = Dim(rows);
    return fact;
  }
  Outlet source(Step::Port port, std::string name, Fact fact) {
    step_.inputs.push_back(port);
    return step_.graph.source(std::move(name), std::move(fact));
  }
  void give(Step::Port port, std::string name, Outlet wire) {
    step_.outputs.push_back(port);
    step_.graph.output(std::move(name), wire);
  }
  Outlet slice(Outlet wire, size_t axis, int64_t first, int64_t last, int64_t step = 1) {
    if (!build_.status()) return {};
    if (build_.fact(wire).dim(axis).is_const(last - first) && step == 1) return wire;
    return build_.op("Slice", {wire, build_.ints({first}), build_.ints({last}),
                               build_.ints({int64_t(axis)}), build_.ints({step})});
  }
  Outlet concat(Outlets parts, size_t axis) {
    std::erase_if(parts, [](const Outlet& part) { return !part.present(); });
    if (parts.size() == 1) return parts[0];
    return build_.op("Concat", std::move(parts), {{"axis", int64_t(axis)}});
  }

  // The rows of a moving wire that came in or were computed in this push.
  Outlet made(Outlet old) {
    if (const auto found = made_.find(old); found != made_.end()) return found->second;
    // Only a source is not there yet.
    const auto& sources = old_.inputs();
    const auto at = size_t(std::find(sources.begin(), sources.end(), old) - sources.begin());
    return made_[old] = source({Step::Port::Kind::model, at}, old_.node(old.node).use.name,
                               rows_fact(old, fresh(old)));
  }
  // From the order in which a history is kept to the wire's, or back: it is its own inverse.
  Outlet turned(Outlet old, Outlet wire) {
    return kept_with_rows_first(flows_, old) ? build_.transpose(wire, {0, 2, 1}) : wire;
  }
  Outlet state(size_t number, Fact fact) {
    if (const auto found = kept_.find(number); found != kept_.end()) return found->second;
    return kept_[number] = source({Step::Port::Kind::state, number},
                                  fmt::format("state.{}", number), std::move(fact));
  }
  // Rows [from.kept, to.certain).
  Outlet all(Outlet old) {
    if (const auto found = all_.find(old); found != all_.end()) return found->second;
    const size_t wire = flows_.wire(old);
    const int64_t held = from_.certain[wire] - from_.kept[wire];
    Outlets parts;
    if (held > 0) parts.push_back(turned(old, state(wire, kept_fact(flows_, old, held))));
    if (fresh(old) > 0) parts.push_back(made(old));
    return all_[old] = concat(std::move(parts), flows_.at(old).axis);
  }
  Outlet rows(Outlet old, Rows wanted) {
    const size_t axis = flows_.at(old).axis;
    if (wanted.count() <= 0)
      return step_.graph.constant(Tensor::make(old_.fact(old).type, rows_fact(old, 0).dims()));
    const auto key = std::pair(old, std::pair(wanted.first, wanted.last));
    if (const auto found = cuts_.find(key); found != cuts_.end()) return found->second;
    const Rows news = new_rows(old);
    const bool only_new = wanted.first >= news.first && wanted.last <= news.last;
    const int64_t base = only_new ? news.first : from_.kept[flows_.wire(old)];
    const Outlet from = only_new ? made(old) : all(old);
    return cuts_[key] = slice(from, axis, wanted.first - base, wanted.last - base);
  }
  // A wire that does not move: fixed, or known now that the stream ends.
  Outlet value(Outlet old) {
    if (!old.present()) return {};
    if (const auto found = values_.find(old); found != values_.end()) return found->second;
    const typed::Node& node = old_.node(old.node);
    if (node.kind == typed::Node::Kind::constant)
      return values_[old] = step_.graph.constant(*node.outputs[0].value, node.use.name);
    if (node.kind == typed::Node::Kind::source) {
      const auto& sources = old_.inputs();
      const auto at = size_t(std::find(sources.begin(), sources.end(), old) - sources.begin());
      return values_[old] = source({Step::Port::Kind::model, at}, node.use.name, old_.fact(old));
    }
    const Flow::Kind kind = flows_.at(old).kind;
    if (kind == Flow::Kind::length) return values_[old] = length(old_.fact(old));
    if (kind == Flow::Kind::late && flows_.nodes[old.node].kind != Kind::refused)
      return values_[old] = late(old);
    std::vector<Outlet> inputs;
    for (const Outlet input : node.inputs) inputs.push_back(value(input));
    const std::vector<Outlet> outs = add(node.use, std::move(inputs), node.origin);
    for (uint32_t slot = 0; slot < outs.size(); ++slot) values_[{old.node, slot}] = outs[slot];
    return values_[old];
  }
  Outlet length(const Fact& fact) {
    Tensor tensor = Tensor::make(fact.type, fact.dims());
    for (size_t i = 0; i < fact.symbolic->size(); ++i) {
      const auto number = (*fact.symbolic)[i].eval({{flows_.symbol, to_.rows}});
      if (!number)
        return build_.refuse(fail("SDX-S0011", "the size {} cannot be computed from the length",
                                  (*fact.symbolic)[i].text()));
      set_f64(fact.type, tensor.raw(), i, double(*number));
    }
    return step_.graph.constant(std::move(tensor));
  }
  std::vector<Outlet> add(sdx::Node use, std::vector<Outlet> inputs,
                          const std::vector<std::string>& origin) {
    const size_t outputs = use.wanted.size();
    if (!build_.status()) return std::vector<Outlet>(outputs);
    auto outs = step_.graph.add(std::move(use), std::move(inputs), origin);
    if (outs) return *std::move(outs);
    build_.refuse(std::move(outs).error());
    return std::vector<Outlet>(outputs);
  }

  // --- nodes ---

  // The node on a piece: its inputs, with the attributes and constants that its declaration gives
  // for pieces.
  std::vector<Outlet> again(uint32_t id, std::vector<Outlet> inputs, AttrMap more = {}) {
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
  std::vector<Outlet> inputs_for(uint32_t id, uint32_t slot, Rows out) {
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
        inputs.push_back(
            rows(input, needed_rows(flows_.moving_at({id, slot}), i, out, have, end_)));
      } else {
        inputs.push_back(value(input));
      }
    }
    return inputs;
  }
  Rows needed(uint32_t id, uint32_t slot, size_t input, Rows out) {
    const int64_t have = to_.certain[flows_.wire(old_.node(id).inputs[input])];
    return needed_rows(flows_.moving_at({id, slot}), input, out, have, end_);
  }

  Status move(uint32_t id) {
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
        const int64_t start =
            out.first + how.before - needed(id, slot, 0, out).first * how.reach.den;
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

  std::vector<Outlet> window(uint32_t id, uint32_t slot, Rows out, std::vector<Outlet> inputs) {
    const Streaming& how = flows_.nodes[id];
    const int64_t first = end_ ? last_begins(how.overhangs, out.first) : out.first,
                  more = out.first - first;
    std::vector<Outlet> outs = again(id, std::move(inputs), padding(how, {first, out.last}));
    if (more > 0) outs[0] = slice(outs[0], flows_.wires[id][slot].axis, more, more + out.count());
    return outs;
  }
  AttrMap padding(const Streaming& how, Rows out) const {
    if (!how.pads_at) return {};
    auto pads = std::get<std::vector<int64_t>>(how.attrs.find("pads")->second);
    pads[*how.pads_at] = std::max<int64_t>(0, -how.reach.first(out.first));
    pads[pads.size() / 2 + *how.pads_at] = end_ ? how.after : 0;
    return {{"pads", std::move(pads)}};
  }

  // The node for its other axes alone, on rows of its input.
  Outlet other_axes(uint32_t id, Outlet piece) {
    if (!flows_.nodes[id].other_axes) return piece;
    const typed::Node& node = old_.node(id);
    std::vector<Outlet> inputs{piece};
    for (size_t i = 1; i < node.inputs.size(); ++i) inputs.push_back(value(node.inputs[i]));
    return again(id, std::move(inputs))[0];
  }

  void cut(uint32_t id, uint32_t slot) {
    const Streaming::Slice& cut = flows_.nodes[id].slices[slot];
    const Rows wanted = needed(id, slot, 0, new_rows({id, slot}));
    const Outlet piece = other_axes(id, rows(old_.node(id).inputs[0], wanted));
    const size_t axis = flows_.wires[id][slot].axis;
    made_[{id, slot}] = cut.step == 1 ? piece : slice(piece, axis, 0, wanted.count(), cut.step);
  }

  Status pad(uint32_t id, Rows out) {
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
      made_[{id, 0}] =
          concat({block(left), piece, block(out.count() - left - wanted.count())}, axis);
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

  Status join(uint32_t id, Rows out) {
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

  std::vector<Outlet> carry(uint32_t id, Rows out, std::vector<Outlet> inputs) {
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
  // The fact of a carried state: that of the output, whether or not the model names it.
  Fact carried(uint32_t id, size_t k) {
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

  // The last row goes in front of the piece: one chain goes on. An exclusive one begins with what
  // adds nothing, and its last row has seen all but the last of the piece.
  Outlet running(uint32_t id, Rows out, Outlet piece, Outlet axis_input) {
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

  Outlet attend(uint32_t id, Rows out) {
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
  // Keys or values of the past are [batch, heads, rows, size].
  Outlet by_heads(const typed::Node& node, Outlet wire, size_t along) {
    const Fact& fact = build_.fact(wire);
    if (!fact.has_rank() || fact.rank() == 4) return wire;
    const int64_t heads = node.use.i("kv_num_heads");
    const Outlet split =
        build_.op("Reshape", {wire, build_.ints({fact.dim(0).value(), fact.dim(along).value(),
                                                 heads, fact.dim(2).value() / heads})});
    return build_.transpose(split, {0, 2, 1, 3});
  }

  // --- reductions ---

  bool by_lanes(const Streaming& how) const {
    return how.fold != Streaming::Fold::max && how.fold != Streaming::Fold::min;
  }
  Status fold(uint32_t id) {
    const Streaming& how = flows_.nodes[id];
    const Outlet input = old_.node(id).inputs[0];
    const size_t axis = flows_.at(input).axis, number = states_.first[id];
    const int64_t n = fresh(input), done = new_rows(input).first;
    if (n == 0) return ok();
    const Outlet piece = made(input);
    if (!by_lanes(how)) {
      const bool max = how.fold == Streaming::Fold::max;
      Outlet most = build_.op(max ? "ReduceMax" : "ReduceMin",
                              {piece, build_.ints({int64_t(axis)})}, {{"keepdims", int64_t{1}}});
      if (done > 0)
        most = build_.op(max ? "Max" : "Min", {state(number, rows_fact(input, 1)), most});
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
  Outlet folded(uint32_t id) {
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

  // What a node along the axis gives when the stream has ended.
  Outlet late(Outlet old) {
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

  // --- what comes out ---

  Status outputs() {
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

  void histories() {
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

  const Flows& flows_;
  const typed::Graph& old_;
  const States& states_;
  const Position &from_, &to_;
  const bool end_;
  Step step_;
  Builder build_{step_.graph};
  std::map<Outlet, Outlet> made_, all_, values_;
  std::map<std::pair<Outlet, std::pair<int64_t, int64_t>>, Outlet> cuts_;
  std::map<size_t, Outlet> kept_, next_;  // states before and after
};

}  // namespace

bool kept_with_rows_first(const Flows& flows, Outlet wire) {
  const Fact& fact = flows.graph.fact(wire);
  return fact.type == DType::f32 && fact.rank() == 3 && flows.at(wire).axis == 2 &&
         !fact.dim(1).is_const(1);
}

Fact kept_fact(const Flows& flows, Outlet wire, int64_t rows) {
  Fact fact = Fact::tensor(flows.graph.fact(wire).type, *flows.graph.fact(wire).shape);
  (*fact.shape)[flows.at(wire).axis] = Dim(rows);
  if (kept_with_rows_first(flows, wire)) std::swap((*fact.shape)[1], (*fact.shape)[2]);
  return fact;
}

States::States(const Flows& flows) : count(flows.count()) {
  for (const Streaming& how : flows.nodes) {
    first.push_back(count);
    if (how.kind == Kind::carry) count += how.pairs.size();
    if (how.kind == Kind::running || how.kind == Kind::fold) ++count;
  }
}

void step_key(const Flows& flows, const Position& from, const Position& to, bool end,
              std::vector<int64_t>& key) {
  key.resize(1 + 5 * flows.moving.size() + 3 * flows.moving_inputs.size() +
             2 * flows.followers.size());
  int64_t* next = key.data();
  *next++ = end ? to.rows : -1;
  const auto add_kept = [&](uint32_t wire) {
    *next++ = from.certain[wire] - from.kept[wire];
    *next++ = to.kept[wire] - from.kept[wire];
  };
  for (const Moving& at : flows.moving) {
    if (!at.rows) {
      if (at.kind != Kind::fold) continue;
      const int64_t done = from.certain[at.inputs[0].wire];
      *next++ = done == 0 ? -1 : done % kLanes;
      continue;
    }
    const Rows out{from.certain[at.wire], to.certain[at.wire]};
    *next++ = out.count();
    *next++ = int64_t(out.first > 0);
    add_kept(at.wire);
    if (out.count() <= 0 || at.source) continue;
    if (at.kind == Kind::window) *next++ = std::max<int64_t>(0, -at.reach.first(out.first));
    for (const auto& [input, source, like] : at.inputs) {
      const Rows rows = needed_rows(at, input, out, to.certain[source], end);
      *next++ = rows.first - from.kept[source];
      *next++ = rows.count();
      *next++ = at.kind == Kind::slice ? 0 : out.first * at.reach.num - rows.first * at.reach.den;
    }
  }
  // Of those that follow, all else is told by what they follow.
  for (const auto& [wire, like, held] : flows.followers) {
    if (held) add_kept(wire);
  }
  key.resize(size_t(next - key.data()));
}

Result<Step> make_step(const Flows& flows, const States& states, const Position& from,
                       const Position& to, bool end) {
  return StepMaker(flows, states, from, to, end).run();
}

}  // namespace sdx::stream
