// UTF-8 text: code points, white space and letter case, the same under every locale.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sdx {

// The code point at the start of `text`, which is not empty, and its size in bytes. A byte that is
// not UTF-8 stands for itself as a value above all code points, and encode() gives it back.
char32_t decode(std::string_view text, size_t& size);
void encode(char32_t code, std::string& text);

bool is_space(char32_t code);  // as in Unicode, and the separators U+001C to U+001F

// Unicode's simple mappings: one code point to one.
char32_t lower(char32_t code);
char32_t upper(char32_t code);
std::string lower(std::string_view text);
std::string upper(std::string_view text);

}  // namespace sdx
