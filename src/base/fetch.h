// fetch: memory that will be needed soon is asked for, so that what lies apart comes all at once.
#ifndef SDX_BASE_FETCH_H_
#define SDX_BASE_FETCH_H_

#include <cstddef>

namespace sdx {

// To be called from where something else is done too: compilers drop calls that do nothing more.
inline void fetch(const void* memory, size_t bytes) {
  constexpr size_t kLine = 64;
  const auto* at = static_cast<const char*>(memory);
  for (size_t i = 0; i < bytes; i += kLine) __builtin_prefetch(at + i, 1);
}

}  // namespace sdx

#endif  // SDX_BASE_FETCH_H_
