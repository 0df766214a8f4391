// Instruction-set levels. A *.isa.cc file is compiled once per level; SDX_ISA names the level it is
// compiled for.
//
// Such a file puts everything into `namespace sdx::SDX_ISA { ... }` and includes only <cstdint>,
// <cstddef>, <cstring>, intrinsics and kernel/ headers: an inline function of a shared header
// compiled for AVX-512 could otherwise be the copy that the linker keeps for everybody.
#ifndef SDX_KERNEL_ISA_H_
#define SDX_KERNEL_ISA_H_

#include <string_view>

namespace sdx {

enum class Isa { portable, avx2, avx512, neon };
inline constexpr Isa kAllIsas[] = {Isa::portable, Isa::avx2, Isa::avx512, Isa::neon};

// The best level of this machine, or the lower one that SARDONYX_ISA asks for: what is chosen where
// nobody says otherwise. Kernels are told their level by those who call them and never ask.
Isa native_isa();
// False if this machine or this build lacks the level.
bool isa_available(Isa);
std::string_view isa_name(Isa);
// The level of that name; false if there is none.
bool parse_isa(std::string_view name, Isa&);

// SDX_PICK(gemm_f32, isa): the address of gemm_f32 compiled for `isa`.
#if defined(__x86_64__)
#define SDX_PICK(function, isa)                           \
  ((isa) == ::sdx::Isa::avx512 ? &::sdx::avx512::function \
   : (isa) == ::sdx::Isa::avx2 ? &::sdx::avx2::function   \
                               : &::sdx::portable::function)
// SDX_DECLARE_ISAS(void f(int);) declares it in each level's namespace.
#define SDX_DECLARE_ISAS(...) \
  namespace portable {        \
  __VA_ARGS__                 \
  }                           \
  namespace avx2 {            \
  __VA_ARGS__                 \
  }                           \
  namespace avx512 {          \
  __VA_ARGS__                 \
  }
#elif defined(__aarch64__)
#define SDX_PICK(function, isa) \
  ((isa) == ::sdx::Isa::neon ? &::sdx::neon::function : &::sdx::portable::function)
#define SDX_DECLARE_ISAS(...) \
  namespace portable {        \
  __VA_ARGS__                 \
  }                           \
  namespace neon {            \
  __VA_ARGS__                 \
  }
#else
#define SDX_PICK(function, isa) (&::sdx::portable::function)
#define SDX_DECLARE_ISAS(...) \
  namespace portable {        \
  __VA_ARGS__                 \
  }
#endif

}  // namespace sdx

#endif  // SDX_KERNEL_ISA_H_
