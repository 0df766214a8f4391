// sardonyx fix.
#pragma once

#include "command.h"

namespace sdx::cli {

Command fix_command(CommandLine program);

}  // namespace sdx::cli
