#include "rewrite/rules.h"

namespace sdx::rewrite {

std::span<const Rule> rules() { return {}; }

}  // namespace sdx::rewrite
