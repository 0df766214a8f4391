// Functions: those of a model by name, found without looking at all of them.
#pragma once

#include <string_view>
#include <unordered_map>

#include "model/model.h"

namespace sdx::model {

// The model must outlive it.
class Functions {
 public:
  explicit Functions(const Model& model);
  // The function that the node calls, the model's or an added one; null if it names an operator.
  const Function* find(const Node& node) const;

 private:
  std::unordered_multimap<std::string_view, const Function*> by_name_;
};

}  // namespace sdx::model
