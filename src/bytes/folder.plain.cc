#include "bytes/folder.h"

#include <filesystem>

namespace sdx {
namespace {

namespace fs = std::filesystem;

// By its path: between the look at a file and its reading another process could put a link there,
// which the C++ library has no means against.
class NamedFolder : public Folder {
 public:
  explicit NamedFolder(fs::path path) : folder_(std::move(path)) {}

  Result<std::shared_ptr<const MappedFile>> file(std::span<const std::string> parts,
                                                 const std::string& location,
                                                 size_t most_bytes) const override {
    fs::path at = folder_;
    std::error_code error;
    for (const std::string& part : parts) {
      // On Windows "C:x" and "a\..\b" are one part each, and lead elsewhere.
      if (part.find_first_of("\\:") != std::string::npos)
        return file_not_opened(location, "no name of a file on every system");
      at /= part;
      if (fs::is_symlink(fs::symlink_status(at, error))) return symbolic_link(part, location);
    }
    if (!fs::exists(at, error)) return file_not_opened(location, "no such file");
    const uintmax_t links = fs::is_regular_file(at, error) ? fs::hard_link_count(at, error) : 1;
    if (!error && links > 1) return hard_links(location, size_t(links));
    return MappedFile::open(at.string(), most_bytes);
  }

 private:
  fs::path folder_;
};

}  // namespace

Result<std::shared_ptr<const Folder>> Folder::open(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return folder_not_opened(path, "no folder");
  const fs::path whole = fs::absolute(path, error);
  return std::shared_ptr<const Folder>(std::make_shared<NamedFolder>(whole));
}

}  // namespace sdx
