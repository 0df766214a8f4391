// The commands of the server's room, where it was built (SDX_SERVE).
#pragma once

#include "command.h"

namespace sdx::cli {

Command serve_command(CommandLine program);
Command worker_command(CommandLine program);

// Runs a recorded request again; the exit code (attest/attest.h).
int verify_recorded(const std::string& file, const std::string& model);

}  // namespace sdx::cli
