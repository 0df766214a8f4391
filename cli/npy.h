// NumPy's .npy files: one array with its type and shape.
#pragma once

#include <string>

#include "base/tensor.h"

namespace sdx::cli {

// Shares the mapped file. Row-major and little-endian only; the types of numpy that ONNX has.
Result<Tensor> read_npy(const std::string& path);
// The same from bytes that `owner` keeps.
Result<Tensor> parse_npy(std::span<const std::byte> bytes, std::shared_ptr<const void> owner);

// Whether a file of `whole` bytes that begins so has as many elements as it says.
Status check_npy(std::span<const std::byte> beginning, size_t whole);

// What stands before the elements in a file of version 1. numpy has no bfloat16 and nothing
// narrower than a byte; strings it keeps in a way of its own.
Result<std::string> npy_header(const Tensor& tensor);
Status write_npy(const Tensor& tensor, const std::string& path);

}  // namespace sdx::cli
