#include "infer/solver.h"

#include <algorithm>
#include <map>

#include "infer/ask.h"
#include "ops/control/bodies.h"
#include "ops/list.h"

namespace sdx::infer {
namespace {

// Inputs of one node that its forward rule is asked about in one visit.
constexpr size_t kMostAsked = 64;

using typed::Outlet;
using Kind = typed::Node::Kind;

// All that makes two states of knowledge differ.
std::string state_of(const Fact& fact) {
  std::string text = fact.text();
  if (fact.value) text += "=";
  for (const Dim& dim : fact.symbolic.value_or(std::vector<Dim>{})) text += " " + dim.text();
  return text;
}

class Solver {
 public:
  Solver(Net& net, const std::string& place) : net_(net), place_(place), readers_(net.size()) {
    for (uint32_t id = 0; id < net.size(); ++id) {
      for (const Outlet input : net.nodes[id].inputs) {
        if (input.present()) readers_[input.node].push_back(id);
      }
    }
    forward_.assign(net.size(), true);
    backward_.assign(net.size(), true);
  }

  // `guess`: where nothing decides a rank, one that is likely is assumed. For people alone: a run
  // takes inputs of any rank that the nodes allow.
  void run(bool guess) {
    // Knowledge only grows; the bound is against an operator whose rule contradicts itself.
    constexpr int kMostRounds = 64;
    bool assume = false;
    for (int round = 0; round < kMostRounds; ++round) {
      changed_ = false;
      for (uint32_t id = 0; id < net_.size(); ++id) {
        if (forward_[id]) step_forward(id);
      }
      for (uint32_t id = uint32_t(net_.size()); id-- > 0;) {
        if (backward_[id]) step_backward(id, assume && !changed_);
      }
      if (changed_) continue;
      if (assume || !rank_missing()) return;
      choose_branches();
      if (changed_) continue;
      if (!guess) return;
      // Only when nothing more follows, and one assumption at a time.
      assume = true;
      backward_.assign(net_.size(), true);
    }
  }

  // One more piece of knowledge about a wire. What its producer gives always comes first.
  void tell(Outlet wire, const Fact& learnt, Reason reason) {
    Known& known = net_.at(wire);
    if (!known.fact.is_tensor() || !learnt.is_tensor()) return;
    bool news = false;
    if (known.fact.type == DType::undefined && learnt.type != DType::undefined) {
      known.fact.type = known.told.type = learnt.type;
      known.type = reason;
      news = true;
    }
    if (learnt.shape && !known.fact.shape) {
      known.fact.shape = learnt.shape;
      known.rank = reason;
      known.dims.assign(learnt.rank(), reason);
      news = true;
    } else if (learnt.shape && known.fact.rank() == learnt.rank()) {
      known.dims.resize(learnt.rank(), known.rank);
      for (size_t axis = 0; axis < learnt.rank(); ++axis) {
        Dim& dim = (*known.fact.shape)[axis];
        if (!is_open(dim) || is_open(learnt.dim(axis))) continue;
        dim = learnt.dim(axis);
        known.dims[axis] = reason;
        news = true;
      }
    }
    if (!news) return;
    known.told = like(known.fact);
    woken(wire.node);
  }

 private:
  // What is supposed of wires, before what is known.
  using Supposed = std::map<Outlet, Fact>;
  Facts inputs_of(const Net::Node& node, const Supposed& supposed = {}) const {
    Facts in;
    for (const Outlet input : node.inputs) {
      const auto at = supposed.find(input);
      in.push_back(at != supposed.end() ? at->second
                   : input.present()    ? net_.at(input).fact
                                        : Fact{});
    }
    return in;
  }
  Facts outputs_of(const Net::Node& node) const {
    Facts out;
    for (const Known& known : node.outputs) out.push_back(known.fact);
    return out;
  }

  // A wire of the node changed: all that touch it have something to look at.
  void woken(uint32_t id) {
    changed_ = true;
    backward_[id] = true;
    for (const uint32_t reader : readers_[id]) forward_[reader] = backward_[reader] = true;
  }

  bool rank_missing() const {
    return std::any_of(net_.nodes.begin(), net_.nodes.end(), [](const Net::Node& node) {
      return std::any_of(node.outputs.begin(), node.outputs.end(), [](const Known& known) {
        return known.fact.is_tensor() && !known.fact.shape;
      });
    });
  }

  void step_forward(uint32_t id) {
    forward_[id] = false;
    Net::Node& node = net_.nodes[id];
    if (node.kind != Kind::op) return;
    const Result<Facts> made = forward(node.use, inputs_of(node), tag(id));
    // A refusal is reported when the graph is typed, with the node's place; here its inputs may
    // simply not be known yet.
    if (!made) return;
    bool news = false;
    for (size_t slot = 0; slot < node.outputs.size(); ++slot) {
      if (node.use.wants(slot)) news |= combine(node.outputs[slot], (*made)[slot], id);
    }
    if (news) woken(id);
  }

  // What the producer gives, completed by what else is known.
  bool combine(Known& known, const Fact& made, uint32_t producer) {
    const Reason reason{Reason::By::producer, producer};
    Fact fact = made;
    if (fact.is_tensor() && known.told.is_tensor()) {
      // What was told before and is now made keeps its first reason: the other way round, two wires
      // would explain each other.
      const Fact& told = known.told;
      if (fact.type == DType::undefined) {
        fact.type = told.type;
      } else if (fact.type != told.type) {
        known.type = reason;
      }
      if (!fact.shape) {
        fact.shape = told.shape;
      } else {
        const bool same_rank = told.shape && told.rank() == fact.rank();
        if (!same_rank) known.rank = reason;
        known.dims.resize(fact.rank(), reason);
        for (size_t axis = 0; axis < fact.rank(); ++axis) {
          Dim& dim = (*fact.shape)[axis];
          const bool was_told = same_rank && !is_open(told.dim(axis));
          if (is_open(dim) && was_told) dim = told.dim(axis);
          if (!was_told || !(dim == told.dim(axis))) known.dims[axis] = reason;
        }
      }
    } else {
      known.type = known.rank = reason;
    }
    if (state_of(fact) == state_of(known.fact)) return false;
    known.fact = std::move(fact);
    return true;
  }

  void step_backward(uint32_t id, bool assume) {
    backward_[id] = false;
    const Net::Node& node = net_.nodes[id];
    if (node.kind != Kind::op) return;
    Facts in = inputs_of(node), out = outputs_of(node);
    const auto open = [](const Fact& fact) { return is_open(fact); };
    if (std::none_of(in.begin(), in.end(), open)) return;
    const Reason reason{Reason::By::consumer, id};
    bind_types(node.use, in, out);
    for (size_t i = 0; i < in.size(); ++i) {
      if (in[i].is_tensor()) tell(node.inputs[i], Fact::tensor(in[i].type), reason);
    }
    for (uint32_t slot = 0; slot < out.size(); ++slot) {
      if (out[slot].is_tensor()) tell({id, slot}, Fact::tensor(out[slot].type), reason);
    }
    if (node.inputs.size() > node.use.formal_inputs || has_bodies(node.use)) {
      ask_bodies(node, in, reason);
      return;
    }
    // Each question costs a look at all inputs: a wire is asked for once, and of a thousand wires
    // not all are.
    std::vector<size_t> asked;
    for (size_t i = 0; i < in.size() && asked.size() < kMostAsked; ++i) {
      if (!is_open(in[i])) continue;
      const auto before = std::find_if(asked.begin(), asked.end(), [&](size_t other) {
        return node.inputs[other] == node.inputs[i];
      });
      if (before != asked.end()) {
        in[i] = in[*before];
        continue;
      }
      asked.push_back(i);
      if (!in[i].shape) {
        const auto rank = rank_of(node.use, in, i, out, assume);
        if (!rank) continue;
        in[i].shape.emplace();
        for (size_t axis = 0; axis < rank->rank; ++axis)
          in[i].shape->push_back(placeholder(node.inputs[i], axis));
        tell(node.inputs[i], in[i], rank->assumed ? Reason{Reason::By::assumed, id} : reason);
        if (rank->assumed) return;
      }
      for (size_t axis = 0; axis < in[i].rank(); ++axis) {
        if (!is_open(in[i].dim(axis))) continue;
        const auto size = size_of(node.use, in, i, axis, out);
        if (!size) continue;
        (*in[i].shape)[axis] = *size;
        tell(node.inputs[i], in[i], reason);
      }
    }
  }

  // The symbol of a size that is still open, named as if the wire had been declared without it.
  Dim placeholder(Outlet wire, size_t axis) const {
    const Net::Node& node = net_.nodes[wire.node];
    if (node.kind == Kind::source) return Dim::symbol(fmt::format("?{}.{}", node.use.name, axis));
    return Dim::symbol(fmt::format("?{}.{}.{}", tag(wire.node), wire.slot, axis));
  }
  std::string tag(uint32_t id) const { return place_ + std::to_string(id); }

  static bool has_bodies(const sdx::Node& use) {
    return std::any_of(use.attrs.begin(), use.attrs.end(), [](const auto& attr) {
      return std::holds_alternative<std::shared_ptr<const BodySource>>(attr.second);
    });
  }

  // An If whose branches differ in rank: where the nodes behind it refuse what one branch gives,
  // only the other can be taken.
  void choose_branches() {
    for (uint32_t id = 0; id < net_.size(); ++id) {
      const Net::Node& node = net_.nodes[id];
      if (node.kind != Kind::op || node.use.op != &ops::if_) continue;
      const auto open = [](const Known& known) {
        return known.fact.is_tensor() && !known.fact.shape;
      };
      if (std::none_of(node.outputs.begin(), node.outputs.end(), open)) continue;
      const auto yes = outputs_of(node, "then_branch"), no = outputs_of(node, "else_branch");
      if (!yes || !no) continue;
      const auto without_yes = refusing(id, *yes), without_no = refusing(id, *no);
      if (without_yes.has_value() == without_no.has_value()) continue;
      const Facts& taken = without_yes ? *no : *yes;
      const Reason reason{Reason::By::consumer, without_yes ? *without_yes : *without_no};
      for (uint32_t slot = 0; slot < node.outputs.size() && slot < taken.size(); ++slot) {
        if (node.use.wants(slot)) tell({id, slot}, taken[slot], reason);
      }
    }
  }

  std::optional<Facts> outputs_of(const Net::Node& node, std::string_view branch) const {
    const Facts in = inputs_of(node);
    const Result<std::shared_ptr<const Body>> body =
        node.use.get<std::shared_ptr<const BodySource>>(branch)->type(
            {}, {in.begin() + std::ptrdiff_t(node.use.formal_inputs), in.end()});
    return body ? std::optional((*body)->outputs()) : std::nullopt;
  }

  // The first node behind node `id` that accepts what is known, and not that its outputs are these.
  std::optional<uint32_t> refusing(uint32_t id, const Facts& outputs) {
    Supposed supposed;
    const auto suppose = [&](uint32_t of, const Facts& facts) {
      const std::vector<Known>& known = net_.nodes[of].outputs;
      for (uint32_t slot = 0; slot < known.size() && slot < facts.size(); ++slot) {
        if (is_open(known[slot].fact)) supposed.emplace(Outlet{of, slot}, facts[slot]);
      }
    };
    suppose(id, outputs);
    for (uint32_t reader = id + 1; reader < net_.size(); ++reader) {
      const Net::Node& node = net_.nodes[reader];
      if (std::none_of(node.inputs.begin(), node.inputs.end(),
                       [&](Outlet input) { return supposed.contains(input); }))
        continue;
      if (suppositions_ == 0) return std::nullopt;
      --suppositions_;
      const Result<Facts> made = forward(node.use, inputs_of(node, supposed), tag(reader));
      if (made) {
        suppose(reader, *made);
      } else if (forward(node.use, inputs_of(node), tag(reader))) {
        return reader;
      }
    }
    return std::nullopt;
  }

  // What subgraphs require of captured wires. Of an If one branch runs, so both must agree; a body
  // that may not run at all, or on a piece of a wire, is believed on types and ranks only.
  void ask_bodies(const Net::Node& node, const Facts& in, Reason reason) {
    const size_t formal = node.use.formal_inputs;
    const Facts captured(in.begin() + std::ptrdiff_t(formal), in.end());
    if (std::none_of(captured.begin(), captured.end(), [](const Fact& f) { return is_open(f); }))
      return;
    std::optional<Facts> agreed;
    for (const auto& [name, value] : node.use.attrs) {
      const auto* source = std::get_if<std::shared_ptr<const BodySource>>(&value);
      const auto* body = source ? dynamic_cast<const PartialBody*>(source->get()) : nullptr;
      if (body == nullptr) continue;
      Facts facts = body->required(captured);
      if (!agreed) {
        agreed = std::move(facts);
        continue;
      }
      for (size_t i = 0; i < facts.size(); ++i) {
        const bool same_type = (*agreed)[i].type == facts[i].type;
        (*agreed)[i] = ops::join((*agreed)[i], facts[i]);
        if (!same_type) (*agreed)[i].type = DType::undefined;
      }
    }
    for (size_t i = 0; agreed && i < agreed->size(); ++i) {
      Fact& fact = (*agreed)[i];
      for (size_t axis = 0; fact.shape && axis < fact.rank(); ++axis) {
        Dim& dim = (*fact.shape)[axis];
        if (node.use.op->name != "If" || !dim.is_const())
          dim = placeholder(node.inputs[formal + i], axis);
      }
      tell(node.inputs[formal + i], fact, reason);
    }
  }

  Net& net_;
  const std::string& place_;
  std::vector<std::vector<uint32_t>> readers_;
  std::vector<bool> forward_, backward_;
  bool changed_ = false;
  size_t suppositions_ = 10000;  // nodes that may still be asked; a file may have any number of Ifs
};

}  // namespace

void solve(Net& net, const std::vector<Stated>& stated, bool guess, const std::string& place) {
  Solver solver(net, place);
  for (const Stated& s : stated) {
    if (net.nodes[s.wire.node].kind == Kind::op)
      solver.tell(s.wire, s.fact, {Reason::By::stated, s.wire.node});
  }
  solver.run(guess);
}

}  // namespace sdx::infer
