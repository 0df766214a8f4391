#include "kernel/gemm_int8/unit.h"

#include <atomic>
#include <cstdlib>

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#if defined(__x86_64__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif
#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

namespace sdx {
namespace {

#if defined(__x86_64__)
bool has_avx512_vnni() {
  return isa_available(Isa::avx512) && __builtin_cpu_supports("avx512vnni");
}

bool has_avx_vnni() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return isa_available(Isa::avx2) && __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 &&
         (a & (1u << 4)) != 0;
}

// The processor has tiles, the system saves them (XCR0), and lets this process use them: Linux
// wants to be asked, once for all threads, because they make every thread's state 8 KiB larger.
bool has_amx() {
#if defined(__linux__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned kChunk = 1u << 24, kInt8 = 1u << 25;
  if (!has_avx512_vnni() || __get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (d & kChunk) == 0 ||
      (d & kInt8) == 0 || __get_cpuid(1, &a, &b, &c, &d) == 0 || (c & bit_OSXSAVE) == 0) {
    return false;
  }
  uint32_t low = 0, high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  constexpr uint32_t kTileState = 3u << 17;
  if ((low & kTileState) != kTileState) return false;
  constexpr long kAskFor = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kAskFor, kTileData) == 0;
#else
  return false;
#endif
}
#else
bool has_avx512_vnni() { return false; }
bool has_avx_vnni() { return false; }
bool has_amx() { return false; }
#endif

#if defined(__aarch64__) && defined(__linux__)
bool has_neon_dot() { return (getauxval(AT_HWCAP) & (1ul << 20)) != 0; }    // HWCAP_ASIMDDP
bool has_neon_i8mm() { return (getauxval(AT_HWCAP2) & (1ul << 13)) != 0; }  // HWCAP2_I8MM
#elif defined(__ARM_FEATURE_DOTPROD)
bool has_neon_dot() { return true; }  // what the compiler was told of the machine
bool has_neon_i8mm() { return false; }
#else
bool has_neon_dot() { return false; }
bool has_neon_i8mm() { return false; }
#endif

struct Machine {
  bool neon_dot = has_neon_dot(), neon_i8mm = has_neon_i8mm();
  bool avx_vnni = has_avx_vnni(), avx512_vnni = has_avx512_vnni(), amx = has_amx();
};
const Machine& machine() {
  static const Machine found;
  return found;
}

Int8Unit initial() {
  if (const char* wish = std::getenv("SARDONYX_INT8")) {
    for (const Int8Unit unit : {Int8Unit::plain, Int8Unit::avx_vnni, Int8Unit::avx512_vnni,
                                Int8Unit::neon_dot, Int8Unit::neon_i8mm, Int8Unit::amx}) {
      if (int8_unit_name(unit) == wish) return unit;
    }
  }
  return Int8Unit::amx;
}

std::atomic<Int8Unit>& most() {
  static std::atomic<Int8Unit> unit{initial()};
  return unit;
}

}  // namespace

Int8Unit int8_unit(Isa isa) {
  const Int8Unit limit = most().load(std::memory_order_relaxed);
  const auto wanted = [&](Int8Unit unit) { return limit >= unit && int8_unit_available(unit); };
  if (isa == Isa::avx512) {
    if (limit == Int8Unit::amx_in_memory) return limit;
    if (wanted(Int8Unit::amx)) return Int8Unit::amx;
    if (wanted(Int8Unit::avx512_vnni)) return Int8Unit::avx512_vnni;
  }
  if (isa == Isa::avx2) {
    if (limit == Int8Unit::avx_vnni_evex && int8_unit_available(limit)) return limit;
    if (wanted(Int8Unit::avx_vnni)) return Int8Unit::avx_vnni;
  }
  if (isa == Isa::neon) {
    if (wanted(Int8Unit::neon_i8mm)) return Int8Unit::neon_i8mm;
    if (wanted(Int8Unit::neon_dot)) return Int8Unit::neon_dot;
  }
  return Int8Unit::plain;
}

bool int8_unit_available(Int8Unit unit) {
  switch (unit) {
    case Int8Unit::plain:
      return true;
    case Int8Unit::avx_vnni:
      return machine().avx_vnni;
    case Int8Unit::avx512_vnni:
    case Int8Unit::avx_vnni_evex:
      return machine().avx512_vnni;
    case Int8Unit::neon_dot:
      return machine().neon_dot;
    case Int8Unit::neon_i8mm:
      return machine().neon_i8mm;
    case Int8Unit::amx:
      return machine().amx;
    case Int8Unit::amx_in_memory:
      return isa_available(Isa::avx512);
  }
  return false;
}

void force_int8_unit(Int8Unit unit) { most() = unit; }

std::string_view int8_unit_name(Int8Unit unit) {
  constexpr std::string_view kNames[] = {"plain",     "avx_vnni", "avx512_vnni",   "neon_dot",
                                         "neon_i8mm", "amx",      "avx_vnni_evex", "amx_in_memory"};
  return kNames[size_t(unit)];
}

}  // namespace sdx
