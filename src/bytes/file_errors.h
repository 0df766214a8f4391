// What is said of a file that cannot be taken, by whatever means a system opens it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"

namespace sdx {

inline auto cannot_open(const std::string& path, const std::string& why) {
  return fail("SDX-B0001", "cannot open \"{}\": {}", path, why);
}
inline auto not_a_regular_file(const std::string& path) {
  return fail("SDX-B0002", "\"{}\" is not a regular file", path);
}
inline auto too_large_a_file(const std::string& path, uint64_t bytes, size_t most) {
  return fail("SDX-B0003", "\"{}\" has {} bytes; the limit is {}", path, bytes, most);
}

}  // namespace sdx
