// IsaScope: while it lives, best_isa() answers this level on this thread, and in the loops that the
// thread gives to a pool.
#pragma once

#include "kernel/isa.h"

namespace sdx {

class IsaScope {
 public:
  explicit IsaScope(Isa isa);
  ~IsaScope();
  IsaScope(const IsaScope&) = delete;
  IsaScope& operator=(const IsaScope&) = delete;

 private:
  int before_;
};

}  // namespace sdx
