#include "base/pages.h"

#include <cstdint>
#include <map>
#include <mutex>

#include "base/system.h"

namespace sdx {
namespace {

struct Mapping {
  size_t bytes;
  FileState file;
};
struct Mappings {
  std::mutex mutex;
  std::map<uintptr_t, Mapping> at;

  // The mapping that holds the whole range.
  std::map<uintptr_t, Mapping>::const_iterator find(uintptr_t first, size_t bytes) const {
    auto found = at.upper_bound(first);
    if (found == at.begin()) return at.end();
    --found;
    const size_t offset = first - found->first;
    const bool inside = offset <= found->second.bytes && bytes <= found->second.bytes - offset;
    return inside ? found : at.end();
  }
};
Mappings& mappings() {
  static auto* const all = new Mappings;  // outlives every mapping, also those of static objects
  return *all;
}

}  // namespace

void note_mapping(const void* begin, size_t bytes, const FileState& file) {
  Mappings& all = mappings();
  const std::lock_guard lock(all.mutex);
  all.at[reinterpret_cast<uintptr_t>(begin)] = {bytes, file};
}

void forget_mapping(const void* begin) {
  Mappings& all = mappings();
  const std::lock_guard lock(all.mutex);
  all.at.erase(reinterpret_cast<uintptr_t>(begin));
}

std::optional<MappedPlace> mapped_place(const void* begin, size_t bytes) {
  Mappings& all = mappings();
  const std::lock_guard lock(all.mutex);
  const auto first = reinterpret_cast<uintptr_t>(begin);
  const auto found = all.find(first, bytes);
  if (found == all.at.end()) return std::nullopt;
  return MappedPlace{found->second.file, first - found->first};
}

void release_pages(const void* begin, size_t bytes) {
  Mappings& all = mappings();
  const std::lock_guard lock(all.mutex);
  // Only inside a mapping: private memory would lose its content.
  if (all.find(reinterpret_cast<uintptr_t>(begin), bytes) == all.at.end()) return;
  system::drop_pages(begin, bytes);
}

}  // namespace sdx
