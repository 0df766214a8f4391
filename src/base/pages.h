// Pages of mapped files: memory that the system can drop and read again.
#pragma once

#include <cstddef>

namespace sdx {

// Says that [begin, begin + bytes) is a read-only mapping of a file, and that it no longer is one.
void note_mapping(const void* begin, size_t bytes);
void forget_mapping(const void* begin);

// The range has been read and will hardly be read again (weights that were packed): its whole pages
// leave this process's memory. Does nothing where the range is not part of a mapped file.
void release_pages(const void* begin, size_t bytes);

}  // namespace sdx
