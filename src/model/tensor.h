// Tensors as the engine computes with them, from tensors as a model holds them, and back.
#pragma once

#include <string>

#include "base/fitting.h"
#include "base/result.h"
#include "base/tensor.h"
#include "model/model.h"

namespace sdx::model {

// The elements' bytes as raw_data holds them (little-endian, 2-, 4- and 6-bit types packed),
// wherever they are: in raw_data, in a typed field or in an external file. Shares them with the
// file where the file holds them so. Strings have no such form. Checked: dims not negative, one
// storage field, of the element type's kind, with exactly as many elements as dims say.
Result<Payload> data_of(const TensorData& tensor);

// The same as a tensor; copied only if decoded or not aligned for its type.
Result<Tensor> to_tensor(const TensorData& tensor);
// A raw_data tensor that shares the bytes; string_data for strings.
TensorData from_tensor(const Tensor& tensor, std::string name = {});

// The row-major positions that the indices of a sparse tensor name, checked as to_dense() does.
Result<std::vector<size_t>> positions_of(const SparseTensorData& sparse);

// Indices must be ascending, without duplicates, inside dims; what is not named is zero.
// `most_bytes` bounds the result, which may be far larger than the file.
Result<Tensor> to_dense(const SparseTensorData& sparse,
                        size_t most_bytes = fitting(uint64_t{1} << 34));

// Every external tensor of the model, wherever it stands, becomes raw_data that shares the mapped
// file.
Status embed_external(Model& model);

// Values of any type. `type` says which document the bytes are: TensorProto, SparseTensorProto
// (made dense), SequenceProto, MapProto or OptionalProto.
Result<Value> to_value(const SequenceData& sequence);
Result<Value> to_value(const MapData& map);
Result<Value> to_value(const OptionalData& optional);
Result<Value> read_value_file(const std::string& path, const Type& type);
Status write_value_file(const Value& value, const Type& type, const std::string& path,
                        std::string name = {});

}  // namespace sdx::model
