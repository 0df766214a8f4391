#include "base/stack.h"

#include <windows.h>

#include <cstdint>
#include <new>

namespace sdx::stack {
namespace {

constexpr size_t kNeeded = size_t{4} << 20, kLarge = size_t{16} << 20;

struct Start {
  void (*body)(void*);
  void* context;
};

DWORD WINAPI run(void* given) {
  const Start& at = *static_cast<const Start*>(given);
  at.body(at.context);
  return 0;
}

}  // namespace

bool has_enough() { return has(kNeeded); }

bool has(size_t bytes) {
  ULONG_PTR bottom = 0, top = 0;
  GetCurrentThreadStackLimits(&bottom, &top);
  const char here = 0;
  const auto at = reinterpret_cast<uintptr_t>(&here);
  return at > bottom && at - bottom >= bytes;
}

void widen_threads() {}  // they get what the program's file asks for

void run_on_large(void (*body)(void*), void* context) {
  Start start{body, context};
  HANDLE thread =
      CreateThread(nullptr, kLarge, run, &start, STACK_SIZE_PARAM_IS_A_RESERVATION, nullptr);
  if (thread == nullptr) throw std::bad_alloc();
  WaitForSingleObject(thread, INFINITE);
  CloseHandle(thread);
}

}  // namespace sdx::stack
