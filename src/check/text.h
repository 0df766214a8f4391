// Whether bytes are text as ONNX means it.
#pragma once

#include <string_view>

namespace sdx::check {

// Well-formed UTF-8: no overlong forms, no surrogates, nothing above U+10FFFF.
inline bool is_utf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const auto byte = [&](size_t at) {
      return at < text.size() ? static_cast<unsigned char>(text[at]) : 0U;
    };
    const unsigned first = byte(i);
    const size_t more = first < 0x80         ? 0
                        : first >> 5 == 0x6  ? 1
                        : first >> 4 == 0xe  ? 2
                        : first >> 3 == 0x1e ? 3
                                             : 4;
    if (more == 4) return false;
    unsigned code = more == 0 ? first : first & (0x3fU >> more);
    for (size_t k = 1; k <= more; ++k) {
      if (byte(i + k) >> 6 != 0x2) return false;
      code = code << 6 | (byte(i + k) & 0x3f);
    }
    constexpr unsigned kLeast[] = {0, 0x80, 0x800, 0x10000};
    if (code < kLeast[more] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return false;
    i += more + 1;
  }
  return true;
}

}  // namespace sdx::check
