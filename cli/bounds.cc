#include "bounds.h"

#include <unistd.h>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "base/deadline.h"
#include "base/fitting.h"
#include "bytes/file.h"
#include "bytes/unfinished.h"
#include "kernel/cpus.h"
#include "system.h"

namespace sdx::cli {
namespace {

using Clock = std::chrono::steady_clock;

struct Held {
  Clock::time_point deadline = Clock::time_point::max();
  bool sandboxed = false, memory_limited = false;
} held;

// The process ends here if nothing else ended it: an operator may work for long without looking at
// the time. Without another thread, only what looks at the time ends.
void watch(Clock::time_point end) {
  if (most_threads() == 1) return;
  std::thread([end] {
    std::this_thread::sleep_until(end + std::chrono::milliseconds(500));
    say_time_is_up();
    remove_unfinished_files();
    std::_Exit(2);
  }).detach();
}

}  // namespace

void Bounds::add_to(CommandLine app) {
  app.option("--time-limit", time_limit, "seconds after which the command is ended")
      .called("SECONDS");
  app.option("--memory-limit", memory_limit,
             "most bytes that the process may allocate; K, M, G or T may follow")
      .called("BYTES");
  app.flag("--sandbox", sandboxed,
           "close the system to this process but for the files that it is given");
}

Status Bounds::apply() const {
  if (!memory_limit.empty()) {
    SDX_ASSIGN(const size_t bytes, byte_count("--memory-limit", memory_limit));
    SDX_TRY(limit_memory(bytes));
    held.memory_limited = true;
  }
  if (!time_limit.empty()) {
    SDX_ASSIGN(const double limit, seconds("--time-limit", time_limit));
    held.deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                       std::chrono::duration<double>(limit));
    watch(held.deadline);
  }
  held.sandboxed = sandboxed;
  return ok();
}

void say_time_is_up() {
  static constexpr char kText[] = "error[SDX-R0031]: the command reached its time limit\n";
  (void)!::write(STDERR_FILENO, kText, sizeof kText - 1);
}

Clock::time_point deadline() { return held.deadline; }
bool wants_sandbox() { return held.sandboxed; }
bool memory_is_limited() { return held.memory_limited; }

Status enter_sandbox(const Sandbox& sandbox) {
  if (!held.sandboxed) return ok();
  return enter(sandbox);
}

Sandbox sandbox_of(const std::vector<std::string>& read, const std::vector<std::string>& written) {
  Sandbox sandbox;
  sandbox.readable = {"/proc/self", "/sys/fs/cgroup", "/sys/devices/system"};
  std::error_code ignored;
  const auto folder = [&](const std::string& path) {
    return std::filesystem::is_directory(path, ignored) ? path : folder_of(path);
  };
  for (const std::string& path : read) {
    if (!path.empty() && std::filesystem::exists(path, ignored))
      sandbox.readable.push_back(folder(path));
  }
  for (const std::string& path : written) {
    if (path.empty()) continue;
    // A folder that is yet to be made is made in the nearest that there is.
    std::string at = folder(path);
    while (!std::filesystem::exists(at, ignored) && folder_of(at) != at) at = folder_of(at);
    sandbox.writable.push_back(at);
  }
  return sandbox;
}

Result<double> seconds(const std::string& option, const std::string& text) {
  constexpr double kMost = 1e9;
  double value = 0;
  const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (bad != std::errc{} || end != text.data() + text.size() || !(value > 0) || value > kMost) {
    return fail("SDX-C0082", "{} {}: expected seconds, more than 0 and at most {:.0f}", option,
                text, kMost);
  }
  return value;
}

Result<size_t> byte_count(const std::string& option, const std::string& text) {
  constexpr uint64_t kMost = uint64_t{1} << 60;
  uint64_t value = 0;
  const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view rest(end, size_t(text.data() + text.size() - end));
  constexpr std::string_view kUnits = "KMGT";
  const size_t unit = rest.size() == 1 ? kUnits.find(rest[0]) : std::string_view::npos;
  const unsigned shift = rest.empty() ? 0 : 10 * (unsigned(unit) + 1);
  if (bad != std::errc{} || (!rest.empty() && unit == std::string_view::npos) || value == 0 ||
      value > (kMost >> shift)) {
    return fail("SDX-C0082", "{} {}: expected a number of bytes, such as 500M, at most 2^60",
                option, text);
  }
  return fitting(value << shift);
}

}  // namespace sdx::cli
