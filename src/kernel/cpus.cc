#include "kernel/cpus.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <vector>

namespace sdx {
namespace {

// The first two words of a file, "" where there are none.
std::pair<std::string, std::string> words(const std::string& path) {
  std::pair<std::string, std::string> found;
  std::ifstream(path) >> found.first >> found.second;
  return found;
}

// Quotas of 0 or less, and "max", mean that there is none.
std::optional<double> share(const std::string& quota, const std::string& period) {
  char* end = nullptr;
  const double q = std::strtod(quota.c_str(), &end);
  if (end == quota.c_str() || !(q > 0)) return std::nullopt;
  const double p = std::strtod(period.c_str(), &end);
  if (end == period.c_str() || !(p > 0)) return std::nullopt;
  return q / p;
}

std::optional<double> allowed_in(const std::string& folder, bool unified) {
  if (unified) {
    const auto [quota, period] = words(folder + "/cpu.max");
    return share(quota, period);
  }
  return share(words(folder + "/cpu.cfs_quota_us").first,
               words(folder + "/cpu.cfs_period_us").first);
}

bool lists(const std::string& controllers, const std::string& wanted) {
  std::istringstream list(controllers);
  for (std::string one; std::getline(list, one, ',');) {
    if (one == wanted) return true;
  }
  return false;
}

}  // namespace

// visit(folder, unified) for the groups that the process is in, up to the root, in the hierarchy of
// version 2 and in that of `controller` of version 1.
template <class Visit>
static void each_group(const std::string& membership, const std::string& root,
                       const std::string& controller, const Visit& visit) {
  std::istringstream lines(membership);
  // "0::/path" is version 2, "4:cpu,cpuacct:/path" a hierarchy of version 1.
  for (std::string line; std::getline(lines, line);) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool unified = controllers.empty();
    if (!unified && !lists(controllers, controller)) continue;
    std::vector<std::string> mounts;
    if (unified) {
      mounts = {root, root + "/unified"};
    } else {
      mounts = {root + "/" + controller, root + "/" + controllers};
    }
    for (const std::string& mount : mounts) {
      // A container often sees its own group as the root: groups that are not there say nothing.
      std::string path = line.substr(second + 1);
      while (true) {
        while (!path.empty() && path.back() == '/') path.pop_back();
        visit(mount + path, unified);
        if (path.empty()) break;
        path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
      }
    }
  }
}

std::optional<double> cgroup_cpus(const std::string& membership, const std::string& root) {
  std::optional<double> least;
  each_group(membership, root, "cpu", [&](const std::string& folder, bool unified) {
    if (const auto here = allowed_in(folder, unified))
      least = std::min(least.value_or(*here), *here);
  });
  return least;
}

std::optional<size_t> cgroup_memory(const std::string& membership, const std::string& root) {
  std::optional<size_t> least;
  each_group(membership, root, "memory", [&](const std::string& folder, bool unified) {
    const std::string text =
        words(folder + (unified ? "/memory.max" : "/memory.limit_in_bytes")).first;
    size_t bytes = 0;
    const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), bytes);
    if (bad == std::errc{} && end != text.data()) least = std::min(least.value_or(bytes), bytes);
  });
  return least;
}

}  // namespace sdx
