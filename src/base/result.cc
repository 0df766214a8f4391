#include "base/result.h"

namespace sdx {

std::string Error::text() const {
  std::string text = fmt::format("error[{}]: {}", code, what);
  for (const std::string& place : where) {
    const bool detail = place.starts_with("| ");  // of the place above it
    text += detail ? fmt::format("\n   |  {}", place.substr(2)) : fmt::format("\n  --> {}", place);
  }
  if (!help.empty()) text += fmt::format("\n   = help: {}", help);
  return text;
}

}  // namespace sdx
