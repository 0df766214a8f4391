// What is known of a model's values, by their names, subgraphs included: for those who write a
// model anew.
#pragma once

#include <map>
#include <string>

#include "fact/fact.h"
#include "model/model.h"

namespace sdx::infer {

using FactsByName = std::map<std::string, Fact, std::less<>>;

// Nothing if the model cannot be typed. The value of an input is never known, even if it has a
// default, unless the version of the format says that nobody may replace it.
FactsByName facts_by_name(const model::Model& model);

}  // namespace sdx::infer
