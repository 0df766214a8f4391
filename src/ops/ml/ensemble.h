// Ensemble: a forest and the way its votes become outputs; what the tree operators read.
#pragma once

#include <variant>

#include "ops/ml/forest.h"

namespace sdx {

enum class Aggregate { average, sum, min, max };

struct Ensemble {
  std::variant<Forest<float>, Forest<double>> forest;
  size_t targets = 1;  // or classes
  Aggregate aggregate = Aggregate::sum;
  Transform transform = Transform::none;
  std::vector<double> base = {};  // added to each target; empty: zeros
  Labels labels = {};             // of a classifier
  // Two classes, and all votes are for one of them: the other has the opposite score, or what is
  // missing to 1 if no weight is negative.
  bool two_from_one = false, all_positive = false;

  size_t features() const {
    return std::visit([](const auto& f) { return f.features(); }, forest);
  }
};

// The scores are output 0, or output 1 of a classifier.
Status run_ensemble(const Ensemble&, Args&);

// Rows of floats in blocks of eight, in parallel.
bool blocks_fit(const Ensemble&, const Call&);
Status run_blocks(const Ensemble&, Args&);

}  // namespace sdx
