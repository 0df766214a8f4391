#include "bytes/ours.h"

#include <sys/stat.h>
#include <unistd.h>

#include "bytes/file.h"

namespace sdx {

std::optional<std::string> why_not_ours(const std::string& path) {
  const auto others_write = [](const struct stat& info) {
    // A group of the user's own number has the user alone in it, by custom.
    const bool own_group = info.st_gid == ::getegid() && info.st_gid == ::geteuid();
    return (info.st_mode & S_IWOTH) != 0 || ((info.st_mode & S_IWGRP) != 0 && !own_group);
  };
  const auto foreign = [](const struct stat& info) {
    return info.st_uid != ::geteuid() && info.st_uid != 0;
  };
  struct stat info = {};
  if (::lstat(path.c_str(), &info) != 0) return std::nullopt;  // opening it says why
  if (!S_ISREG(info.st_mode)) return "it is no regular file";
  if (foreign(info)) return "it belongs to another user";
  if (others_write(info)) return "others may write it";
  if (::stat(folder_of(path).c_str(), &info) != 0) return std::nullopt;
  if (foreign(info)) return "its folder belongs to another user";
  if (others_write(info) && (info.st_mode & S_ISVTX) == 0) return "others may write its folder";
  return std::nullopt;
}

}  // namespace sdx
