#include "infer/facts_by_name.h"

#include <algorithm>

#include "infer/inferred.h"

namespace sdx::infer {

FactsByName facts_by_name(const model::Model& model) {
  Options options;
  options.bodies = std::make_shared<BodyFacts>();
  FactsByName facts;
  const auto checked = check::checked(std::make_shared<const model::Model>(model),
                                      {.open_types = true, .accept = check::Accept::common});
  if (!checked || !model.graph) return facts;
  // From version 4 of the format on, an input's initializer is a default that a caller may replace.
  for (const model::TensorData& weight : model.graph->initializer) {
    const auto& inputs = model.graph->input;
    const bool input = std::any_of(inputs.begin(), inputs.end(), [&](const model::ValueInfo& info) {
      return info.name == weight.name;
    });
    if (model.ir_version >= 4 && input) options.overridden.insert(weight.name);
  }
  const auto known = infer(*checked, options);
  if (!known) return facts;
  for (const auto& [graph, inner] : options.bodies->graphs)
    facts.insert(inner.begin(), inner.end());
  for (const auto& [name, outlet] : known->wires())
    facts.insert_or_assign(name, known->graph().fact(outlet));
  return facts;
}

}  // namespace sdx::infer
