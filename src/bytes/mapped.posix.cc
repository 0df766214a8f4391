#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/pages.h"
#include "bytes/file.h"
#include "bytes/file_errors.h"
#include "bytes/shortened.h"

namespace sdx {
namespace {

FileState state_of(const struct stat& info) {
  const auto ns = [](const struct timespec& time) {
    return int64_t(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
  };
  struct timespec now = {};
  ::clock_gettime(CLOCK_REALTIME, &now);
  FileState state{info.st_dev, info.st_ino, uint64_t(info.st_size), ns(info.st_mtim),
                  ns(info.st_ctim)};
  constexpr int64_t kRest = 2'000'000'000;
  state.settled = ns(now) - state.changed_ns > kRest;
  return state;
}

}  // namespace

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::string& path,
                                                           size_t most_bytes) {
  // O_NONBLOCK: opening a named pipe must not wait for a writer.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return cannot_open(path, std::strerror(errno));
  return adopt(descriptor, path, most_bytes);
}

Result<std::shared_ptr<const MappedFile>> MappedFile::adopt(int descriptor, const std::string& name,
                                                            size_t most_bytes) {
  struct Closer {
    int descriptor;
    ~Closer() { ::close(descriptor); }
  } closer{descriptor};
  struct stat info = {};
  if (::fstat(descriptor, &info) != 0) {
    return fail("SDX-B0001", "cannot examine \"{}\": {}", name, std::strerror(errno));
  }
  if (!S_ISREG(info.st_mode)) return not_a_regular_file(name);
  const auto size = static_cast<size_t>(info.st_size);
  if (size > most_bytes) return too_large_a_file(name, size, most_bytes);
  // The owner comes before what it owns: should memory run out, nothing stays mapped.
  const std::shared_ptr<MappedFile> file(new MappedFile(name));
  if (size > 0) {  // mmap refuses an empty range
    const void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (data == MAP_FAILED) {
      return fail("SDX-B0001", "cannot map \"{}\": {}", name, std::strerror(errno));
    }
    file->data_ = static_cast<const std::byte*>(data);
    file->size_ = size;
    note_mapping(data, size, state_of(info));
    note_mapped_file(data, size, file->name_.c_str());
  }
  return std::shared_ptr<const MappedFile>(file);
}

MappedFile::~MappedFile() {
  if (size_ == 0) return;
  forget_mapping(data_);
  forget_mapped_file(data_);
  ::munmap(const_cast<std::byte*>(data_), size_);
}

}  // namespace sdx
