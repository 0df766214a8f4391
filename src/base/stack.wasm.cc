#include "base/stack.h"

#include <emscripten/stack.h>

#include <new>

namespace sdx::stack {
namespace {

// The program is linked with four times as much (CMakeLists.txt).
constexpr size_t kNeeded = size_t{4} << 20;

}  // namespace

bool has_enough() { return has(kNeeded); }

bool has(size_t bytes) { return emscripten_stack_get_free() >= bytes; }

void widen_threads() {}  // there are none

// The one stack is all there is.
void run_on_large(void (*)(void*), void*) { throw std::bad_alloc(); }

}  // namespace sdx::stack
