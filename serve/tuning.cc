#include "serve/tuning.h"

#include <algorithm>

#include "serve/log.h"

namespace sardonyx::serve {
namespace {

constexpr std::string_view kLevels[] = {"debug", "info", "warning", "error", "off"};

Failure wrong(const std::string& what) { return {Kind::bad_request, "SDX-V0154: " + what}; }

// What the protocol's switches say together; each switch is the level from which lines are written.
struct Switches {
  bool verbose, info, warning, error;
  Level level() const {
    return verbose   ? Level::debug
           : info    ? Level::info
           : warning ? Level::warning
           : error   ? Level::error
                     : Level::off;
  }
};

Switches switches_of(Level level) {
  return {level <= Level::debug, level <= Level::info, level <= Level::warning,
          level <= Level::error};
}

std::optional<Failure> set_switch(Switches& to, const std::string& name, const Parameter& value) {
  if (name == "log_verbose_level") {
    const auto* number = std::get_if<int64_t>(&value);
    if (number == nullptr || *number < 0) return wrong("\"log_verbose_level\" is not a count");
    to.verbose = *number > 0;
    return std::nullopt;
  }
  const auto* truth = std::get_if<bool>(&value);
  bool* at = name == "log_info"      ? &to.info
             : name == "log_warning" ? &to.warning
             : name == "log_error"   ? &to.error
                                     : nullptr;
  if (at == nullptr) {
    return wrong("\"" + name +
                 "\" is not set here; level, log_verbose_level, log_info, log_warning and "
                 "log_error are");
  }
  if (truth == nullptr) return wrong("\"" + name + "\" is not a boolean");
  *at = *truth;
  return std::nullopt;
}

}  // namespace

Tuning log_tuning() {
  const Level level = log_level.load();
  const Switches on = switches_of(level);
  return {{"level", std::string(kLevels[static_cast<size_t>(level)])},
          {"log_verbose_level", int64_t{on.verbose}},
          {"log_info", on.info},
          {"log_warning", on.warning},
          {"log_error", on.error},
          {"log_format", std::string("json")},
          {"log_file", std::string("stderr")}};
}

std::optional<Failure> set_log(const Tuning& tuning) {
  Level level = log_level.load();
  for (const auto& [name, value] : tuning) {
    if (name == "level") {
      const auto* text = std::get_if<std::string>(&value);
      const auto* at = text == nullptr ? std::end(kLevels)
                                       : std::find(std::begin(kLevels), std::end(kLevels), *text);
      if (at == std::end(kLevels)) return wrong("\"level\" is debug, info, warning, error or off");
      level = static_cast<Level>(at - std::begin(kLevels));
      continue;
    }
    Switches switches = switches_of(level);
    if (auto failure = set_switch(switches, name, value)) return failure;
    level = switches.level();
  }
  log_level = level;
  return std::nullopt;
}

Tuning trace_tuning(const ServerSettings& settings) {
  return {{"trace_mode", std::string("opentelemetry")},
          {"trace_level", std::string(settings.otlp.empty() ? "OFF" : "TIMESTAMPS")},
          {"trace_rate", settings.trace_rate},
          {"url", settings.otlp}};
}

}  // namespace sardonyx::serve
