// The commands around a model: parts of it, simpler forms of it, two of it side by side, inputs for
// it; and what this program is.
#pragma once

#include "command.h"

namespace sdx::cli {

Command extract_command(CommandLine program);
Command simplify_command(CommandLine program);
Command diff_command(CommandLine program);
Command inputs_command(CommandLine program);
Command version_command(CommandLine program);
Command view_command(CommandLine program);

// "0.3.0".
std::string_view release();
// "GNU 12.2.0".
std::string_view compiler();
// "sardonyx 0.3.0".
std::string version_line();

}  // namespace sdx::cli
