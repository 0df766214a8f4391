#include "stream/step_maker.h"

namespace sdx::stream {

int64_t StepMaker::fresh(Outlet old) const {
  const size_t wire = flows_.wire(old);
  return to_.certain[wire] - from_.certain[wire];
}

Rows StepMaker::new_rows(Outlet old) const {
  const size_t wire = flows_.wire(old);
  return {from_.certain[wire], to_.certain[wire]};
}

Fact StepMaker::rows_fact(Outlet old, int64_t rows) const {
  Fact fact = Fact::tensor(old_.fact(old).type, *old_.fact(old).shape);
  (*fact.shape)[flows_.at(old).axis] = Dim(rows);
  return fact;
}

Outlet StepMaker::source(Step::Port port, std::string name, Fact fact) {
  step_.inputs.push_back(port);
  return step_.graph.source(std::move(name), std::move(fact));
}

void StepMaker::give(Step::Port port, std::string name, Outlet wire) {
  step_.outputs.push_back(port);
  step_.graph.output(std::move(name), wire);
}

Outlet StepMaker::slice(Outlet wire, size_t axis, int64_t first, int64_t last, int64_t step) {
  if (!build_.status()) return {};
  if (build_.fact(wire).dim(axis).is_const(last - first) && step == 1) return wire;
  return build_.op("Slice", {wire, build_.ints({first}), build_.ints({last}),
                             build_.ints({int64_t(axis)}), build_.ints({step})});
}

Outlet StepMaker::concat(Outlets parts, size_t axis) {
  std::erase_if(parts, [](const Outlet& part) { return !part.present(); });
  if (parts.size() == 1) return parts[0];
  return build_.op("Concat", std::move(parts), {{"axis", int64_t(axis)}});
}

Outlet StepMaker::made(Outlet old) {
  if (const auto found = made_.find(old); found != made_.end()) return found->second;
  // Only a source is not there yet.
  const auto& sources = old_.inputs();
  const auto at = size_t(std::find(sources.begin(), sources.end(), old) - sources.begin());
  return made_[old] = source({Step::Port::Kind::model, at}, old_.node(old.node).use.name,
                             rows_fact(old, fresh(old)));
}

Outlet StepMaker::turned(Outlet old, Outlet wire) {
  return kept_with_rows_first(flows_, old) ? build_.transpose(wire, {0, 2, 1}) : wire;
}

Outlet StepMaker::state(size_t number, Fact fact) {
  if (const auto found = kept_.find(number); found != kept_.end()) return found->second;
  return kept_[number] = source({Step::Port::Kind::state, number}, fmt::format("state.{}", number),
                                std::move(fact));
}

Outlet StepMaker::all(Outlet old) {
  if (const auto found = all_.find(old); found != all_.end()) return found->second;
  const size_t wire = flows_.wire(old);
  const int64_t held = from_.certain[wire] - from_.kept[wire];
  Outlets parts;
  if (held > 0) parts.push_back(turned(old, state(wire, kept_fact(flows_, old, held))));
  if (fresh(old) > 0) parts.push_back(made(old));
  return all_[old] = concat(std::move(parts), flows_.at(old).axis);
}

Outlet StepMaker::rows(Outlet old, Rows wanted) {
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

Outlet StepMaker::value(Outlet old) {
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

Outlet StepMaker::length(const Fact& fact) {
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

std::vector<Outlet> StepMaker::add(sdx::Node use, std::vector<Outlet> inputs,
                                   const std::vector<std::string>& origin) {
  const size_t outputs = use.wanted.size();
  if (!build_.status()) return std::vector<Outlet>(outputs);
  auto outs = step_.graph.add(std::move(use), std::move(inputs), origin);
  if (outs) return *std::move(outs);
  build_.refuse(std::move(outs).error());
  return std::vector<Outlet>(outputs);
}

}  // namespace sdx::stream
