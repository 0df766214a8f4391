// The fields of every message, as one list per message: number, name, member. Reading, writing,
// comparing and walking all go by these lists, so a field is named once and cannot be read and then
// forgotten by the writer.
#pragma once

#include <array>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "model/model.h"

namespace sdx::model {

// How a member's bytes are to be taken, where its C++ type does not say.
enum class Rule { plain, name, fixed32, fixed64, varint };

template <class M, class T>
struct Field {
  using Value = T;
  uint32_t number;
  std::string_view name;
  T M::*member;
  Rule rule;  // name: a short string; fixed32, fixed64, varint: the packed elements of a Payload
};

// One alternative A of a variant: setting it unsets the others.
template <class M, class V, class A>
struct OneOf {
  using Value = V;
  using Alternative = A;
  uint32_t number;
  std::string_view name;
  V M::*member;
  Rule rule;
};

template <class M, class T>
constexpr Field<M, T> field(uint32_t number, std::string_view name, T M::*member,
                            Rule rule = Rule::plain) {
  return {number, name, member, rule};
}
template <class A, class M, class V>
constexpr OneOf<M, V, A> one_of(uint32_t number, std::string_view name, V M::*member,
                                Rule rule = Rule::plain) {
  return {number, name, member, rule};
}

template <class M>
inline constexpr auto kFields = std::tuple<>();
template <class M>
inline constexpr std::string_view kMessageName = "";

template <class F>
inline constexpr bool kIsOneOf = false;
template <class M, class V, class A>
inline constexpr bool kIsOneOf<OneOf<M, V, A>> = true;

// Calls visit(field) for each field of M, in the order of their numbers.
template <class M, class Visit>
constexpr void each_field(Visit&& visit) {
  std::apply([&](const auto&... fields) { (visit(fields), ...); }, kFields<M>);
}

// The number of a singular field, from its member: number_of(&Node::op_type) == 4.
template <class M, class T>
constexpr uint32_t number_of(T M::*member) {
  uint32_t number = 0;
  each_field<M>([&](const auto& field) {
    if constexpr (std::is_same_v<std::remove_cvref_t<decltype(field)>, Field<M, T>>) {
      if (field.member == member) number = field.number;
    }
  });
  return number;
}

// Whether the file had a singular number, string or byte field, even with its default value.
template <class M, class T>
bool has(const M& message, T M::*member) {
  return (message.present >> number_of(member) & 1) != 0;
}
// Sets a field so that it is written even with its default value.
template <class M, class T>
void set(M& message, T M::*member, std::type_identity_t<T> value) {
  message.*member = std::move(value);
  message.present |= uint32_t{1} << number_of(member);
}

// The writer goes by the order of the list, and `present` has a bit for each number.
template <class M>
constexpr bool ascending() {
  uint32_t last = 0;
  bool good = true;
  each_field<M>([&](const auto& field) {
    good = good && field.number > last && field.number < 32;
    last = field.number;
  });
  return good;
}

// clang-format off
#define SDX_MESSAGE(M, NAME, ...)                                  \
  template <> inline constexpr std::string_view kMessageName<M> = NAME; \
  template <> inline constexpr auto kFields<M> = std::tuple { __VA_ARGS__ }; \
  static_assert(ascending<M>())

SDX_MESSAGE(StringEntry, "StringStringEntryProto",
    field(1, "key", &StringEntry::key),
    field(2, "value", &StringEntry::value));
SDX_MESSAGE(OpsetId, "OperatorSetIdProto",
    field(1, "domain", &OpsetId::domain, Rule::name),
    field(2, "version", &OpsetId::version));
SDX_MESSAGE(Segment, "TensorProto.Segment",
    field(1, "begin", &Segment::begin),
    field(2, "end", &Segment::end));
SDX_MESSAGE(TensorData, "TensorProto",
    field(1, "dims", &TensorData::dims),
    field(2, "data_type", &TensorData::data_type),
    field(3, "segment", &TensorData::segment),
    field(4, "float_data", &TensorData::float_data, Rule::fixed32),
    field(5, "int32_data", &TensorData::int32_data, Rule::varint),
    field(6, "string_data", &TensorData::string_data),
    field(7, "int64_data", &TensorData::int64_data, Rule::varint),
    field(8, "name", &TensorData::name, Rule::name),
    field(9, "raw_data", &TensorData::raw_data),
    field(10, "double_data", &TensorData::double_data, Rule::fixed64),
    field(11, "uint64_data", &TensorData::uint64_data, Rule::varint),
    field(12, "doc_string", &TensorData::doc_string),
    field(13, "external_data", &TensorData::external_data),
    field(14, "data_location", &TensorData::data_location),
    field(16, "metadata_props", &TensorData::metadata_props));
SDX_MESSAGE(SparseTensorData, "SparseTensorProto",
    field(1, "values", &SparseTensorData::values),
    field(2, "indices", &SparseTensorData::indices),
    field(3, "dims", &SparseTensorData::dims));
SDX_MESSAGE(Dimension, "TensorShapeProto.Dimension",
    one_of<int64_t>(1, "dim_value", &Dimension::value),
    one_of<std::string>(2, "dim_param", &Dimension::value, Rule::name),
    field(3, "denotation", &Dimension::denotation, Rule::name));
SDX_MESSAGE(Shape, "TensorShapeProto",
    field(1, "dim", &Shape::dim));
SDX_MESSAGE(TensorType, "TypeProto.Tensor",
    field(1, "elem_type", &TensorType::elem_type),
    field(2, "shape", &TensorType::shape));
SDX_MESSAGE(SparseTensorType, "TypeProto.SparseTensor",
    field(1, "elem_type", &SparseTensorType::elem_type),
    field(2, "shape", &SparseTensorType::shape));
SDX_MESSAGE(SequenceType, "TypeProto.Sequence",
    field(1, "elem_type", &SequenceType::elem_type));
SDX_MESSAGE(MapType, "TypeProto.Map",
    field(1, "key_type", &MapType::key_type),
    field(2, "value_type", &MapType::value_type));
SDX_MESSAGE(OptionalType, "TypeProto.Optional",
    field(1, "elem_type", &OptionalType::elem_type));
SDX_MESSAGE(OpaqueType, "TypeProto.Opaque",
    field(1, "domain", &OpaqueType::domain, Rule::name),
    field(2, "name", &OpaqueType::name, Rule::name));
SDX_MESSAGE(Type, "TypeProto",
    one_of<TensorType>(1, "tensor_type", &Type::value),
    one_of<SequenceType>(4, "sequence_type", &Type::value),
    one_of<MapType>(5, "map_type", &Type::value),
    field(6, "denotation", &Type::denotation, Rule::name),
    one_of<OpaqueType>(7, "opaque_type", &Type::value),
    one_of<SparseTensorType>(8, "sparse_tensor_type", &Type::value),
    one_of<OptionalType>(9, "optional_type", &Type::value));
SDX_MESSAGE(ValueInfo, "ValueInfoProto",
    field(1, "name", &ValueInfo::name, Rule::name),
    field(2, "type", &ValueInfo::type),
    field(3, "doc_string", &ValueInfo::doc_string),
    field(4, "metadata_props", &ValueInfo::metadata_props));
SDX_MESSAGE(Attribute, "AttributeProto",
    field(1, "name", &Attribute::name, Rule::name),
    field(2, "f", &Attribute::f),
    field(3, "i", &Attribute::i),
    field(4, "s", &Attribute::s),
    field(5, "t", &Attribute::t),
    field(6, "g", &Attribute::g),
    field(7, "floats", &Attribute::floats),
    field(8, "ints", &Attribute::ints),
    field(9, "strings", &Attribute::strings),
    field(10, "tensors", &Attribute::tensors),
    field(11, "graphs", &Attribute::graphs),
    field(13, "doc_string", &Attribute::doc_string),
    field(14, "tp", &Attribute::tp),
    field(15, "type_protos", &Attribute::type_protos),
    field(20, "type", &Attribute::type),
    field(21, "ref_attr_name", &Attribute::ref_attr_name, Rule::name),
    field(22, "sparse_tensor", &Attribute::sparse_tensor),
    field(23, "sparse_tensors", &Attribute::sparse_tensors));
SDX_MESSAGE(IntIntListEntry, "IntIntListEntryProto",
    field(1, "key", &IntIntListEntry::key),
    field(2, "value", &IntIntListEntry::value));
SDX_MESSAGE(SimpleShardedDim, "SimpleShardedDimProto",
    one_of<int64_t>(1, "dim_value", &SimpleShardedDim::dim),
    one_of<std::string>(2, "dim_param", &SimpleShardedDim::dim, Rule::name),
    field(3, "num_shards", &SimpleShardedDim::num_shards));
SDX_MESSAGE(ShardedDim, "ShardedDimProto",
    field(1, "axis", &ShardedDim::axis),
    field(2, "simple_sharding", &ShardedDim::simple_sharding));
SDX_MESSAGE(ShardingSpec, "ShardingSpecProto",
    field(1, "tensor_name", &ShardingSpec::tensor_name, Rule::name),
    field(2, "device", &ShardingSpec::device),
    field(3, "index_to_device_group_map", &ShardingSpec::index_to_device_group_map),
    field(4, "sharded_dim", &ShardingSpec::sharded_dim));
SDX_MESSAGE(NodeDeviceConfiguration, "NodeDeviceConfigurationProto",
    field(1, "configuration_id", &NodeDeviceConfiguration::configuration_id, Rule::name),
    field(2, "sharding_spec", &NodeDeviceConfiguration::sharding_spec),
    field(3, "pipeline_stage", &NodeDeviceConfiguration::pipeline_stage));
SDX_MESSAGE(DeviceConfiguration, "DeviceConfigurationProto",
    field(1, "name", &DeviceConfiguration::name, Rule::name),
    field(2, "num_devices", &DeviceConfiguration::num_devices),
    field(3, "device", &DeviceConfiguration::device, Rule::name));
SDX_MESSAGE(Node, "NodeProto",
    field(1, "input", &Node::input, Rule::name),
    field(2, "output", &Node::output, Rule::name),
    field(3, "name", &Node::name, Rule::name),
    field(4, "op_type", &Node::op_type, Rule::name),
    field(5, "attribute", &Node::attribute),
    field(6, "doc_string", &Node::doc_string),
    field(7, "domain", &Node::domain, Rule::name),
    field(8, "overload", &Node::overload, Rule::name),
    field(9, "metadata_props", &Node::metadata_props),
    field(10, "device_configurations", &Node::device_configurations));
SDX_MESSAGE(TensorAnnotation, "TensorAnnotation",
    field(1, "tensor_name", &TensorAnnotation::tensor_name, Rule::name),
    field(2, "quant_parameter_tensor_names", &TensorAnnotation::quant_parameter_tensor_names));
SDX_MESSAGE(Graph, "GraphProto",
    field(1, "node", &Graph::node),
    field(2, "name", &Graph::name, Rule::name),
    field(5, "initializer", &Graph::initializer),
    field(10, "doc_string", &Graph::doc_string),
    field(11, "input", &Graph::input),
    field(12, "output", &Graph::output),
    field(13, "value_info", &Graph::value_info),
    field(14, "quantization_annotation", &Graph::quantization_annotation),
    field(15, "sparse_initializer", &Graph::sparse_initializer),
    field(16, "metadata_props", &Graph::metadata_props));
SDX_MESSAGE(Function, "FunctionProto",
    field(1, "name", &Function::name, Rule::name),
    field(4, "input", &Function::input, Rule::name),
    field(5, "output", &Function::output, Rule::name),
    field(6, "attribute", &Function::attribute, Rule::name),
    field(7, "node", &Function::node),
    field(8, "doc_string", &Function::doc_string),
    field(9, "opset_import", &Function::opset_import),
    field(10, "domain", &Function::domain, Rule::name),
    field(11, "attribute_proto", &Function::attribute_proto),
    field(12, "value_info", &Function::value_info),
    field(13, "overload", &Function::overload, Rule::name),
    field(14, "metadata_props", &Function::metadata_props));
SDX_MESSAGE(TrainingInfo, "TrainingInfoProto",
    field(1, "initialization", &TrainingInfo::initialization),
    field(2, "algorithm", &TrainingInfo::algorithm),
    field(3, "initialization_binding", &TrainingInfo::initialization_binding),
    field(4, "update_binding", &TrainingInfo::update_binding));
SDX_MESSAGE(Model, "ModelProto",
    field(1, "ir_version", &Model::ir_version),
    field(2, "producer_name", &Model::producer_name),
    field(3, "producer_version", &Model::producer_version),
    field(4, "domain", &Model::domain, Rule::name),
    field(5, "model_version", &Model::model_version),
    field(6, "doc_string", &Model::doc_string),
    field(7, "graph", &Model::graph),
    field(8, "opset_import", &Model::opset_import),
    field(14, "metadata_props", &Model::metadata_props),
    field(20, "training_info", &Model::training_info),
    field(25, "functions", &Model::functions),
    field(26, "configuration", &Model::configuration));
SDX_MESSAGE(OperatorInfo, "OperatorProto",
    field(1, "op_type", &OperatorInfo::op_type, Rule::name),
    field(2, "since_version", &OperatorInfo::since_version),
    field(3, "status", &OperatorInfo::status),
    field(10, "doc_string", &OperatorInfo::doc_string));
SDX_MESSAGE(OperatorSet, "OperatorSetProto",
    field(1, "magic", &OperatorSet::magic, Rule::name),
    field(2, "ir_version", &OperatorSet::ir_version),
    field(3, "ir_version_prerelease", &OperatorSet::ir_version_prerelease),
    field(4, "domain", &OperatorSet::domain, Rule::name),
    field(5, "opset_version", &OperatorSet::opset_version),
    field(6, "doc_string", &OperatorSet::doc_string),
    field(7, "ir_build_metadata", &OperatorSet::ir_build_metadata),
    field(8, "operator", &OperatorSet::operators),
    field(9, "functions", &OperatorSet::functions));
SDX_MESSAGE(SequenceData, "SequenceProto",
    field(1, "name", &SequenceData::name, Rule::name),
    field(2, "elem_type", &SequenceData::elem_type),
    field(3, "tensor_values", &SequenceData::tensor_values),
    field(4, "sparse_tensor_values", &SequenceData::sparse_tensor_values),
    field(5, "sequence_values", &SequenceData::sequence_values),
    field(6, "map_values", &SequenceData::map_values),
    field(7, "optional_values", &SequenceData::optional_values));
SDX_MESSAGE(MapData, "MapProto",
    field(1, "name", &MapData::name, Rule::name),
    field(2, "key_type", &MapData::key_type),
    field(3, "keys", &MapData::keys),
    field(4, "string_keys", &MapData::string_keys),
    field(5, "values", &MapData::values));
SDX_MESSAGE(OptionalData, "OptionalProto",
    field(1, "name", &OptionalData::name, Rule::name),
    field(2, "elem_type", &OptionalData::elem_type),
    field(3, "tensor_value", &OptionalData::tensor_value),
    field(4, "sparse_tensor_value", &OptionalData::sparse_tensor_value),
    field(5, "sequence_value", &OptionalData::sequence_value),
    field(6, "map_value", &OptionalData::map_value),
    field(7, "optional_value", &OptionalData::optional_value));

#undef SDX_MESSAGE
// clang-format on

}  // namespace sdx::model
