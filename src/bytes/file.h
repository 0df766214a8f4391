// Files: one mapped for reading (or read as a whole, where the system maps none), one written whole
// or not at all.
//
// A mapping is private and read-only, and lives as long as anyone shares it. A file that another
// process shortens while it is mapped cannot be defended against here (the kernel raises SIGBUS);
// replacing a file by rename is safe.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"

namespace sdx {

class MappedFile {
 public:
  static Result<std::shared_ptr<const MappedFile>> open(const std::string& path, size_t most_bytes);
  // Takes over the open descriptor; `name` is for messages. Only regular files. Not on systems that
  // map none.
  static Result<std::shared_ptr<const MappedFile>> adopt(int descriptor, const std::string& name,
                                                         size_t most_bytes);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  const std::string& name() const { return name_; }

 private:
  explicit MappedFile(std::string name) : name_(std::move(name)) {}

  std::string name_;
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
  std::shared_ptr<void> memory_;  // where nothing is mapped
};

// Writes beside `path` and takes its place on commit; without a commit nothing is left.
class FileWriter {
 public:
  static Result<std::unique_ptr<FileWriter>> create(const std::string& path);
  ~FileWriter();
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  Status write(std::span<const std::byte> bytes);
  Status commit();

 private:
  FileWriter(std::string path, std::string temporary)
      : path_(std::move(path)), temporary_(std::move(temporary)) {}

  std::string path_;
  std::string temporary_;
  int descriptor_ = -1;
};

// The folder part of a path, "." if it has none.
std::string folder_of(const std::string& path);

}  // namespace sdx
