// A folder that is held open, and the files beneath it.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "bytes/file.h"

namespace sdx {

class Folder {
 public:
  static Result<std::shared_ptr<const Folder>> open(const std::string& path);
  virtual ~Folder() = default;
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  // The file of that path, part by part; `location` is the path as messages name it. Links, also
  // hard ones, are refused: they may lead out of the folder.
  virtual Result<std::shared_ptr<const MappedFile>> file(std::span<const std::string> parts,
                                                         const std::string& location,
                                                         size_t most_bytes) const = 0;

 protected:
  Folder() = default;
};

// The errors that both kinds of system report.
Error folder_not_opened(const std::string& path, const std::string& reason);
Error file_not_opened(const std::string& location, const std::string& reason);
Error symbolic_link(const std::string& part, const std::string& location);
Error hard_links(const std::string& location, size_t count);

}  // namespace sdx
