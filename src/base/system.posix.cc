#include "base/system.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>

namespace sdx::system {

std::shared_ptr<void> aligned_memory(size_t alignment, size_t bytes) {
  void* memory = std::aligned_alloc(alignment, bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return {memory, std::free};
}

void drop_pages(const void* begin, size_t bytes) {
  static const auto kPage = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto first = reinterpret_cast<uintptr_t>(begin);
  const uintptr_t from = (first + kPage - 1) / kPage * kPage, to = (first + bytes) / kPage * kPage;
  if (from < to) (void)madvise(reinterpret_cast<void*>(from), to - from, MADV_DONTNEED);
}

bool random_bytes(void* into, size_t bytes) { return getentropy(into, bytes) == 0; }

int process_number() { return int(getpid()); }

void after_fork(void (*handler)()) { (void)pthread_atfork(nullptr, nullptr, handler); }

int create_file(const char* path) {
  return ::open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
}

bool replace_file(const char* from, const char* to) { return std::rename(from, to) == 0; }

std::string name() {
  utsname is;
  return uname(&is) == 0 ? std::string(is.sysname) + " " + is.machine : "";
}

std::string machine() {
  utsname is;
  return uname(&is) == 0 ? is.machine : "";
}

}  // namespace sdx::system
