// What is said where a system cannot do what the command line asks of it.
#pragma once

#include <string>

#include "base/result.h"

namespace sdx::cli {

inline auto no_limit_on_data() {
  return fail("SDX-C0081", "--memory-limit: the system has no limit on data");
}
inline auto cannot_be_read(const std::string& why) {
  return fail("SDX-C0116", "it cannot be read: {}", why);
}

}  // namespace sdx::cli
