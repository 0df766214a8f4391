// Numbers with a fraction as text and back, to the letter as std::from_chars and std::to_chars of
// libstdc++ have it: for a C++ library that has neither (base/libcxx13.h). What is read is rounded
// once; what is written is the shortest text that reads back as the same number.
#pragma once

#include <charconv>

namespace sdx::real_chars {

std::from_chars_result read(const char* first, const char* last, float& value);
std::from_chars_result read(const char* first, const char* last, double& value);

// In the shorter of the two forms.
std::to_chars_result write(char* first, char* last, float value);
std::to_chars_result write(char* first, char* last, double value);
// std::chars_format::fixed or scientific.
std::to_chars_result write(char* first, char* last, float value, std::chars_format form);
std::to_chars_result write(char* first, char* last, double value, std::chars_format form);

}  // namespace sdx::real_chars
