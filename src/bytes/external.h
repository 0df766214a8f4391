// The files beneath a model's folder that its tensors may name, each opened once, checked as
// opened, and kept mapped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "bytes/file.h"
#include "bytes/folder.h"

namespace sdx {

// Where a tensor's bytes are, as its external_data says.
struct ExternalPlace {
  std::string location;
  uint64_t offset = 0;
  std::optional<uint64_t> length;
  std::string checksum;  // of the whole file, 40 hexadecimal digits; empty: none given
};

// Reads the key-value pairs; a key that is unknown, doubled or malformed is an error.
Result<ExternalPlace> external_place(
    std::span<const std::pair<std::string_view, std::string_view>> entries);

class ExternalFiles {
 public:
  static Result<std::shared_ptr<ExternalFiles>> open(const std::string& folder, size_t most_bytes);
  ExternalFiles(const ExternalFiles&) = delete;
  ExternalFiles& operator=(const ExternalFiles&) = delete;

  struct Bytes {
    std::span<const std::byte> bytes;
    std::shared_ptr<const MappedFile> owner;
  };
  // `size`: the bytes the tensor needs; a length that is given must equal it. May be called from
  // several threads.
  Result<Bytes> read(const ExternalPlace& place, uint64_t size);

 private:
  ExternalFiles(std::shared_ptr<const Folder> folder, size_t most_bytes)
      : folder_(std::move(folder)), most_bytes_(most_bytes) {}
  Result<std::shared_ptr<const MappedFile>> file(const std::string& location);

  struct Opened {
    std::shared_ptr<const MappedFile> file;
    std::string checksum;  // computed when first asked for
  };

  std::shared_ptr<const Folder> folder_;
  size_t most_bytes_;
  std::mutex mutex_;
  std::map<std::string, Opened> opened_;  // by location as written
};

}  // namespace sdx
