#include <algorithm>

#include "base/budget.h"
#include "model/tensor.h"

namespace sdx::model {
namespace {

constexpr size_t kFewDenseBytes = size_t{64} << 20;

// The row-major position that index i names, in either of the two forms.
Result<size_t> position(const Tensor& indices, size_t i, const Dims& dims, size_t count) {
  const int64_t* index = indices.data<int64_t>();
  if (indices.rank() == 1) {
    if (index[i] < 0 || static_cast<size_t>(index[i]) >= count) {
      return fail("SDX-M0203", "index {} is {}, outside the {} elements of shape {}", i, index[i],
                  count, to_string(dims));
    }
    return static_cast<size_t>(index[i]);
  }
  size_t at = 0;
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    const int64_t part = index[i * dims.size() + axis];
    if (part < 0 || part >= dims[axis]) {
      return fail("SDX-M0203", "index {} has {} for dimension {}, outside shape {}", i, part, axis,
                  to_string(dims));
    }
    at = at * static_cast<size_t>(dims[axis]) + static_cast<size_t>(part);
  }
  return at;
}

void copy_element(const Tensor& from, size_t i, Tensor& to, size_t at) {
  const DType type = from.type();
  if (type == DType::string) {
    to.data<std::string>()[at] = from.data<std::string>()[i];
  } else if (is_packed(type)) {
    set_bits(type, to.raw(), at, get_bits(type, from.raw(), i));
  } else {
    const size_t width = bits(type) / 8;
    std::memcpy(to.data<char>() + at * width, from.data<char>() + i * width, width);
  }
}

Result<Tensor> scatter(const SparseTensorData& sparse, size_t most_bytes) {
  SDX_ASSIGN(const std::vector<size_t> positions, positions_of(sparse));
  SDX_ASSIGN(const Tensor values, to_tensor(*sparse.values));
  SDX_ASSIGN(const size_t count, element_count(sparse.dims));
  const size_t bytes = bytes_for(values.type(), count);
  // A few bytes of file must not become gigabytes of zeros.
  constexpr size_t kMostGrowth = 1024;
  const size_t stored = values.bytes() + positions.size() * sizeof(int64_t);
  most_bytes = std::min(most_bytes, std::max(kFewDenseBytes, kMostGrowth * stored));
  if (bytes > most_bytes) {
    return fail("SDX-M0202", "shape {} of {} takes more than {} bytes", to_string(sparse.dims),
                onnx_name(values.type()), most_bytes);
  }
  if (Budget* budget = Budget::open(); budget != nullptr && !budget->take_bytes(bytes)) {
    return fail("SDX-M0202", "sparse tensors of shapes like {} take too many bytes in all",
                to_string(sparse.dims));
  }
  Tensor dense = Tensor::make(values.type(), sparse.dims);
  for (size_t i = 0; i < positions.size(); ++i) copy_element(values, i, dense, positions[i]);
  return dense;
}

}  // namespace

Result<std::vector<size_t>> positions_of(const SparseTensorData& sparse) {
  if (!sparse.values || !sparse.indices) return fail("SDX-M0201", "values or indices are missing");
  SDX_ASSIGN(const Tensor indices, to_tensor(*sparse.indices));
  SDX_ASSIGN(const size_t count, element_count(sparse.dims));
  const Dims& values = sparse.values->dims;
  const bool linear = indices.rank() == 1;
  const bool rows =
      indices.rank() == 2 && indices.dims()[1] == static_cast<int64_t>(sparse.dims.size());
  if (values.size() != 1 || indices.type() != DType::i64 || !(linear || rows) ||
      indices.dims()[0] != values[0]) {
    return fail("SDX-M0201",
                "values {} and indices {} {} of a tensor of shape {}; expected [N] and int64 [N] "
                "or [N,rank]",
                to_string(values), onnx_name(indices.type()), to_string(indices.dims()),
                to_string(sparse.dims));
  }
  std::vector<size_t> positions(static_cast<size_t>(values[0]));
  for (size_t i = 0; i < positions.size(); ++i) {
    SDX_ASSIGN(positions[i], position(indices, i, sparse.dims, count));
    if (i > 0 && positions[i] <= positions[i - 1])
      return fail("SDX-M0203", "index {} does not come after the one before it", i);
  }
  return positions;
}

Result<Tensor> to_dense(const SparseTensorData& sparse, size_t most_bytes) {
  auto dense = scatter(sparse, most_bytes);
  if (!dense) {
    return std::move(dense).error().in(
        fmt::format("sparse tensor \"{}\"", sparse.values ? sparse.values->name : ""));
  }
  return dense;
}

}  // namespace sdx::model
