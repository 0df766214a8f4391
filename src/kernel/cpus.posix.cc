#include "kernel/cpus.h"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <thread>

namespace sdx {

size_t allowed_memory() {
  const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
  size_t bytes = pages > 0 && size > 0 ? size_t(pages) * size_t(size) : SIZE_MAX;
  for (const auto kind : {RLIMIT_AS, RLIMIT_DATA}) {
    rlimit limit{};
    if (getrlimit(kind, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
      bytes = std::min<size_t>(bytes, limit.rlim_cur);
  }
  std::ostringstream membership;
  membership << std::ifstream("/proc/self/cgroup").rdbuf();
  return std::min(bytes, cgroup_memory(membership.str(), "/sys/fs/cgroup").value_or(SIZE_MAX));
}

int most_threads() { return INT_MAX; }

int allowed_cpus() {
  int count = std::max(1, int(std::thread::hardware_concurrency()));
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) count = std::max(1, CPU_COUNT(&set));
  std::ostringstream membership;
  membership << std::ifstream("/proc/self/cgroup").rdbuf();
  const auto quota = cgroup_cpus(membership.str(), "/sys/fs/cgroup");
  if (quota && *quota < count) count = std::max(1, int(std::ceil(*quota)));
  return count;
}

}  // namespace sdx
