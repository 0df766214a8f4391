// SHA-256 of a file, in hexadecimal; empty if it cannot be read.
#pragma once

#include <string>

namespace sardonyx::serve {

std::string file_sha256(const std::string& path);

}  // namespace sardonyx::serve
