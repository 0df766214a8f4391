#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "base/tensor.h"
#include "bytes/file.h"
#include "bytes/file_errors.h"

namespace sdx {

// Read as a whole: what a file is mapped for, that its pages come when they are asked for and can
// leave again, the C++ library does not have.
Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::string& path,
                                                           size_t most_bytes) {
  std::error_code problem;
  const auto kind = std::filesystem::status(path, problem).type();
  if (kind == std::filesystem::file_type::not_found)
    return cannot_open(path, std::strerror(ENOENT));
  if (problem) return cannot_open(path, problem.message());
  if (kind != std::filesystem::file_type::regular) return not_a_regular_file(path);
  const uintmax_t size = std::filesystem::file_size(path, problem);
  if (problem) return cannot_open(path, problem.message());
  if (size > most_bytes) return too_large_a_file(path, size, most_bytes);

  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> from(std::fopen(path.c_str(), "rb"),
                                                             std::fclose);
  if (from == nullptr) return cannot_open(path, std::strerror(errno));
  const std::shared_ptr<MappedFile> file(new MappedFile(path));
  if (size > 0) {
    file->memory_ = allocate_aligned(size_t(size));
    if (std::fread(file->memory_.get(), 1, size_t(size), from.get()) != size)
      return fail("SDX-B0001", "cannot read all of \"{}\"", path);
    file->data_ = static_cast<const std::byte*>(file->memory_.get());
    file->size_ = size_t(size);
  }
  return std::shared_ptr<const MappedFile>(file);
}

MappedFile::~MappedFile() = default;

}  // namespace sdx
