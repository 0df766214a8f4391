#include "stream/flow.h"

#include <algorithm>
#include <map>

#include "rowwise/rules.h"
#include "stream/rows.h"

namespace sdx::stream {
namespace {

using Kind = Streaming::Kind;

bool mentions(const Dim& dim, const std::string& symbol) {
  if (dim.is_const()) return false;
  std::vector<std::string> names;
  dim.symbols(names);
  return std::find(names.begin(), names.end(), symbol) != names.end();
}

// The axis of a wire whose size follows from the number of rows.
struct Along {
  std::optional<size_t> axis;
  bool several = false;
};
Along along(const Fact& fact, const std::string& symbol) {
  Along found;
  if (!fact.is_tensor() || !fact.has_rank()) return found;
  for (size_t i = 0; i < fact.rank(); ++i) {
    if (!mentions(fact.dim(i), symbol)) continue;
    found.several |= found.axis.has_value();
    found.axis = i;
  }
  return found;
}

// Whether two numbers of rows can be one, however long the stream: T - 4 and max(0, T - 4) are, T
// and 4 * floor(T / 4) are for some lengths, and for others the stream's end is an error, as the
// whole run is.
bool same_rows(const Dim& a, const Dim& b, const std::string& symbol) {
  if (a == b) return true;
  constexpr int64_t kFrom = 1 << 16, kTried = 1 << 10;
  for (int64_t rows = kFrom; rows < kFrom + kTried; ++rows) {
    const auto left = a.eval({{symbol, rows}}), right = b.eval({{symbol, rows}});
    if (!left || !right) return false;
    if (left == right) return true;
  }
  return false;
}

// Integers that follow from the number of rows.
bool is_length(const Fact& fact) {
  return fact.is_tensor() && fact.symbolic && fact.is_concrete() && !fact.value;
}

class Analysis {
 public:
  explicit Analysis(Flows& flows) : flows_(flows) {}

  Status sources() {
    bool any = false;
    for (const Outlet input : flows_.graph.inputs()) {
      const Fact& fact = flows_.graph.fact(input);
      const std::string& name = flows_.graph.node(input.node).use.name;
      const Along found = along(fact, flows_.symbol);
      const auto open = [&] {
        return fail("SDX-S0001",
                    "input \"{}\" is {}: sizes other than the streamed axis \"{}\" must be known",
                    name, fact.text(), flows_.symbol);
      };
      if (!found.axis) {
        if (!fact.is_concrete()) return open();
        continue;
      }
      if (found.several || !(fact.dim(*found.axis) == Dim::symbol(flows_.symbol)))
        return fail("SDX-S0002", "input \"{}\" is {}: expected one axis of size {}", name,
                    fact.text(), flows_.symbol);
      for (size_t i = 0; i < fact.rank(); ++i) {
        if (i != *found.axis && !fact.dim(i).is_const()) return open();
      }
      flows_.wires[input.node][0] = {Flow::Kind::rows, *found.axis, fact.dim(*found.axis)};
      any = true;
    }
    if (!any) return fail("SDX-S0005", "nothing moves along \"{}\"", flows_.symbol);
    return ok();
  }

  void node(uint32_t id) {
    const typed::Node& node = flows_.graph.node(id);
    bool rows = false, late = false, length = false, refused = false;
    for (const Outlet input : node.inputs) {
      if (!input.present()) continue;
      const Flow::Kind kind = flows_.at(input).kind;
      rows |= kind == Flow::Kind::rows;
      late |= kind == Flow::Kind::late;
      length |= kind == Flow::Kind::length;
      refused |= kind == Flow::Kind::refused;
    }
    if (refused) return all(id, Flow::Kind::refused);
    if (!rows && !late && !length) return;
    const auto& outputs = node.outputs;
    if (rows && late) {
      const bool by_rows = std::any_of(outputs.begin(), outputs.end(), [&](const Fact& fact) {
        return fact.present() && along(fact, flows_.symbol).axis;
      });
      if (!by_rows) return settle(id, Streaming::of(Kind::whole));  // an If with rows in a branch
      return refuse(id, "it joins rows with something that is known at the stream's end only");
    }
    const bool lengths = std::all_of(outputs.begin(), outputs.end(), [](const Fact& fact) {
      return !fact.present() || is_length(fact);
    });
    if (!late && lengths) return all(id, Flow::Kind::length);
    if (!rows) {
      for (const Fact& fact : outputs) {
        if (!late && along(fact, flows_.symbol).axis)
          return refuse(id, "its size depends on the stream's length");
      }
      return all(id, Flow::Kind::late);
    }
    moving(id);
  }

 private:
  void all(uint32_t id, Flow::Kind kind) {
    for (Flow& flow : flows_.wires[id]) flow.kind = kind;
  }
  void refuse(uint32_t id, std::string reason) {
    flows_.refused.push_back({id, std::move(reason)});
    all(id, Flow::Kind::refused);
  }

  void moving(uint32_t id) {
    const typed::Node& node = flows_.graph.node(id);
    Facts in;
    std::vector<std::optional<size_t>> axes;
    for (const Outlet input : node.inputs) {
      in.push_back(flows_.graph.fact(input));
      axes.emplace_back();
      if (input.present() && flows_.at(input).moves()) axes.back() = flows_.at(input).axis;
    }
    Streaming how = Streaming::ask();
    if (node.op().stream != nullptr)
      how = node.op().stream(node.resolved.get(), {node.use, in, node.outputs, axes});
    if (how.asks()) how = ask(id, axes);
    if (how.kind == Kind::refused) return refuse(id, std::move(how.reason));
    settle(id, std::move(how));
  }

  // What an operator that says nothing does.
  Streaming ask(uint32_t id, const std::vector<std::optional<size_t>>& axes) {
    const typed::Node& node = flows_.graph.node(id);
    std::vector<std::optional<size_t>> to;
    bool some = false, none = false;
    for (const Fact& fact : node.outputs) {
      to.emplace_back();
      if (!fact.present()) continue;
      const Along found = along(fact, flows_.symbol);
      if (found.several)
        return Streaming::refuse("several sizes of its output depend on the stream's length");
      to.back() = found.axis;
      (found.axis ? some : none) = true;
    }
    if (!some) return Streaming::of(Kind::whole);
    if (has_bodies(node.use))
      return Streaming::refuse(
          "what its subgraphs do to rows is not followed, unless it is known "
          "which of them runs");
    if (none) return Streaming::refuse("some of its outputs need the whole axis");
    std::optional<Dim> length;
    for (const Outlet input : node.inputs) {
      if (!input.present()) continue;
      const Flow& flow = flows_.at(input);
      if (flow.kind == Flow::Kind::length)
        return Streaming::refuse("it needs the stream's length before its end");
      if (!flow.moves()) continue;
      if (length && !same_rows(*length, flow.length, flows_.symbol))
        return Streaming::refuse(
            fmt::format("its inputs have {} and {} rows", length->text(), flow.length.text()));
      length = flow.length;
    }
    for (size_t slot = 0; slot < to.size(); ++slot) {
      if (to[slot] && !same_rows(node.outputs[slot].dim(*to[slot]), *length, flows_.symbol))
        return Streaming::refuse(fmt::format("of {} rows it makes {}", length->text(),
                                             node.outputs[slot].dim(*to[slot]).text()));
    }
    if (proved_by_rows(node, axes, to)) return Streaming::of(Kind::rows);
    std::string why = asked_by_rows(flows_.graph, id, axes, to);
    if (!why.empty()) return Streaming::refuse(std::move(why));
    return Streaming::of(Kind::rows);
  }

  // What is row-wise for requests that share a run is so for rows that come one after another.
  bool proved_by_rows(const typed::Node& node, const std::vector<std::optional<size_t>>& axes,
                      const std::vector<std::optional<size_t>>& to) const {
    const rowwise::Rule rule = rowwise::rule_of(node.op().domain, node.op().name);
    if (rule == nullptr) return false;
    rowwise::Asked asked{node, flows_.graph.facts(node.inputs), {}, flows_.symbol, {}};
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!asked.given(i) && i == 0) return false;
      asked.rows.push_back(axes[i] ? rowwise::Rows::at(*axes[i]) : rowwise::Rows{});
    }
    const rowwise::Answer answer = rule(asked);
    if (!answer) return false;
    for (size_t slot = 0; slot < to.size(); ++slot) {
      if (to[slot] && !((*answer)[slot] == rowwise::Rows::at(*to[slot]))) return false;
    }
    return true;
  }

  void settle(uint32_t id, Streaming how) {
    const typed::Node& node = flows_.graph.node(id);
    // A state that goes on beside rows that nobody wants: without the rows, the axis is held.
    if (how.kind == Kind::carry &&
        std::none_of(node.outputs.begin(), node.outputs.end(), [&](const Fact& fact) {
          return fact.present() && along(fact, flows_.symbol).axis;
        })) {
      how = Streaming::of(Kind::whole);
    }
    const bool late = how.kind == Kind::fold || how.kind == Kind::tail || how.kind == Kind::whole;
    for (size_t slot = 0; slot < node.outputs.size(); ++slot) {
      const Fact& fact = node.outputs[slot];
      Flow& flow = flows_.wires[id][slot];
      const bool carried = std::any_of(how.pairs.begin(), how.pairs.end(),
                                       [&](const auto& pair) { return pair.second == slot; });
      if (late || carried || !fact.present()) {
        flow.kind = Flow::Kind::late;
        continue;
      }
      Along found = along(fact, flows_.symbol);
      // The first few rows of a stream have an axis, too, if a size that is known.
      if (how.kind == Kind::slice && !found.axis) found.axis = flows_.at(node.inputs[0]).axis;
      if (!found.axis || found.several)
        return refuse(id, "the rows of its output cannot be told apart");
      flow = {Flow::Kind::rows, *found.axis, fact.dim(*found.axis)};
    }
    flows_.nodes[id] = std::move(how);
  }

  Flows& flows_;
};

// Rows of a Concat's fixed inputs, from input `first` to input `last`.
int64_t fixed_rows(const Flows& flows, uint32_t id, size_t first, size_t last) {
  const typed::Node& node = flows.graph.node(id);
  const size_t axis = flows.at(node.inputs[flows.nodes[id].input]).axis;
  int64_t rows = 0;
  for (size_t i = first; i < last; ++i) rows += flows.graph.fact(node.inputs[i]).dim(axis).value();
  return rows;
}

Moving moving_output(const Flows& flows, uint32_t id, uint32_t slot) {
  const Streaming& how = flows.nodes[id];
  Moving made{};
  made.node = id;
  made.slot = slot;
  made.wire = uint32_t(flows.wire({id, slot}));
  made.rows = flows.wires[id][slot].moves();
  made.source = flows.graph.node(id).kind != typed::Node::Kind::op;
  if (made.source) return made;
  made.kind = how.kind;
  made.mode = how.mode;
  made.overhangs = how.overhangs;
  made.exclusive = how.exclusive;
  made.padded = how.pads_at.has_value();
  made.reach = how.reach;
  made.before = how.before;
  made.after = how.after;
  made.longer = how.longer;
  made.count = how.count;
  made.behind = how.behind;
  made.ahead = how.ahead;
  if (how.kind == Kind::slice) made.slice = how.slices[slot];
  if (how.kind == Kind::join) {
    made.input = how.input;
    made.before = fixed_rows(flows, id, 0, how.input);
    made.after = fixed_rows(flows, id, how.input + 1, flows.graph.node(id).inputs.size());
  }
  return made;
}

// Row i comes from row i of every input.
bool works_by_rows(const Moving& at) {
  switch (at.kind) {
    case Kind::rows:
    case Kind::carry:
      return true;
    case Kind::window:
      return at.reach.num == 1 && at.reach.den == 1 && at.reach.lo == 0 && at.reach.hi == 0 &&
             at.before == 0 && at.after == 0 && !at.overhangs;
    default:
      return false;
  }
}

// Lists what every push asks. Wires that always have the rows of another one follow it, and only
// those that somebody else reads than their followers can have rows to keep.
class Listing {
 public:
  explicit Listing(Flows& flows) : flows_(flows), like_(flows.count()), held_(flows.count()) {}

  void run() {
    for (uint32_t id = 0; id < flows_.graph.size(); ++id) {
      const typed::Node& node = flows_.graph.node(id);
      const bool source = node.kind != typed::Node::Kind::op;
      if (!source && flows_.nodes[id].kind == Kind::refused) continue;
      for (uint32_t slot = 0; slot < node.outputs.size(); ++slot) {
        const bool rows = flows_.wires[id][slot].moves();
        if (rows || (!source && flows_.folds(id) && slot == 0)) add(id, slot);
      }
    }
    // No more are added: their places stay.
    for (auto* list : {&flows_.moving, &flows_.following}) {
      for (Moving& at : *list) {
        const auto& [first, count] = inputs_[at.wire];
        at.inputs = std::span(flows_.moving_inputs).subspan(first, count);
        at.held = held_[at.wire];
      }
    }
    for (const Moving& at : flows_.following)
      flows_.followers.push_back({at.wire, like_[at.wire], at.held});
    for (uint32_t wire = 0; wire < held_.size(); ++wire) {
      if (held_[wire]) flows_.held.push_back(wire);
    }
  }

 private:
  void add(uint32_t id, uint32_t slot) {
    const Moving made = moving_output(flows_, id, slot);
    const typed::Node& node = flows_.graph.node(id);
    const size_t first = flows_.moving_inputs.size();
    bool follows = made.rows && !made.source && works_by_rows(made);
    for (uint32_t i = 0; i < node.inputs.size(); ++i) {
      if (!node.inputs[i].present() || !flows_.at(node.inputs[i]).moves()) continue;
      const auto wire = uint32_t(flows_.wire(node.inputs[i]));
      flows_.moving_inputs.push_back({i, wire, like_[wire]});
      follows &= like_[wire] == flows_.moving_inputs[first].like;
    }
    const size_t count = flows_.moving_inputs.size() - first;
    follows &= count > 0;
    inputs_[made.wire] = {first, count};
    like_[made.wire] = follows ? flows_.moving_inputs[first].like : made.wire;
    for (size_t i = first; i < first + count && !follows; ++i)
      held_[flows_.moving_inputs[i].wire] = true;
    (follows ? flows_.following : flows_.moving).push_back(made);
  }

  Flows& flows_;
  std::vector<uint32_t> like_;  // by wire
  std::vector<bool> held_;
  std::map<uint32_t, std::pair<size_t, size_t>> inputs_;  // by wire: where they are listed
};

}  // namespace

bool Flows::moves(uint32_t node) const {
  return std::any_of(wires[node].begin(), wires[node].end(),
                     [](const Flow& flow) { return flow.moves(); });
}

const Moving& Flows::moving_at(Outlet outlet) const {
  const auto find = [&](const std::vector<Moving>& list) {
    const auto at = std::lower_bound(list.begin(), list.end(), wire(outlet),
                                     [](const Moving& m, size_t wire) { return m.wire < wire; });
    return at != list.end() && at->wire == wire(outlet) ? &*at : nullptr;
  };
  const Moving* found = find(moving);
  return found != nullptr ? *found : *find(following);
}

bool Flows::folds(uint32_t node) const {
  const Kind kind = nodes[node].kind;
  return kind == Kind::fold || kind == Kind::tail || kind == Kind::whole;
}

Status Flows::check() const {
  if (refused.empty()) return ok();
  const Refusal& first = refused.front();
  Error error = fail("SDX-S0010", "{} cannot be streamed along \"{}\": {}",
                     graph.node(first.node).op().name, symbol, first.reason);
  error.help = "`sardonyx stream --explain` shows how every wire moves along the axis";
  return std::move(error).in(fmt::format("node {}", typed::shown(graph.node(first.node))));
}

Result<Flows> analyse(typed::Graph graph, const std::string& symbol) {
  Flows flows;
  flows.graph = std::move(graph);
  flows.symbol = symbol;
  flows.nodes.resize(flows.graph.size());
  size_t count = 0;
  for (const typed::Node& node : flows.graph.nodes()) {
    flows.wires.emplace_back(node.outputs.size());
    flows.first_wire.push_back(count);
    count += node.outputs.size();
  }
  flows.first_wire.push_back(count);
  Analysis analysis(flows);
  SDX_TRY(analysis.sources());
  for (uint32_t id = 0; id < flows.graph.size(); ++id) {
    if (flows.graph.node(id).kind == typed::Node::Kind::op) analysis.node(id);
  }
  Listing(flows).run();
  return flows;
}

Result<std::vector<int64_t>> lengths(const Flows& flows, int64_t rows) {
  const typed::Graph& graph = flows.graph;
  const Bindings bound{{flows.symbol, rows}};
  std::vector<int64_t> counts(flows.count(), 0);
  std::vector<Facts> known;
  for (uint32_t id = 0; id < graph.size(); ++id) {
    const typed::Node& node = graph.node(id);
    known.push_back(node.outputs);
    const bool follows = std::any_of(flows.wires[id].begin(), flows.wires[id].end(),
                                     [](auto& flow) { return flow.kind != Flow::Kind::fixed; });
    if (!follows) continue;
    if (node.kind != typed::Node::Kind::op) {
      for (Dim& dim : *known[id][0].shape) dim = dim.bind(bound);
    } else {
      Facts in;
      for (const Outlet input : node.inputs)
        in.push_back(input.present() ? known[input.node][input.slot] : Fact());
      const auto told = [&]() -> Result<Facts> {
        SDX_ASSIGN(const auto attrs, node.op().read(node.use, in));
        return node.op().infer(attrs.get(), in);
      }();
      if (!told) return Error(told.error()).in(fmt::format("node {}", typed::shown(node)));
      known[id] = *told;
    }
    for (uint32_t slot = 0; slot < flows.wires[id].size(); ++slot) {
      const Flow& flow = flows.wires[id][slot];
      if (!flow.moves()) continue;
      const Fact& fact = known[id][slot];
      if (!fact.has_rank() || flow.axis >= fact.rank() || !fact.dim(flow.axis).is_const())
        return fail("SDX-S0029", "how many rows {} has of {} is not known", typed::shown(node),
                    rows);
      counts[flows.wire({id, slot})] = fact.dim(flow.axis).value();
    }
  }
  return counts;
}

}  // namespace sdx::stream
