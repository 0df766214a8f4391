#include "progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "system.h"

namespace sdx::cli {
namespace {

using namespace std::chrono_literals;

constexpr auto kQuiet = 300ms;  // work that takes less shows no bar
constexpr auto kBetweenDraws = 100ms;
constexpr auto kBetweenLines = 10s;  // without a terminal
// Remaining time is told after this many seconds, and after one of so many parts of the work.
constexpr double kTelling = 1;
constexpr size_t kTellingParts = 20;

// Until the first sign of life; SARDONYX_PROGRESS_AFTER, in seconds, says otherwise.
Progress::Clock::duration patience(bool terminal) {
  const char* given = std::getenv("SARDONYX_PROGRESS_AFTER");
  if (given != nullptr && *given != 0) {
    const double seconds = std::strtod(given, nullptr);
    if (seconds >= 0 && seconds < 1e6)
      return std::chrono::duration_cast<Progress::Clock::duration>(
          std::chrono::duration<double>(seconds));
  }
  return terminal ? Progress::Clock::duration(kQuiet) : Progress::Clock::duration(kBetweenLines);
}

std::string duration(double seconds) {
  const auto whole = static_cast<int64_t>(std::ceil(seconds));
  if (whole < 100) return fmt::format("{} s", whole);
  if (whole < 6000) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

std::string bar(size_t done, size_t total) {
  constexpr size_t kWidth = 20;
  const size_t filled = total == 0 ? kWidth : std::min(done, total) * kWidth / total;
  const std::string text = std::string(filled, '#'), rest = std::string(kWidth - filled, '.');
  return colours() ? fmt::format("[\033[32m{}\033[0m{}]", text, rest)
                   : fmt::format("[{}{}]", text, rest);
}

}  // namespace

bool on_terminal() {
  const char* terminal = std::getenv("TERM");
  return isatty(STDERR_FILENO) != 0 && terminal != nullptr && std::string_view(terminal) != "dumb";
}

bool colours() {
  const char* no = std::getenv("NO_COLOR");
  return (no == nullptr || *no == 0) && on_terminal();
}

std::string progress_text(size_t done, size_t total, const std::string& unit, double seconds) {
  std::string text = fmt::format("{} of {} {}", done, total, unit);
  if (done == 0 || seconds <= 0) return text;
  const double rate = static_cast<double>(done) / seconds;
  text += fmt::format(", {:.{}f} per second", rate, rate < 10 ? 1 : 0);
  // What the first instants say of the whole is nonsense: units differ in size, and a few tell
  // nothing.
  const bool telling = done >= total || (seconds >= kTelling && done * kTellingParts >= total);
  if (!telling) return text;
  const double left = static_cast<double>(total - std::min(done, total)) / rate;
  return text + fmt::format(", {} left", duration(left));
}

Progress::Progress(std::string work, std::string unit)
    : work_(std::move(work)),
      unit_(std::move(unit)),
      terminal_(on_terminal()),
      start_(Clock::now()),
      next_(start_ + patience(terminal_)) {}

void Progress::at(size_t done, size_t total, std::string_view name) {
  const Clock::time_point now = Clock::now();
  if (now < next_) return;
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const std::string text = progress_text(done, total, unit_, seconds);
  if (!terminal_) {
    next_ = now + kBetweenLines;
    std::fprintf(stderr, "%s: %s\n", work_.c_str(), text.c_str());
    return;
  }
  next_ = now + kBetweenDraws;
  drawn_ = true;
  constexpr size_t kBracketsAndSpaces = 24;
  const size_t used = work_.size() + kBracketsAndSpaces + text.size() + 1,
               width = terminal_columns();
  const std::string_view shown = name.substr(0, width > used + 1 ? width - used - 1 : 0);
  std::fprintf(stderr, "\r\033[K%s %s %s %.*s", work_.c_str(), bar(done, total).c_str(),
               text.c_str(), static_cast<int>(shown.size()), shown.data());
  std::fflush(stderr);
}

void Progress::clear() {
  if (drawn_) std::fputs("\r\033[K", stderr);
  drawn_ = false;
}

void Progress::finish() {
  clear();
  next_ = Clock::time_point::max();
}

}  // namespace sdx::cli
