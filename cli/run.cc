// sardonyx run.
#include "command.h"

namespace sdx::cli {

Command run_command(CLI::App& program) {
  CLI::App* app = program.add_subcommand("run", "run a model");
  return {app, [] { return kOk; }};
}

}  // namespace sdx::cli
