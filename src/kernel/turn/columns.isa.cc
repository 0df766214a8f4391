#include "kernel/turn/columns.h"

#include <cstdint>

#include "kernel/simd/apart.h"

namespace sdx::SDX_ISA {
namespace {

// Columns written out one by one: compilers then see groups of neighbours and shuffle whole
// vectors.
template <class T, size_t kColumns>
void join(const void* const* from, void* to, size_t n) {
  const T* a = static_cast<const T*>(from[0]);
  const T* b = static_cast<const T*>(from[1]);
  const T* c = static_cast<const T*>(from[kColumns > 2 ? 2 : 0]);
  const T* d = static_cast<const T*>(from[kColumns > 3 ? 3 : 0]);
  T* y = static_cast<T*>(to);
  SDX_EACH_APART
  for (size_t i = 0; i < n; ++i) {
    y[kColumns * i] = a[i];
    y[kColumns * i + 1] = b[i];
    if constexpr (kColumns > 2) y[kColumns * i + 2] = c[i];
    if constexpr (kColumns > 3) y[kColumns * i + 3] = d[i];
  }
}

template <class T, size_t kColumns>
void deal(const void* from, void* const* to, size_t n) {
  const T* x = static_cast<const T*>(from);
  T* a = static_cast<T*>(to[0]);
  T* b = static_cast<T*>(to[1]);
  T* c = static_cast<T*>(to[kColumns > 2 ? 2 : 0]);
  T* d = static_cast<T*>(to[kColumns > 3 ? 3 : 0]);
  SDX_EACH_APART
  for (size_t i = 0; i < n; ++i) {
    a[i] = x[kColumns * i];
    b[i] = x[kColumns * i + 1];
    if constexpr (kColumns > 2) c[i] = x[kColumns * i + 2];
    if constexpr (kColumns > 3) d[i] = x[kColumns * i + 3];
  }
}

// f.operator()<T, columns>().
template <class T, class F>
void with_columns(size_t columns, F f) {
  if (columns == 2) return f.template operator()<T, 2>();
  if (columns == 3) return f.template operator()<T, 3>();
  f.template operator()<T, 4>();
}
template <class F>
void with_sizes(size_t size, size_t columns, F f) {
  switch (size) {
    case 1:
      return with_columns<uint8_t>(columns, f);
    case 2:
      return with_columns<uint16_t>(columns, f);
    case 4:
      return with_columns<uint32_t>(columns, f);
    default:
      return with_columns<uint64_t>(columns, f);
  }
}

}  // namespace

void join_columns(size_t size, size_t columns, const void* const* from, void* to, size_t n) {
  with_sizes(size, columns, [&]<class T, size_t kColumns>() { join<T, kColumns>(from, to, n); });
}

void deal_columns(size_t size, size_t columns, const void* from, void* const* to, size_t n) {
  with_sizes(size, columns, [&]<class T, size_t kColumns>() { deal<T, kColumns>(from, to, n); });
}

}  // namespace sdx::SDX_ISA
