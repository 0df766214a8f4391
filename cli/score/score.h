// sardonyx score.
#pragma once

#include "command.h"

namespace sdx::cli {

Command score_command(CommandLine program);

}  // namespace sdx::cli
