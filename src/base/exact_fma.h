// a * b + c with one rounding, on every system: not every C library has it so.
#pragma once

namespace sdx {

float exact_fma(float a, float b, float c);
double exact_fma(double a, double b, double c);

}  // namespace sdx
