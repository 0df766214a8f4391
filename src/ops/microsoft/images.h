// Windows over images: what convolutions and poolings of com.microsoft share.
#pragma once

#include "ops/microsoft/microsoft.h"

namespace sdx::ops::microsoft {

// The node's attributes of these names, as far as it has them.
inline AttrMap some_attributes(const Node& node, std::initializer_list<std::string_view> names) {
  AttrMap attrs;
  for (const std::string_view name : names) {
    if (node.has(name)) attrs.emplace(name, node.attrs.find(name)->second);
  }
  return attrs;
}
inline AttrMap window_attributes(const Node& node) {
  return some_attributes(node, {"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides",
                                "ceil_mode", "count_include_pad"});
}

// [N, spatial axes, C] as [N, C, spatial axes], and back.
inline Wire channels_first(Composer& c, Wire x) {
  const auto rank = int64_t(c.fact(x).rank());
  if (!c.require(rank >= 3, "SDX-T1056", "the input is {}; it must have 3 dimensions or more",
                 c.fact(x).text())) {
    return x;
  }
  std::vector<int64_t> perm{0, rank - 1};
  for (int64_t i = 1; i + 1 < rank; ++i) perm.push_back(i);
  return c.transpose(x, perm);
}
inline Wire channels_last(Composer& c, Wire x) {
  if (c.failed()) return x;
  const auto rank = int64_t(c.fact(x).rank());
  std::vector<int64_t> perm{0};
  for (int64_t i = 2; i < rank; ++i) perm.push_back(i);
  perm.push_back(1);
  return c.transpose(x, perm);
}

}  // namespace sdx::ops::microsoft
