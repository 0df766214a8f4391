// The commands of this room: attest and verify (attestation.h says what they are about).
#pragma once

#include "command.h"

namespace sdx::cli {

Command attest_command(CommandLine program);
Command verify_command(CommandLine program);

}  // namespace sdx::cli
