#include "certificate/json.h"

namespace sdx::certificate {
namespace {

// How many bytes of UTF-8 start here; 0 if they are not UTF-8.
size_t sequence_at(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[at + i]); };
  const unsigned char lead = byte(0);
  const size_t size = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  if (lead > 0xf4 || at + size > text.size()) return 0;
  for (size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  // Overlong forms, surrogates and what lies behind the last code point.
  const bool wrong = (lead == 0xe0 && byte(1) < 0xa0) || (lead == 0xed && byte(1) > 0x9f) ||
                     (lead == 0xf0 && byte(1) < 0x90) || (lead == 0xf4 && byte(1) > 0x8f);
  return size > 1 && wrong ? 0 : size;
}

}  // namespace

// Names come from files and may hold any bytes; those that are not UTF-8 become U+FFFD.
void Json::quoted(std::string_view value) {
  text_ += '"';
  for (size_t i = 0; i < value.size();) {
    const size_t size = sequence_at(value, i);
    const char c = value[i];
    if (size == 0) {
      text_ += "\\ufffd";
    } else if (size > 1) {
      text_ += value.substr(i, size);
    } else if (c == '"' || c == '\\') {
      text_ += '\\';
      text_ += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      text_ += fmt::format("\\u{:04x}", unsigned(c));
    } else {
      text_ += c;
    }
    i += size == 0 ? 1 : size;
  }
  text_ += '"';
}

Json& Json::string(std::string_view key, std::string_view value) {
  before(key);
  quoted(value);
  return *this;
}

void Json::before(std::string_view key) {
  if (!first_) text_ += ',';
  if (pending_line_) text_ += '\n';
  first_ = pending_line_ = false;
  if (key.empty()) return;
  quoted(key);
  text_ += ':';
}

}  // namespace sdx::certificate
