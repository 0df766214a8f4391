// The command line as a function: the program sardonyx and `python3 -m sardonyx` are both this.
#pragma once

namespace sdx::cli {

// Returns the exit code.
int program(int argc, char** argv);

}  // namespace sdx::cli
