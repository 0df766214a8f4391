#include "api/streaming.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "api/windowed.h"
#include "model/tensor.h"

namespace sdx {
namespace {

constexpr std::string_view kOpened = "T";

// What the text of an axis asks for: AXIS[,OUTPUT=INPUT]...[,INPUT=NUMBER]..., where AXIS is an
// open size, INPUT:AXIS or INPUT:AXIS:WINDOW[:HOP]. Names may have colons of their own.
struct AxisText {
  std::string symbol;  // empty: an axis of an input is opened
  Windows windows;     // 0 rows: the axis alone
  std::vector<std::pair<std::string, double>> fixed;
};

std::optional<double> number_of(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<AxisText> parsed(std::string_view text) {
  AxisText made;
  std::string_view head = text.substr(0, text.find(','));
  for (text.remove_prefix(head.size()); !text.empty();) {
    text.remove_prefix(1);
    const std::string_view pair = text.substr(0, text.find(','));
    text.remove_prefix(pair.size());
    const size_t at = pair.find('=');
    if (at == std::string_view::npos) return std::nullopt;
    const std::string left(pair.substr(0, at)), right(pair.substr(at + 1));
    if (const auto number = number_of(right)) {
      made.fixed.emplace_back(left, *number);
    } else {
      made.windows.states.emplace_back(left, right);
    }
  }
  std::vector<int64_t> numbers;
  while (numbers.size() < 3) {
    const size_t at = head.rfind(':');
    if (at == std::string_view::npos) break;
    int64_t number = 0;
    const char* last = head.data() + head.size();
    const auto [end, error] = std::from_chars(head.data() + at + 1, last, number);
    if (error != std::errc() || end != last || number < 0) break;
    numbers.insert(numbers.begin(), number);
    head = head.substr(0, at);
  }
  const bool framed = numbers.size() > 1;
  if (framed && numbers[1] == 0) return std::nullopt;
  if ((!framed && !made.windows.states.empty()) || head.empty()) return std::nullopt;
  if (numbers.empty()) {
    if (head.find(':') != std::string_view::npos) return std::nullopt;
    made.symbol = head;
    return made;
  }
  made.windows.input = head;
  made.windows.axis = size_t(numbers[0]);
  if (framed) made.windows.rows = made.windows.hop = numbers[1];
  if (numbers.size() > 2) made.windows.hop = numbers[2];
  return made;
}

// The model with an input that has one value for good: which branch of an If runs may hang on it.
Result<std::shared_ptr<const model::Model>> with_value(const model::Model& model,
                                                       const std::string& name, double value) {
  auto made = std::make_shared<model::Model>(model);
  if (!made->graph) return no_graph();
  std::vector<model::ValueInfo>& inputs = made->graph->input;
  const auto input = std::find_if(inputs.begin(), inputs.end(),
                                  [&](const model::ValueInfo& info) { return info.name == name; });
  if (input == inputs.end()) return no_input(name);
  const auto* type = input->type ? input->type->tensor() : nullptr;
  Dims dims;
  for (size_t i = 0; type != nullptr && type->shape && i < type->shape->dim.size(); ++i) {
    if (type->shape->dim[i].number() == nullptr)
      return fail("SDX-S0071", "input \"{}\" has open sizes and takes no number", name);
    dims.push_back(*type->shape->dim[i].number());
  }
  if (type == nullptr || !type->shape || type->dtype() == DType::string ||
      type->dtype() == DType::undefined)
    return fail("SDX-S0071", "input \"{}\" takes no number", name);
  Tensor tensor = Tensor::make(type->dtype(), dims);
  for (size_t i = 0; i < tensor.count(); ++i) set_f64(type->dtype(), tensor.raw(), i, value);
  inputs.erase(input);
  std::erase_if(made->graph->initializer,
                [&](const model::TensorData& old) { return old.name == name; });
  made->graph->initializer.push_back(model::from_tensor(tensor, name));
  return std::shared_ptr<const model::Model>(std::move(made));
}

// The model with one size of an input open; what was declared further on is told anew.
Result<std::shared_ptr<const model::Model>> opened(const model::Model& model,
                                                   const std::string& name, size_t axis) {
  auto made = std::make_shared<model::Model>(model);
  if (!made->graph) return no_graph();
  model::Graph& graph = *made->graph;
  for (model::ValueInfo& input : graph.input) {
    if (input.name != name || !input.type) continue;
    auto* tensor = std::get_if<model::TensorType>(&input.type->value);
    if (tensor == nullptr || !tensor->shape || axis >= tensor->shape->dim.size())
      return no_axis(name, axis);
    tensor->shape->dim[axis].value = std::string(kOpened);
    graph.value_info.clear();
    for (model::ValueInfo& output : graph.output) {
      auto* type = output.type ? std::get_if<model::TensorType>(&output.type->value) : nullptr;
      if (type != nullptr) type->shape.reset();
    }
    return std::shared_ptr<const model::Model>(std::move(made));
  }
  return no_input(name);
}

stream::Settings settings_of(const CompileOptions& options) {
  stream::Settings settings;
  settings.plan.isa = options.isa;
  settings.plan.fuse = options.optimize;
  settings.plan.reference = options.reference;
  settings.rewrites.optimize = options.optimize;
  settings.rewrites.strict = options.strict;
  settings.rewrites.isa = options.isa;
  settings.most_arena_bytes = options.most_arena_bytes;
  return settings;
}

}  // namespace

Result<std::shared_ptr<const stream::Source>> stream_source(
    std::shared_ptr<const model::Model> model, const std::string& axis,
    const CompileOptions& options) {
  const std::optional<AxisText> text = parsed(axis);
  if (!text) {
    Error error = fail("SDX-S0071", "\"{}\" names no axis", axis);
    error.help =
        "an open size, INPUT:AXIS or INPUT:AXIS:WINDOW[:HOP]; then ,OUTPUT=INPUT for states and "
        ",INPUT=NUMBER for inputs that have one value";
    return error;
  }
  for (const auto& [input, value] : text->fixed) {
    SDX_ASSIGN(model, with_value(*model, input, value));
  }
  const std::string symbol = text->symbol.empty() ? std::string(kOpened) : text->symbol;
  if (text->windows.rows > 0) {
    SDX_ASSIGN(model, windowed(*model, text->windows, symbol));
  } else if (text->symbol.empty()) {
    SDX_ASSIGN(model, opened(*model, text->windows.input, text->windows.axis));
  }
  if (options.set.contains(symbol))
    return fail("SDX-S0072", "the streamed axis \"{}\" has no size to be set", symbol);
  SDX_ASSIGN(const typed::Graph graph, type(std::move(model), options));
  return stream::Source::make(graph, symbol, settings_of(options),
                              std::make_shared<Pool>(options.threads));
}

}  // namespace sdx
