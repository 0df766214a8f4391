// Results that are too large for a message: files by their SHA-256, in a folder that readers see.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "serve/failure.h"

namespace sardonyx::serve {

struct StoredObject {
  std::string file, sha256;  // the file's name in the folder is its hash
  size_t bytes = 0;
};

// The pieces as one file, on the disk when this returns. One that is there already is kept.
Outcome<StoredObject> store_object(const std::string& folder,
                                   const std::vector<std::string_view>& pieces);

std::string sha256_of(const std::vector<std::string_view>& pieces);

}  // namespace sardonyx::serve
