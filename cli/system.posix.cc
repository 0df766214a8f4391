#include "system.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "system_errors.h"

namespace sdx::cli {

std::span<const int> ending_signals() {
  static constexpr int kSignals[] = {SIGTERM, SIGINT, SIGHUP};
  return kSignals;
}

void open_streams() {}

Status limit_memory(size_t bytes) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_DATA, &limit) != 0) return no_limit_on_data();
  if (bytes < limit.rlim_max) limit.rlim_cur = bytes;
  if (::setrlimit(RLIMIT_DATA, &limit) != 0)
    return fail("SDX-C0081", "--memory-limit: the system refuses {} bytes", bytes);
  return ok();
}

size_t terminal_columns() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

Status sync(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool done = file >= 0 && ::fsync(file) == 0;
  const int reason = errno;
  if (file >= 0) ::close(file);
  // Some file systems have folders that cannot be synced; what they promise is theirs.
  if (!done && reason != EINVAL)
    return fail("SDX-C0104", "{}: not on the disk: {}", path, std::strerror(reason));
  return ok();
}

Result<FileTimes> file_times(const std::string& path) {
  struct stat state {};
  if (::stat(path.c_str(), &state) != 0) return cannot_be_read(std::strerror(errno));
  return FileTimes{uint64_t(state.st_size),
                   int64_t{state.st_mtim.tv_sec} * 1'000'000'000 + state.st_mtim.tv_nsec};
}

}  // namespace sdx::cli
