// PackFile: packed weights in a file, which is mapped and shared by all who read it.
//
//   header   "SDXPACK1", bytes of the file, entries, SHA-256 of the stamp and the index
//   index    per entry: the two names, place, size, checksum
//   weights  each at a multiple of 64 bytes
//
// Numbers are in the machine's order of bytes, which the first letters tell. Nothing of a file is
// believed before its sums agree.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "bytes/file.h"
#include "kernel/pool.h"

namespace sdx::plan {

struct PackEntry {
  // What the weights were packed from and how: by content, and, where all lay in settled files, by
  // the state of these files and the place in them ("" if not). 64 hexadecimal digits.
  std::string by_content, by_place;
  std::string sum;
  std::span<const std::byte> bytes;
};

class PackFile {
 public:
  // `stamp`: what else must be the same for the weights to serve, whoever wrote them. An error says
  // why the file cannot be used; kAbsent if there is none.
  static constexpr std::string_view kAbsent = "SDX-N0001", kUnusable = "SDX-N0002";
  static Result<std::shared_ptr<const PackFile>> open(const std::string& path,
                                                      std::string_view stamp);
  // Takes the place of `path` as a whole or not at all.
  static Status write(const std::string& path, std::string_view stamp,
                      std::span<const PackEntry> entries);

  // Null if it holds none of that name.
  const PackEntry* by_content(const std::string& name) const { return find(by_content_, name); }
  const PackEntry* by_place(const std::string& name) const { return find(by_place_, name); }

 private:
  using Names = std::map<std::string, const PackEntry*, std::less<>>;
  static const PackEntry* find(const Names& names, const std::string& name) {
    const auto found = names.find(name);
    return found == names.end() ? nullptr : found->second;
  }

  std::shared_ptr<const MappedFile> file_;
  std::vector<PackEntry> entries_;
  Names by_content_, by_place_;
};

}  // namespace sdx::plan
