// The groups into which a convolution's channels divide, and what can be wrong with them.
#pragma once

#include "op/op.h"

namespace sdx::ops {

inline Result<int64_t> read_group(const Node& node) {
  const int64_t group = node.i("group");
  if (group < 1) return fail("SDX-T0320", "group is {}, expected at least 1", group);
  return group;
}

// `channels`: "input" or "output", of which there are `count`.
inline Status divides(std::string_view channels, const Dim& count, int64_t group,
                      std::string_view groups = "groups") {
  if (!count.is_const() || count.value() % group == 0) return ok();
  return fail("SDX-T0323", "{} {} channels do not divide into {} {}", count.text(), channels, group,
              groups);
}

}  // namespace sdx::ops
