// What the command line asks of the system; system.posix.cc and system.plain.cc, as in
// base/system.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"

namespace sdx::cli {

// The signals that ask a process to end.
std::span<const int> ending_signals();

// Standard input and output carry bytes, not lines of text.
void open_streams();

// No more than so many bytes for this process's data. What is mapped for reading alone, a model's
// file say, does not count.
Status limit_memory(size_t bytes);

// The width of the terminal that standard error is.
size_t terminal_columns();

// What was written to the file or folder is on the disk when this returns.
Status sync(const std::string& path);

// When the file was last written, in nanoseconds, and its size.
struct FileTimes {
  uint64_t bytes;
  int64_t modified_ns;
};
Result<FileTimes> file_times(const std::string& path);

}  // namespace sdx::cli
