#include "bytes/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/pages.h"
#include "bytes/shortened.h"
#include "bytes/unfinished.h"

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

Error cannot_write(const std::string& path, int reason) {
  return fail("SDX-B0004", "cannot write \"{}\": {}", path, std::strerror(reason));
}

}  // namespace

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::string& path,
                                                           size_t most_bytes) {
  // O_NONBLOCK: opening a named pipe must not wait for a writer.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) {
    return fail("SDX-B0001", "cannot open \"{}\": {}", path, std::strerror(errno));
  }
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
  if (!S_ISREG(info.st_mode)) return fail("SDX-B0002", "\"{}\" is not a regular file", name);
  const auto size = static_cast<size_t>(info.st_size);
  if (size > most_bytes) {
    return fail("SDX-B0003", "\"{}\" has {} bytes; the limit is {}", name, size, most_bytes);
  }
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

namespace {

// Names of files that are being written, where a handler of signals finds them without a lock.
struct Unfinished {
  std::atomic<bool> taken = false, named = false;
  std::array<char, 4096> name = {};
};
std::array<Unfinished, 64> unfinished;

void note_unfinished(const std::string& name) {
  for (Unfinished& slot : unfinished) {
    if (name.size() >= slot.name.size() || slot.taken.exchange(true)) continue;
    std::copy_n(name.c_str(), name.size() + 1, slot.name.begin());
    slot.named = true;
    return;
  }
}

void forget_unfinished(const std::string& name) {
  for (Unfinished& slot : unfinished) {
    if (!slot.named || name != slot.name.data()) continue;
    slot.named = false;
    slot.taken = false;
    return;
  }
}

}  // namespace

void remove_unfinished_files() {
  for (Unfinished& slot : unfinished) {
    if (slot.named) ::unlink(slot.name.data());
  }
}

Result<std::unique_ptr<FileWriter>> FileWriter::create(const std::string& path) {
  // A name that neither another thread nor another process is using.
  static std::atomic<unsigned> count = 0;
  std::string temporary = fmt::format("{}.{}.{}", path, ::getpid(), count++);
  std::unique_ptr<FileWriter> writer(new FileWriter(path, std::move(temporary)));
  writer->descriptor_ =
      ::open(writer->temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (writer->descriptor_ < 0) {
    return cannot_write(path, errno);
  }
  note_unfinished(writer->temporary_);
  return writer;
}

FileWriter::~FileWriter() {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
    ::unlink(temporary_.c_str());
  }
  forget_unfinished(temporary_);
}

Status FileWriter::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      return cannot_write(path_, errno);
    }
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return ok();
}

Status FileWriter::commit() {
  const int closed = ::close(descriptor_);
  descriptor_ = -1;
  if (closed != 0 || ::rename(temporary_.c_str(), path_.c_str()) != 0) {
    const int reason = errno;
    ::unlink(temporary_.c_str());
    return cannot_write(path_, reason);
  }
  forget_unfinished(temporary_);
  return ok();
}

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace sdx
