#include "base/tensor.h"

#include <fmt/ranges.h>

#include <cstdlib>
#include <limits>
#include <new>

#include "base/system.h"

namespace sdx {

Result<size_t> element_count(std::span<const int64_t> dims) {
  constexpr uint64_t kMost = uint64_t{1} << kElementBits;
  size_t count = 1;
  bool zero = false;
  for (const int64_t dim : dims) {
    if (dim < 0)
      return fail("SDX-B0101", "negative dimension {} in shape {}", dim, to_string(dims));
    if (uint64_t(dim) > std::numeric_limits<size_t>::max()) {
      return fail("SDX-B0102", "the dimension {} in shape {} does not fit this machine's {} bits",
                  dim, to_string(dims), 8 * sizeof(size_t));
    }
    if (dim == 0) zero = true;
  }
  if (zero) return size_t{0};
  for (const int64_t dim : dims) {
    // No division: sizes are counted at every turn.
    if (__builtin_mul_overflow(count, size_t(dim), &count) || count > kMost) {
      return fail("SDX-B0102", "shape {} has more than 2^{} elements", to_string(dims),
                  kElementBits);
    }
  }
  return count;
}

std::string to_string(std::span<const int64_t> dims) {
  return fmt::format("[{}]", fmt::join(dims, ","));
}

std::shared_ptr<void> allocate_aligned(size_t bytes) {
  // Malloc keeps small blocks at hand for each thread, aligned_alloc does not.
  constexpr size_t kSmall = 4096;
  if (bytes <= kSmall) {
    auto* const block = static_cast<std::byte*>(std::malloc(bytes + kAlignment));
    if (block == nullptr) throw std::bad_alloc();
    const auto at = reinterpret_cast<uintptr_t>(block);
    return {std::shared_ptr<void>(block, std::free),
            block + (kAlignment - at % kAlignment) % kAlignment};
  }
  const size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  return system::aligned_memory(kAlignment, rounded);
}

Tensor::Tensor(const Tensor&) = default;
Tensor::Tensor(Tensor&&) noexcept = default;
Tensor& Tensor::operator=(const Tensor&) = default;
Tensor& Tensor::operator=(Tensor&&) noexcept = default;
Tensor::~Tensor() = default;

Value::Value(const Value&) = default;
Value::Value(Value&&) noexcept = default;
Value& Value::operator=(const Value&) = default;
Value& Value::operator=(Value&&) noexcept = default;
Value::~Value() = default;

Value Value::of(Sequence items) {
  return Value(std::make_shared<const Sequence>(std::move(items)));
}

Value Value::of(Map items) { return Value(std::make_shared<const Map>(std::move(items))); }

Tensor Tensor::make(DType type, Dims dims) {
  Tensor tensor;
  tensor.type_ = type;
  tensor.dims_ = std::move(dims);
  tensor.count_ = *element_count(tensor.dims_);
  if (type == DType::string) {
    auto strings = std::make_shared<std::vector<std::string>>(tensor.count_);
    tensor.data_ = strings->data();
    tensor.owner_ = std::move(strings);
  } else {
    auto memory = allocate_aligned(tensor.bytes());
    std::memset(memory.get(), 0, tensor.bytes());
    tensor.data_ = memory.get();
    tensor.owner_ = std::move(memory);
  }
  return tensor;
}

Tensor Tensor::over(DType type, Dims dims, std::shared_ptr<const void> owner, const void* data) {
  Tensor tensor;
  tensor.type_ = type;
  tensor.dims_ = std::move(dims);
  tensor.count_ = *element_count(tensor.dims_);
  tensor.owner_ = std::move(owner);
  tensor.data_ = data;
  return tensor;
}

Tensor Tensor::reshaped(Dims dims) const {
  Tensor tensor = *this;
  tensor.dims_ = std::move(dims);
  assert(*element_count(tensor.dims_) == count_);
  return tensor;
}

Tensor Tensor::part(size_t offset, DType type, Dims dims) const {
  Tensor tensor =
      over(type, std::move(dims), owner_, static_cast<const std::byte*>(data_) + offset);
  assert(offset + tensor.bytes() <= bytes());
  return tensor;
}

Tensor Tensor::copy() const {
  if (type_ == DType::string) {
    Tensor tensor = make(type_, dims_);
    std::copy(data<std::string>(), data<std::string>() + count_, tensor.data<std::string>());
    return tensor;
  }
  auto memory = allocate_aligned(bytes());
  if (bytes() != 0) std::memcpy(memory.get(), data_, bytes());
  const void* raw = memory.get();
  return over(type_, dims_, std::move(memory), raw);
}

bool Tensor::operator==(const Tensor& other) const {
  if (type_ != other.type_ || dims_ != other.dims_) return false;
  if (type_ == DType::string) {
    return std::equal(data<std::string>(), data<std::string>() + count_, other.data<std::string>());
  }
  if (!is_packed(type_)) return count_ == 0 || std::memcmp(data_, other.data_, bytes()) == 0;
  for (size_t i = 0; i < count_; ++i) {
    if (get_bits(type_, data_, i) != get_bits(type_, other.data_, i)) return false;
  }
  return true;
}

bool equal(const Value& a, const Value& b) {
  if (a.index() != b.index()) return false;
  if (a.is_tensor()) return a.tensor() == b.tensor();
  if (a.is_sequence()) {
    return std::equal(a.sequence().begin(), a.sequence().end(), b.sequence().begin(),
                      b.sequence().end(), equal);
  }
  if (a.is_map()) {
    return std::equal(a.map().begin(), a.map().end(), b.map().begin(), b.map().end(),
                      [](const auto& x, const auto& y) {
                        return x.first == y.first && equal(x.second, y.second);
                      });
  }
  return true;
}

}  // namespace sdx

template class std::vector<sdx::Value>;
