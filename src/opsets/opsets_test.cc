#include "opsets/opsets.h"

#include <gtest/gtest.h>

#include "model/text.h"
#include "ops/list.h"
#include "opsets/steps.h"

namespace sdx::opsets {
namespace {

std::string written(std::string_view text, int64_t version) {
  const auto model = model::parse_text(text);
  if (!model) return model.error().what;
  const auto made = in_opset(*model, {"", version});
  if (!made) return made.error().what;
  return model::print_text(made->model);
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}
#define EXPECT_HAS(text, part) EXPECT_TRUE(contains(text, part)) << (text)

TEST(Opsets, every_version_of_every_operator_is_explained_by_its_signature_or_has_a_step) {
  size_t versions = 0, steps = 0;
  for (const Op* op : all_ops()) {
    if (!op->domain.empty()) continue;
    const std::vector<Signature>& all = op->signatures();
    for (size_t i = 1; i < all.size(); ++i, ++versions) {
      const Step* step = find_step(op->name, all[i].since);
      steps += step != nullptr ? 1 : 0;
      for (const bool up : {true, false}) {
        if (step != nullptr && (up ? step->up : step->down) != nullptr) continue;
        for (const std::string& what : unexplained(all[up ? i - 1 : i], all[up ? i : i - 1])) {
          // A newer version's attribute is left out, or refused, on the way down.
          if (!up && what.ends_with("is gone")) continue;
          if (what == "deprecated") continue;  // refused by name
          ADD_FAILURE() << op->name << " " << all[i].since << (up ? " up: " : " down: ") << what;
        }
      }
    }
  }
  EXPECT_GT(versions, 350u);
  EXPECT_GT(steps, 50u);
}

TEST(Opsets, every_step_belongs_to_a_version_that_exists) {
  for (const auto steps : {elementwise_steps(), tensor_steps(), layer_steps()}) {
    for (const Step& step : steps) {
      const Op* op = find_op("", step.op);
      ASSERT_NE(op, nullptr) << step.op;
      const Signature* at = op->at(step.since);
      EXPECT_TRUE(at != nullptr && at->since == step.since) << step.op << " " << step.since;
    }
  }
}

TEST(Opsets, an_attribute_becomes_an_input_and_an_attribute_again) {
  const std::string old = R"(<ir_version: 8, opset_import: ["" : 11]>
g (float[2, 3] x) => (float[2] y) { y = ReduceSum <axes = [-1], keepdims = 0> (x) })";
  const std::string up = written(old, 21);
  EXPECT_HAS(up, "ReduceSum <keepdims: int = 0> (x, y_axes)");
  const std::string down = written(up, 10);
  EXPECT_HAS(down, "axes: ints = [1]");  // counted from the front
  EXPECT_FALSE(contains(down, "Constant")) << down;
}

TEST(Opsets, what_only_running_tells_cannot_become_an_attribute_and_the_node_is_named) {
  const std::string text = R"(<ir_version: 8, opset_import: ["" : 13]>
g (float[2, 3] x, int64[1] a) => (float[M] y) { [total] y = ReduceSum (x, a) })";
  const std::string why = written(text, 11);
  EXPECT_HAS(why, "node \"total\" (ReduceSum, ai.onnx 13) cannot be written in ai.onnx 11");
  EXPECT_HAS(why, "only known when it runs");
}

TEST(Opsets, a_softmax_over_an_inner_axis_is_turned_for_the_old_meaning) {
  const std::string text = R"(<ir_version: 8, opset_import: ["" : 13]>
g (float[2, 3, 4] x) => (float[2, 3, 4] y) { y = Softmax <axis = 1> (x) })";
  const std::string down = written(text, 12);
  EXPECT_HAS(down, "Transpose <perm: ints = [0, 2, 1]> (x)");
  EXPECT_HAS(down, "Softmax <axis: int = 2>");
}

TEST(Opsets, a_channel_at_an_axis_broadcasts_before_version_7) {
  const std::string text = R"(<ir_version: 8, opset_import: ["" : 13]>
g (float[2, 3, 4] x, float[3, 1] b) => (float[2, 3, 4] y) { y = Add (b, x) })";
  const std::string down = written(text, 6);
  EXPECT_HAS(down, "Squeeze <axes: ints = [1]> (b)");
  EXPECT_HAS(down, "axis: int = 1");
  EXPECT_HAS(down, "broadcast: int = 1");
  const std::string up = written(down, 13);
  EXPECT_HAS(up, "Unsqueeze");
}

TEST(Opsets, defaults_that_changed_are_written_out) {
  const std::string text = R"(<ir_version: 8, opset_import: ["" : 1]>
g (float[2, 3] x) => (float[2, 3] y) { y = Selu (x) })";
  EXPECT_HAS(written(text, 22), "alpha: float = 1.6732");
}

TEST(Opsets, an_attribute_without_words_is_named) {
  const std::string text = R"(<ir_version: 8, opset_import: ["" : 14]>
g (float[5, 2, 3] x, float[1, 16, 3] w, float[1, 16, 4] r) => (float[A, B, C, D] y) {
  [states] y = LSTM <hidden_size = 4, layout = 1> (x, w, r)
})";
  EXPECT_HAS(written(text, 13), "\"states\" (LSTM, ai.onnx 14)");
}

TEST(Opsets, an_attribute_that_says_what_is_so_without_it_is_left_out) {
  const auto pool = [](int dilation) {
    return fmt::format(R"(<ir_version: 8, opset_import: ["" : 13]>
g (float[1, 1, 8, 8] x) => (float[1, 1, A, B] y) {{
  [pool] y = MaxPool <kernel_shape = [2, 2], dilations = [{0}, {0}], ceil_mode = 0> (x)
}})",
                       dilation);
  };
  const std::string down = written(pool(1), 8);
  EXPECT_HAS(down, "MaxPool <kernel_shape: ints = [2, 2]> (x)");
  EXPECT_HAS(written(pool(2), 8), "\"pool\" (MaxPool, ai.onnx 10)");
}

TEST(Opsets, types_that_an_older_version_does_not_take_are_named) {
  const std::string text = R"(<ir_version: 8, opset_import: ["" : 13]>
g (bfloat16[2] x) => (bfloat16[2] y) { [add] y = Add (x, x) })";
  const auto model = model::parse_text(text);
  ASSERT_TRUE(model);
  const auto made = in_opset(*model, {"", 12});
  ASSERT_FALSE(made);
  EXPECT_HAS(made.error().what, "in ai.onnx 12");
}

TEST(Opsets, an_operator_with_another_name_is_called_by_it) {
  const std::string text = R"(<ir_version: 8, opset_import: ["" : 9]>
g (float[1, 1, 2, 2] x) => (float[1, 1, 4, 4] y) {
  s = Constant <value = float[4] {1, 1, 2, 2}> ()
  y = Upsample (x, s)
})";
  const std::string up = written(text, 21);
  EXPECT_HAS(up, "Resize");
  EXPECT_HAS(written(up, 9), "Upsample");
}

TEST(Opsets, bodies_and_functions_are_written_too) {
  const std::string text = R"(<ir_version: 8, opset_import: ["" : 11, "f" : 1]>
g (float[2, 3] x, bool c) => (float[M, K] y) {
  z = f.Sum(x)
  y = If (c) <then_branch = t () => (float[A, B] o) { o = Unsqueeze <axes = [0]> (z) },
              else_branch = e () => (float[C, D] p) { p = Unsqueeze <axes = [1]> (z) }>
}
<domain: "f", opset_import: ["" : 11]>
Sum (x) => (y) { y = ReduceSum <axes = [1], keepdims = 0> (x) })";
  const std::string up = written(text, 18);
  EXPECT_HAS(up, "Unsqueeze (z, o_axes)");
  EXPECT_HAS(up, "ReduceSum <keepdims: int = 0> (x, y_axes)");
  EXPECT_FALSE(contains(up, "\"\" : 11")) << up;
}

TEST(Opsets, an_operator_that_came_later_is_written_as_its_function) {
  const std::string text = R"(<ir_version: 8, opset_import: ["" : 20, "f" : 1]>
g (float[2] x) => (float[2] y) { z = f.Double (x)  y = HardSwish (z) }
<domain: "f", opset_import: ["" : 20]>
Double (x) => (y) { y = Add (x, x) })";
  const std::string down = written(text, 13);
  EXPECT_HAS(down, "= Max (");
  EXPECT_FALSE(contains(down, "= HardSwish (")) << down;
}

TEST(Opsets, versions_that_do_not_exist_are_refused) {
  const std::string text = R"(<ir_version: 8, opset_import: ["" : 11]>
g (float[2] x) => (float[2] y) { y = Neg (x) })";
  EXPECT_HAS(written(text, 99), "has the versions 1 to");
  EXPECT_HAS(written(text, 0), "has the versions 1 to");
}

}  // namespace
}  // namespace sdx::opsets
