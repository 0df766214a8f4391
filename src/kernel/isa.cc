#include "kernel/isa.h"

#include <cstdlib>

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

}  // namespace

Isa native_isa() {
  static const Isa isa = [] {
    const Isa machine = detect();
    const char* wish = std::getenv("SARDONYX_ISA");
    for (const Isa level : {Isa::portable, Isa::avx2, Isa::avx512}) {
      if (wish != nullptr && isa_name(level) == wish && level <= machine) return level;
    }
    return machine;
  }();
  return isa;
}

bool isa_available(Isa isa) { return isa <= detect(); }

std::string_view isa_name(Isa isa) {
  return isa == Isa::avx512 ? "avx512" : isa == Isa::avx2 ? "avx2" : "portable";
}

}  // namespace sdx
