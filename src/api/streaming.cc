#include "api/streaming.h"

#include <charconv>

namespace sdx {
namespace {

constexpr std::string_view kOpened = "T";

// The model with one size of an input open; what was declared further on is told anew.
Result<std::shared_ptr<const model::Model>> opened(const model::Model& model,
                                                   const std::string& name, size_t axis) {
  auto made = std::make_shared<model::Model>(model);
  if (!made->graph) return fail("SDX-S0071", "the model has no graph");
  model::Graph& graph = *made->graph;
  for (model::ValueInfo& input : graph.input) {
    if (input.name != name || !input.type) continue;
    auto* tensor = std::get_if<model::TensorType>(&input.type->value);
    if (tensor == nullptr || !tensor->shape || axis >= tensor->shape->dim.size())
      return fail("SDX-S0071", "input \"{}\" has no axis {}", name, axis);
    tensor->shape->dim[axis].value = std::string(kOpened);
    graph.value_info.clear();
    for (model::ValueInfo& output : graph.output) {
      auto* type = output.type ? std::get_if<model::TensorType>(&output.type->value) : nullptr;
      if (type != nullptr) type->shape.reset();
    }
    return std::shared_ptr<const model::Model>(std::move(made));
  }
  return fail("SDX-S0071", "the model has no input \"{}\"", name);
}

stream::Settings settings_of(const CompileOptions& options) {
  stream::Settings settings;
  settings.plan.isa = options.isa;
  settings.plan.fuse = options.optimize;
  settings.plan.reference = options.reference;
  settings.rewrites.optimize = options.optimize;
  settings.rewrites.strict = options.strict;
  settings.most_arena_bytes = options.most_arena_bytes;
  return settings;
}

}  // namespace

Result<std::shared_ptr<const stream::Source>> stream_source(
    std::shared_ptr<const model::Model> model, const std::string& axis,
    const CompileOptions& options) {
  std::string symbol = axis;
  if (const size_t at = axis.rfind(':'); at != std::string::npos) {
    size_t number = 0;
    const char* last = axis.data() + axis.size();
    const auto [end, error] = std::from_chars(axis.data() + at + 1, last, number);
    if (error != std::errc() || end != last)
      return fail("SDX-S0071", "\"{}\" is neither an open size nor INPUT:AXIS", axis);
    SDX_ASSIGN(model, opened(*model, axis.substr(0, at), number));
    symbol = kOpened;
  }
  if (options.set.contains(symbol))
    return fail("SDX-S0072", "the streamed axis \"{}\" has no size to be set", symbol);
  SDX_ASSIGN(const typed::Graph graph, type(std::move(model), options));
  return stream::Source::make(graph, symbol, settings_of(options),
                              std::make_shared<Pool>(options.threads));
}

}  // namespace sdx
