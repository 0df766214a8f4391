// The commands of this room: attest and verify (attestation.h says what they are about).
#pragma once

#include "command.h"

namespace sdx::cli {

Command attest_command(CommandLine program);
Command verify_command(CommandLine program);

// Requests that a server has recorded are verified by the same command, where there is a server:
// the exit code for FILE, with MODEL in the place of the recorded one unless empty.
using VerifyRecord = int (*)(const std::string& file, const std::string& model);
void verify_records_by(VerifyRecord verify);

}  // namespace sdx::cli
