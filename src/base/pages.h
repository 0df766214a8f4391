// Pages of mapped files: memory that the system can drop and read again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace sdx {

// What tells one state of a file from another without reading it: a write changes `changed_ns`,
// which no program can set.
struct FileState {
  uint64_t device = 0, inode = 0, bytes = 0;
  int64_t modified_ns = 0, changed_ns = 0;
  // It had been at rest for some seconds when this was taken. If not, a later write might leave the
  // same times, which systems count in steps.
  bool settled = false;
};

// Says that [begin, begin + bytes) is a read-only mapping of a file, and that it no longer is one.
void note_mapping(const void* begin, size_t bytes, const FileState& file = {});
void forget_mapping(const void* begin);

struct MappedPlace {
  FileState file;
  size_t offset;
};
// Where the range lies, if it is part of a mapped file.
std::optional<MappedPlace> mapped_place(const void* begin, size_t bytes);

// The range has been read and will hardly be read again (weights that were packed): its whole pages
// leave this process's memory. Does nothing where the range is not part of a mapped file.
void release_pages(const void* begin, size_t bytes);

}  // namespace sdx
