#include "base/text_place.h"

#include <algorithm>

namespace sdx {

Error at_place(Error error, std::string_view text, size_t at, std::string_view file) {
  at = std::min(at, text.size());
  const std::string_view before = text.substr(0, at);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const size_t last_break = before.rfind('\n');
  const size_t start = last_break == before.npos ? 0 : last_break + 1;
  const size_t end = std::min(text.find('\n', at), text.size());
  error.where.push_back(
      fmt::format("{}{}line {}, column {}", file, file.empty() ? "" : ": ", line, at - start + 1));
  // A long line is shown around the place.
  constexpr size_t kBefore = 60, kAfter = 40;
  const size_t from = at - start > kBefore ? at - kBefore : start;
  std::string shown(text.substr(from, std::min(end, at + kAfter) - from));
  std::replace_if(
      shown.begin(), shown.end(), [](unsigned char c) { return c < 0x20; }, ' ');
  error.where.push_back("| " + shown);
  error.where.push_back("| " + std::string(at - from, ' ') + "^");
  return error;
}

}  // namespace sdx
