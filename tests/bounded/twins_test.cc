// An answer does not depend on how much a model says of its shapes: each operator's cases with
// every size of every input symbolic in turn, and with its shape left out, run as the case with all
// shapes does.
#include <gtest/gtest.h>

#include "../fuzz/case_model.h"
#include "api/engine.h"
#include "cases/cases.h"
#include "model/fields.h"
#include "ops/list.h"

namespace sdx {
namespace {

model::TensorType* tensor_type(model::Model& model, size_t input) {
  return std::get_if<model::TensorType>(&model.graph->input[input].type->value);
}

// What a run gives: its outputs, or that it was refused.
struct Answer {
  std::vector<Value> outputs;
  std::string error;

  bool operator==(const Answer& other) const {
    return error.empty() == other.error.empty() &&
           std::equal(outputs.begin(), outputs.end(), other.outputs.begin(), other.outputs.end(),
                      [](const Value& a, const Value& b) { return equal(a, b); });
  }
};

Answer answer_of(const model::Model& model, const std::vector<Value>& inputs) {
  CompileOptions options;
  options.threads = 1;
  const auto compiled = compile(std::make_shared<const model::Model>(model), options);
  if (!compiled) return {{}, compiled.error().text()};
  const auto outputs = run::Session(*compiled).run(inputs);
  if (!outputs) return {{}, outputs.error().text()};
  return {*outputs, ""};
}

TEST(Twins, run_alike_whatever_is_known_of_their_shapes) {
  size_t twins = 0;
  for (const Op* op : all_ops()) {
    if (!op->deterministic || op->domain == "sardonyx") continue;
    for (const Case& test : cases_of(*op)) {
      const auto model = fuzz::model_of(*op, test, false);
      if (!model) continue;
      std::vector<Value> inputs;
      size_t elements = 0;
      for (const Value& value : test.inputs) {
        if (value.is_none()) continue;
        inputs.push_back(value);
        elements += value.is_tensor() ? value.tensor().count() : 0;
      }
      if (elements > 100000) continue;  // the smaller ones say the same
      const Answer expected = answer_of(*model, inputs);
      const auto alike = [&](const model::Model& twin, const std::string& how) {
        ++twins;
        const Answer found = answer_of(twin, inputs);
        EXPECT_TRUE(found == expected)
            << op->domain << "." << op->name << ", " << test.name << ", " << how << ": "
            << (found.error.empty() ? "gives another answer" : found.error)
            << (expected.error.empty() ? "" : " where the other is refused: " + expected.error);
      };
      for (size_t i = 0; i < model->graph->input.size(); ++i) {
        model::Model bare = *model;
        model::TensorType* type = tensor_type(bare, i);
        if (type == nullptr) continue;
        for (size_t axis = 0; axis < type->shape->dim.size(); ++axis) {
          model::Model twin = *model;
          tensor_type(twin, i)->shape->dim[axis].value = std::string("S");
          alike(twin, fmt::format("size {} of input {} symbolic", axis, i));
        }
        type->shape.reset();
        alike(bare, fmt::format("input {} without a shape", i));
      }
    }
  }
  EXPECT_GT(twins, 3000U);
}

}  // namespace
}  // namespace sdx
