// The page of `sardonyx view`: one file that needs no other, by a strict content security policy.
#pragma once

#include <string>

#include "json.h"

namespace sdx::cli {

// The same bytes for the same data.
std::string view_page(const Json& data);

}  // namespace sdx::cli
