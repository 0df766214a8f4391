// Text that a model's author wrote, made safe to show: control characters, which a terminal would
// obey, and bytes that are not UTF-8 become \x1b. Line breaks and tabs stay where they are asked
// to.
#pragma once

#include <string>
#include <string_view>

namespace sdx {

// `breaks`: keep line breaks and tabs, of a text that consists of lines.
std::string printable(std::string_view text, bool breaks = false);

// How many bytes a valid character of UTF-8 takes at the start of the text; 0 if it has none.
size_t utf8_length(std::string_view text);

}  // namespace sdx
