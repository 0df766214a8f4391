// The model exactly as written: one plain struct per message of ONNX's protocol (IR version 14),
// every field in it.
//
// A field that the file does not have holds its default; `has(message, &Message::field)` of
// model/fields.h tells the two apart. Fields that no version of the protocol names are kept in
// `unknown` and written back. Tensor payloads stay where they are, in the mapped file, and each
// holds a share of that mapping, so a message may outlive its model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/dtype.h"
#include "model/box.h"

namespace sdx {
class ExternalFiles;  // bytes/external.h
}

namespace sdx::model {

struct Graph;
struct Type;

// The large messages are made, copied and moved by functions of model.cc: as long as each file that
// holds a message had its own, they were a good part of what it took to compile.
#define SDX_MADE_ELSEWHERE(M) \
  M();                        \
  M(const M&);                \
  M(M&&) noexcept;            \
  M& operator=(const M&);     \
  M& operator=(M&&) noexcept; \
  ~M()

struct Message {
  uint32_t present = 0;  // bit n: singular field number n stood in the file, or was marked as set
  std::string unknown;   // fields the protocol does not name: their bytes, tags included
};

// Bytes of a tensor, shared with whoever holds them (a mapped file, a buffer).
struct Payload {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
  bool empty() const { return bytes.empty(); }
  size_t size() const { return bytes.size(); }
};

struct StringEntry : Message {  // StringStringEntryProto
  std::string key, value;
};
using StringEntries = std::vector<StringEntry>;

struct OpsetId : Message {
  std::string domain;
  int64_t version = 0;
};

struct Segment : Message {
  int64_t begin = 0, end = 0;
};

enum class DataLocation : int32_t { in_message = 0, external = 1 };

// TensorProto. Typed fields are kept packed as they were written: float_data and double_data
// little-endian, the others as varints; model/tensor.h decodes.
struct TensorData : Message {
  SDX_MADE_ELSEWHERE(TensorData);
  std::vector<int64_t> dims;
  int32_t data_type = 0;  // ONNX's number; see dtype()
  std::optional<Segment> segment;
  Payload float_data, int32_data, int64_data, double_data, uint64_data, raw_data;
  std::vector<std::string> string_data;
  std::string name, doc_string;
  StringEntries external_data;
  DataLocation data_location = DataLocation::in_message;
  StringEntries metadata_props;

  std::shared_ptr<ExternalFiles>
      files;  // where external_data resolves; from the reader, not a field

  DType dtype() const {
    return valid(data_type) ? static_cast<DType>(data_type) : DType::undefined;
  }
};

struct SparseTensorData : Message {
  Box<TensorData> values, indices;  // the tensor's name is that of `values`
  std::vector<int64_t> dims;
};

struct Dimension : Message {
  std::variant<std::monostate, int64_t, std::string> value;  // unknown, dim_value, dim_param
  std::string denotation;

  const int64_t* number() const { return std::get_if<int64_t>(&value); }
  const std::string* param() const { return std::get_if<std::string>(&value); }
};

struct Shape : Message {  // TensorShapeProto
  std::vector<Dimension> dim;
};

struct TensorType : Message {
  int32_t elem_type = 0;
  std::optional<Shape> shape;  // absent: the rank is unknown
  DType dtype() const {
    return valid(elem_type) ? static_cast<DType>(elem_type) : DType::undefined;
  }
};
struct SparseTensorType : Message {
  int32_t elem_type = 0;
  std::optional<Shape> shape;
  DType dtype() const {
    return valid(elem_type) ? static_cast<DType>(elem_type) : DType::undefined;
  }
};
struct SequenceType : Message {
  Box<Type> elem_type;
};
struct MapType : Message {
  int32_t key_type = 0;
  Box<Type> value_type;
};
struct OptionalType : Message {
  Box<Type> elem_type;
};
struct OpaqueType : Message {
  std::string domain, name;
};

struct Type : Message {  // TypeProto
  SDX_MADE_ELSEWHERE(Type);
  std::variant<std::monostate, TensorType, SequenceType, MapType, OptionalType, SparseTensorType,
               OpaqueType>
      value;
  std::string denotation;

  const TensorType* tensor() const { return std::get_if<TensorType>(&value); }
  const SparseTensorType* sparse_tensor() const { return std::get_if<SparseTensorType>(&value); }
  const SequenceType* sequence() const { return std::get_if<SequenceType>(&value); }
  const MapType* map() const { return std::get_if<MapType>(&value); }
  const OptionalType* optional() const { return std::get_if<OptionalType>(&value); }
  const OpaqueType* opaque() const { return std::get_if<OpaqueType>(&value); }
};

struct ValueInfo : Message {
  SDX_MADE_ELSEWHERE(ValueInfo);
  std::string name;
  std::optional<Type> type;
  std::string doc_string;
  StringEntries metadata_props;
};

enum class AttributeType : int32_t {
  undefined = 0,
  f = 1,
  i = 2,
  s = 3,
  t = 4,
  g = 5,
  floats = 6,
  ints = 7,
  strings = 8,
  tensors = 9,
  graphs = 10,
  sparse_tensor = 11,
  sparse_tensors = 12,
  type = 13,
  types = 14,
};

struct Attribute : Message {
  SDX_MADE_ELSEWHERE(Attribute);
  std::string name, ref_attr_name, doc_string;
  AttributeType type = AttributeType::undefined;
  float f = 0;
  int64_t i = 0;
  std::string s;
  Box<TensorData> t;
  Box<Graph> g;
  Box<SparseTensorData> sparse_tensor;
  Box<Type> tp;
  std::vector<float> floats;
  std::vector<int64_t> ints;
  std::vector<std::string> strings;
  std::vector<TensorData> tensors;
  std::vector<Graph> graphs;
  std::vector<SparseTensorData> sparse_tensors;
  std::vector<Type> type_protos;
};

struct IntIntListEntry : Message {
  int64_t key = 0;
  std::vector<int64_t> value;
};
struct SimpleShardedDim : Message {
  std::variant<std::monostate, int64_t, std::string> dim;
  int64_t num_shards = 0;
};
struct ShardedDim : Message {
  int64_t axis = 0;
  std::vector<SimpleShardedDim> simple_sharding;
};
struct ShardingSpec : Message {
  std::string tensor_name;
  std::vector<int64_t> device;
  std::vector<IntIntListEntry> index_to_device_group_map;
  std::vector<ShardedDim> sharded_dim;
};
struct NodeDeviceConfiguration : Message {
  SDX_MADE_ELSEWHERE(NodeDeviceConfiguration);
  std::string configuration_id;
  std::vector<ShardingSpec> sharding_spec;
  int32_t pipeline_stage = 0;
};
struct DeviceConfiguration : Message {
  std::string name;
  int32_t num_devices = 0;
  std::vector<std::string> device;
};

struct Node : Message {
  SDX_MADE_ELSEWHERE(Node);
  std::vector<std::string> input, output;  // an empty name: no value there
  std::string name, op_type, domain, overload;
  std::vector<Attribute> attribute;
  std::string doc_string;
  StringEntries metadata_props;
  std::vector<NodeDeviceConfiguration> device_configurations;

  const Attribute* find(std::string_view attribute_name) const;
};

struct TensorAnnotation : Message {
  std::string tensor_name;
  StringEntries quant_parameter_tensor_names;
};

struct Graph : Message {
  SDX_MADE_ELSEWHERE(Graph);
  std::vector<Node> node;
  std::string name;
  std::vector<TensorData> initializer;
  std::vector<SparseTensorData> sparse_initializer;
  std::string doc_string;
  std::vector<ValueInfo> input, output, value_info;
  std::vector<TensorAnnotation> quantization_annotation;
  StringEntries metadata_props;
};

struct Function : Message {
  SDX_MADE_ELSEWHERE(Function);
  std::string name;
  std::vector<std::string> input, output, attribute;
  std::vector<Attribute> attribute_proto;
  std::vector<Node> node;
  std::string doc_string;
  std::vector<OpsetId> opset_import;
  std::string domain, overload;
  std::vector<ValueInfo> value_info;
  StringEntries metadata_props;
};

struct TrainingInfo : Message {
  std::optional<Graph> initialization, algorithm;
  StringEntries initialization_binding, update_binding;
};

struct Model : Message {
  SDX_MADE_ELSEWHERE(Model);
  int64_t ir_version = 0;
  std::vector<OpsetId> opset_import;
  std::string producer_name, producer_version, domain;
  int64_t model_version = 0;
  std::string doc_string;
  std::optional<Graph> graph;
  StringEntries metadata_props;
  std::vector<TrainingInfo> training_info;
  std::vector<Function> functions;
  std::vector<DeviceConfiguration> configuration;

  std::string path;  // the file it was read from, if any; not a field
};

#undef SDX_MADE_ELSEWHERE

// onnx-operators.proto: a published set of operators. `magic` is "ONNXOPSET".
struct OperatorInfo : Message {
  std::string op_type;
  int64_t since_version = 0;
  int32_t status = 0;  // 0 experimental, 1 stable
  std::string doc_string;
};
struct OperatorSet : Message {
  std::string magic;
  int64_t ir_version = 0;
  std::string ir_version_prerelease, ir_build_metadata, domain;
  int64_t opset_version = 0;
  std::string doc_string;
  std::vector<OperatorInfo> operators;
  std::vector<Function> functions;
};

// onnx-data.proto: values that are not tensors, as files of test cases hold them.
enum class ValueKind : int32_t {
  undefined = 0,
  tensor = 1,
  sparse_tensor = 2,
  sequence = 3,
  map = 4,
  optional = 5
};

struct MapData;
struct OptionalData;
struct SequenceData : Message {
  std::string name;
  ValueKind elem_type = ValueKind::undefined;
  std::vector<TensorData> tensor_values;
  std::vector<SparseTensorData> sparse_tensor_values;
  std::vector<SequenceData> sequence_values;
  std::vector<MapData> map_values;
  std::vector<OptionalData> optional_values;
};
struct MapData : Message {
  std::string name;
  int32_t key_type = 0;  // an element type
  std::vector<int64_t> keys;
  std::vector<std::string> string_keys;
  Box<SequenceData> values;
};
struct OptionalData : Message {
  std::string name;
  ValueKind elem_type = ValueKind::undefined;
  Box<TensorData> tensor_value;
  Box<SparseTensorData> sparse_tensor_value;
  Box<SequenceData> sequence_value;
  Box<MapData> map_value;
  Box<OptionalData> optional_value;
};

}  // namespace sdx::model

// What they are kept in, for the same reason.
extern template class std::vector<sdx::model::StringEntry>;
extern template class std::vector<sdx::model::TensorData>;
extern template class std::vector<sdx::model::ValueInfo>;
extern template class std::vector<sdx::model::Attribute>;
extern template class std::vector<sdx::model::Node>;
extern template class std::vector<sdx::model::Function>;
