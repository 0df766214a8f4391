#include "facts.h"

#include <algorithm>
#include <array>

#include "api/engine.h"
#include "typed/eval.h"

namespace sdx::cli {
namespace {

using typed::Outlet;

// Sizes are read from elements of an input: a shape, axes, counts, positions.
constexpr std::array<std::string_view, 35> kShapeInputs = {"AffineGrid",
                                                           "BlackmanWindow",
                                                           "CenterCropPad",
                                                           "Col2Im",
                                                           "ConstantOfShape",
                                                           "DFT",
                                                           "Expand",
                                                           "HammingWindow",
                                                           "HannWindow",
                                                           "MaxUnpool",
                                                           "MelWeightMatrix",
                                                           "OneHot",
                                                           "Pad",
                                                           "Range",
                                                           "ReduceL1",
                                                           "ReduceL2",
                                                           "ReduceLogSum",
                                                           "ReduceLogSumExp",
                                                           "ReduceMax",
                                                           "ReduceMean",
                                                           "ReduceMin",
                                                           "ReduceProd",
                                                           "ReduceSum",
                                                           "ReduceSumSquare",
                                                           "Reshape",
                                                           "Resize",
                                                           "STFT",
                                                           "Slice",
                                                           "Split",
                                                           "SplitToSequence",
                                                           "Squeeze",
                                                           "Tile",
                                                           "TopK",
                                                           "Unsqueeze",
                                                           "Upsample"};
// Sizes are found by looking at the data themselves, or carried in values that are not tensors.
constexpr std::array<std::string_view, 18> kDataDependent = {
    "Compress",
    "ConcatFromSequence",
    "If",
    "ImageDecoder",
    "Loop",
    "NonMaxSuppression",
    "NonZero",
    "Optional",
    "OptionalGetElement",
    "Scan",
    "SequenceAt",
    "SequenceConstruct",
    "SequenceErase",
    "SequenceInsert",
    "SequenceMap",
    "StringNormalizer",
    "StringSplit",
    "Unique",
};

template <size_t N>
bool among(const std::array<std::string_view, N>& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

bool exact(const Fact& fact) { return !fact.present() || fact.is_concrete(); }
bool exact(const Facts& facts) {
  return std::all_of(facts.begin(), facts.end(), [](const Fact& fact) { return exact(fact); });
}

Status judge(const Fact& fact, const Value& value, bool must_be_exact, std::string_view how) {
  if (!admits(fact, value)) {
    return fail("SDX-C0018", "inferred {}{}, the run gives {}", fact.text(), how,
                fact_of(value).text());
  }
  if (must_be_exact && value.is_tensor() && !exact(fact))
    return fail("SDX-C0019", "inferred only {}{}, the run gives {}", fact.text(), how,
                fact_of(value).text());
  return ok();
}

// The operator typed again, its inputs' elements known.
Status holds_for_constants(const typed::Node& node, const Facts& in,
                           const std::vector<Value>& inputs, const std::vector<Value>& outputs) {
  Facts constants;
  for (size_t i = 0; i < in.size(); ++i)
    constants.push_back(inputs[i].is_tensor() ? Fact::constant(inputs[i].tensor()) : in[i]);
  SDX_ASSIGN(const auto attributes, node.op().read(node.use, constants));
  SDX_ASSIGN(const Facts out, node.op().infer(attributes.get(), constants));
  const bool known = exact(constants) && !among(kDataDependent, node.op().name);
  for (size_t i = 0; i < outputs.size() && i < out.size(); ++i) {
    if (node.outputs[i].present())
      SDX_TRY(judge(out[i], outputs[i], known, " from constant inputs"));
  }
  return ok();
}

Status holds(const typed::Graph& graph, const Named& inputs, bool shapes_known) {
  std::vector<std::vector<Value>> values(graph.size());
  for (uint32_t id = 0; id < graph.size(); ++id) {
    const typed::Node& node = graph.node(id);
    if (node.kind == typed::Node::Kind::constant) {
      values[id] = {Value(*node.outputs[0].value)};
      continue;
    }
    if (node.kind == typed::Node::Kind::source) {
      SDX_ASSIGN(const Value value, input_named(inputs, node.use.name));
      values[id] = {value};
      continue;
    }
    Facts in;
    std::vector<Value> arguments;
    for (const Outlet outlet : node.inputs) {
      in.push_back(graph.fact(outlet));
      arguments.push_back(outlet.present() ? values[outlet.node][outlet.slot] : Value());
    }
    SDX_ASSIGN(values[id], typed::eval(node.use, arguments, {.reference = false}));
    const std::string_view name = node.op().name;
    const bool must =
        shapes_known && exact(in) && !among(kShapeInputs, name) && !among(kDataDependent, name);
    const auto judged = [&]() -> Status {
      for (size_t slot = 0; slot < node.outputs.size(); ++slot) {
        if (node.outputs[slot].present())
          SDX_TRY(judge(node.outputs[slot], values[id][slot], must, ""));
      }
      return shapes_known ? holds_for_constants(node, in, arguments, values[id]) : ok();
    };
    if (Status status = judged(); !status)
      return std::move(status).error().in(fmt::format("node \"{}\" ({})", node.use.name, name));
  }
  return ok();
}

}  // namespace

std::shared_ptr<const model::Model> with_shapes_of(const std::shared_ptr<const model::Model>& model,
                                                   const Named& inputs, bool all) {
  std::shared_ptr<model::Model> changed;
  for (size_t i = 0; i < model->graph->input.size(); ++i) {
    const model::ValueInfo& declared = model->graph->input[i];
    const auto at = inputs.find(declared.name);
    if (at == inputs.end() || !at->second.is_tensor() || !declared.type) continue;
    if (declared.type->tensor() == nullptr) continue;
    const Fact fact = check::declared_fact(declared);
    if (!all && (!fact.has_rank() || admits(fact, at->second))) continue;
    if (!changed) changed = std::make_shared<model::Model>(*model);
    model::Shape shape;
    for (const int64_t size : at->second.tensor().dims()) {
      shape.dim.emplace_back();
      shape.dim.back().value = size;
    }
    std::get<model::TensorType>(changed->graph->input[i].type->value).shape = std::move(shape);
  }
  return changed ? changed : model;
}

Result<Value> input_named(const Named& inputs, const std::string& name) {
  const auto at = inputs.find(name);
  if (at == inputs.end()) return fail("SDX-C0011", "no file for input \"{}\"", name);
  return at->second;
}

Status facts_hold(const std::shared_ptr<const model::Model>& model, const Named& inputs) {
  for (const bool shapes_known : {false, true}) {
    const auto typed_as = with_shapes_of(model, inputs, shapes_known);
    SDX_ASSIGN(const typed::Graph graph, type(typed_as));
    SDX_TRY(holds(graph, inputs, shapes_known));
  }
  return ok();
}

}  // namespace sdx::cli
