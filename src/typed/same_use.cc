#include "typed/same_use.h"

namespace sdx::typed {

bool same_use(const sdx::Node& a, const sdx::Node& b) {
  return a.op == b.op && a.opset == b.opset && a.wanted == b.wanted &&
         a.formal_inputs == b.formal_inputs && same_attributes(a, b);
}

}  // namespace sdx::typed
