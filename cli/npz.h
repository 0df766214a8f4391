// NumPy's .npz files: arrays by name, each an .npy file in a zip archive, stored or deflated.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/tensor.h"
#include "bytes/file.h"

namespace sdx::cli {

class Npz {
 public:
  static Result<Npz> open(const std::string& path);
  const std::vector<std::string>& names() const { return names_; }
  // One of the names. Checked against the archive's CRC-32.
  Result<Tensor> read(const std::string& name) const;

 private:
  struct Entry {
    uint64_t at, packed, size;
    uint32_t crc;
    uint16_t method, flags;
  };
  Status read_directory();
  Result<Tensor> unpacked(const Entry& entry) const;

  std::shared_ptr<const MappedFile> file_;
  std::vector<std::string> names_;  // in the archive's order
  std::map<std::string, Entry> entries_;
};

// Stored, not deflated; an archive of less than 4 GB.
Status write_npz(const std::vector<std::pair<std::string, Tensor>>& arrays,
                 const std::string& path);

}  // namespace sdx::cli
