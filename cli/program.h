// The command line as a function: the program sardonyx and `python3 -m sardonyx` are both this.
#pragma once

#include <span>

namespace sdx::cli {

struct Command;
class CommandLine;
using MakeCommand = Command (*)(CommandLine program);

// Returns the exit code. `more`: commands of the program alone.
int program(int argc, char** argv, std::span<const MakeCommand> more = {});

}  // namespace sdx::cli
