#include "plan/grow/branches.h"

#include <algorithm>

namespace sdx::plan {

Branches::Branches(const typed::Node& node, const std::vector<const Facts*>& outputs,
                   Formulas& formulas) {
  for (uint32_t slot = 0; slot < node.outputs.size(); ++slot) {
    if (node.outputs[slot].present()) plain_ = plain_ && add(slot, outputs, formulas);
  }
}

// False: the output is no tensor, or its rank or a size is not known.
bool Branches::add(uint32_t slot, const std::vector<const Facts*>& outputs, Formulas& formulas) {
  Kind one{{}, {slot}};
  for (const Facts* of_body : outputs) {
    if (slot >= of_body->size()) return false;
    const Fact& fact = (*of_body)[slot];
    if (!fact.is_tensor() || !fact.shape) return false;
    auto& numbers = one.shapes.emplace_back();
    for (const Dim& dim : *fact.shape) {
      numbers.push_back(formulas.number(dim));
      if (numbers.back() == Formulas::kNone) return false;
    }
    if (numbers.size() != one.shapes[0].size()) return false;
  }
  const auto known = std::find_if(kinds_.begin(), kinds_.end(),
                                  [&](const Kind& other) { return one.shapes == other.shapes; });
  if (known != kinds_.end()) {
    known->slots.push_back(slot);
  } else {
    kinds_.push_back(std::move(one));
  }
  return true;
}

bool Branches::give_same(const Facts& outputs, const Formulas::Values& values) const {
  if (!plain_ || values.empty()) return false;
  constexpr int64_t kOpen = -1;  // where the subgraphs differ
  std::vector<int64_t> common;
  for (const Kind& kind : kinds_) {
    common.clear();
    for (const uint32_t f : kind.shapes[0]) common.push_back(values[f]);
    for (const auto& shape : kind.shapes) {
      for (size_t axis = 0; axis < shape.size(); ++axis) {
        const int64_t size = values[shape[axis]];
        if (size < 0) return false;
        if (common[axis] != size) common[axis] = kOpen;
      }
    }
    const auto holds = [&](uint32_t slot) {
      const Fact& fact = outputs[slot];
      return fact.is_tensor() && fact.shape && !fact.value && !fact.symbolic &&
             std::equal(common.begin(), common.end(), fact.shape->begin(), fact.shape->end(),
                        [](int64_t now, const Dim& before) {
                          return now == kOpen ? !before.is_const() : before.is_const(now);
                        });
    };
    if (!std::all_of(kind.slots.begin(), kind.slots.end(), holds)) return false;
  }
  return true;
}

}  // namespace sdx::plan
