// Whose a file is: what is read as if we had written it must be ours.
#pragma once

#include <optional>
#include <string>

namespace sdx {

// Why others than the user (and root) could have written the file, or replaced it in its folder;
// nothing if they could not.
std::optional<std::string> why_not_ours(const std::string& path);

}  // namespace sdx
