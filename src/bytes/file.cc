#include "bytes/file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/system.h"
#include "bytes/unfinished.h"

namespace sdx {
namespace {

Error cannot_write(const std::string& path, const std::string& reason) {
  return fail("SDX-B0004", "cannot write \"{}\": {}", path, reason);
}

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
  std::string temporary = fmt::format("{}.{}.{}", path, system::process_number(), count++);
  std::unique_ptr<FileWriter> writer(new FileWriter(path, std::move(temporary)));
  writer->descriptor_ = system::create_file(writer->temporary_.c_str());
  if (writer->descriptor_ < 0) return cannot_write(path, std::strerror(errno));
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
  constexpr size_t kMost = size_t{1} << 30;  // some systems count in 32 bits
  while (!bytes.empty()) {
    const auto written = ::write(descriptor_, bytes.data(), std::min(bytes.size(), kMost));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return cannot_write(path_, std::strerror(errno));
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return ok();
}

Status FileWriter::commit() {
  const int closed = ::close(descriptor_);
  descriptor_ = -1;
  if (closed != 0 || !system::replace_file(temporary_.c_str(), path_.c_str())) {
    const int reason = errno;
    ::unlink(temporary_.c_str());
    return cannot_write(path_, std::strerror(reason));
  }
  forget_unfinished(temporary_);
  return ok();
}

std::string folder_of(const std::string& path) {
  constexpr bool kBackslashes = std::filesystem::path::preferred_separator == '\\';
  const size_t slash = path.find_last_of(kBackslashes ? "/\\" : "/");
  if (slash == std::string::npos) return ".";
  const bool root = slash == 0 || (kBackslashes && path[slash - 1] == ':');
  return path.substr(0, slash + (root ? 1 : 0));
}

}  // namespace sdx
