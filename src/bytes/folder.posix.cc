#include "bytes/folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace sdx {
namespace {

// Holds the folder itself, so that a later rename of it cannot redirect the look-up.
class OpenFolder : public Folder {
 public:
  ~OpenFolder() override {
    if (folder_ >= 0) ::close(folder_);
  }

  bool open(const char* path) {
    folder_ = ::open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return folder_ >= 0;
  }

  Result<std::shared_ptr<const MappedFile>> file(std::span<const std::string> parts,
                                                 const std::string& location,
                                                 size_t most_bytes) const override {
    int at = folder_;
    // Each component is opened from the one before without following links, so what was checked is
    // what is read.
    for (size_t i = 0; i < parts.size(); ++i) {
      const int kind = i + 1 < parts.size() ? O_DIRECTORY : O_NONBLOCK;
      const int next = ::openat(at, parts[i].c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | kind);
      const int reason = errno;
      struct stat info = {};
      const bool link = next < 0 &&
                        ::fstatat(at, parts[i].c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
                        S_ISLNK(info.st_mode);
      if (at != folder_) ::close(at);
      if (link) return symbolic_link(parts[i], location);
      if (next < 0) return file_not_opened(location, std::strerror(reason));
      at = next;
    }
    struct stat info = {};
    if (::fstat(at, &info) == 0 && S_ISREG(info.st_mode) && info.st_nlink > 1) {
      ::close(at);
      return hard_links(location, info.st_nlink);
    }
    return MappedFile::adopt(at, location, most_bytes);
  }

 private:
  int folder_ = -1;
};

}  // namespace

Result<std::shared_ptr<const Folder>> Folder::open(const std::string& path) {
  // The owner comes before what it owns.
  const auto folder = std::make_shared<OpenFolder>();
  if (!folder->open(path.c_str())) return folder_not_opened(path, std::strerror(errno));
  return std::shared_ptr<const Folder>(folder);
}

}  // namespace sdx
