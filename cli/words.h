// Words for people: lists of names, and the name that was probably meant.
#pragma once

#include <span>
#include <string>

#include "base/result.h"

namespace sdx::cli {

// "a", "b" and "c"; the first dozen of a long list.
std::string listed(std::span<const std::string> names);

// The name nearest to `name` by edits, if it is near enough to be meant; else "".
std::string nearest(std::string_view name, std::span<const std::string> names);

// "PROBLEM "name"; there are ..." with a "did you mean" where one fits.
Error not_among(std::string_view code, std::string_view problem, std::string_view name,
                std::span<const std::string> names);

}  // namespace sdx::cli
