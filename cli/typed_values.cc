#include "typed_values.h"

#include <algorithm>

#include "model/fields.h"

namespace sdx::cli {
namespace {

// Sizes that inference named itself ("?x.0", sums and products) stay open.
model::Dimension dimension_of(const Dim& dim) {
  model::Dimension made;
  if (dim.is_const()) {
    made.value = dim.value();
    return made;
  }
  std::vector<std::string> symbols;
  dim.symbols(symbols);
  const std::string text = dim.text();
  if (symbols.size() == 1 && symbols[0] == text && !text.starts_with('?')) made.value = text;
  return made;
}

}  // namespace

Error no_graph() { return fail("SDX-C0064", "the model has no graph"); }

std::optional<model::Type> type_of(const Fact& fact) {
  model::Type type;
  if (fact.is_tensor()) {
    if (fact.type == DType::undefined) return std::nullopt;
    model::TensorType tensor;
    set(tensor, &model::TensorType::elem_type, static_cast<int32_t>(fact.type));
    if (fact.shape) {
      model::Shape& shape = tensor.shape.emplace();
      for (const Dim& dim : *fact.shape) shape.dim.push_back(dimension_of(dim));
    }
    type.value = std::move(tensor);
    return type;
  }
  if (fact.kind != Fact::Kind::sequence && fact.kind != Fact::Kind::optional) return std::nullopt;
  std::optional<model::Type> element =
      fact.element ? type_of(*fact.element) : std::optional<model::Type>();
  if (!element) return std::nullopt;
  if (fact.kind == Fact::Kind::sequence) {
    model::SequenceType sequence;
    sequence.elem_type = *std::move(element);
    type.value = std::move(sequence);
  } else {
    model::OptionalType optional;
    optional.elem_type = *std::move(element);
    type.value = std::move(optional);
  }
  return type;
}

model::ValueInfo TypedValues::info(const std::string& name) const {
  if (const auto at = declared.find(name); at != declared.end() && at->second.type)
    return at->second;
  model::ValueInfo info;
  set(info, &model::ValueInfo::name, name);
  if (const auto at = facts.find(name); at != facts.end()) info.type = type_of(at->second);
  return info;
}

Result<TypedValues> typed_values(const std::shared_ptr<const model::Model>& model,
                                 const LimitFlags& limits, const Bindings& sizes) {
  TypedValues values;
  CompileOptions options;
  options.most_nodes = limits.most_nodes();
  options.set = sizes;
  // From version 4 of the format on, an input's initializer is a default that a caller may replace.
  for (const model::TensorData& weight : model->graph->initializer) {
    const auto input =
        std::find_if(model->graph->input.begin(), model->graph->input.end(),
                     [&](const model::ValueInfo& info) { return info.name == weight.name; });
    if (model->ir_version >= 4 && input != model->graph->input.end())
      options.overridden.insert(weight.name);
  }
  SDX_ASSIGN(const infer::Inferred known, inferred(model, options));
  for (const auto& [name, outlet] : known.wires())
    values.facts.emplace(name, known.graph().fact(outlet));
  for (const auto* list :
       {&model->graph->value_info, &model->graph->output, &model->graph->input}) {
    for (const model::ValueInfo& info : *list) values.declared.insert_or_assign(info.name, info);
  }
  return values;
}

}  // namespace sdx::cli
