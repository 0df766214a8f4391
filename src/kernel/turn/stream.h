// stream_copy: a copy whose result goes past the caches, for what is larger than they are.
#pragma once

#include <cstddef>

#include "kernel/isa.h"

namespace sdx {

// The ranges do not overlap. What was written is seen by others once stream_end() has run.
SDX_DECLARE_ISAS(void stream_copy(char* to, const char* from, size_t bytes); void stream_end();)

}  // namespace sdx
