// The restrictions of the SONNX working group's later drafts on single operators.
#include <algorithm>

#include "base/elem.h"
#include "check/checker.h"
#include "model/tensor.h"

namespace sdx::check {
namespace {

int64_t int_or(const model::Node& node, std::string_view name, int64_t fallback) {
  const model::Attribute* a = node.find(name);
  return a == nullptr ? fallback : a->i;
}
float float_or(const model::Node& node, std::string_view name, float fallback) {
  const model::Attribute* a = node.find(name);
  return a == nullptr ? fallback : a->f;
}
std::string_view string_or(const model::Node& node, std::string_view name,
                           std::string_view fallback) {
  const model::Attribute* a = node.find(name);
  return a == nullptr ? fallback : std::string_view(a->s);
}
std::string_view input(const model::Node& node, size_t i) {
  return i < node.input.size() ? std::string_view(node.input[i]) : std::string_view();
}

// The tensor behind a name: an initializer, or the value of a Constant node.
const model::TensorData* constant(std::string_view name, const Scope& scope) {
  const Scope* where = nullptr;
  const Definition* definition = name.empty() ? nullptr : scope.find(name, &where);
  if (definition == nullptr) return nullptr;
  if (definition->tensor != nullptr) return definition->tensor;
  if (definition->kind != Definition::Kind::node) return nullptr;
  const model::Node& producer = (*where->nodes)[definition->node];
  const model::Attribute* value = producer.find("value");
  return producer.op_type == "Constant" && value != nullptr ? value->t.get() : nullptr;
}

// Rank, if it is known.
std::optional<size_t> rank(std::string_view name, const Scope& scope) {
  if (const model::TensorData* tensor = constant(name, scope)) return tensor->dims.size();
  const Fact fact = scope.fact(name);
  return fact.is_tensor() && fact.has_rank() ? std::optional(fact.rank()) : std::nullopt;
}

// What is wrong with one node, as texts.
using Wrong = std::vector<std::string>;

void conv(const model::Node& node, const Scope& scope, Wrong& wrong, Wrong& notes) {
  const auto of_x = rank(input(node, 0), scope), of_w = rank(input(node, 1), scope);
  const size_t found = of_x.value_or(of_w.value_or(4));
  if (found != 4) wrong.push_back(fmt::format("{} spatial axes; expected 2", found - 2));
  if (const auto pad = string_or(node, "auto_pad", "NOTSET"); pad != "NOTSET") {
    wrong.push_back(fmt::format("auto_pad is {}; expected NOTSET", pad));
  }
  const int64_t group = int_or(node, "group", 1);
  if (group == 1) return;
  const model::TensorData* w = constant(input(node, 1), scope);
  const Fact x = scope.fact(input(node, 0));
  const bool one_each = w != nullptr && w->dims.size() > 1 && w->dims[1] == 1;
  const bool all = !x.is_tensor() || !x.has_rank() || x.rank() < 2 || !x.dim(1).is_const() ||
                   x.dim(1).is_const(group);
  if (one_each && all) {
    notes.push_back(fmt::format("the convolution is depthwise, with group {}", group));
  } else {
    wrong.push_back(fmt::format("group is {}; expected 1", group));
  }
}

void max_pool(const model::Node& node, const Signature& signature, Wrong& wrong) {
  const model::Attribute* kernel = node.find("kernel_shape");
  if (kernel != nullptr && kernel->ints.size() != 2) {
    wrong.push_back(fmt::format("{} spatial axes; expected 2", kernel->ints.size()));
  }
  for (const AttrDecl& declared : signature.attributes) {
    if (node.find(declared.name) == nullptr) wrong.push_back(declared.name + " is not given");
  }
  if (const auto pad = string_or(node, "auto_pad", "NOTSET"); pad != "NOTSET") {
    wrong.push_back(fmt::format("auto_pad is {}; expected NOTSET", pad));
  }
  for (const std::string_view name : {"ceil_mode", "storage_order"}) {
    if (int_or(node, name, 0) != 0) wrong.push_back(fmt::format("{} is not 0", name));
  }
  const model::Attribute *pads = node.find("pads"), *dilations = node.find("dilations");
  if (kernel == nullptr || pads == nullptr || pads->ints.size() != 2 * kernel->ints.size()) return;
  const size_t axes = kernel->ints.size();
  for (size_t i = 0; i < pads->ints.size(); ++i) {
    const size_t axis = i % axes;
    const bool dilated = dilations != nullptr && dilations->ints.size() == axes;
    const int64_t step = dilated ? dilations->ints[axis] : 1;
    if (step < 1 || pads->ints[i] < 1) continue;
    // pad >= (kernel - 1) * step + 1, without overflow.
    if ((pads->ints[i] - 1) / step + 1 >= kernel->ints[axis]) {
      wrong.push_back(fmt::format("padding {} on axis {} makes windows that miss the input",
                                  pads->ints[i], axis));
    }
  }
}

void gemm(const model::Node& node, const Scope& scope, Wrong& wrong) {
  for (const std::string_view name : {"alpha", "beta"}) {
    if (const float value = float_or(node, name, 1); value != 1) {
      wrong.push_back(fmt::format("{} is {}; expected 1", name, value));
    }
  }
  for (const std::string_view name : {"transA", "transB"}) {
    if (int_or(node, name, 0) != 0) wrong.push_back(fmt::format("{} is not 0", name));
  }
  const std::string_view c = input(node, 2);
  if (c.empty()) {
    wrong.emplace_back("C is not given");
    return;
  }
  if (const auto found = rank(c, scope); found && *found != 2) {
    wrong.push_back(fmt::format("C has rank {} and is broadcast; expected rank 2", *found));
    return;
  }
  const Fact a = scope.fact(input(node, 0)), b = scope.fact(input(node, 1)), bias = scope.fact(c);
  const Fact* sources[] = {&a, &b};
  for (size_t axis = 0; axis < 2; ++axis) {
    const Fact& source = *sources[axis];
    const bool known = bias.has_rank() && bias.rank() == 2 && source.has_rank() &&
                       source.rank() == 2 && int_or(node, axis == 0 ? "transA" : "transB", 0) == 0;
    if (known && !(bias.dim(axis) == source.dim(axis))) {
      wrong.push_back(fmt::format("dimension {} of C is {} and is broadcast to {}", axis,
                                  bias.dim(axis).text(), source.dim(axis).text()));
    }
  }
}

void arg_max(const model::Node& node, const Scope& scope, Wrong& wrong) {
  for (const std::string_view name : {"axis", "keepdims", "select_last_index"}) {
    if (node.find(name) == nullptr) wrong.push_back(fmt::format("{} is not given", name));
  }
  const int64_t axis = int_or(node, "axis", 0);
  if (axis < 0) wrong.push_back(fmt::format("axis is {}; expected 0 or more", axis));
  const Fact data = scope.fact(input(node, 0));
  if (axis >= 0 && data.is_tensor() && data.has_rank() && static_cast<size_t>(axis) < data.rank() &&
      data.dim(static_cast<size_t>(axis)).is_const(0)) {
    wrong.push_back(fmt::format("dimension {}, which is reduced, is 0", axis));
  }
}

void lstm(const model::Node& node, const Signature& signature, const Scope& scope, Wrong& wrong) {
  constexpr std::string_view kActivations[] = {
      "Relu",       "Tanh",        "Sigmoid", "Affine",   "LeakyRelu", "ThresholdedRelu",
      "ScaledTanh", "HardSigmoid", "Elu",     "Softsign", "Softplus"};
  for (size_t i = 0; i < signature.inputs.size(); ++i) {
    const std::string& formal = signature.inputs[i].name;
    const std::string_view name = input(node, i);
    const bool weight = formal == "W" || formal == "R" || formal == "B" || formal == "P";
    if (name.empty()) {
      wrong.push_back(formal + " is not given");
    } else if (weight && constant(name, scope) == nullptr) {
      wrong.push_back(formal + " is not constant");
    }
  }
  const model::Attribute* activations = node.find("activations");
  if (activations == nullptr) return;
  for (const std::string& name : activations->strings) {
    if (std::find(std::begin(kActivations), std::end(kActivations), name) ==
        std::end(kActivations)) {
      wrong.push_back(fmt::format("activation {} is not of the operator's list", in_quotes(name)));
    }
  }
}

void quantize(const model::Node& node, const Scope& scope, Wrong& wrong) {
  const auto type_is = [&](size_t i, DType expected, std::string_view what) {
    const Fact fact = scope.fact(input(node, i));
    if (fact.is_tensor() && fact.type != DType::undefined && fact.type != expected) {
      wrong.push_back(
          fmt::format("{} is {}; expected {}", what, onnx_name(fact.type), onnx_name(expected)));
    }
  };
  type_is(0, DType::f32, "x");
  type_is(2, DType::u8, "y_zero_point");
  if (const int64_t to = int_or(node, "output_dtype", 0);
      to != 0 && to != static_cast<int64_t>(DType::u8)) {
    wrong.emplace_back("output_dtype is not uint8");
  }
  if (const auto found = rank(input(node, 1), scope); found && *found != 0) {
    wrong.push_back(fmt::format("y_scale has rank {}; expected a scalar", *found));
  }
}

void range(const model::Node& node, const Scope& scope, Wrong& wrong) {
  const model::TensorData* delta = constant(input(node, 2), scope);
  if (delta == nullptr) return;
  const auto value = model::to_tensor(*delta);
  if (value && value->count() == 1 && !is_complex(value->type()) &&
      value->type() != DType::string && get_f64(value->type(), value->raw(), 0) == 0) {
    wrong.emplace_back("delta is 0");
  }
}

}  // namespace

void Checker::sonnx_operator(const model::Node& node, const Signature& signature,
                             const Scope& scope, const Place& place) {
  if (!canonical(node.domain).empty()) return;
  Wrong wrong, notes;
  const Rule* rule = nullptr;
  const std::string& op = node.op_type;
  if (op == "Conv") {
    rule = &rule::sonnx_conv;
    conv(node, scope, wrong, notes);
  } else if (op == "MaxPool") {
    rule = &rule::sonnx_pool;
    max_pool(node, signature, wrong);
  } else if (op == "Gemm") {
    rule = &rule::sonnx_gemm;
    gemm(node, scope, wrong);
  } else if (op == "ArgMax") {
    rule = &rule::sonnx_arg;
    arg_max(node, scope, wrong);
  } else if (op == "BatchNormalization") {
    rule = &rule::sonnx_bn;
    if (int_or(node, "training_mode", 0) != 0) wrong.emplace_back("training_mode is not 0");
    if (const float epsilon = float_or(node, "epsilon", 1e-5F); !(epsilon > 0)) {
      wrong.push_back(fmt::format("epsilon is {}; expected more than 0", epsilon));
    }
  } else if (op == "Constant") {
    rule = &rule::sonnx_const;
    for (const model::Attribute& a : node.attribute) {
      if (a.name != "value") wrong.push_back(fmt::format("{} is given; expected value", a.name));
    }
  } else if (op == "LSTM") {
    rule = &rule::sonnx_lstm;
    lstm(node, signature, scope, wrong);
  } else if (op == "QuantizeLinear") {
    rule = &rule::sonnx_ql;
    quantize(node, scope, wrong);
  } else if (op == "Range") {
    rule = &rule::sonnx_range;
    range(node, scope, wrong);
  }
  for (const std::string& text : wrong) report(*rule, place, "{}: {}", op, text);
  for (const std::string& text : notes) add(*rule, Severity::note, place, text);
}

}  // namespace sdx::check
