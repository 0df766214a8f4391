// The floating-point environment that the numerics rule assumes, held while the engine runs.
#pragma once

#include <cfenv>
#include <cstdint>

namespace sdx {

// Round to nearest, denormals kept, no traps; what the host had comes back at the end of the scope.
// Threads started within take it over.
class DefaultFloating {
 public:
  DefaultFloating() {
    if (is_usual()) return;
    usual_ = false;
    std::fegetenv(&host_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~DefaultFloating() {
    if (usual_) {
      restore_flags();
    } else {
      std::fesetenv(&host_);
    }
  }
  DefaultFloating(const DefaultFloating&) = delete;
  DefaultFloating& operator=(const DefaultFloating&) = delete;

 private:
#ifdef __x86_64__
  // The host nearly always has the default already, and to see that takes a few cycles; to load an
  // environment into the x87 unit takes a hundred or two, as much as a small operator.
  static uint16_t x87_flags() {
    uint16_t status = 0;
    asm volatile("fnstsw %0" : "=m"(status));
    return status & FE_ALL_EXCEPT;
  }
  bool is_usual() {
    uint16_t control = 0;
    asm volatile("fnstcw %0" : "=m"(control));
    x87_ = x87_flags();
    mxcsr_ = __builtin_ia32_stmxcsr();
    return control == 0x37f && (mxcsr_ & ~0x3fU) == 0x1f80;
  }
  void restore_flags() const {
    if (x87_flags() != x87_) std::feclearexcept(FE_ALL_EXCEPT & ~x87_);
    if (__builtin_ia32_stmxcsr() != mxcsr_) __builtin_ia32_ldmxcsr(mxcsr_);
  }
  uint16_t x87_ = 0;
  uint32_t mxcsr_ = 0;
#else
  static bool is_usual() { return false; }
  static void restore_flags() {}
#endif

  bool usual_ = true;
  std::fenv_t host_;
};

}  // namespace sdx
