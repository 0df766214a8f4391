// The program described by its own help: completions for shells, the manual page, and what was
// probably meant.
#pragma once

#include <string>

#include "command.h"

namespace sdx::cli {

// "bash", "zsh" or "fish".
std::string completion(const CLI::App& program, const std::string& shell);
// sardonyx.1, in roff.
std::string manual(const CLI::App& program);
// "did you mean ...?" for the first word that is no command or option; "" if nothing is near.
std::string meant(const CLI::App& program, int argc, char** argv);

Command completion_command(CommandLine program);
Command manual_command(CommandLine program);

}  // namespace sdx::cli
