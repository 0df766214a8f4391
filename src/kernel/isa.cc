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
#elif defined(__aarch64__)
  return Isa::neon;  // every arm64 has it
#endif
  return Isa::portable;
}

}  // namespace

Isa native_isa() {
  static const Isa isa = [] {
    const Isa machine = detect();
    const char* wish = std::getenv("SARDONYX_ISA");
    Isa level;
    if (wish != nullptr && parse_isa(wish, level) && isa_available(level)) return level;
    return machine;
  }();
  return isa;
}

bool isa_available(Isa isa) {
  const Isa machine = detect();
  if (isa == Isa::neon || machine == Isa::neon) return isa == Isa::portable || isa == machine;
  return isa <= machine;
}

std::string_view isa_name(Isa isa) {
  constexpr std::string_view kNames[] = {"portable", "avx2", "avx512", "neon"};
  return kNames[size_t(isa)];
}

bool parse_isa(std::string_view name, Isa& isa) {
  for (const Isa level : kAllIsas) {
    if (isa_name(level) != name) continue;
    isa = level;
    return true;
  }
  return false;
}

}  // namespace sdx
