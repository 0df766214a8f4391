#include "bytes/folder.h"

namespace sdx {

Error folder_not_opened(const std::string& path, const std::string& reason) {
  return fail("SDX-B0001", "cannot open the folder \"{}\": {}", path, reason);
}

Error file_not_opened(const std::string& location, const std::string& reason) {
  return fail("SDX-B0304", "external data: cannot open \"{}\": {}", location, reason);
}

Error symbolic_link(const std::string& part, const std::string& location) {
  return fail("SDX-B0303", "external data: \"{}\" of \"{}\" is a symbolic link", part, location);
}

Error hard_links(const std::string& location, size_t count) {
  Error error = fail("SDX-B0303", "external data: \"{}\" has {} hard links", location, count);
  error.help = "its other name may be a file from elsewhere; a copy of the file has one link";
  return error;
}

}  // namespace sdx
