// sardonyx fix.
#pragma once

#include "command.h"

namespace sdx::cli {

Command fix_command(CLI::App& program);

}  // namespace sdx::cli
