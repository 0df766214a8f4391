// Why a wire has its type: the chain of reasons for its element type, its rank and each dimension,
// back to declarations, constants and the nodes that require them.
#include <algorithm>
#include <set>
#include <tuple>

#include "infer/ask.h"
#include "infer/inferred.h"

namespace sdx::infer {
namespace {

using typed::Outlet;
using Kind = typed::Node::Kind;
constexpr size_t kLongestChain = 200;
constexpr size_t kRank = SIZE_MAX;  // in place of an axis

class Chains {
 public:
  Chains(const Net& net, const Wires& names) : net_(net) {
    for (const auto& [name, outlet] : names) {
      if (outlet.present()) names_.emplace(outlet, name);
    }
  }

  std::string of(Outlet wire) const {
    const Fact& fact = net_.at(wire).fact;
    std::string text = fmt::format("{}: {}\n", name(wire), fact.text());
    if (!fact.is_tensor()) return text + line(net_.text(net_.at(wire).type), 1);
    text += fmt::format("  element type {}\n",
                        fact.type == DType::undefined ? "unknown" : short_name(fact.type));
    text += type_chain(wire);
    text += fact.shape ? fmt::format("  rank {}\n", fact.rank()) : "  rank unknown\n";
    if (!fact.shape || fact.rank() == 0) return text + size_chain(wire, kRank);
    text += size_chain(wire, kRank);
    for (size_t axis = 0; axis < fact.rank(); ++axis) {
      text += fmt::format("  dimension {} is {}\n", axis, fact.dim(axis).text());
      text += size_chain(wire, axis);
    }
    return text;
  }

 private:
  std::string name(Outlet wire) const {
    const auto at = names_.find(wire);
    if (at != names_.end()) return fmt::format("\"{}\"", at->second);
    return fmt::format("output {} of {}", wire.slot, net_.place(wire.node));
  }
  static std::string line(const std::string& text, size_t depth = 2) {
    return std::string(2 * depth, ' ') + text + "\n";
  }
  Facts inputs_of(const Net::Node& node) const {
    Facts in;
    for (const Outlet input : node.inputs)
      in.push_back(input.present() ? net_.at(input).fact : Fact{});
    return in;
  }
  // The end of a chain: who fixed it, and beside which operands.
  std::string end(Outlet wire, const Reason& reason) const {
    std::string text = fmt::format("{}: {}", name(wire), net_.text(reason));
    if (reason.by != Reason::By::consumer && reason.by != Reason::By::assumed) return line(text);
    std::string beside;
    for (const Outlet input : net_.nodes[reason.node].inputs) {
      if (!input.present() || input == wire) continue;
      beside += fmt::format("{}{} {}", beside.empty() ? ", beside " : ", ", name(input),
                            net_.at(input).fact.text());
    }
    return line(text + beside);
  }

  std::string type_chain(Outlet wire) const {
    std::string text;
    for (size_t steps = 0; steps < kLongestChain; ++steps) {
      const Reason& reason = net_.at(wire).type;
      if (reason.by != Reason::By::producer) return text + end(wire, reason);
      const Net::Node& node = net_.nodes[wire.node];
      const Outlet from = type_from(node, wire.slot);
      if (!from.present())
        return text +
               line(fmt::format("{}: the operator's own, {}", name(wire), net_.text(reason)));
      text += line(fmt::format("{}: {} from {}", name(wire), net_.text(reason), name(from)));
      wire = from;
    }
    return text;
  }

  // The input that shares the output's type variable.
  Outlet type_from(const Net::Node& node, size_t slot) const {
    const Signature* signature = node.use.op->at(node.use.opset);
    const Formal* out = signature ? signature->output(slot) : nullptr;
    for (size_t i = 0; out && i < std::min(node.inputs.size(), node.use.formal_inputs); ++i) {
      const Formal* in = signature->input(i);
      if (in && in->type == out->type && in->homogeneous && signature->types.contains(in->type) &&
          node.inputs[i].present()) {
        return node.inputs[i];
      }
    }
    return {};
  }

  std::string size_chain(Outlet wire, size_t axis) const {
    std::string text;
    std::set<std::pair<Outlet, size_t>> seen;
    while (seen.size() < kLongestChain && seen.emplace(wire, axis).second) {
      const Known& known = net_.at(wire);
      const Reason& reason = axis == kRank ? known.rank : known.dim(axis);
      if (reason.by == Reason::By::consumer) {
        text += end(wire, reason);
        const auto behind = required_through(wire, axis, reason.node);
        if (!behind) return text;
        std::tie(wire, axis) = *behind;
        continue;
      }
      if (reason.by != Reason::By::producer) return text + end(wire, reason);
      const auto from = sizes_from(net_.nodes[wire.node], wire.slot, axis);
      std::string origin;
      for (const auto& [input, at] : from) {
        origin += origin.empty() ? " from " : ", ";
        origin += at == kRank ? name(input) : fmt::format("dimension {} of {}", at, name(input));
      }
      if (from.empty()) origin = " from its attributes and constants";
      text += line(fmt::format("{}: {}{}", name(wire), net_.text(reason), origin));
      if (from.empty()) return text;
      wire = from[0].first;
      axis = from[0].second;
    }
    return text;
  }

  // A node may require a size because its output has to have one: that output, and which axis of
  // it.
  std::optional<std::pair<Outlet, size_t>> required_through(Outlet wire, size_t axis,
                                                            uint32_t consumer) const {
    const Net::Node& node = net_.nodes[consumer];
    for (uint32_t slot = 0; slot < node.outputs.size(); ++slot) {
      const Known& output = node.outputs[slot];
      if (!output.fact.is_tensor() || !output.fact.shape) continue;
      const auto told = [](const Reason& reason) {
        return reason.by == Reason::By::consumer || reason.by == Reason::By::stated;
      };
      if (axis == kRank) {
        if (told(output.rank)) return std::pair{Outlet{consumer, slot}, kRank};
        continue;
      }
      for (size_t at = 0; at < output.fact.rank(); ++at) {
        if (!told(output.dim(at))) continue;
        for (const auto& from : sizes_from(node, slot, at)) {
          if (from == std::pair{wire, axis}) return std::pair{Outlet{consumer, slot}, at};
        }
      }
    }
    return std::nullopt;
  }

  // The sizes of inputs on which a size of an output depends: all are given symbols, and the
  // operator's rule is asked which of them arrive.
  std::vector<std::pair<Outlet, size_t>> sizes_from(const Net::Node& node, size_t slot,
                                                    size_t axis) const {
    std::vector<std::pair<Outlet, size_t>> found;
    Facts in = inputs_of(node);
    if (axis == kRank) {
      // The data, not the weights: the first input that is no constant.
      for (const Outlet input : node.inputs) {
        if (!input.present() || net_.at(input).fact.value) continue;
        return {{input, kRank}};
      }
      return {};
    }
    for (size_t i = 0; i < in.size(); ++i) {
      if (!in[i].is_tensor() || !in[i].shape || (in[i].value && in[i].integers())) continue;
      in[i].value.reset();
      for (size_t a = 0; a < in[i].rank(); ++a) {
        if (!in[i].dim(a).is_const(1)) (*in[i].shape)[a] = Dim::symbol(fmt::format("@{}.{}", i, a));
      }
    }
    const Result<Facts> out = forward(node.use, in, "explain");
    if (!out || slot >= out->size() || !(*out)[slot].shape || (*out)[slot].rank() <= axis)
      return found;
    std::vector<std::string> symbols;
    (*out)[slot].dim(axis).symbols(symbols);
    for (size_t i = 0; i < in.size(); ++i) {
      for (size_t a = 0; in[i].is_tensor() && in[i].shape && a < in[i].rank(); ++a) {
        const std::string symbol = fmt::format("@{}.{}", i, a);
        if (std::find(symbols.begin(), symbols.end(), symbol) != symbols.end())
          found.emplace_back(node.inputs[i], a);
      }
    }
    return found;
  }

  const Net& net_;
  std::map<Outlet, std::string> names_;
};

}  // namespace

Result<std::string> Inferred::explain(const std::string& wire) const {
  const auto at = net_wires_.find(wire);
  if (!net_ || at == net_wires_.end() || !at->second.present())
    return fail("SDX-G0014", "the graph has no value \"{}\"", wire);
  return Chains(*net_, net_wires_).of(at->second);
}

Summary Inferred::summary() const {
  Summary all;
  std::set<std::string> named, fresh;
  const auto count = [&](const Fact& fact) {
    if (!fact.present()) return;
    ++all.wires;
    if (!fact.is_tensor()) return;
    if (fact.type == DType::undefined) ++all.open_types;
    if (!fact.shape) ++all.open_ranks;
    for (const Dim& dim : fact.shape.value_or(Shape{})) {
      ++all.dims;
      if (dim.is_const()) continue;
      ++all.symbolic_dims;
      std::vector<std::string> symbols;
      dim.symbols(symbols);
      for (const std::string& name : symbols) (name.starts_with('?') ? fresh : named).insert(name);
    }
  };
  for (const typed::Node& node : graph_.nodes()) {
    if (node.kind == Kind::constant) continue;
    for (const Fact& fact : node.outputs) count(fact);
  }
  if (bodies_) {
    for (const auto& [graph, facts] : bodies_->graphs) {
      for (const auto& [name, fact] : facts) {
        if (!fact.value && !wires_.contains(name)) count(fact);
      }
    }
  }
  all.named.assign(named.begin(), named.end());
  all.fresh.assign(fresh.begin(), fresh.end());
  return all;
}

std::string Summary::text() const {
  std::string symbols;
  for (const std::string& name : named) symbols += (symbols.empty() ? "" : ", ") + name;
  return fmt::format(
      "wires             {}\nunknown types     {}\nunknown ranks     {}\n"
      "dimensions        {}, {} of them symbolic\nsymbols           {}{}\nopen sizes        {}\n",
      wires, open_types, open_ranks, dims, symbolic_dims, named.size(),
      symbols.empty() ? "" : ": " + symbols, fresh.size());
}

}  // namespace sdx::infer
