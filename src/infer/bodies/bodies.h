// Bodies of operators that ONNX defines as functions, in its text syntax. They keep to operators
// whose meaning, for what is used of them, is the same in every version from 18 on, and to any
// element type; where it is the same in an earlier version too, they are used there.
#pragma once

#include <functional>
#include <optional>

#include "fact/fact.h"
#include "model/model.h"

namespace sdx::infer {

// One use of an operator.
struct OperatorUse {
  const model::Node& node;
  int64_t opset;
  // What is known of a value of the model: nothing if it has no name there.
  std::function<const Fact*(const std::string&)> fact;

  bool has(size_t input) const { return input < node.input.size() && !node.input[input].empty(); }
  bool wants(size_t output) const {
    return output < node.output.size() && !node.output[output].empty();
  }
  DType type(size_t input) const;  // undefined if it is not known
  std::optional<size_t> rank(size_t input) const;
  std::optional<int64_t> size(size_t input, size_t axis) const;
  bool has(std::string_view attribute) const { return node.find(attribute) != nullptr; }
  int64_t integer(std::string_view attribute, int64_t fallback) const;
  float number(std::string_view attribute, float fallback) const;
  std::string text(std::string_view attribute, std::string_view fallback) const;
};

// A body that depends on the use, written line by line.
class BodyText {
 public:
  // Names of the function's inputs and outputs: "X, Scale, B".
  BodyText(const OperatorUse& use, std::string_view inputs, std::string_view outputs);

  // "y = Add (a, b)"
  void line(std::string_view text);
  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    line(std::string_view(fmt::format(format, std::forward<Args>(args)...)));
  }
  // A number of the element type of value `like`.
  void number(std::string_view name, double value, std::string_view like);
  void list(std::string_view name, std::span<const int64_t> values);
  void list(std::string_view name, std::initializer_list<int64_t> values) {
    list(name, std::span(values.begin(), values.size()));
  }
  // A reduction that keeps its axes, as the version at hand writes it.
  void reduce(std::string_view name, std::string_view operation, std::string_view data,
              std::span<const int64_t> axes);
  std::optional<model::Function> function() const;

 private:
  int64_t opset_;
  std::string text_;
};

// Functions one after the other, each the same for all uses.
extern const std::string_view kActivationBodies, kReductionBodies;

// Nothing where the use is not one that can be written without knowing more of it.
using MakeBody = std::optional<model::Function> (*)(const OperatorUse&);
std::optional<model::Function> affine_grid_body(const OperatorUse&);
std::optional<model::Function> attention_body(const OperatorUse&);
std::optional<model::Function> bernoulli_body(const OperatorUse&);
std::optional<model::Function> cast_like_body(const OperatorUse&);
std::optional<model::Function> causal_conv_body(const OperatorUse&);
std::optional<model::Function> center_crop_pad_body(const OperatorUse&);
std::optional<model::Function> clip_body(const OperatorUse&);
std::optional<model::Function> gelu_body(const OperatorUse&);
std::optional<model::Function> group_normalization_body(const OperatorUse&);
std::optional<model::Function> layer_normalization_body(const OperatorUse&);
std::optional<model::Function> linear_attention_body(const OperatorUse&);
std::optional<model::Function> mean_variance_normalization_body(const OperatorUse&);
std::optional<model::Function> negative_log_likelihood_body(const OperatorUse&);
std::optional<model::Function> range_body(const OperatorUse&);
std::optional<model::Function> rms_normalization_body(const OperatorUse&);
std::optional<model::Function> rotary_embedding_body(const OperatorUse&);
std::optional<model::Function> sequence_map_body(const OperatorUse&);
std::optional<model::Function> softmax_body(const OperatorUse&);
std::optional<model::Function> window_body(const OperatorUse&);

}  // namespace sdx::infer
