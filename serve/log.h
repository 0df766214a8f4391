// Structured logs: one JSON object per line on stderr.
#pragma once

#include <atomic>
#include <initializer_list>
#include <string_view>
#include <utility>

namespace sardonyx::serve {

enum class Level { debug, info, warning, error, off };
inline std::atomic<Level> log_level{Level::info};

void log(Level level, std::string_view event,
         std::initializer_list<std::pair<std::string_view, std::string_view>> fields);

}  // namespace sardonyx::serve
