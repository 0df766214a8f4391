#include "plan/grow/branches.h"

#include <algorithm>

namespace sdx::plan {

Branches::Branches(const typed::Node& node, const std::vector<const Facts*>& outputs) {
  for (uint32_t slot = 0; slot < node.outputs.size(); ++slot) {
    if (node.outputs[slot].present()) plain_ = plain_ && add(slot, outputs);
  }
}

// False: the output is no tensor, or of open rank.
bool Branches::add(uint32_t slot, const std::vector<const Facts*>& outputs) {
  Kind one{{}, {slot}};
  for (const Facts* of_body : outputs) {
    if (slot >= of_body->size()) return false;
    const Fact& fact = (*of_body)[slot];
    if (!fact.is_tensor() || !fact.shape) return false;
    one.shapes.push_back(&*fact.shape);
  }
  const auto same_shapes = [&](const Kind& other) {
    return std::equal(one.shapes.begin(), one.shapes.end(), other.shapes.begin(),
                      [](const Shape* a, const Shape* b) { return *a == *b; });
  };
  const auto known = std::find_if(kinds_.begin(), kinds_.end(), same_shapes);
  if (known != kinds_.end()) {
    known->slots.push_back(slot);
  } else {
    kinds_.push_back(std::move(one));
  }
  return true;
}

bool Branches::give_same(const Facts& outputs, const Bindings& bindings) const {
  const auto expression = bindings.lower_bound("=");  // bound as such: rare, and asked elsewhere
  if (!plain_ || (expression != bindings.end() && expression->first.starts_with('='))) return false;
  Shape common;  // with unknown sizes where the subgraphs differ
  for (const Kind& kind : kinds_) {
    common.clear();
    for (const Shape* shape : kind.shapes) {
      if (shape->size() != kind.shapes[0]->size()) return false;
      for (size_t axis = 0; axis < shape->size(); ++axis) {
        const auto size = (*shape)[axis].eval(bindings);
        if (!size) return false;
        if (shape == kind.shapes[0]) {
          common.emplace_back(*size);
        } else if (!common[axis].is_const(*size)) {
          common[axis] = Dim::unknown();
        }
      }
    }
    const auto holds = [&](uint32_t slot) {
      const Fact& fact = outputs[slot];
      return fact.is_tensor() && fact.shape && !fact.value && !fact.symbolic &&
             std::equal(common.begin(), common.end(), fact.shape->begin(), fact.shape->end(),
                        [](const Dim& now, const Dim& before) {
                          return now.is_const() ? before.is_const(now.value()) : !before.is_const();
                        });
    };
    if (!std::all_of(kind.slots.begin(), kind.slots.end(), holds)) return false;
  }
  return true;
}

}  // namespace sdx::plan
