// Bounds: what the process may use while a command works, the same for every command: time, memory,
// and under --sandbox of the system nothing but the files that it was given.
#pragma once

#include <chrono>

#include "command_line.h"
#include "sandbox.h"

namespace sdx::cli {

struct Bounds {
  std::string time_limit, memory_limit;
  bool sandboxed = false;
  void add_to(CommandLine app);

  // Holds from now on. With a time limit, the work of this thread ends at it wherever it looks at
  // the time (base/deadline.h), and the process ends half a second later wherever it does not.
  Status apply() const;
};

// Says on standard error that the command at work took too long; allocates nothing.
void say_time_is_up();
// When the command at work must end; the clock's last moment if no limit was given.
std::chrono::steady_clock::time_point deadline();

// Closes the sandbox if --sandbox was given. Commands call it when they know their files, and
// before they read any.
Status enter_sandbox(const Sandbox& sandbox);
bool wants_sandbox();
// Whether --memory-limit was given.
bool memory_is_limited();
// The folders of files that are read, where external data lies too, and folders of files that are
// written; "" names none. And what the engine asks of the system: its CPUs and memory.
Sandbox sandbox_of(const std::vector<std::string>& read, const std::vector<std::string>& written);

// Seconds, of a limit: a finite positive number.
Result<double> seconds(const std::string& option, const std::string& text);
// Bytes: a whole number, perhaps with K, M, G or T for powers of 1024.
Result<size_t> byte_count(const std::string& option, const std::string& text);

}  // namespace sdx::cli
