// The cases that operators declare beside their code (OpOf::cases), for tests and the
// fuzzers' seeds. A third of an operator's file is its cases, which no program needs: the library
// is compiled without them, and here the same files are compiled a second time for the cases alone,
// into a library of their own whose only symbol is this one.
#pragma once

#include <vector>

#include "op/op.h"

namespace sdx {

// Empty if the operator declares none.
std::vector<Case> cases_of(const Op& op);

}  // namespace sdx
