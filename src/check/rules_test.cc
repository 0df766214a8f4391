// One valid model per rule and the same model spoilt: the second breaks the rule, the first not.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <set>
#include <sstream>

#include "check/check.h"
#include "check/test_models.h"

namespace sdx::check {
namespace {

using namespace test;  // NOLINT: the models are what this file is about
using model::Model;
using Spoil = std::function<void(Model&)>;

struct Case {
  const Rule* rule;
  Model good;
  Spoil spoil;
};

model::Graph& g(Model& m) { return *m.graph; }
model::Node& n(Model& m, size_t i = 0) { return m.graph->node[i]; }
model::Graph& branch(Model& m, size_t i = 0) { return *n(m).attribute[i].g; }

void model_rules(std::vector<Case>& cases) {
  cases.push_back({&rule::ir_version, simple(), [](Model& m) { m.ir_version = 15; }});
  cases.push_back({&rule::ir_version, simple(), [](Model& m) { m.present = 0; }});
  cases.push_back({&rule::opset_missing, simple(), [](Model& m) { m.opset_import.clear(); }});
  cases.push_back({&rule::opset_conflict, simple(),
                   [](Model& m) { m.opset_import.push_back(import("ai.onnx", 20)); }});
  cases.push_back({&rule::opset_repeated, simple(),
                   [](Model& m) { m.opset_import.push_back(import("ai.onnx", 21)); }});
  cases.push_back(
      {&rule::opset_version, simple(), [](Model& m) { m.opset_import[0].version = 29; }});
  cases.push_back({&rule::opset_version, simple(),
                   [](Model& m) { m.opset_import.push_back(import("ai.onnx.ml", 0)); }});
  cases.push_back({&rule::opset_unknown, simple(),
                   [](Model& m) { m.opset_import.push_back(import("com.example", 1)); }});
  cases.push_back({&rule::graph_missing, simple(), [](Model& m) { m.graph.reset(); }});
  cases.push_back({&rule::metadata_repeated, simple(), [](Model& m) {
                     m.metadata_props = {entry("a", "1"), entry("a", "2")};
                   }});
  cases.push_back({&rule::inner_metadata_repeated, simple(), [](Model& m) {
                     n(m).metadata_props = {entry("a", "1"), entry("a", "2")};
                   }});
  cases.push_back({&rule::newer_feature, with_function(), [](Model& m) { m.ir_version = 7; }});
  cases.push_back({&rule::newer_feature, with_sparse(), [](Model& m) { m.ir_version = 5; }});
  cases.push_back({&rule::newer_feature, with_training(), [](Model& m) { m.ir_version = 6; }});
  cases.push_back({&rule::newer_feature, with_devices(), [](Model& m) { m.ir_version = 10; }});
  Model small = one("Identity", {}, {}, value("x", DType::f8e5m2), 19);
  g(small).output[0] = value("y", DType::f8e5m2);
  cases.push_back({&rule::newer_feature, small, [](Model& m) { m.ir_version = 8; }});
  Model described = simple();
  n(described).metadata_props = {entry("a", "1")};
  cases.push_back({&rule::newer_detail, described, [](Model& m) { m.ir_version = 9; }});
  cases.push_back({&rule::text_encoding, simple(), [](Model& m) { n(m).name = "\xc3("; }});
}

void graph_rules(std::vector<Case>& cases) {
  cases.push_back({&rule::graph_name, simple(), [](Model& m) { g(m).name.clear(); }});
  cases.push_back({&rule::value_name, simple(), [](Model& m) { g(m).input.push_back(value("")); }});
  cases.push_back({&rule::single_assignment, simple(), [](Model& m) { n(m, 1).output[0] = "s"; }});
  cases.push_back({&rule::single_assignment, simple(), [](Model& m) { n(m, 1).output[0] = "x"; }});
  cases.push_back({&rule::single_assignment, simple(), [](Model& m) { n(m, 1).output[0] = "w"; }});
  cases.push_back(
      {&rule::input_repeated, simple(), [](Model& m) { g(m).input.push_back(value("x")); }});
  cases.push_back(
      {&rule::output_repeated, simple(), [](Model& m) { g(m).output.push_back(value("y")); }});
  cases.push_back({&rule::initializer_repeated, simple(), [](Model& m) {
                     g(m).initializer.push_back(weight("w", {2, 3}));
                   }});
  cases.push_back({&rule::value_info_repeated, simple(), [](Model& m) {
                     g(m).value_info = {value("s"), value("s")};
                   }});
  cases.push_back(
      {&rule::output_undefined, simple(), [](Model& m) { g(m).output.push_back(value("z")); }});
  cases.push_back(
      {&rule::output_undefined, with_if(), [](Model& m) { branch(m).output[0] = value("x"); }});
  cases.push_back({&rule::output_undefined, with_function(),
                   [](Model& m) { m.functions[0].output[0] = "none"; }});
  cases.push_back({&rule::input_undefined, simple(), [](Model& m) { n(m).input[1] = "none"; }});
  cases.push_back(
      {&rule::input_undefined, with_if(), [](Model& m) { branch(m).node[0].input[1] = "none"; }});
  cases.push_back({&rule::order, simple(), [](Model& m) { std::swap(n(m, 0), n(m, 1)); }});
  cases.push_back({&rule::cycle, simple(), [](Model& m) { n(m, 0).input[1] = "y"; }});
  cases.push_back({&rule::cycle, simple(), [](Model& m) { n(m, 0).input[1] = "s"; }});
  cases.push_back({&rule::cycle, with_if(), [](Model& m) { branch(m).node[0].input[1] = "y"; }});
  cases.push_back({&rule::shadowing, with_if(), [](Model& m) {
                     branch(m).node[0].output[0] = "x";
                     branch(m).output[0] = value("x");
                   }});
  Model old = simple();
  old.ir_version = 3;
  g(old).input.push_back(value("w"));
  cases.push_back({&rule::initializer_not_input, old, [](Model& m) { g(m).input.pop_back(); }});
  cases.push_back({&rule::subgraph_default, with_if(), [](Model& m) {
                     branch(m).input.push_back(value("d"));
                     branch(m).initializer.push_back(weight("d", {2, 3}));
                   }});
  Model overridden = simple();
  g(overridden).input.push_back(value("w"));
  cases.push_back(
      {&rule::default_type, overridden, [](Model& m) { g(m).input[1] = value("w", DType::f64); }});
  cases.push_back({&rule::default_type, overridden, [](Model& m) {
                     g(m).input[1] = value("w", DType::f32, {3, 3});
                   }});
  cases.push_back({&rule::identifier, simple(), [](Model& m) { n(m).name = "/a/b"; }});
  cases.push_back({&rule::node_name_repeated, simple(), [](Model& m) {
                     n(m, 0).name = "a";
                     n(m, 1).name = "a";
                   }});
  Model declared = simple();
  g(declared).value_info = {value("s")};
  cases.push_back({&rule::value_info_conflict, declared,
                   [](Model& m) { g(m).value_info.push_back(value("x", DType::i64)); }});
  cases.push_back({&rule::value_info_conflict, declared, [](Model& m) {
                     g(m).value_info.push_back(value("w", DType::f32, {2, 4}));
                   }});
  cases.push_back({&rule::value_info_conflict, declared,
                   [](Model& m) { g(m).value_info.push_back(value("y", DType::f32, {2})); }});
  cases.push_back({&rule::value_info_unknown, declared,
                   [](Model& m) { g(m).value_info.push_back(value("none")); }});
  cases.push_back({&rule::graph_without_outputs, simple(), [](Model& m) { g(m).output.clear(); }});
}

void node_rules(std::vector<Case>& cases) {
  cases.push_back({&rule::op_type_missing, simple(), [](Model& m) { n(m).op_type.clear(); }});
  cases.push_back({&rule::no_outputs, simple(), [](Model& m) { n(m, 1).output.clear(); }});
  cases.push_back(
      {&rule::domain_not_imported, simple(), [](Model& m) { n(m).domain = "ai.onnx.ml"; }});
  cases.push_back({&rule::domain_not_imported, with_function(),
                   [](Model& m) { m.functions[0].opset_import.clear(); }});
  cases.push_back({&rule::operator_unknown, simple(), [](Model& m) { n(m).op_type = "Plus"; }});
  cases.push_back(
      {&rule::operator_unknown, with_function(), [](Model& m) { n(m).overload = "o"; }});
  cases.push_back({&rule::operator_foreign, simple(), [](Model& m) {
                     m.opset_import.push_back(import("com.example", 1));
                     n(m).domain = "com.example";
                   }});
  cases.push_back({&rule::operator_too_new, one("Gelu", {}, {}),
                   [](Model& m) { m.opset_import[0].version = 19; }});
  cases.push_back({&rule::operator_deprecated,
                   one("Upsample", {weight("s", {2})}, {}, value("x"), 9),
                   [](Model& m) { m.opset_import[0].version = 10; }});
  cases.push_back(
      {&rule::experimental, simple(), [](Model& m) {
         m = one("Upsample", {}, {real("height_scale", 2), real("width_scale", 2)}, value("x"), 1);
       }});
  cases.push_back({&rule::input_count, simple(), [](Model& m) { n(m).input.pop_back(); }});
  cases.push_back({&rule::input_count, simple(), [](Model& m) { n(m).input.emplace_back("x"); }});
  cases.push_back(
      {&rule::input_count, with_function(), [](Model& m) { n(m).input.emplace_back("x"); }});
  cases.push_back({&rule::output_count, simple(), [](Model& m) { n(m).output.emplace_back("z"); }});
  cases.push_back(
      {&rule::output_count, with_function(), [](Model& m) { n(m).output.emplace_back("z"); }});
  Model clip = one("Clip", {weight("low", {}), weight("high", {})}, {});
  n(clip).input[1] = "";
  cases.push_back({&rule::input_left_out, clip, [](Model& m) { n(m).input[0] = ""; }});
  Model pool =
      one("MaxPool", {}, {integers("kernel_shape", {1, 1})}, value("x", DType::f32, {1, 1, 2, 2}));
  n(pool).output = {"y", ""};
  cases.push_back({&rule::output_left_out, pool, [](Model& m) { n(m).output = {"", "y"}; }});
  cases.push_back({&rule::branches, with_if(),
                   [](Model& m) { branch(m, 1).output[0] = value("e", DType::f64); }});
  cases.push_back({&rule::branches, with_if(), [](Model& m) {
                     branch(m).node.push_back(node("Neg", {"x"}, {"t2"}));
                     branch(m).output.push_back(value("t2"));
                   }});
}

void type_signature_rules(std::vector<Case>& cases) {
  cases.push_back({&rule::body_signature, with_if(),
                   [](Model& m) { branch(m).input.push_back(value("extra")); }});
  const auto body = [](Model& m) -> model::Graph& { return branch(m); };
  cases.push_back(
      {&rule::body_signature, with_loop(), [=](Model& m) { body(m).input.pop_back(); }});
  cases.push_back(
      {&rule::body_signature, with_loop(), [=](Model& m) { body(m).output.pop_back(); }});
  cases.push_back({&rule::body_signature, with_loop(),
                   [=](Model& m) { body(m).input[0] = value("i", DType::f32, {}); }});
  cases.push_back({&rule::body_signature, with_loop(),
                   [=](Model& m) { body(m).output[0] = value("go_on", DType::i64, {}); }});
  cases.push_back({&rule::body_signature, with_loop(),
                   [=](Model& m) { body(m).output[1] = value("next", DType::f64); }});
  cases.push_back({&rule::body_scalars, with_loop(),
                   [=](Model& m) { body(m).input[0] = value("i", DType::i64, {1}); }});
  cases.push_back({&rule::body_signature, with_scan(),
                   [](Model& m) { n(m).attribute[1] = integer("num_scan_inputs", 3); }});
  cases.push_back(
      {&rule::body_signature, with_scan(), [=](Model& m) { body(m).input.pop_back(); }});
  cases.push_back({&rule::body_signature, with_scan(),
                   [=](Model& m) { body(m).output[0] = value("sum", DType::f64, {3}); }});
  cases.push_back(
      {&rule::input_type, simple(), [](Model& m) { g(m).input[0] = value("x", DType::i64); }});
  cases.push_back(
      {&rule::input_type, simple(), [](Model& m) { n(m, 1) = node("Not", {"s"}, {"y"}); }});
  cases.push_back(
      {&rule::output_type, simple(), [](Model& m) { g(m).output[0] = value("y", DType::i32); }});
  cases.push_back({&rule::output_type, one("Cast", {}, {integer("to", 1)}),
                   [](Model& m) { n(m).attribute[0] = integer("to", 7); }});
  cases.push_back(
      {&rule::output_type, with_if(), [](Model& m) { g(m).output[0] = value("y", DType::i64); }});
}

void attribute_rules(std::vector<Case>& cases) {
  Model gelu = one("Gelu", {}, {text("approximate", "tanh")});
  cases.push_back({&rule::attribute_text, gelu,
                   [](Model& m) { n(m).attribute[0] = text("approximate", "\xff"); }});
  const Model leaky = one("LeakyRelu", {}, {real("alpha", 0.5F)});
  const auto a = [](Model& m) -> Attribute& { return n(m).attribute[0]; };
  cases.push_back({&rule::attribute_name, leaky, [a](Model& m) { a(m).name.clear(); }});
  cases.push_back({&rule::attribute_repeated, leaky,
                   [](Model& m) { n(m).attribute.push_back(real("alpha", 1)); }});
  cases.push_back(
      {&rule::attribute_type, leaky, [a](Model& m) { a(m).type = AttributeType::undefined; }});
  cases.push_back({&rule::attribute_type, leaky,
                   [a](Model& m) { a(m).type = static_cast<AttributeType>(77); }});
  cases.push_back({&rule::attribute_value, leaky, [a](Model& m) { set(a(m), &Attribute::i, 1); }});
  cases.push_back({&rule::attribute_value, leaky, [a](Model& m) { a(m).type = AttributeType::i; }});
  cases.push_back(
      {&rule::attribute_value, with_if(), [](Model& m) { n(m).attribute[0].g.reset(); }});
  cases.push_back({&rule::attribute_unknown, leaky, [a](Model& m) { a(m).name = "beta"; }});
  cases.push_back(
      {&rule::attribute_unknown, with_function(), [a](Model& m) { a(m).name = "beta"; }});
  cases.push_back({&rule::attribute_kind, leaky, [a](Model& m) { a(m) = integer("alpha", 1); }});
  cases.push_back(
      {&rule::attribute_required, with_if(), [](Model& m) { n(m).attribute.pop_back(); }});
  cases.push_back({&rule::reference_outside, leaky, [a](Model& m) {
                     a(m) = attribute("alpha", AttributeType::f);
                     set(a(m), &Attribute::ref_attr_name, "alpha");
                   }});
  cases.push_back({&rule::reference_outside, with_function(),
                   [](Model& m) { set(m.functions[0].node[1].attribute[0], &Attribute::f, 1); }});
  cases.push_back({&rule::reference_unknown, with_function(),
                   [](Model& m) { m.functions[0].node[1].attribute[0].ref_attr_name = "gamma"; }});
}

void type_rules(std::vector<Case>& cases) {
  const auto tensor_type = [](Model& m) -> model::TensorType& {
    return std::get<model::TensorType>(g(m).input[0].type->value);
  };
  const auto w = [](Model& m) -> model::TensorData& { return g(m).initializer[0]; };
  cases.push_back({&rule::type_missing, simple(), [](Model& m) { g(m).input[0].type.reset(); }});
  cases.push_back(
      {&rule::element_type, simple(), [=](Model& m) { tensor_type(m).elem_type = 29; }});
  cases.push_back({&rule::element_type, simple(), [=](Model& m) { w(m).data_type = 0; }});
  cases.push_back(
      {&rule::shape_missing, simple(), [=](Model& m) { tensor_type(m).shape.reset(); }});
  cases.push_back({&rule::type_incomplete, simple(),
                   [](Model& m) { g(m).input[0].type->value = model::SequenceType{}; }});
  cases.push_back({&rule::type_incomplete, simple(), [](Model& m) {
                     model::MapType map;
                     map.key_type = 1;
                     map.value_type = *value("x").type;
                     g(m).input[0].type->value = map;
                   }});
  cases.push_back({&rule::dim_negative, simple(),
                   [=](Model& m) { tensor_type(m).shape->dim[0].value = int64_t{-1}; }});
  cases.push_back({&rule::dim_name, simple(),
                   [=](Model& m) { tensor_type(m).shape->dim[0].value = std::string("*"); }});
  cases.push_back({&rule::tensor_dims, simple(), [=](Model& m) { w(m).dims[0] = -2; }});
  cases.push_back(
      {&rule::tensor_storage, simple(), [=](Model& m) { w(m).string_data.emplace_back("a"); }});
  cases.push_back({&rule::tensor_size, simple(), [=](Model& m) { w(m).dims[0] = 3; }});
  Model mask = one("Where", {weight("a", {2, 3}), weight("b", {2, 3})}, {});
  g(mask).initializer.push_back(model::from_tensor(Tensor::of<bool>({1}, {true}), "mask"));
  n(mask).input = {"mask", "x", "b"};
  cases.push_back({&rule::tensor_values, mask, [](Model& m) {
                     static const std::byte kTwo[] = {std::byte{2}};
                     g(m).initializer.back().raw_data = {kTwo, nullptr};
                   }});
  cases.push_back({&rule::tensor_segment, simple(), [=](Model& m) { w(m).segment.emplace(); }});
  cases.push_back({&rule::external_data, simple(), [=](Model& m) {
                     w(m).raw_data = {};
                     w(m).data_location = model::DataLocation::external;
                     w(m).external_data = {entry("location", "../weights.bin")};
                   }});
  const auto s = [](Model& m) -> model::SparseTensorData& { return g(m).sparse_initializer[0]; };
  cases.push_back({&rule::sparse_tensor, with_sparse(), [=](Model& m) { s(m).values.reset(); }});
  cases.push_back({&rule::sparse_tensor, with_sparse(), [=](Model& m) { s(m).dims = {2, 2}; }});
  cases.push_back({&rule::sparse_tensor, with_sparse(), [=](Model& m) { s(m).dims = {2, 0}; }});
  cases.push_back({&rule::sparse_tensor, with_sparse(), [=](Model& m) {
                     s(m).indices = model::from_tensor(Tensor::of<int64_t>({2}, {4, 1}));
                   }});
}

void stored_text_rules(std::vector<Case>& cases) {
  Model strings = one("Identity", {}, {});
  g(strings).initializer = {model::from_tensor(Tensor::of<std::string>({1}, {"\u00e9"}), "w")};
  n(strings).input[0] = "w";
  g(strings).output[0] = value("y", DType::string, {1});
  for (const std::string bad : {"\xff",
                                "\xef\xbb\xbf"
                                "a",
                                "\xed\xa0\x80", "\xc0\xaf"}) {
    cases.push_back({&rule::tensor_text, strings,
                     [bad](Model& m) { g(m).initializer[0].string_data = {bad}; }});
  }
  cases.push_back({&rule::tensor_text, strings,
                   [](Model& m) { g(m).initializer[0].string_data = {std::string("a\0", 2)}; }});
  cases.push_back({&rule::data_location, simple(), [](Model& m) {
                     g(m).initializer[0].data_location = static_cast<model::DataLocation>(2);
                   }});
}

void function_and_other_rules(std::vector<Case>& cases) {
  const auto f = [](Model& m) -> model::Function& { return m.functions[0]; };
  cases.push_back({&rule::function_name, with_function(), [=](Model& m) { f(m).name.clear(); }});
  cases.push_back({&rule::function_name, with_function(), [=](Model& m) { f(m).present = 0; }});
  cases.push_back(
      {&rule::function_repeated, with_function(), [=](Model& m) { m.functions.push_back(f(m)); }});
  cases.push_back({&rule::parameter_repeated, with_function(),
                   [=](Model& m) { f(m).input.emplace_back("a"); }});
  cases.push_back({&rule::parameter_repeated, with_function(),
                   [=](Model& m) { f(m).attribute_proto.push_back(real("alpha", 1)); }});
  cases.push_back({&rule::recursion, with_function(), [=](Model& m) {
                     f(m).node[0] = node("twice", {"a"}, {"d"});
                     f(m).node[0].domain = "local";
                     f(m).opset_import.push_back(import("local", 1));
                   }});
  cases.push_back({&rule::function_versions, with_function(),
                   [=](Model& m) { f(m).opset_import[0].version = 13; }});

  Model annotated = simple();
  model::TensorAnnotation& annotation = g(annotated).quantization_annotation.emplace_back();
  annotation.tensor_name = "s";
  annotation.quant_parameter_tensor_names = {entry("SCALE_TENSOR", "w")};
  cases.push_back({&rule::annotation, annotated,
                   [](Model& m) { g(m).quantization_annotation[0].tensor_name = "none"; }});
  cases.push_back({&rule::annotation, annotated, [](Model& m) {
                     g(m).quantization_annotation[0].quant_parameter_tensor_names[0].value = "none";
                   }});
  cases.push_back({&rule::annotation, annotated, [](Model& m) {
                     g(m).quantization_annotation[0].quant_parameter_tensor_names[0].key = "SIZE";
                   }});
  cases.push_back({&rule::annotation, annotated, [](Model& m) {
                     g(m).quantization_annotation.push_back(g(m).quantization_annotation[0]);
                   }});
  const auto binding = [](Model& m) -> model::StringEntry& {
    return m.training_info[0].update_binding[0];
  };
  cases.push_back({&rule::binding_key, with_training(), [=](Model& m) { binding(m).key = "x"; }});
  cases.push_back(
      {&rule::binding_value, with_training(), [=](Model& m) { binding(m).value = "none"; }});
  cases.push_back({&rule::binding_key, with_training(),
                   [](Model& m) { m.training_info.push_back(m.training_info[0]); }});
  cases.push_back({&rule::binding_value, with_training(), [](Model& m) {
                     m.training_info[0].algorithm->output[0] = value("w_new", DType::f32, {3});
                   }});
  cases.push_back({&rule::shadowing, with_training(), [=](Model& m) {
                     m.training_info[0].algorithm->node[0].output[0] = "s";
                     m.training_info[0].algorithm->output[0] = value("s");
                     binding(m).value = "s";
                   }});
  Model reset = with_training();
  model::Graph& zero = reset.training_info[0].initialization.emplace();
  set(zero, &model::Graph::name, "reset");
  zero.node = {node("Identity", {"w"}, {"w_zero"})};
  zero.output = {value("w_zero")};
  reset.training_info[0].initialization_binding = {entry("w", "w_zero")};
  cases.push_back({&rule::initialization_inputs, reset,
                   [](Model& m) { m.training_info[0].initialization->input = {value("seed")}; }});
  cases.push_back({&rule::device_configuration, with_devices(),
                   [](Model& m) { m.configuration[0].num_devices = 0; }});
  cases.push_back({&rule::device_configuration, with_devices(),
                   [](Model& m) { m.configuration[0].device = {"one"}; }});
  cases.push_back({&rule::node_configuration, with_devices(),
                   [](Model& m) { n(m).device_configurations[0].configuration_id = "other"; }});
  const auto spec = [](Model& m) -> model::ShardingSpec& {
    return n(m).device_configurations[0].sharding_spec[0];
  };
  cases.push_back({&rule::sharding, with_devices(), [=](Model& m) { spec(m).tensor_name = "y"; }});
  cases.push_back({&rule::sharding, with_devices(), [=](Model& m) { spec(m).device = {2}; }});
  cases.push_back({&rule::sharding, with_devices(),
                   [=](Model& m) { spec(m).sharded_dim[0].simple_sharding[0].num_shards = 0; }});
  cases.push_back(
      {&rule::sharding, with_devices(), [=](Model& m) { spec(m).sharded_dim[0].axis = 2; }});
  cases.push_back({&rule::sharding, with_devices(), [=](Model& m) {
                     model::IntIntListEntry& group =
                         spec(m).index_to_device_group_map.emplace_back();
                     group.key = 1;
                     group.value = {0, 7};
                   }});
}

void sonnx_rules(std::vector<Case>& cases) {
  cases.push_back({&rule::sonnx_c2, simple(), [](Model& m) { g(m).input.push_back(value("z")); }});
  cases.push_back({&rule::sonnx_r1, simple(),
                   [](Model& m) { g(m).node.push_back(node("Neg", {"x"}, {"dead"})); }});
  cases.push_back({&rule::sonnx_r2, one("Identity", {}, {}),
                   [](Model& m) { n(m).op_type = "RandomNormalLike"; }});
  cases.push_back({&rule::sonnx_f3, simple(), [](Model& m) { m = with_if(); }});
  cases.push_back({&rule::sonnx_p1, simple(), [](Model& m) { g(m).output.push_back(value("x")); }});
  cases.push_back({&rule::sonnx_gr1, simple(), [](Model& m) { m = with_sparse(); }});
  Model typed = simple();
  g(typed).value_info = {value("s")};
  cases.push_back({&rule::sonnx_gr2, typed, [](Model& m) { g(m).value_info.clear(); }});
  cases.push_back({&rule::sonnx_gr3, one("Pow", {weight("e", {})}, {}), [](Model& m) {
                     g(m).initializer[0] = model::from_tensor(Tensor::of<int64_t>({}, {2}), "e");
                   }});
  cases.push_back({&rule::sonnx_gr4, one("LeakyRelu", {}, {real("alpha", 0.01F)}),
                   [](Model& m) { n(m).attribute.clear(); }});
  cases.push_back({&rule::sonnx_n1, one("Clip", {weight("low", {}), weight("high", {})}, {}),
                   [](Model& m) { n(m).input.pop_back(); }});
  cases.push_back({&rule::sonnx_n2, simple(),
                   [](Model& m) { g(m).node.push_back(node("Neg", {"x"}, {"dead"})); }});
  cases.push_back({&rule::sonnx_n2, simple(), [](Model& m) {
                     g(m).node.push_back(node("RandomNormal", {}, {"z"}, {integers("shape", {1})}));
                     g(m).output.push_back(value("z"));
                   }});
  cases.push_back({&rule::sonnx_op, simple(), [](Model& m) { n(m, 1).op_type = "Selu"; }});
  cases.push_back({&rule::sonnx_type, simple(),
                   [](Model& m) { g(m).input.push_back(value("z", DType::bf16)); }});
}

void sonnx_operator_rules(std::vector<Case>& cases) {
  const model::ValueInfo image = value("x", DType::f32, {1, 4, 8, 8});
  const Model conv = one("Conv", {weight("w", {4, 4, 3, 3})}, {}, image);
  const auto give = [](Attribute a) {
    return [a](Model& m) {
      std::erase_if(n(m).attribute, [&](const Attribute& b) { return b.name == a.name; });
      n(m).attribute.push_back(a);
    };
  };
  cases.push_back({&rule::sonnx_conv, conv, give(text("auto_pad", "SAME_UPPER"))});
  cases.push_back({&rule::sonnx_conv, conv, give(integer("group", 2))});
  cases.push_back({&rule::sonnx_conv, conv, [](Model& m) {
                     g(m).input[0] = value("x", DType::f32, {1, 4, 8});
                   }});
  const Model pool =
      one("MaxPool", {},
          {text("auto_pad", "NOTSET"), integer("ceil_mode", 0), integers("dilations", {1, 1}),
           integers("kernel_shape", {2, 2}), integers("pads", {0, 0, 0, 0}),
           integer("storage_order", 0), integers("strides", {1, 1})},
          image);
  cases.push_back({&rule::sonnx_pool, pool, [](Model& m) { n(m).attribute.pop_back(); }});
  cases.push_back({&rule::sonnx_pool, pool, give(integer("ceil_mode", 1))});
  cases.push_back({&rule::sonnx_pool, pool, give(integers("pads", {0, 0, 0, 2}))});
  cases.push_back({&rule::sonnx_pool, pool, give(integers("kernel_shape", {2}))});
  const Model gemm =
      one("Gemm", {weight("b", {3, 4}), weight("c", {2, 4})}, {real("alpha", 1), real("beta", 1)});
  cases.push_back({&rule::sonnx_gemm, gemm, give(real("alpha", 2))});
  cases.push_back({&rule::sonnx_gemm, gemm, give(integer("transB", 1))});
  cases.push_back({&rule::sonnx_gemm, gemm, [](Model& m) { n(m).input.pop_back(); }});
  cases.push_back(
      {&rule::sonnx_gemm, gemm, [](Model& m) { g(m).initializer[1] = weight("c", {4}); }});
  cases.push_back({&rule::sonnx_gemm, gemm, [](Model& m) {
                     g(m).initializer[1] = weight("c", {1, 4});
                   }});
  const Model arg = one(
      "ArgMax", {}, {integer("axis", 1), integer("keepdims", 1), integer("select_last_index", 0)});
  cases.push_back({&rule::sonnx_arg, arg, [](Model& m) { n(m).attribute.pop_back(); }});
  cases.push_back({&rule::sonnx_arg, arg, give(integer("axis", -1))});
  cases.push_back({&rule::sonnx_arg, arg, [](Model& m) {
                     g(m).input[0] = value("x", DType::f32, {2, 0});
                   }});
  const Model norm =
      one("BatchNormalization",
          {weight("a", {4}), weight("b", {4}), weight("c", {4}), weight("d", {4})}, {}, image);
  cases.push_back({&rule::sonnx_bn, norm, give(integer("training_mode", 1))});
  cases.push_back({&rule::sonnx_bn, norm, give(real("epsilon", 0))});
  Model constant = simple();
  g(constant).initializer.clear();
  g(constant).node.insert(
      g(constant).node.begin(),
      node("Constant", {}, {"w"}, {tensor("value", Tensor::of<float>({1}, {1}))}));
  cases.push_back(
      {&rule::sonnx_const, constant, [](Model& m) { n(m).attribute[0] = real("value_float", 1); }});
  const Model lstm = one("LSTM",
                         {weight("w", {1, 8, 3}), weight("r", {1, 8, 2}), weight("b", {1, 16}),
                          model::from_tensor(Tensor::of<int32_t>({1}, {1}), "lens"),
                          weight("h", {1, 1, 2}), weight("c", {1, 1, 2}), weight("p", {1, 6})},
                         {integer("hidden_size", 2)}, value("x", DType::f32, {1, 1, 3}));
  cases.push_back({&rule::sonnx_lstm, lstm, [](Model& m) { n(m).input.pop_back(); }});
  cases.push_back({&rule::sonnx_lstm, lstm, [](Model& m) {
                     g(m).initializer.erase(g(m).initializer.begin());
                     g(m).input.push_back(value("w", DType::f32, {1, 8, 3}));
                   }});
  cases.push_back({&rule::sonnx_lstm, lstm, [](Model& m) {
                     Attribute a = attribute("activations", AttributeType::strings);
                     a.strings = {"Sigmoid", "Gelu", "Tanh"};
                     n(m).attribute.push_back(a);
                   }});
  const Model quantize =
      one("QuantizeLinear",
          {weight("scale", {}), model::from_tensor(Tensor::of<uint8_t>({}, {0}), "zero")}, {});
  cases.push_back(
      {&rule::sonnx_ql, quantize, [](Model& m) { g(m).initializer[0] = weight("scale", {3}); }});
  cases.push_back({&rule::sonnx_ql, quantize, [](Model& m) {
                     g(m).initializer[1] = model::from_tensor(Tensor::of<int8_t>({}, {0}), "zero");
                   }});
  const Model range =
      one("Range", {weight("limit", {}), weight("delta", {})}, {}, value("x", DType::f32, {}));
  cases.push_back({&rule::sonnx_range, range, [](Model& m) {
                     g(m).initializer[1] = model::from_tensor(Tensor::of<float>({}, {0}), "delta");
                   }});
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  model_rules(cases);
  graph_rules(cases);
  node_rules(cases);
  type_signature_rules(cases);
  attribute_rules(cases);
  type_rules(cases);
  stored_text_rules(cases);
  function_and_other_rules(cases);
  sonnx_rules(cases);
  sonnx_operator_rules(cases);
  return cases;
}

std::string listed(const Report& report) {
  std::string text;
  for (const Diagnostic& d : report.diagnostics) text += d.text("model") + "\n";
  return text;
}

TEST(Rules, a_spoilt_model_breaks_its_rule_and_the_whole_one_does_not) {
  for (const Case& c : all_cases()) {
    SCOPED_TRACE(c.rule->code);
    const bool sonnx = c.rule->code.starts_with("SONNX-");
    const Options options{.profile = sonnx ? Profile::sonnx_full : Profile::onnx};
    const Report good = check(c.good, options);
    EXPECT_EQ(good.find(c.rule->code), nullptr) << listed(good);
    EXPECT_TRUE(sonnx || good.valid()) << listed(good);

    Model spoilt = c.good;
    c.spoil(spoilt);
    const Report bad = check(spoilt, options);
    const Diagnostic* found = bad.find(c.rule->code);
    ASSERT_NE(found, nullptr) << listed(bad);
    EXPECT_EQ(found->severity, c.rule->severity);
    EXPECT_FALSE(found->place.empty());
    EXPECT_EQ(bad.valid(), bad.count(Severity::error) == 0);
  }
}

TEST(Rules, every_rule_has_a_case_and_a_code_of_its_own) {
  std::set<std::string_view> codes, covered;
  for (const Rule* rule : all_rules()) EXPECT_TRUE(codes.insert(rule->code).second) << rule->code;
  for (const Case& c : all_cases()) covered.insert(c.rule->code);
  for (const Rule* rule : all_rules()) {
    EXPECT_TRUE(covered.contains(rule->code)) << rule->code;
  }
}

TEST(Rules, the_page_is_printed_from_the_list) {
  const std::string path = std::string(SDX_SOURCE_DIR) + "/docs/rules.md";
  std::stringstream page;
  page << std::ifstream(path).rdbuf();
  if (std::getenv("SARDONYX_WRITE_DOCS") != nullptr) std::ofstream(path) << rules_page();
  EXPECT_EQ(page.str(), rules_page()) << "SARDONYX_WRITE_DOCS=1 check_test writes it";
}

}  // namespace
}  // namespace sdx::check
