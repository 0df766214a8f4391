#include "plan/grow/branches.h"

#include <algorithm>

namespace sdx::plan {

Branches::Branches(const typed::Node& node, const std::vector<const Facts*>& outputs,
                   Formulas& formulas) {
  for (uint32_t slot = 0; slot < node.outputs.size(); ++slot) {
    const Fact& planned = node.outputs[slot];
    if (planned.present()) plain_ = plain_ && add(planned, slot, outputs, formulas);
  }
}

// False: the output is no tensor, its rank or a size is not known, or more is.
bool Branches::add(const Fact& planned, uint32_t slot, const std::vector<const Facts*>& outputs,
                   Formulas& formulas) {
  if (!planned.is_tensor() || !planned.shape || planned.value || planned.symbolic) return false;
  Kind one;
  for (const Facts* of_body : outputs) {
    if (slot >= of_body->size()) return false;
    const Fact& fact = (*of_body)[slot];
    if (!fact.is_tensor() || !fact.shape || fact.rank() != planned.rank()) return false;
    auto& numbers = one.shapes.emplace_back();
    for (const Dim& dim : *fact.shape) {
      numbers.push_back(formulas.number(dim));
      if (numbers.back() == Formulas::kNone) return false;
    }
  }
  for (const Dim& dim : *planned.shape) one.planned.push_back(dim.is_const() ? dim.value() : kOpen);
  if (std::find(kinds_.begin(), kinds_.end(), one) == kinds_.end())
    kinds_.push_back(std::move(one));
  return true;
}

bool Branches::give_same(const Formulas::Values& values) const {
  if (!plain_ || values.empty()) return false;
  for (const auto& [shapes, planned] : kinds_) {
    for (size_t axis = 0; axis < planned.size(); ++axis) {
      const int64_t first = values[shapes[0][axis]];
      int64_t common = first;
      for (const auto& shape : shapes) {
        const int64_t size = values[shape[axis]];
        if (size < 0) return false;
        if (size != first) common = kOpen;  // the subgraphs differ
      }
      if (common != planned[axis]) return false;
    }
  }
  return true;
}

}  // namespace sdx::plan
