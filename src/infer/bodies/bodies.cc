#include "infer/bodies/bodies.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "check/versions.h"
#include "infer/inline.h"
#include "model/fields.h"
#include "model/text.h"

namespace sdx::infer {

DType OperatorUse::type(size_t input) const {
  const Fact* known = has(input) ? fact(node.input[input]) : nullptr;
  return known != nullptr && known->is_tensor() ? known->type : DType::undefined;
}

std::optional<size_t> OperatorUse::rank(size_t input) const {
  const Fact* known = has(input) ? fact(node.input[input]) : nullptr;
  return known != nullptr && known->shape ? std::optional(known->rank()) : std::nullopt;
}

std::optional<int64_t> OperatorUse::size(size_t input, size_t axis) const {
  const auto known = rank(input);
  if (!known || *known <= axis) return std::nullopt;
  const Dim& dim = fact(node.input[input])->dim(axis);
  return dim.is_const() ? std::optional(dim.value()) : std::nullopt;
}

int64_t OperatorUse::integer(std::string_view attribute, int64_t fallback) const {
  const model::Attribute* given = node.find(attribute);
  return given != nullptr ? given->i : fallback;
}

float OperatorUse::number(std::string_view attribute, float fallback) const {
  const model::Attribute* given = node.find(attribute);
  return given != nullptr ? given->f : fallback;
}

std::string OperatorUse::text(std::string_view attribute, std::string_view fallback) const {
  const model::Attribute* given = node.find(attribute);
  return given != nullptr ? given->s : std::string(fallback);
}

BodyText::BodyText(const OperatorUse& use, std::string_view inputs, std::string_view outputs)
    : opset_(use.opset),
      text_(fmt::format("<domain: \"\", opset_import: [\"\" : {}]>\n{} ({}) => ({}) {{\n",
                        use.opset, use.node.op_type, inputs, outputs)) {}

void BodyText::line(std::string_view text) { text_ += fmt::format("  {}\n", text); }

void BodyText::number(std::string_view name, double value, std::string_view like) {
  line("{}_in_double = Constant <value = double {{{:.17g}}}> ()", name, value);
  line("{} = CastLike ({}_in_double, {})", name, name, like);
}

void BodyText::list(std::string_view name, std::span<const int64_t> values) {
  line("{} = Constant <value_ints: ints = [{}]> ()", name, fmt::join(values, ", "));
}

void BodyText::reduce(std::string_view name, std::string_view operation, std::string_view data,
                      std::span<const int64_t> axes) {
  const std::string list_of_axes = fmt::format("{}", fmt::join(axes, ", "));
  if (opset_ < 18 && operation != "ReduceSum") {
    line("{} = {} <axes = [{}]> ({})", name, operation, list_of_axes, data);
  } else {
    list(fmt::format("{}_axes", name), axes);
    line("{} = {} ({}, {}_axes)", name, operation, data, name);
  }
}

std::optional<model::Function> BodyText::function() const {
  Result<std::vector<model::Function>> made = model::parse_functions(text_ + "}\n");
  return made ? std::optional(std::move((*made)[0])) : std::nullopt;
}

namespace {

using Bodies = std::map<std::string, model::Function, std::less<>>;

const Bodies& bodies() {
  static const auto* const kByName = [] {
    auto* made = new Bodies;
    for (const std::string_view text : {kActivationBodies, kReductionBodies}) {
      if (auto functions = model::parse_functions(text)) {  // tested to parse
        for (model::Function& f : *functions) made->emplace(f.name, std::move(f));
      }
    }
    return made;
  }();
  return *kByName;
}

model::Node cast(std::string from, std::string to, DType type) {
  model::Node node;
  set(node, &model::Node::op_type, std::string("Cast"));
  node.input = {std::move(from)};
  node.output = {std::move(to)};
  model::Attribute& attribute = node.attribute.emplace_back();
  set(attribute, &model::Attribute::name, std::string("to"));
  set(attribute, &model::Attribute::type, model::AttributeType::i);
  set(attribute, &model::Attribute::i, int64_t(type));
  return node;
}

// Narrow floating types are computed in float and rounded once, as most operators do themselves.
model::Function in_float(model::Function body, const OperatorUse& use) {
  const auto narrow = [](DType type) { return type == DType::f16 || type == DType::bf16; };
  const auto wide = [](const std::string& name) { return name + "_in_float"; };
  const DType type = use.type(0);
  if (!narrow(type)) return body;
  std::set<std::string> widened;
  std::vector<model::Node> nodes;
  for (size_t i = 0; i < body.input.size(); ++i) {
    if (!narrow(use.type(i))) continue;
    widened.insert(body.input[i]);
    nodes.push_back(cast(body.input[i], wide(body.input[i]), DType::f32));
  }
  std::vector<model::Node> narrowed;
  for (size_t i = 0; i < body.output.size(); ++i) {
    const Fact* fact = use.wants(i) ? use.fact(use.node.output[i]) : nullptr;
    if (fact == nullptr || !fact->is_tensor() || !narrow(fact->type)) continue;
    widened.insert(body.output[i]);
    narrowed.push_back(cast(wide(body.output[i]), body.output[i], fact->type));
  }
  for (model::Node& node : body.node) {
    for (auto* names : {&node.input, &node.output}) {
      for (std::string& name : *names) {
        if (widened.contains(name)) name = wide(name);
      }
    }
    nodes.push_back(std::move(node));
  }
  nodes.insert(nodes.end(), narrowed.begin(), narrowed.end());
  body.node = std::move(nodes);
  return body;
}

constexpr std::pair<std::string_view, MakeBody> kMakers[] = {
    {"AffineGrid", affine_grid_body},
    {"Attention", attention_body},
    {"Bernoulli", bernoulli_body},
    {"BlackmanWindow", window_body},
    {"CastLike", cast_like_body},
    {"CausalConvWithState", causal_conv_body},
    {"CenterCropPad", center_crop_pad_body},
    {"Clip", clip_body},
    {"Gelu", gelu_body},
    {"GroupNormalization", group_normalization_body},
    {"HammingWindow", window_body},
    {"HannWindow", window_body},
    {"LayerNormalization", layer_normalization_body},
    {"LinearAttention", linear_attention_body},
    {"LogSoftmax", softmax_body},
    {"MeanVarianceNormalization", mean_variance_normalization_body},
    {"NegativeLogLikelihoodLoss", negative_log_likelihood_body},
    {"RMSNormalization", rms_normalization_body},
    {"Range", range_body},
    {"RotaryEmbedding", rotary_embedding_body},
    {"SequenceMap", sequence_map_body},
    {"Softmax", softmax_body},
};

std::optional<model::Function> body_of(const OperatorUse& use) {
  const model::Node& node = use.node;
  for (const auto& [name, make] : kMakers) {
    if (node.op_type == name) return make(use);
  }
  const auto at = bodies().find(node.op_type);
  if (at == bodies().end()) return std::nullopt;
  for (const model::Attribute& given : node.attribute) {
    bool taken = false;
    for (const model::Attribute& known : at->second.attribute_proto)
      taken = taken || known.name == given.name;
    for (const std::string& known : at->second.attribute) taken = taken || known == given.name;
    if (!taken) return std::nullopt;
  }
  return in_float(at->second, use);
}

// CastLike to an input whose type is known says less than Cast, and came later.
void cast_to_known_types(model::Function& body, const OperatorUse& use) {
  for (model::Node& node : body.node) {
    if (node.op_type != "CastLike") continue;
    const auto at = std::find(body.input.begin(), body.input.end(), node.input[1]);
    if (at == body.input.end()) continue;
    const DType type = use.type(size_t(at - body.input.begin()));
    if (type != DType::undefined) node = cast(node.input[0], node.output[0], type);
  }
}

// Whether the body, which is written for version 18, means the same in an earlier one. Reductions
// got their axes as an input in that version; one without that input is the same or made for here.
bool fits(const model::Function& body, int64_t opset) {
  return std::all_of(body.node.begin(), body.node.end(), [&](const model::Node& node) {
    const bool reduces = node.op_type.starts_with("Reduce") && node.input.size() == 1;
    return reduces || check::same_meaning(node, opset, 18);
  });
}

}  // namespace

std::optional<model::Function> operator_body(const OperatorUse& use) {
  if (use.opset < 13 || !(use.node.domain.empty() || use.node.domain == "ai.onnx"))
    return std::nullopt;
  std::optional<model::Function> body = body_of(use);
  if (!body) return body;
  cast_to_known_types(*body, use);
  if (use.opset < 18 && !fits(*body, use.opset)) return std::nullopt;
  return body;
}

std::vector<std::string> operators_with_bodies() {
  std::vector<std::string> names;
  for (const auto& [name, make] : kMakers) names.emplace_back(name);
  for (const auto& [name, function] : bodies()) names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace sdx::infer
