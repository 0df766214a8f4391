// NumPy's .npy files: one array with its type and shape.
#pragma once

#include <string>

#include "base/tensor.h"

namespace sdx::cli {

// Shares the mapped file. Row-major and little-endian only; the types of numpy that ONNX has.
Result<Tensor> read_npy(const std::string& path);

}  // namespace sdx::cli
