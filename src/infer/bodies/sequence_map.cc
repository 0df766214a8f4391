// The body of SequenceMap: a Loop over the elements.
#include <fmt/ranges.h>

#include <algorithm>

#include "infer/bodies/bodies.h"

namespace sdx::infer {

std::optional<model::Function> sequence_map_body(const OperatorUse& use) {
  const model::Attribute* map = use.node.find("body");
  if (map == nullptr || !map->g) return std::nullopt;
  const model::Graph& each = *map->g;
  const size_t inputs = use.node.input.size(), outputs = use.node.output.size();
  if (each.input.size() != inputs || each.output.size() != outputs) return std::nullopt;

  std::vector<std::string> given, made, states, next;
  std::string elements, results, starts;
  for (size_t i = 0; i < inputs; ++i) {
    const Fact* fact = use.fact(use.node.input[i]);
    if (fact == nullptr || !fact->present()) return std::nullopt;
    given.push_back(fmt::format("map_in{}", i));
    const bool sequence = fact->kind == Fact::Kind::sequence;
    elements += fmt::format("    map_x{} = {} (map_in{}{})\n", i,
                            sequence ? "SequenceAt" : "Identity", i, sequence ? ", map_i" : "");
  }
  for (size_t i = 0; i < outputs; ++i) {
    const Fact* fact = use.fact(use.node.output[i]);
    if (fact == nullptr || fact->kind != Fact::Kind::sequence || !fact->element->is_tensor() ||
        fact->element->type == DType::undefined)
      return std::nullopt;
    made.push_back(fmt::format("map_out{}", i));
    states.push_back(fmt::format("map_s{}", i));
    next.push_back(fmt::format("map_t{}", i));
    starts += fmt::format(", map_start{}", i);
    results += fmt::format("    map_t{} = SequenceInsert (map_s{}, map_y{})\n", i, i, i);
  }
  BodyText body(use, fmt::format("{}", fmt::join(given, ", ")),
                fmt::format("{}", fmt::join(made, ", ")));
  body.line("map_n = SequenceLength (map_in0)");
  body.line("map_yes = Constant <value = bool {1}> ()");
  for (size_t i = 0; i < outputs; ++i) {
    body.line("map_start{} = SequenceEmpty <dtype = {}> ()", i,
              int(use.fact(use.node.output[i])->element->type));
  }
  body.line(
      "{} = Loop <body: graph = step (map_i, map_c, {}) => (map_more, {}) {{\n{}    map_more "
      "= Identity (map_c)\n{}  }}> (map_n, map_yes{})",
      fmt::join(made, ", "), fmt::join(states, ", "), fmt::join(next, ", "), elements, results,
      starts);
  std::optional<model::Function> function = body.function();
  if (!function) return std::nullopt;

  // What is done to each element, between taking it and keeping the result.
  model::Graph& step = *function->node.back().attribute[0].g;
  for (size_t i = 0; i < inputs; ++i) step.node[i].output[0] = each.input[i].name;
  for (size_t i = 0; i < outputs; ++i) step.node[inputs + 1 + i].input[1] = each.output[i].name;
  step.node.insert(step.node.begin() + std::ptrdiff_t(inputs), each.node.begin(), each.node.end());
  step.initializer = each.initializer;
  step.sparse_initializer = each.sparse_initializer;
  return function;
}

}  // namespace sdx::infer
