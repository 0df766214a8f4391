// What is known of a sequence's, an optional's or a map's elements.
#pragma once

#include "fact/fact.h"

namespace sdx::ops {

// Nothing, while the wire's own type is open: it may be called a tensor until more is known.
inline const Fact& element_of(const Fact& fact) {
  static const Fact open = Fact::tensor(DType::undefined);
  return fact.element ? *fact.element : open;
}

}  // namespace sdx::ops
