#include "kernel/cpus.h"

#include <algorithm>
#include <climits>
#include <cstdint>
#include <thread>

namespace sdx {

// Where sizes have 32 bits, half of what can be addressed: the model takes its part too.
size_t allowed_memory() { return sizeof(size_t) == 8 ? SIZE_MAX : size_t(PTRDIFF_MAX); }

#if defined(__EMSCRIPTEN__)
int most_threads() { return 1; }
#else
int most_threads() { return INT_MAX; }
#endif

int allowed_cpus() { return std::max(1, int(std::thread::hardware_concurrency())); }

}  // namespace sdx
