#include "op/node.h"

namespace sdx {

Result<size_t> resolve_axis(int64_t axis, size_t rank, std::string_view what) {
  const auto r = static_cast<int64_t>(rank);
  if (axis < -r || axis >= r) {
    return fail("SDX-T0110", "{} {} is out of range for rank {}", what, axis, rank);
  }
  return static_cast<size_t>(axis < 0 ? axis + r : axis);
}

}  // namespace sdx
