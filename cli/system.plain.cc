#include "system.h"

#include <fcntl.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>

#include "system_errors.h"

#if defined(_WIN32)
#include <io.h>
#endif

namespace sdx::cli {

std::span<const int> ending_signals() {
  static constexpr int kSignals[] = {SIGTERM, SIGINT};
  return kSignals;
}

void open_streams() {
#if defined(_WIN32)
  for (std::FILE* stream : {stdin, stdout}) _setmode(_fileno(stream), _O_BINARY);
#endif
}

Status limit_memory(size_t) { return no_limit_on_data(); }

size_t terminal_columns() { return 80; }

// Nothing of the C++ library reaches the disk itself: a job that a failing machine interrupts may
// have to write its last part again.
Status sync(const std::string&) { return ok(); }

Result<FileTimes> file_times(const std::string& path) {
  std::error_code problem;
  const auto bytes = std::filesystem::file_size(path, problem);
  if (problem) return cannot_be_read(problem.message());
  const auto modified = std::filesystem::last_write_time(path, problem);
  if (problem) return cannot_be_read(problem.message());
  using std::chrono::nanoseconds;
  return FileTimes{
      uint64_t(bytes),
      int64_t(std::chrono::duration_cast<nanoseconds>(modified.time_since_epoch()).count())};
}

}  // namespace sdx::cli
