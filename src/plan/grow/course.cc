#include "plan/grow/course.h"

#include <algorithm>
#include <utility>

#include "base/fetch.h"
#include "plan/grow/grow.h"
#include "plan/grow/resizing.h"
#include "plan/warranted.h"

namespace sdx::plan {

using typed::Node;
using typed::Outlet;

namespace {

// Where those sizes and integers of a fact stand that are not the same for all sizes.
void list(Fact& fact, uint32_t wire, const Formulas& formulas, Written& into) {
  const auto sizes = formulas.sizes(wire), integers = formulas.integers(wire);
  for (size_t axis = 0; axis < sizes.size(); ++axis) {
    if (formulas.is_open(sizes[axis])) into.emplace_back(&(*fact.shape)[axis], sizes[axis]);
  }
  for (size_t i = 0; fact.symbolic && i < integers.size(); ++i) {
    if (formulas.is_open(integers[i])) into.emplace_back(&(*fact.symbolic)[i], integers[i]);
  }
}

template <class T>
void keep_each_once(std::vector<T>& all) {
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
}

void write(const Written& written, const Formulas::Values& values) {
  for (const auto& [dim, formula] : written) *dim = values[formula];
}

}  // namespace

Course::Course(const Base& base, const Resizing& sizes, const Plan& plan)
    : usable_(sizes.by_numbers() && base.all_small), changes_(plan.graph.size(), false) {
  if (!usable_) return;
  add_numbers(base, sizes.values(), plan);
  if (!usable_) return;
  for (const uint32_t id : sizes.kept()) branches_.push_back(&base.branches.at(id));
  for (const uint32_t id : plan.renewed) {
    changes_[id] = true;
    const Facts& outputs = plan.graph.node(id).outputs;
    for (uint32_t slot = 0; slot < outputs.size(); ++slot) {
      if (!outputs[slot].present()) continue;
      kinds_by_wire_[{id, slot}] =
          kind_of(base, base.alike.first_wire[id] + slot, outputs[slot].type);
    }
  }
  for (const typed::Output& output : plan.graph.outputs()) {
    const auto changed = kinds_by_wire_.find(output.outlet);
    if (changed != kinds_by_wire_.end()) {
      ++kinds_[changed->second].outputs;
    } else {
      other_outputs_ += bytes_of(plan.graph.fact(output.outlet));
    }
  }
  for (const uint32_t s : base.steps_of(plan.renewed)) add_step(base, s, plan);
  bytes_.resize(kinds_.size());
  keep_each_once(inside_);
}

// What must stay as it is, so that each node that changes is read as what it is. Nodes that tell
// more apart read nothing that is not as for the base (Resizing::by_numbers).
void Course::add_numbers(const Base& base, const Formulas::Values& values, const Plan& plan) {
  const Formulas& formulas = base.formulas;
  for (const uint32_t f : formulas.open())
    open_.push_back({f, formulas.differs_at(f, values), Formulas::apart(values[f])});
  constexpr size_t kMostPairs = 4096;
  for (const uint32_t id : plan.renewed) {
    const uint32_t set = formulas.set_of(id);
    if (set == Formulas::kNone) continue;  // an input
    const auto reads = formulas.reads(set);
    if (pairs_.size() + reads.size() * reads.size() > kMostPairs) keep_each_once(pairs_);
    usable_ = usable_ && pairs_.size() + reads.size() * reads.size() <= kMostPairs;
    if (!usable_) return;
    for (size_t i = 0; i < reads.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        if (formulas.is_open(reads[i]) || formulas.is_open(reads[j]))
          pairs_.push_back({reads[i], reads[j], values[reads[i]] == values[reads[j]]});
      }
    }
  }
  keep_each_once(pairs_);
}

uint32_t Course::kind_of(const Base& base, uint32_t wire, DType type) {
  const auto next = uint32_t(kinds_.size());
  const auto [at, fresh] = kinds_by_formulas_.emplace(base.formulas.kind(wire), next);
  if (!fresh) return at->second;
  const auto first = uint32_t(numbers_.size());
  const auto sizes = base.formulas.sizes(wire);
  numbers_.insert(numbers_.end(), sizes.begin(), sizes.end());
  kinds_.push_back({type, first, uint32_t(numbers_.size())});
  return next;
}

void Course::add_step(const Base& base, uint32_t s, const Plan& plan) {
  const Step& step = base.unplaced.steps[s];
  if (step.epilogue) {  // its program is made for sizes
    usable_ = false;
    return;
  }
  const Layout& layout = *base.layout;
  const Node& node = plan.graph.node(step.node);
  const auto wire = [&](Outlet at) -> const Layout::Wire& {
    return layout.wires[at.node][at.slot];
  };
  Probe probe{&step,
              &node.op(),
              node.resolved,
              base.formulas.set_of(step.node),
              layout.views[s],
              {},
              {},
              {},
              SIZE_MAX,
              {}};
  for (uint32_t slot = 0; slot < node.outputs.size(); ++slot) {
    if (!node.outputs[slot].present()) continue;
    const Outlet output{step.node, slot};
    add_room(base, output, plan);
    if (probe.is_view)
      probe.at.emplace_back(slot, wire(output).offset - wire(node.inputs[0]).offset);
  }
  if (step.late) return;
  if (!probe.is_view) {
    add_in_place(base, node, step.node, plan);
    const Layout::Wire& into = wire({step.node, 0});
    for (uint32_t i = 0; node.op().joins != nullptr && i < node.inputs.size(); ++i) {
      if (!node.inputs[i].present() || wire(node.inputs[i]).root != into.root) continue;
      probe.at.emplace_back(i, wire(node.inputs[i]).offset - into.offset);
    }
  }
  auto known = std::find_if(probes_.begin(), probes_.end(), [&](const Probe& other) {
    return other.set == probe.set && other.is_view == probe.is_view && other.at == probe.at;
  });
  if (known == probes_.end()) {
    probe.in = plan.graph.facts(node.inputs);
    probe.out = node.outputs;
    const uint32_t* reads = base.alike.reads.data() + base.alike.first_read[step.node];
    for (size_t i = 0; i < probe.in.size(); ++i) {
      if (probe.in[i].present()) list(probe.in[i], reads[i], base.formulas, asked_);
    }
    for (uint32_t slot = 0; slot < probe.out.size(); ++slot) {
      if (!probe.out[slot].present()) continue;
      list(probe.out[slot], base.alike.first_wire[step.node] + slot, base.formulas, asked_);
    }
    probes_.push_back(std::move(probe));
    known = probes_.end() - 1;
  }
  if (known->is_view) return;
  known->most_scratch = std::min(known->most_scratch, layout.scratch[s].capacity);
  known->steps.push_back(base.place_of_step[s]);
}

// What a wire that is written must fit into.
void Course::add_room(const Base& base, Outlet wire, const Plan& plan) {
  const Layout::Wire& at = base.layout->wires[wire.node][wire.slot];
  const Layout::Root& root = base.layout->roots[at.root];
  const uint32_t kind = kinds_by_wire_.at(wire);
  size_t& room = kinds_[kind].room;
  if (root.kind == Place::Kind::arena) {
    room = std::min(room, root.capacity - at.offset);
  } else if (root.kind == Place::Kind::output) {
    const Outlet output = plan.graph.outputs()[root.index].outlet;
    const auto changed = kinds_by_wire_.find(output);
    if (changed == kinds_by_wire_.end()) {
      room = std::min(room, bytes_of(plan.graph.fact(output)) - at.offset);
    } else if (changed->second != kind || at.offset != 0) {
      inside_.push_back({kind, changed->second, at.offset});
    }
  }
}

// Inputs whose memory the result takes must be of its size.
void Course::add_in_place(const Base& base, const Node& node, uint32_t id, const Plan& plan) {
  if (!node.op().inplace) return;
  const auto& wires = base.layout->wires;
  const uint32_t result = kinds_by_wire_.at({id, 0});
  for (const Outlet input : node.inputs) {
    if (!input.present() || wires[input.node][input.slot].root != wires[id][0].root) continue;
    const uint32_t kind =
        kind_of(base, base.alike.first_wire[input.node] + input.slot, plan.graph.fact(input).type);
    if (kind != result) same_.emplace_back(kind, result);
  }
}

std::span<const uint32_t> Course::sizes_of(Outlet wire) const {
  const Kind& kind = kinds_[kinds_by_wire_.at(wire)];
  return {numbers_.data() + kind.first, kind.last - kind.first};
}

bool Course::leads_to(const Base& base, const Formulas::Values& values) const {
  const auto is_as_before = [&](const Number& one) {
    return base.formulas.differs_at(one.formula, values) == one.differs &&
           Formulas::apart(values[one.formula]) == one.apart;
  };
  const auto are_as_before = [&](const Pair& pair) {
    return (values[pair.a] == values[pair.b]) == pair.equal;
  };
  return !values.empty() && std::all_of(open_.begin(), open_.end(), is_as_before) &&
         std::all_of(pairs_.begin(), pairs_.end(), are_as_before) &&
         std::all_of(branches_.begin(), branches_.end(),
                     [&](const Branches* of_node) { return of_node->give_same(values); });
}

// Sizes that are few bytes; what more is allowed is counted where plans are made otherwise.
bool Course::has_room(const Base& base, const Formulas::Values& values, size_t most_bytes) {
  const size_t few = std::min(most_bytes, kFewBytes);
  size_t total = base.layout->arena_bytes;
  if (total > few || other_outputs_ > few - total) return false;
  total += other_outputs_;
  for (size_t k = 0; k < kinds_.size(); ++k) {
    const Kind& kind = kinds_[k];
    uint64_t count = 1;
    for (uint32_t n = kind.first; n < kind.last; ++n) {
      const int64_t size = values[numbers_[n]];
      if (size < 0 || __builtin_mul_overflow(count, uint64_t(size), &count) || count > few)
        return false;
    }
    bytes_[k] = bytes_for(kind.type, count);
    if (bytes_[k] > std::min(kind.room, few)) return false;
    if (kind.outputs != 0 && bytes_[k] > (few - total) / kind.outputs) return false;
    total += bytes_[k] * kind.outputs;
  }
  const auto holds = [&](const Inside& one) {
    return one.offset + bytes_[one.kind] <= bytes_[one.output];
  };
  const auto are_same = [&](const auto& pair) {
    const Kind &a = kinds_[pair.first], &b = kinds_[pair.second];
    return a.type == b.type &&
           std::equal(numbers_.begin() + a.first, numbers_.begin() + a.last,
                      numbers_.begin() + b.first, numbers_.begin() + b.last,
                      [&](uint32_t x, uint32_t y) { return values[x] == values[y]; });
  };
  return std::all_of(inside_.begin(), inside_.end(), holds) &&
         std::all_of(same_.begin(), same_.end(), are_same);
}

bool Course::ask(Probe& probe, const Options& options, Pool& pool) {
  const Call call{probe.in, probe.out, options.isa, options.threads};
  const auto begins = [&](const auto& one) {
    const auto& [i, at] = one;
    const auto now = probe.is_view ? probe.op->alias(probe.resolved.get(), call, i)
                                   : probe.op->joins(probe.resolved.get(), call, i);
    return now && *now == at;
  };
  if (!std::all_of(probe.at.begin(), probe.at.end(), begins)) return false;
  if (probe.is_view) return true;
  auto now = chosen_again(*probe.step, *probe.op, probe.resolved.get(), call, options, pool);
  if (!now || now->scratch_bytes > probe.most_scratch) return false;
  probe.now = *std::move(now);
  return true;
}

// What will be asked and written, and what a run asks of its outputs.
void Course::fetch_all(const Plan& plan) const {
  for (const uint32_t id : plan.renewed) fetch(&plan.graph.node(id), 1);
  for (const auto& [dim, formula] : plan.written) fetch(dim, sizeof(Dim));
  for (const auto& [dim, formula] : asked_) fetch(dim, sizeof(Dim));
  for (const Probe& probe : probes_) {
    fetch(probe.in.data(), probe.in.size() * sizeof(Fact));
    fetch(probe.out.data(), probe.out.size() * sizeof(Fact));
    fetch(probe.resolved.get(), 1);
    for (const uint32_t s : probe.steps) fetch(&plan.steps[s], sizeof(Step));
  }
  for (const typed::Output& output : plan.graph.outputs())
    fetch(&plan.graph.fact(output.outlet), sizeof(Fact));
}

bool Course::follow(const Base& base, const Formulas::Values& values, size_t most_bytes, Pool& pool,
                    Plan& plan) {
  fetch_all(plan);
  if (!has_room(base, values, most_bytes)) return false;
  const auto is_its_own = [&](uint32_t id) { return plan.graph.own_facts(id) != nullptr; };
  if (!std::all_of(plan.renewed.begin(), plan.renewed.end(), is_its_own)) return false;
  write(asked_, values);
  for (Probe& probe : probes_) {
    if (!ask(probe, plan.options, pool)) return false;
  }
  write(plan.written, values);
  for (const Probe& probe : probes_) {
    for (const uint32_t s : probe.steps) {
      Step& step = plan.steps[s];
      step.kernel = probe.now.kernel;
      step.scratch_bytes = probe.now.scratch_bytes;
      if (probe.now.tables) step.packed = probe.now.tables;
    }
  }
  plan.sizes = values;
  return true;
}

void Course::join(std::shared_ptr<Course> course, const Base& base, Formulas::Values values,
                  Plan& plan) {
  plan.written.clear();
  for (const uint32_t id : plan.renewed) {
    Facts* outputs = plan.graph.own_facts(id);
    if (outputs == nullptr) return;
    for (uint32_t slot = 0; slot < outputs->size(); ++slot) {
      Fact& fact = (*outputs)[slot];
      if (fact.present()) list(fact, base.alike.first_wire[id] + slot, base.formulas, plan.written);
    }
  }
  plan.sizes = std::move(values);
  plan.course = std::move(course);
}

}  // namespace sdx::plan
