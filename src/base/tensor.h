// Tensor: an element type, dimensions and a shared buffer. Value: a tensor, sequence, map, optional
// or nothing.
#ifndef SDX_BASE_TENSOR_H_
#define SDX_BASE_TENSOR_H_

#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/dtype.h"
#include "base/elem.h"
#include "base/result.h"

namespace sdx {

using Dims = std::vector<int64_t>;

// A tensor has at most 2^kElementBits elements. Where sizes have 32 bits, those of any type still
// fit half of what can be addressed.
inline constexpr int kElementBits = sizeof(size_t) == 8 ? 48 : 27;
// Product of the dimensions; an error if negative or beyond that.
Result<size_t> element_count(std::span<const int64_t> dims);
std::string to_string(std::span<const int64_t> dims);  // "[2,3]"

// Memory aligned to kAlignment, freed with its last owner.
inline constexpr size_t kAlignment = 64;
std::shared_ptr<void> allocate_aligned(size_t bytes);

class Tensor {
 public:
  Tensor() = default;  // no type, no data
  Tensor(const Tensor&);
  Tensor(Tensor&&) noexcept;
  Tensor& operator=(const Tensor&);
  Tensor& operator=(Tensor&&) noexcept;
  ~Tensor();

  // Zeroed memory of its own. The dimensions must have been checked with element_count.
  static Tensor make(DType, Dims);
  // Memory that somebody else owns, such as a mapped file.
  static Tensor over(DType, Dims, std::shared_ptr<const void> owner, const void* data);
  template <class T>
  static Tensor of(Dims dims, std::span<const T> values) {
    Tensor tensor = make(dtype_of<T>, std::move(dims));
    std::copy(values.begin(), values.end(), tensor.data<T>());
    return tensor;
  }
  template <class T>
  static Tensor of(Dims dims, std::initializer_list<T> values) {
    return of<T>(std::move(dims), std::span<const T>(values.begin(), values.size()));
  }
  template <class T>
  static Tensor scalar(T value) {
    return of<T>({}, {value});
  }

  bool empty() const { return type_ == DType::undefined; }
  DType type() const { return type_; }
  const Dims& dims() const { return dims_; }
  size_t rank() const { return dims_.size(); }
  size_t count() const { return count_; }
  size_t bytes() const { return bytes_for(type_, count_); }
  const void* raw() const { return data_; }
  void* raw() { return const_cast<void*>(data_); }  // only for tensors one made oneself
  template <class T>
  const T* data() const {
    return static_cast<const T*>(data_);
  }
  template <class T>
  T* data() {
    return static_cast<T*>(raw());
  }
  template <class T>
  std::span<const T> values() const {
    return {data<T>(), count_};
  }

  // The same elements under other dimensions of equal count.
  Tensor reshaped(Dims dims) const;
  // The bytes from `offset` on as elements of another type and shape; shares the memory.
  Tensor part(size_t offset, DType type, Dims dims) const;
  // The same with memory of its own.
  Tensor copy() const;
  // Same type, dimensions and bytes (NaNs compare by bits, strings by value).
  bool operator==(const Tensor&) const;

 private:
  DType type_ = DType::undefined;
  Dims dims_;
  size_t count_ = 0;
  std::shared_ptr<const void> owner_;
  const void* data_ = nullptr;
};

struct Value;
using Sequence = std::vector<Value>;
// ONNX-ML maps: integer or string keys to tensor values of rank 0.
using MapKey = std::variant<int64_t, std::string>;
using Map = std::map<MapKey, Value>;

// What a wire carries. An optional without an element is std::monostate.
struct Value : std::variant<std::monostate, Tensor, std::shared_ptr<const Sequence>,
                            std::shared_ptr<const Map>> {
  using variant::variant;
  Value() = default;
  Value(const Value&);
  Value(Value&&) noexcept;
  Value& operator=(const Value&);
  Value& operator=(Value&&) noexcept;
  ~Value();
  bool is_none() const { return index() == 0; }
  bool is_tensor() const { return index() == 1; }
  bool is_sequence() const { return index() == 2; }
  bool is_map() const { return index() == 3; }
  const Tensor& tensor() const { return std::get<1>(*this); }
  const Sequence& sequence() const { return *std::get<2>(*this); }
  const Map& map() const { return *std::get<3>(*this); }
  static Value of(Sequence items);
  static Value of(Map items);
};
bool equal(const Value&, const Value&);

}  // namespace sdx

// Compiled once, not in every file that holds a list of values.
extern template class std::vector<sdx::Value>;

#endif  // SDX_BASE_TENSOR_H_
