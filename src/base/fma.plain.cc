// The C libraries of mingw and emscripten round a * b + c twice, in cases that the rule of
// docs/numerics.md meets. These take the place of theirs, for the linker finds them first.
#include "base/exact_fma.h"

extern "C" double fma(double a, double b, double c) { return sdx::exact_fma(a, b, c); }
extern "C" float fmaf(float a, float b, float c) { return sdx::exact_fma(a, b, c); }
