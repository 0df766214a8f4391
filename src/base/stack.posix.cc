#include "base/stack.h"

#include <pthread.h>
#include <signal.h>

#include <cstdint>
#include <new>

namespace sdx::stack {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr size_t kNeeded = size_t{24} << 20, kLarge = size_t{48} << 20;
#else
constexpr size_t kNeeded = size_t{4} << 20, kLarge = size_t{16} << 20;
#endif

// The lowest address of this thread's stack; 0 if the system does not tell.
uintptr_t lowest() {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return 0;
  void* address = nullptr;
  size_t size = 0;
  const bool told = pthread_attr_getstack(&attributes, &address, &size) == 0;
  pthread_attr_destroy(&attributes);
  return told ? reinterpret_cast<uintptr_t>(address) : 0;
}

struct Start {
  void (*body)(void*);
  void* context;
};

}  // namespace

bool has_enough() { return has(kNeeded); }

bool has(size_t bytes) {
  static thread_local const uintptr_t bottom = lowest();
  const char here = 0;
  const auto at = reinterpret_cast<uintptr_t>(&here);
  return bottom != 0 && at > bottom && at - bottom >= bytes;
}

void widen_threads() {
  constexpr size_t kWide = size_t{1} << 20;
  pthread_attr_t attributes;
  if (pthread_getattr_default_np(&attributes) != 0) return;
  size_t size = 0;
  if (pthread_attr_getstacksize(&attributes, &size) == 0 && size < kWide &&
      pthread_attr_setstacksize(&attributes, kWide) == 0) {
    pthread_setattr_default_np(&attributes);
  }
  pthread_attr_destroy(&attributes);
}

void run_on_large(void (*body)(void*), void* context) {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) throw std::bad_alloc();
  Start start{body, context};
  pthread_t thread{};
  const bool started = pthread_attr_setstacksize(&attributes, kLarge) == 0 &&
                       pthread_create(
                           &thread, &attributes,
                           [](void* given) -> void* {
                             const Start& at = *static_cast<const Start*>(given);
                             at.body(at.context);
                             return nullptr;
                           },
                           &start) == 0;
  pthread_attr_destroy(&attributes);
  if (!started) throw std::bad_alloc();
  // Signals for the process are for the thread that works.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  pthread_join(thread, nullptr);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace sdx::stack
