// Tensors as the engine computes with them, from tensors as a model holds them, and back.
#pragma once

#include <string>

#include "base/result.h"
#include "base/tensor.h"
#include "model/model.h"

namespace sdx::model {

// The elements' bytes as raw_data holds them (little-endian, 2-, 4- and 6-bit types packed),
// wherever they are: in raw_data, in a typed field or in an external file. Shares them with the
// file where the file holds them so. Strings have no such form.
Result<Payload> data_of(const TensorData& tensor);

// Checked: dims not negative, one storage field, of the element type's kind, with exactly as many
// elements as dims say. Zero-copy for raw, external and float_data/double_data that stand aligned
// for the type.
Result<Tensor> to_tensor(const TensorData& tensor);
// A raw_data tensor that shares the bytes; string_data for strings.
TensorData from_tensor(const Tensor& tensor, std::string name = {});

// Indices must be ascending, without duplicates, inside dims; what is not named is zero.
Result<Tensor> to_dense(const SparseTensorData& sparse);

// Every external tensor of the model, wherever it stands, becomes raw_data that shares the mapped
// file.
Status embed_external(Model& model);

}  // namespace sdx::model
