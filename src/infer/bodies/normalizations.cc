// Bodies of normalisations and losses.
#include "infer/bodies/bodies.h"

namespace sdx::infer {
namespace {

// The axes from `axis` on, counted from the end.
std::optional<std::vector<int64_t>> last_axes(const OperatorUse& use) {
  int64_t axis = use.integer("axis", -1);
  if (axis >= 0) {
    const auto rank = use.rank(0);
    if (!rank || axis > int64_t(*rank)) return std::nullopt;
    axis -= int64_t(*rank);
  }
  std::vector<int64_t> axes;
  for (; axis < 0; ++axis) axes.push_back(axis);
  return axes.empty() || axes.size() > 64 ? std::nullopt : std::optional(axes);
}

// deviation = sqrt(mean of the squares + epsilon)
void deviation(BodyText& body, const OperatorUse& use, std::string_view from,
               std::span<const int64_t> axes) {
  body.line("squares = Mul ({}, {})", from, from);
  body.reduce("mean_square", "ReduceMean", "squares", axes);
  body.number("epsilon", use.number("epsilon", 1e-5f), from);
  body.line("raised = Add (mean_square, epsilon)");
  body.line("deviation = Sqrt (raised)");
}

}  // namespace

std::optional<model::Function> layer_normalization_body(const OperatorUse& use) {
  const auto axes = last_axes(use);
  if (!axes) return std::nullopt;
  BodyText body(use, "X, Scale, B", "Y, Mean, InvStdDev");
  body.line("x = Cast <to = {}> (X)", use.integer("stash_type", 1));
  body.reduce("Mean", "ReduceMean", "x", *axes);
  body.line("centred = Sub (x, Mean)");
  deviation(body, use, "centred", *axes);
  body.line("InvStdDev = Reciprocal (deviation)");
  body.line("normal = Mul (centred, InvStdDev)");
  body.line("back = CastLike (normal, X)");
  body.line("{} = Mul (back, Scale)", use.has(2) ? "scaled" : "Y");
  if (use.has(2)) body.line("Y = Add (scaled, B)");
  return body.function();
}

std::optional<model::Function> rms_normalization_body(const OperatorUse& use) {
  const auto axes = last_axes(use);
  if (!axes) return std::nullopt;
  BodyText body(use, "X, scale", "Y");
  body.line("x = Cast <to = {}> (X)", use.integer("stash_type", 1));
  deviation(body, use, "x", *axes);
  body.line("normal = Div (x, deviation)");
  body.line("back = CastLike (normal, X)");
  body.line("Y = Mul (back, scale)");
  return body.function();
}

// Before version 21 there is a scale and a bias per group, since then per channel.
std::optional<model::Function> group_normalization_body(const OperatorUse& use) {
  const bool per_channel = use.opset >= 21;
  BodyText body(use, "X, scale, bias", "Y");
  const int64_t last[] = {2};
  body.list("column", {1});
  body.list("grouped", {0, use.integer("num_groups", 1), -1});
  if (per_channel) {
    body.line("x = Cast <to = {}> (X)", use.integer("stash_type", 1));
  } else {
    body.line("x = Identity (X)");
  }
  body.line("groups = Reshape (x, grouped)");
  body.reduce("mean", "ReduceMean", "groups", last);
  body.line("centred = Sub (groups, mean)");
  deviation(body, use, "centred", last);
  body.line("normal = Div (centred, deviation)");
  body.line("rounded = CastLike (normal, X)");
  body.line("shape = Shape (X)");
  if (per_channel) {
    body.list("first", {0});
    body.list("rest", {-1});
    body.line("channels = Shape <start = 1, end = 2> (X)");
    body.line("by_channel = Concat <axis = 0> (first, channels, rest)");
    body.line("rows = Reshape (rounded, by_channel)");
  } else {
    body.line("rows = Identity (rounded)");
  }
  body.line("factors = Unsqueeze (scale, column)");
  body.line("offsets = Unsqueeze (bias, column)");
  body.line("scaled = Mul (rows, factors)");
  body.line("moved = Add (scaled, offsets)");
  body.line("Y = Reshape (moved, shape)");
  return body.function();
}

std::optional<model::Function> mean_variance_normalization_body(const OperatorUse& use) {
  const model::Attribute* given = use.node.find("axes");
  const std::vector<int64_t> axes = given != nullptr ? given->ints : std::vector<int64_t>{0, 2, 3};
  BodyText body(use, "X", "Y");
  body.number("small", 1e-9, "X");
  body.reduce("mean", "ReduceMean", "X", axes);
  body.line("mean_squared = Mul (mean, mean)");
  body.line("squares = Mul (X, X)");
  body.reduce("mean_of_squares", "ReduceMean", "squares", axes);
  body.line("variance = Sub (mean_of_squares, mean_squared)");
  body.line("deviation = Sqrt (variance)");
  body.line("divisor = Add (deviation, small)");
  body.line("centred = Sub (X, mean)");
  body.line("Y = Div (centred, divisor)");
  return body.function();
}

// Softmax and LogSoftmax round each step; of bfloat16 also each addition of the sum, which no other
// operator does.
std::optional<model::Function> softmax_body(const OperatorUse& use) {
  if (use.type(0) == DType::bf16 || use.type(0) == DType::undefined) return std::nullopt;
  const int64_t axis[] = {use.integer("axis", -1)};
  BodyText body(use, "input", "output");
  body.reduce("largest", "ReduceMax", "input", axis);
  body.line("shifted = Sub (input, largest)");
  body.line("e = Exp (shifted)");
  body.reduce("sum", "ReduceSum", "e", axis);
  if (use.node.op_type == "Softmax") {
    body.line("output = Div (e, sum)");
  } else {
    body.line("log = Log (sum)");
    body.line("output = Sub (shifted, log)");
  }
  return body.function();
}

// -input[n, target[n, d...], d...], times the target's weight; nothing where the target is ignored.
std::optional<model::Function> negative_log_likelihood_body(const OperatorUse& use) {
  const std::string reduction = use.text("reduction", "mean");
  const bool ignores = use.has("ignore_index"), weighted = use.has(2) || ignores;
  BodyText body(use, "input, target, weight", "loss");
  body.list("classes", {1});
  body.number("zero", 0, "input");
  body.number("one", 1, "input");
  if (ignores) {
    body.number("ignored", double(use.integer("ignore_index", 0)), "target");
    body.number("first", 0, "target");
    body.line("is_ignored = Equal (target, ignored)");
    body.line("index = Where (is_ignored, first, target)");
  } else {
    body.line("index = Identity (target)");
  }
  body.line("at = Unsqueeze (index, classes)");
  body.line("picked = GatherElements <axis = 1> (input, at)");
  body.line("column = Squeeze (picked, classes)");
  body.line("plain = Neg (column)");
  if (weighted) {
    body.line(use.has(2) ? "of_class = Gather (weight, index)" : "of_class = Identity (one)");
    body.line(ignores ? "factor = Where (is_ignored, zero, of_class)"
                      : "factor = Identity (of_class)");
    body.line("product = Mul (plain, factor)");
    body.line(ignores ? "each = Where (is_ignored, zero, product)" : "each = Identity (product)");
  } else {
    body.line("each = Identity (plain)");
  }
  if (reduction == "none") {
    body.line("loss = Identity (each)");
  } else if (reduction == "mean" && !weighted) {
    body.line("loss = ReduceMean <keepdims = 0> (each)");
  } else {
    body.line("{} = ReduceSum <keepdims = 0> (each)", reduction == "sum" ? "loss" : "total");
    if (reduction == "mean") {
      body.line("weights = ReduceSum <keepdims = 0> (factor)");
      body.line("loss = Div (total, weights)");
    }
  }
  return body.function();
}

}  // namespace sdx::infer
