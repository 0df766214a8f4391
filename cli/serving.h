// The commands of the server's room, where it was built (SDX_SERVE).
#pragma once

#include "command.h"

namespace sdx::cli {

Command serve_command(CommandLine program);
Command verify_command(CommandLine program);
Command worker_command(CommandLine program);

}  // namespace sdx::cli
