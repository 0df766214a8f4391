#include "kernel/isa.h"

#include <atomic>
#include <cstdlib>

#include "kernel/isa_scope.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace sdx {
namespace {

#if defined(__x86_64__)
// clang has no name for this one.
bool has_f16c() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}
#endif

Isa detect() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
    return Isa::avx512;
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c())
    return Isa::avx2;
#endif
  return Isa::portable;
}

Isa initial() {
  const Isa machine = detect();
  const char* wish = std::getenv("SARDONYX_ISA");
  if (wish == nullptr) return machine;
  for (Isa isa : {Isa::portable, Isa::avx2, Isa::avx512}) {
    if (isa_name(isa) == wish && isa <= machine) return isa;
  }
  return machine;
}

std::atomic<Isa>& chosen() {
  static std::atomic<Isa> isa{initial()};
  return isa;
}

// The level of the innermost IsaScope of this thread; -1 outside of one.
thread_local int scoped = -1;

}  // namespace

IsaScope::IsaScope(Isa isa) : before_(scoped) { scoped = static_cast<int>(isa); }
IsaScope::~IsaScope() { scoped = before_; }

Isa best_isa() {
  return scoped >= 0 ? static_cast<Isa>(scoped) : chosen().load(std::memory_order_relaxed);
}
bool isa_available(Isa isa) { return isa <= detect(); }
void force_isa(Isa isa) { chosen() = isa <= detect() ? isa : detect(); }

std::string_view isa_name(Isa isa) {
  return isa == Isa::avx512 ? "avx512" : isa == Isa::avx2 ? "avx2" : "portable";
}

}  // namespace sdx
