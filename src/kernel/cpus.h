// How many CPUs and how much memory this process may use.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace sdx {

// The least of what its affinity allows and of what its control groups allow, and at least 1.
int allowed_cpus();
// The threads that a process can have: without limit, but where there are none to start it is 1.
int most_threads();

// The CPU time per second that control groups allow, in CPUs: cpu.max of version 2,
// cpu.cfs_quota_us of version 1, whichever group on the way up to the root allows least; none if
// all are silent. `membership` is the content of /proc/self/cgroup, `root` is where the groups are
// mounted.
std::optional<double> cgroup_cpus(const std::string& membership, const std::string& root);

// The least of the machine's memory, of what its control groups allow (memory.max,
// memory.limit_in_bytes) and of its resource limits, in bytes.
size_t allowed_memory();
std::optional<size_t> cgroup_memory(const std::string& membership, const std::string& root);

}  // namespace sdx
