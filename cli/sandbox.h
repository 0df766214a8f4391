// Sandbox: once entered, the process reaches nothing but the files that it was told of. Landlock
// (Linux 5.13 and later) closes the file system, seccomp everything else: no program is started, no
// socket is opened, no other process is touched. A mistake in a decoder then reaches nothing.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace sdx::cli {

struct Sandbox {
  std::vector<std::string> readable;  // files and folders, with all beneath them
  std::vector<std::string> writable;  // folders, for files to appear in
  bool serves = false;                // goes on to use the sockets that it has opened
};

// For this thread and those that it starts. An error names what the system does not offer; nothing
// is then closed by halves: the process should end.
Status enter(const Sandbox& sandbox);

}  // namespace sdx::cli
