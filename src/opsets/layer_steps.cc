// Normalisations, products, pools, recurrent, reducing and quantised operators.
#include <algorithm>
#include <cmath>

#include "opsets/steps.h"

namespace sdx::opsets {
namespace {

// --- BatchNormalization: training is asked for by is_test, then by the other outputs, then by
// training_mode

bool asks_for_more(const Use& use) {
  for (size_t i = 1; i < 5; ++i) {
    if (use.wants(i)) return true;
  }
  return false;
}
void ask_for_more(Use& use) {
  use.node.output.resize(std::max<size_t>(use.node.output.size(), 3));
  for (size_t i = 1; i < 3; ++i) {
    if (!use.wants(i))
      use.node.output[i] = use.fresh(use.node.output[0] + (i == 1 ? "_mean" : "_var"));
  }
}
Status batch_norm_6_down(Use& use) {  // version 1 said whose memory it writes over
  use.set("consumed_inputs", std::vector<int64_t>{0, 0, 0, 1, 1});
  return ok();
}
Status batch_norm_7_up(Use& use) {
  const bool training = use.integer("is_test") == 0;
  if (!training && asks_for_more(use))
    return use.refuse("it gives means without training, which later versions do not");
  if (training && !asks_for_more(use)) ask_for_more(use);
  use.erase("is_test");
  return ok();
}
Status batch_norm_7_down(Use& use) {
  use.set("is_test", int64_t{asks_for_more(use) ? 0 : 1});
  return ok();
}
Status batch_norm_9_up(Use& use) {
  if (use.integer("spatial", 1) == 0)
    return use.refuse(
        "there statistics are those of a channel, not of each element (spatial is 0)");
  use.erase("spatial");
  return ok();
}
Status batch_norm_14_up(Use& use) {
  if (use.wants(3) || use.wants(4))
    return use.refuse("there are no outputs saved_mean and saved_var");
  if (asks_for_more(use)) use.set("training_mode", int64_t{1});
  return ok();
}
Status batch_norm_14_down(Use& use) {
  if (use.integer("training_mode") != 0 && !asks_for_more(use)) ask_for_more(use);
  use.erase("training_mode");
  return ok();
}

// --- GroupNormalization: a scale per group, then one per channel

Status group_norm_21_up(Use& use) {
  const int64_t groups = use.integer("num_groups");
  if (!use.rank(0) || *use.rank(0) < 2 || !use.fact(0).dim(1).is_const() || groups < 1)
    return use.refuse("the number of its channels is not known");
  const int64_t channels = use.fact(0).dim(1).value(), each = channels / groups;
  if (each == 1) return ok();
  for (size_t i = 1; i < 3; ++i) {
    const std::string axis = use.make(list_of({1}), "axis"),
                      shape = use.make(list_of({groups, each}), "shape"),
                      flat = use.make(list_of({channels}), "channels");
    SDX_ASSIGN(const std::string column,
               use.make("Unsqueeze", {use.node.input[i], axis}, {}, "column"));
    SDX_ASSIGN(const std::string wide, use.make("Expand", {column, shape}, {}, "expanded"));
    SDX_ASSIGN(std::string all, use.make("Reshape", {wide, flat}, {}, "per_channel"));
    use.set_input(i, std::move(all));
  }
  return ok();
}
Status group_norm_21_down(Use& use) {
  if (!use.rank(0) || *use.rank(0) < 2 || !use.fact(0).dim(1).is_const(use.integer("num_groups")))
    return use.refuse("there a scale stands for a group, not for a channel");
  return ok();
}

// --- Softmax and its family: over all axes from one on, then over one axis

Status softmax_13_up(Use& use) {
  const int64_t axis = use.integer("axis", 1);
  const auto rank = use.rank(0);
  const bool last = rank && (axis == int64_t(*rank) - 1 || axis == -1);
  use.set("axis", int64_t{-1});
  if (last) return ok();
  const std::string x = use.node.input[0];
  SDX_ASSIGN(const std::string shape, use.make("Shape", {x}, {}, "shape"));
  SDX_ASSIGN(std::string rows, use.make("Flatten", {x}, {{"axis", axis}}, "rows"));
  use.set_input(0, std::move(rows));
  return use.finish(0, "Reshape", {shape}, {});
}
Status softmax_13_down(Use& use) {
  const auto rank = use.rank(0);
  if (!rank) return use.refuse("its input's rank is not known");
  if (*rank == 0) {
    use.set("axis", int64_t{0});
    return ok();
  }
  const int64_t end = int64_t(*rank) - 1;
  int64_t axis = use.integer("axis", -1);
  if (axis < 0) axis += int64_t(*rank);
  use.set("axis", end);
  if (axis == end) return ok();
  std::vector<int64_t> swapped(*rank);
  for (size_t i = 0; i < *rank; ++i) swapped[i] = int64_t(i);
  std::swap(swapped[size_t(axis)], swapped[size_t(end)]);
  SDX_ASSIGN(std::string turned,
             use.make("Transpose", {use.node.input[0]}, {{"perm", swapped}}, "turned"));
  use.set_input(0, std::move(turned));
  return use.finish(0, "Transpose", {}, {{"perm", swapped}});
}

// --- Gemm

Status gemm_7_up(Use& use) {
  use.erase("broadcast");
  return ok();
}
Status gemm_7_down(Use& use) {
  const auto rank = use.rank(2);
  if (!rank)
    return use.refuse("there C must be known to be a row, a number or of the product's shape");
  const Shape& c = *use.fact(2).shape;
  const bool column = *rank == 2 && c[1].is_const(1) && !c[0].is_const(1);
  if (column) return use.refuse("there C cannot be a column");
  use.set("broadcast", int64_t{1});
  return ok();
}
// x + -0 is x for every x.
Status gemm_11_down(Use& use) {
  if (use.has(2)) return ok();
  const DType type = use.fact(0).type;
  if (type == DType::undefined)
    return use.refuse("there C must be given, and its type is not known");
  Tensor zero = Tensor::make(type, {1});
  if (is_float(type)) set_f64(type, zero.raw(), 0, -0.0);
  use.set("beta", 1.f);
  use.set_input(2, use.make(std::move(zero), "C"));
  return ok();
}

// --- pools

Status p_up(Use& use) {
  const model::Attribute* p = use.given("p");
  if (p == nullptr) return ok();
  const float value = p->f;
  if (value != std::floor(value)) return use.refuse("there p is an integer, not {}", value);
  use.set("p", int64_t(value));
  return ok();
}
Status p_down(Use& use) {
  if (use.given("p") != nullptr) use.set("p", float(use.integer("p")));
  return ok();
}
Status roi_align_16_up(Use& use) {
  use.set("coordinate_transformation_mode", std::string("output_half_pixel"));
  return ok();
}
Status roi_align_16_down(Use& use) {
  if (use.text("coordinate_transformation_mode") != "output_half_pixel")
    return use.refuse("there coordinates are not shifted by half a pixel");
  use.erase("coordinate_transformation_mode");
  return ok();
}

// --- recurrent operators

Status gru_3_up(Use& use) {  // whose default was misspelt
  if (use.text("direction") == "foward") use.set("direction", std::string("forward"));
  return ok();
}
Status sequence_7_up(Use& use) {
  use.erase("output_sequence");
  return ok();
}
Status sequence_7_down(Use& use) {
  if (use.wants(0)) use.set("output_sequence", int64_t{1});
  return ok();
}

// --- reductions: no axes are all axes, unless the newer attribute says that they are none

Status reduce_up(Use& use) {
  if (const model::Attribute* axes = use.given("axes");
      axes != nullptr && axes->ref_attr_name.empty() && axes->ints.empty())
    use.erase("axes");
  return ok();
}
Status reduce_down(Use& use) {
  const auto axes = use.integers(1);
  const bool none = !use.has(1) || (axes && axes->empty());
  if (use.integer("noop_with_empty_axes") != 0 && none)
    return use.refuse(
        "there no axes are all axes, and noop_with_empty_axes says that they are none");
  if (none) use.drop_input(1);
  use.erase("noop_with_empty_axes");
  return ok();
}

// --- quantised operators

Status one_scale(Use& use) {
  const Fact& scale = use.fact(1);
  const bool one =
      scale.has_rank() && (scale.rank() == 0 || (scale.rank() == 1 && scale.dim(0).is_const(1)));
  if (!one) return use.refuse("there one scale is for all elements; this one is {}", scale.text());
  use.erase("axis");
  return ok();
}
Status output_type_21_down(Use& use) {
  const int64_t type = use.integer("output_dtype");
  use.erase("output_dtype");
  if (type == 0 || use.has(2)) return ok();
  if (!use.fact(1).is_concrete())
    return use.refuse("there the zero point gives the type, and its shape is not known");
  use.set_input(2, use.make(Tensor::make(DType(type), use.fact(1).dims()), "zero_point"));
  return ok();
}
Status output_type_23_down(Use& use) {
  const int64_t type = use.integer("output_dtype");
  if (type != 0 && type != int64_t(use.fact(1).type))
    return use.refuse("there the output has the type of the scale");
  use.erase("output_dtype");
  return ok();
}

constexpr Step kLayerSteps[] = {
    {"BatchNormalization", 6, nullptr, batch_norm_6_down},
    {"BatchNormalization", 7, batch_norm_7_up, batch_norm_7_down},
    {"BatchNormalization", 9, batch_norm_9_up, nullptr},
    {"BatchNormalization", 14, batch_norm_14_up, batch_norm_14_down},
    {"DequantizeLinear", 13, nullptr, one_scale},
    {"DequantizeLinear", 23, nullptr, output_type_23_down},
    {"GRU", 3, gru_3_up, nullptr},
    {"GRU", 7, sequence_7_up, sequence_7_down},
    {"Gemm", 7, gemm_7_up, gemm_7_down},
    {"Gemm", 11, nullptr, gemm_11_down},
    {"GlobalLpPool", 2, p_up, p_down},
    {"GroupNormalization", 21, group_norm_21_up, group_norm_21_down},
    {"Hardmax", 13, softmax_13_up, softmax_13_down},
    {"LSTM", 7, sequence_7_up, sequence_7_down},
    {"LogSoftmax", 13, softmax_13_up, softmax_13_down},
    {"LpPool", 2, p_up, p_down},
    {"QuantizeLinear", 13, nullptr, one_scale},
    {"QuantizeLinear", 21, nullptr, output_type_21_down},
    {"RNN", 7, sequence_7_up, sequence_7_down},
    {"ReduceL1", 18, reduce_up, reduce_down},
    {"ReduceL2", 18, reduce_up, reduce_down},
    {"ReduceLogSum", 18, reduce_up, reduce_down},
    {"ReduceLogSumExp", 18, reduce_up, reduce_down},
    {"ReduceMax", 18, reduce_up, reduce_down},
    {"ReduceMean", 18, reduce_up, reduce_down},
    {"ReduceMin", 18, reduce_up, reduce_down},
    {"ReduceProd", 18, reduce_up, reduce_down},
    {"ReduceSum", 13, reduce_up, reduce_down},
    {"ReduceSumSquare", 18, reduce_up, reduce_down},
    {"RoiAlign", 16, roi_align_16_up, roi_align_16_down},
    {"Softmax", 13, softmax_13_up, softmax_13_down},
};

}  // namespace

std::span<const Step> layer_steps() { return kLayerSteps; }

}  // namespace sdx::opsets
