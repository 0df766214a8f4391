#include "ops/pool/pool.h"

namespace sdx::ops {

std::optional<Relaid> pool_layout(const Relay& asked) {
  const std::optional<Layout> blocks = as_blocks(asked.layout);
  // The kernels take three spatial axes.
  if (!blocks || asked.layout.rank() > 4 || asked.out.size() != 1) return std::nullopt;
  Relaid made = Relaid::same(asked);
  made.inputs[0].layout = made.out = *blocks;
  for (const char* name : {"kernel_shape", "strides", "dilations"}) {
    std::vector<int64_t> values = asked.use.ints_or_empty(name);
    if (values.empty()) continue;
    values.push_back(1);
    made.use.attrs[name] = values;
  }
  if (std::vector<int64_t> pads = asked.use.ints_or_empty("pads"); !pads.empty()) {
    pads.insert(pads.begin() + long(pads.size() / 2), 0);
    pads.push_back(0);
    made.use.attrs["pads"] = pads;
  }
  return made;
}

}  // namespace sdx::ops
