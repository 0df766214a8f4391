#include "base/system.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <new>
#include <random>

// Windows: bytes are written as they are, and no child inherits the file.
#ifndef O_BINARY
#define O_BINARY 0
#endif
#ifndef O_NOINHERIT
#define O_NOINHERIT 0
#endif

namespace sdx::system {

std::shared_ptr<void> aligned_memory(size_t alignment, size_t bytes) {
  void* memory = ::operator new (bytes, std::align_val_t{alignment});
  return {memory, [alignment](void* at) { ::operator delete (at, std::align_val_t{alignment}); }};
}

void drop_pages(const void*, size_t) {}  // files are read, not mapped

bool random_bytes(void* into, size_t bytes) {
  std::random_device device;
  for (size_t at = 0; at < bytes; at += sizeof(unsigned)) {
    const unsigned word = device();
    std::memcpy(static_cast<char*>(into) + at, &word, std::min(sizeof word, bytes - at));
  }
  return true;
}

int process_number() { return int(getpid()); }

void after_fork(void (*)()) {}  // nothing forks

int create_file(const char* path) {
  return ::open(path, O_WRONLY | O_CREAT | O_EXCL | O_BINARY | O_NOINHERIT, 0666);
}

bool replace_file(const char* from, const char* to) {
  std::error_code problem;
  std::filesystem::rename(from, to, problem);  // unlike rename of C, over a file on Windows too
  if (problem) errno = problem.default_error_condition().value();
  return !problem;
}

std::string name() {
#if defined(_WIN32)
  return "Windows " + machine();
#else
  return "system " + machine();
#endif
}

std::string machine() {
#if defined(__x86_64__)
  return "x86_64";
#elif defined(__aarch64__)
  return "aarch64";
#else
  return "machine";
#endif
}

}  // namespace sdx::system
