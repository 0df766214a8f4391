// Elementary functions of sixteen lanes for *.isa.cc files: sdx::lanes::exp(F32x16) and so on, the
// same bits as the scalar functions of math.h because both are one template.
#pragma once

#include "kernel/math/activation.h"
#include "kernel/simd/f32x16.h"
