#include "serve/log.h"

#include <unistd.h>

#include <chrono>
#include <ctime>
#include <string>

#include "serve/oip/json.h"

namespace sardonyx::serve {

void log(Level level, std::string_view event,
         std::initializer_list<std::pair<std::string_view, std::string_view>> fields) {
  if (level < log_level.load(std::memory_order_relaxed)) return;
  static constexpr std::string_view kNames[] = {"debug", "info", "warning", "error", "off"};
  const auto now = std::chrono::system_clock::now();
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  const auto ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count() % 1000;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char time[40];
  const size_t size = std::strftime(time, sizeof time, "%Y-%m-%dT%H:%M:%S", &parts);
  std::string line = "{\"time\":\"" + std::string(time, size) + '.' +
                     std::to_string(1000 + ms).substr(1) + "Z\",\"level\":\"";
  line += kNames[static_cast<size_t>(level)];
  line += "\",\"event\":";
  append_json_string(line, event);
  for (const auto& [name, value] : fields) {
    line += ',';
    append_json_string(line, name);
    line += ':';
    append_json_string(line, value);
  }
  line += "}\n";
  // One write, so that lines of different threads stay whole.
  [[maybe_unused]] const ssize_t written = ::write(2, line.data(), line.size());
}

}  // namespace sardonyx::serve
