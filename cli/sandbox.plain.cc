#include "sandbox.h"

namespace sdx::cli {

Status enter(const Sandbox&) { return fail("SDX-C0080", "--sandbox: this system has none"); }

}  // namespace sdx::cli
