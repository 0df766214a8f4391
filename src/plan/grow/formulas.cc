#include "plan/grow/formulas.h"

#include <algorithm>

namespace sdx::plan {

using typed::Graph;
using typed::Node;
using typed::Outlet;

namespace {

// Bindings of expressions, ranks and types are rare; sizes then are not all expressions of sizes.
bool all_are_sizes(const Bindings& bindings) {
  return std::none_of(bindings.begin(), bindings.end(), [](const auto& bound) {
    return bound.first.starts_with('=') || bound.first.starts_with('?');
  });
}

}  // namespace

Formulas::Formulas(const Graph& rewritten, const Trace& trace, const Bindings& bindings,
                   const Graph& graph, const Alike& alike)
    : bindings_(bindings),
      usable_(all_are_sizes(bindings)),
      wires_(alike.facts.size()),
      set_of_(graph.size(), kNone) {
  if (!usable_) return;
  const auto note = [&](Outlet made, const Fact& symbolic) {
    const uint32_t id = made.present() ? trace.moved[made.node] : kNone;
    if (id == kNone || graph.node(id).kind == Node::Kind::constant) return;
    const Fact& fact = graph.fact({id, made.slot});
    const uint32_t wire = alike.first_wire[id] + made.slot;
    if (symbolic.value != nullptr && symbolic.value == fact.value) {
      add_constant(wire, fact, alike);  // that a subgraph captures
    } else {
      add(wire, symbolic, fact);
    }
  };
  for (size_t i = 0; i < trace.made.inputs().size(); ++i)
    note(trace.made.inputs()[i], rewritten.fact(rewritten.inputs()[i]));
  std::vector<bool> folded(graph.size(), false);
  for (const Trace::Entry& entry : trace.entries) {
    for (size_t slot = 0; slot < entry.outputs.size(); ++slot) {
      const Outlet made = entry.outputs[slot];
      if (!made.present() || slot >= entry.from->outputs.size()) continue;
      note(made, entry.from->outputs[slot]);
      if (entry.folded && trace.moved[made.node] != kNone) folded[trace.moved[made.node]] = true;
    }
  }
  for (uint32_t id = 0; id < graph.size(); ++id) {
    if (graph.node(id).kind == Node::Kind::constant && !folded[id])
      add_constant(alike.first_wire[id], graph.fact({id, 0}), alike);
  }
  find_inputs(rewritten, trace, alike);
  find_sets(graph, alike);
}

void Formulas::find_inputs(const Graph& rewritten, const Trace& trace, const Alike& alike) {
  for (size_t i = 0; i < trace.made.inputs().size(); ++i) {
    const Fact& fact = rewritten.fact(rewritten.inputs()[i]);
    if (fact.is_concrete() && fact.type != DType::undefined && !fact.symbolic) continue;
    const uint32_t id = trace.moved[trace.made.inputs()[i].node];
    if (id != kNone && has(alike.first_wire[id])) {
      inputs_.push_back(id);
    } else {
      all_inputs_ = false;
    }
  }
}

uint32_t Formulas::symbol(const std::string& name) {
  const auto known = std::find(symbols_.begin(), symbols_.end(), name);
  const auto number = uint32_t(known - symbols_.begin());
  if (known == symbols_.end()) symbols_.push_back(name);
  return number;
}

// Nearly all sizes are sums. Values of the expression tell which sum it would be.
Formulas::Formula Formulas::made(const Dim& dim) {
  Formula formula{{}, 0, dim};
  if (dim.is_const()) return formula;
  std::vector<std::string> names;
  dim.symbols(names);
  Bindings at;
  for (const std::string& name : names) at[name] = 0;
  const auto rest = dim.eval(at);
  constexpr int64_t kMost = int64_t{1} << 40;
  if (!rest || std::abs(*rest) > kMost) return formula;
  Dim sum = *rest;
  std::vector<std::pair<uint32_t, int64_t>> factors;
  for (const std::string& name : names) {
    at[name] = 1;
    const auto one = dim.eval(at);
    at[name] = 0;
    if (!one || std::abs(*one) > kMost) return formula;
    sum = sum + Dim(*one - *rest) * Dim::symbol(name);
    factors.emplace_back(symbol(name), *one - *rest);
  }
  if (!(sum == dim)) return formula;
  formula.factors = std::move(factors);
  formula.rest = *rest;
  return formula;
}

uint32_t Formulas::number(const Dim& dim) {
  if (!usable_) return kNone;
  const auto next = uint32_t(formulas_.size());
  const auto value = dim.eval(bindings_);
  if (!value) return kNone;
  const auto [number, fresh] =
      dim.is_const() ? [&] {
        const auto at = by_value_.emplace(*value, next);
        return std::pair(at.first->second, at.second);
      }() : [&] {
        const auto at = by_text_.emplace(dim.text(), next);
        return std::pair(at.first->second, at.second);
      }();
  if (!fresh) return number;
  formulas_.push_back(made(dim));
  base_.push_back(*value);
  if (!dim.is_const()) open_.push_back(number);
  return number;
}

Formulas::Values Formulas::values(const Bindings& bindings) const {
  if (!usable_ || !all_are_sizes(bindings)) return {};
  Values symbols;
  for (const std::string& name : symbols_) {
    const auto at = bindings.find(name);
    constexpr int64_t kMost = int64_t{1} << 48;  // no size is larger
    if (at == bindings.end() || at->second < 0 || at->second > kMost) return {};
    symbols.push_back(at->second);
  }
  Values values = base_;
  for (const uint32_t f : open_) {
    const Formula& formula = formulas_[f];
    if (formula.factors.empty()) {
      const auto value = formula.whole.eval(bindings);
      if (!value) return {};
      values[f] = *value;
      continue;
    }
    values[f] = formula.rest;
    for (const auto& [symbol, factor] : formula.factors) {
      int64_t part = 0;
      if (__builtin_mul_overflow(factor, symbols[symbol], &part) ||
          __builtin_add_overflow(values[f], part, &values[f])) {
        return {};
      }
    }
  }
  return values;
}

// Formulas of a wire that no constant gives.
void Formulas::add(uint32_t wire, const Fact& symbolic, const Fact& fact) {
  if (!symbolic.is_tensor() || !symbolic.shape || symbolic.value || fact.value ||
      symbolic.type != fact.type || !fact.is_concrete()) {
    return;
  }
  std::vector<uint32_t> numbers;
  for (const Dim& dim : *symbolic.shape) numbers.push_back(number(dim));
  const size_t rank = numbers.size();
  if (symbolic.symbolic) {
    for (const Dim& element : *symbolic.symbolic) numbers.push_back(number(element));
  }
  if (std::find(numbers.begin(), numbers.end(), kNone) != numbers.end()) return;
  const auto first = uint32_t(numbers_.size());
  wires_[wire] = {0, first, first + uint32_t(rank), first + uint32_t(numbers.size()),
                  symbolic.symbolic.has_value()};
  numbers_.insert(numbers_.end(), numbers.begin(), numbers.end());
  if (!hold(wire, fact, base_)) {
    wires_[wire] = {};
    return;
  }
  wires_[wire].is_poor = fact.symbolic.has_value() && !symbolic.symbolic;
  std::vector<uint64_t> key{1 + uint64_t(fact.type), rank, symbolic.symbolic ? 1U : 0U};
  key.insert(key.end(), numbers.begin(), numbers.end());
  name_kind(wire, std::move(key));
}

// A constant is the same for all sizes; what is like it is of its kind.
void Formulas::add_constant(uint32_t wire, const Fact& fact, const Alike& alike) {
  if (!fact.is_concrete()) return;
  constexpr size_t kFew = 64;
  const auto first = uint32_t(numbers_.size());
  for (const Dim& dim : *fact.shape) numbers_.push_back(number(dim));
  const auto integers = uint32_t(numbers_.size());
  const auto known =
      fact.value != nullptr && fact.value->count() <= kFew ? fact.integers() : std::nullopt;
  if (known) {
    for (const Dim& element : *known) numbers_.push_back(number(element));
  }
  wires_[wire] = {0, first, integers, uint32_t(numbers_.size()), known.has_value()};
  name_kind(wire, {0, alike.facts[wire]});
}

void Formulas::name_kind(uint32_t wire, std::vector<uint64_t> key) {
  const auto [at, fresh] = kinds_.emplace(std::move(key), all_kinds_);
  if (fresh) ++all_kinds_;
  wires_[wire].kind = at->second;
}

bool Formulas::differs(uint32_t wire, const Values& values) const {
  const Wire& at = wires_[wire];
  return std::any_of(numbers_.begin() + at.first, numbers_.begin() + at.last,
                     [&](uint32_t f) { return values[f] != base_[f]; });
}

bool Formulas::hold(uint32_t wire, const Fact& fact, const Values& values) const {
  const Wire& at = wires_[wire];
  const auto are = [&](std::span<const uint32_t> numbers, const std::vector<Dim>& dims) {
    return std::equal(numbers.begin(), numbers.end(), dims.begin(), dims.end(),
                      [&](uint32_t f, const Dim& dim) { return dim.is_const(values[f]); });
  };
  if (!fact.is_tensor() || !fact.shape || !are(sizes(at), *fact.shape)) return false;
  return !at.has_integers || (fact.symbolic && are(integers(at), *fact.symbolic));
}

bool Formulas::write(uint32_t wire, const Values& values, Fact& fact) const {
  const Wire& at = wires_[wire];
  constexpr uint64_t kMostElements = uint64_t{1} << kElementBits;
  uint64_t elements = 1;
  for (size_t axis = 0; axis < sizes(at).size(); ++axis) {
    const int64_t size = values[sizes(at)[axis]];
    if (size < 0 ||
        __builtin_mul_overflow(elements, std::max<uint64_t>(uint64_t(size), 1), &elements))
      return false;
    (*fact.shape)[axis] = size;
  }
  if (elements > kMostElements) return false;
  if (!at.has_integers) {
    fact.symbolic.reset();
    return true;
  }
  if (!fact.symbolic) fact.symbolic.emplace();
  fact.symbolic->resize(integers(at).size());
  for (size_t i = 0; i < integers(at).size(); ++i) (*fact.symbolic)[i] = values[integers(at)[i]];
  return true;
}

// What a fact knows beyond its formulas, for these sizes alone, would be missing where its reader
// is typed.
bool Formulas::readers_ask_no_more(uint32_t wire, const Alike& alike) const {
  if (!wires_[wire].is_poor) return true;
  return std::all_of(alike.readers.begin() + alike.first_reader[wire],
                     alike.readers.begin() + alike.first_reader[wire + 1],
                     [&](uint32_t reader) { return set_of_[reader] != kNone; });
}

// The node as the only one of its set; none if it must be typed at all sizes.
std::optional<Formulas::Set> Formulas::set_for(uint32_t node, const Graph& graph,
                                               const Alike& alike) const {
  if (alike.kinds[node] == Alike::kNone) return std::nullopt;
  const typed::Node& typed = graph.node(node);
  const bool by_more = typed.op().by_more != nullptr && typed.op().by_more(typed.resolved.get());
  Set set{node, typed.op().by_equality && !by_more, {}, {}};
  for (uint32_t r = alike.first_read[node]; r < alike.first_read[node + 1]; ++r) {
    const uint32_t wire = alike.reads[r];
    if (wire == 0) continue;
    if (!has(wire)) return std::nullopt;
    set.read.insert(set.read.end(), numbers_.begin() + wires_[wire].first,
                    numbers_.begin() + wires_[wire].last);
  }
  std::sort(set.read.begin(), set.read.end());
  set.read.erase(std::unique(set.read.begin(), set.read.end()), set.read.end());
  const Facts& outputs = graph.node(node).outputs;
  for (uint32_t slot = 0; slot < outputs.size(); ++slot) {
    const uint32_t wire = alike.first_wire[node] + slot;
    if (!outputs[slot].present()) continue;
    if (!has(wire) || !readers_ask_no_more(wire, alike)) return std::nullopt;
  }
  return set;
}

void Formulas::find_sets(const Graph& graph, const Alike& alike) {
  std::vector<std::optional<Set>> alone(graph.size());
  for (uint32_t id = uint32_t(graph.size()); id-- > 0;) {  // readers first
    alone[id] = set_for(id, graph, alike);
    if (alone[id]) set_of_[id] = 0;
  }
  std::map<std::vector<uint32_t>, uint32_t> known;
  for (uint32_t id = 0; id < graph.size(); ++id) {
    if (!alone[id]) continue;
    std::vector<uint32_t> key{alike.kinds[id]};
    for (uint32_t r = alike.first_read[id]; r < alike.first_read[id + 1]; ++r)
      key.push_back(alike.reads[r] == 0 ? kNone : wires_[alike.reads[r]].kind);
    for (uint32_t wire = alike.first_wire[id]; wire < alike.first_wire[id + 1]; ++wire)
      key.push_back(wires_[wire].kind);
    const auto [at, fresh] = known.emplace(std::move(key), uint32_t(sets_.size()));
    set_of_[id] = at->second;
    if (!fresh) continue;
    sets_.push_back(*std::move(alone[id]));
    // The base's node may have been read by more than will be known of others.
    const auto first = alike.reads.begin() + alike.first_read[id];
    const auto last = alike.reads.begin() + alike.first_read[id + 1];
    if (std::none_of(first, last, [&](uint32_t wire) { return wires_[wire].is_poor; }))
      learn(at->second, base_, graph.node(id).resolved);
  }
}

// What of a formula that is read decides how the node is typed: its value; or the first that is
// equal to it, and whether it is 0, 1 or negative.
int64_t Formulas::decides(const Set& set, size_t i, const Values& values) {
  const int64_t value = values[set.read[i]];
  if (!set.by_equality) return value;
  size_t same = 0;
  while (values[set.read[same]] != value) ++same;
  return int64_t(same) * 4 + apart(value);
}

Formulas::Pattern Formulas::pattern(uint32_t set, const Values& values) const {
  Pattern pattern(sets_[set].read.size());
  for (size_t i = 0; i < pattern.size(); ++i) pattern[i] = decides(sets_[set], i, values);
  return pattern;
}

bool Formulas::has_pattern(uint32_t set, const Values& values, const Pattern& pattern) const {
  size_t i = 0;
  while (i < pattern.size() && pattern[i] == decides(sets_[set], i, values)) ++i;
  return i == pattern.size();
}

std::shared_ptr<const void> Formulas::known(uint32_t set, const Values& values) const {
  const auto& known = sets_[set].known;
  const auto at = std::find_if(known.begin(), known.end(), [&](const auto& one) {
    return has_pattern(set, values, one.first);
  });
  return at == known.end() ? nullptr : at->second;
}

void Formulas::learn(uint32_t set, const Values& values, std::shared_ptr<const void> resolved) {
  constexpr size_t kMostKept = 16;
  auto& known = sets_[set].known;
  auto& at = known.size() < kMostKept ? known.emplace_back() : known[sets_[set].next++ % kMostKept];
  at = {pattern(set, values), std::move(resolved)};
}

}  // namespace sdx::plan
