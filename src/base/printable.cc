#include "base/printable.h"

#include <fmt/core.h>

#include <cstdint>

namespace sdx {
namespace {

// Characters that move the cursor, hide or reorder text: C0 and C1 controls, the marks of
// bidirectional text and line separators.
bool is_control(uint32_t c) {
  return c < 0x20 || (c >= 0x7f && c <= 0x9f) || (c >= 0x200b && c <= 0x200f) ||
         (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0xfeff;
}

uint32_t code_point(std::string_view text, size_t length) {
  const auto byte = [&](size_t i) { return uint32_t(static_cast<unsigned char>(text[i])); };
  if (length == 1) return byte(0);
  uint32_t point = byte(0) & (0x7fu >> length);
  for (size_t i = 1; i < length; ++i) point = point << 6 | (byte(i) & 0x3f);
  return point;
}

}  // namespace

size_t utf8_length(std::string_view text) {
  if (text.empty()) return 0;
  const auto first = static_cast<unsigned char>(text[0]);
  const size_t length = first < 0x80                    ? 1
                        : first >= 0xc2 && first < 0xe0 ? 2
                        : first >= 0xe0 && first < 0xf0 ? 3
                        : first >= 0xf0 && first < 0xf5 ? 4
                                                        : 0;
  if (length == 0 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) return 0;
  }
  const uint32_t point = code_point(text, length);
  // Longer than it need be, half of a pair, or beyond the last one.
  const bool wrong = (length == 3 && point < 0x800) || (length == 4 && point < 0x10000) ||
                     (point >= 0xd800 && point <= 0xdfff) || point > 0x10ffff;
  return wrong ? 0 : length;
}

std::string printable(std::string_view text, bool breaks) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    const bool kept = breaks && (text[0] == '\n' || text[0] == '\t');
    if (length > 0 && (kept || !is_control(code_point(text, length)))) {
      shown += text.substr(0, length);
      text.remove_prefix(length);
      continue;
    }
    const size_t hidden = length > 0 ? length : 1;
    for (size_t i = 0; i < hidden; ++i)
      shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[i]));
    text.remove_prefix(hidden);
  }
  return shown;
}

}  // namespace sdx
