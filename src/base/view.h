// View: a contiguous, row-major tensor that somebody else owns; what kernels work on. Packed
// element types are packed as in files.
#ifndef SDX_BASE_VIEW_H_
#define SDX_BASE_VIEW_H_

#include <cstddef>
#include <span>

#include "base/dtype.h"

namespace sdx {

struct View {
  // undefined: an optional input that is absent, an output nobody wants
  DType type = DType::undefined;
  std::span<const int64_t> dims;
  void* raw = nullptr;
  size_t count = 0;

  bool present() const { return type != DType::undefined; }
  size_t rank() const { return dims.size(); }
  size_t bytes() const { return bytes_for(type, count); }
  template <class T>
  T* data() const {
    return static_cast<T*>(raw);
  }
  template <class T>
  std::span<T> values() const {
    return {data<T>(), count};
  }
};

}  // namespace sdx

#endif  // SDX_BASE_VIEW_H_
