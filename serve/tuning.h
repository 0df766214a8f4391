// Settings that a running server shows and takes, under the names of the protocol's logging and
// trace extensions, for both of its encodings.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "serve/oip/request.h"
#include "serve/settings.h"

namespace sardonyx::serve {

using Tuning = std::vector<std::pair<std::string, Parameter>>;

// "level" (debug, info, warning, error, off), and the same as log_verbose_level, log_info,
// log_warning and log_error.
Tuning log_tuning();
std::optional<Failure> set_log(const Tuning& tuning);  // all of it or nothing

Tuning trace_tuning(const ServerSettings& settings);  // is set when the server starts

}  // namespace sardonyx::serve
