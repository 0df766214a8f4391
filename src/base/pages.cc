#include "base/pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <map>
#include <mutex>

namespace sdx {
namespace {

struct Mappings {
  std::mutex mutex;
  std::map<uintptr_t, size_t> bytes_at;
};
Mappings& mappings() {
  static auto* const all = new Mappings;  // outlives every mapping, also those of static objects
  return *all;
}

}  // namespace

void note_mapping(const void* begin, size_t bytes) {
  Mappings& all = mappings();
  const std::lock_guard lock(all.mutex);
  all.bytes_at[reinterpret_cast<uintptr_t>(begin)] = bytes;
}

void forget_mapping(const void* begin) {
  Mappings& all = mappings();
  const std::lock_guard lock(all.mutex);
  all.bytes_at.erase(reinterpret_cast<uintptr_t>(begin));
}

void release_pages(const void* begin, size_t bytes) {
  static const auto kPage = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto first = reinterpret_cast<uintptr_t>(begin);
  const uintptr_t from = (first + kPage - 1) / kPage * kPage, to = (first + bytes) / kPage * kPage;
  if (from >= to) return;
  Mappings& all = mappings();
  const std::lock_guard lock(all.mutex);
  auto at = all.bytes_at.upper_bound(first);
  if (at == all.bytes_at.begin()) return;
  --at;
  // Only inside a mapping: private memory would lose its content.
  if (first + bytes > at->first + at->second) return;
  madvise(reinterpret_cast<void*>(from), to - from, MADV_DONTNEED);
}

}  // namespace sdx
