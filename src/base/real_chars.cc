#include "base/real_chars.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>
#include <string_view>

namespace sdx::real_chars {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) {
  return is_digit(c) || c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// Whether the text begins with this word, in letters of either size.
bool begins_with(std::string_view text, std::string_view word) {
  return text.size() >= word.size() &&
         std::equal(word.begin(), word.end(), text.begin(),
                    [](char a, char b) { return a == (b >= 'A' && b <= 'Z' ? b - 'A' + 'a' : b); });
}

size_t digits_from(std::string_view text, size_t at) {
  while (at < text.size() && is_digit(text[at])) ++at;
  return at;
}

// How far inf, infinity, nan or nan(letters) reaches; 0 if there is none.
size_t word_length(std::string_view text) {
  if (begins_with(text, "infinity")) return 8;
  if (begins_with(text, "inf")) return 3;
  if (!begins_with(text, "nan")) return 0;
  size_t end = 3;
  if (end < text.size() && text[end] == '(') {
    do {
      ++end;
    } while (end < text.size() && is_word(text[end]));
    if (end < text.size() && text[end] == ')') return end + 1;
  }
  return 3;
}

// How far digits with a point and an exponent reach; 0 if there are none.
size_t digits_length(std::string_view text) {
  size_t end = digits_from(text, 0);
  size_t digits = end;
  if (end < text.size() && text[end] == '.') {
    const size_t point = end;
    end = digits_from(text, point + 1);
    digits += end - point - 1;
  }
  if (digits == 0) return 0;
  if (end < text.size() && (text[end] == 'e' || text[end] == 'E')) {
    size_t at = end + 1;
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
    const size_t behind = digits_from(text, at);
    if (behind > at) end = behind;
  }
  return end;
}

// The C library's, which rounds correctly where this is used.
void convert(const std::string& text, float& value) { value = std::strtof(text.c_str(), nullptr); }
void convert(const std::string& text, double& value) { value = std::strtod(text.c_str(), nullptr); }

template <class T>
std::from_chars_result read_real(const char* first, const char* last, T& value) {
  const std::string_view text(first, size_t(last - first));
  const bool negative = text.starts_with('-');
  const std::string_view rest = text.substr(negative ? 1 : 0);
  const char* const begin = first + negative;
  if (const size_t length = word_length(rest); length > 0) {
    const T word = begins_with(rest, "inf") ? std::numeric_limits<T>::infinity()
                                            : std::numeric_limits<T>::quiet_NaN();
    value = std::copysign(word, negative ? T{-1} : T{1});
    return {begin + length, std::errc{}};
  }
  const size_t length = digits_length(rest);
  if (length == 0) return {first, std::errc::invalid_argument};
  const std::string number(rest.substr(0, length));
  T found{};
  convert(number, found);
  const std::string_view mantissa = std::string_view(number).substr(0, number.find_first_of("eE"));
  const bool too_small = found == 0 && mantissa.find_first_of("123456789") != mantissa.npos;
  if (std::isinf(found) || too_small) return {begin + length, std::errc::result_out_of_range};
  value = negative ? -found : found;
  return {begin + length, std::errc{}};
}

// 0.digits times 10^point, the fewest digits that read back as this number.
struct Shortest {
  std::string digits;
  int point;
};

template <class T>
Shortest shortest(T value) {
  const std::string text = fmt::format("{}", value);  // its digits; where the point is we say
  const size_t e = text.find('e');
  Shortest found{{}, e == text.npos ? 0 : std::atoi(text.c_str() + e + 1)};
  bool behind = false;
  for (const char c : std::string_view(text).substr(0, e)) {
    if (c == '.') {
      behind = true;
      continue;
    }
    if (!behind) ++found.point;
    found.digits += c;
  }
  const size_t zeros = std::min(found.digits.find_first_not_of('0'), found.digits.size() - 1);
  found.digits.erase(0, zeros);
  found.point -= int(zeros);
  while (found.digits.size() > 1 && found.digits.back() == '0') found.digits.pop_back();
  if (found.digits == "0") found.point = 1;
  return found;
}

std::string scientific(const Shortest& number) {
  std::string text(1, number.digits[0]);
  if (number.digits.size() > 1) text += "." + number.digits.substr(1);
  const int exponent = number.point - 1;
  return text + fmt::format("e{}{:02}", exponent < 0 ? '-' : '+', std::abs(exponent));
}

template <class T>
std::string fixed(T magnitude, const Shortest& number) {
  const int behind = int(number.digits.size()) - number.point;
  // A whole number has all its digits, also those that reading it back would not need.
  if (behind <= 0) return fmt::format("{:.0f}", magnitude);
  if (number.point <= 0) return "0." + std::string(size_t(-number.point), '0') + number.digits;
  std::string text = number.digits;
  return text.insert(size_t(number.point), 1, '.');
}

// How long the fixed form is with zeros in the place of digits that are not needed.
size_t fixed_length(const Shortest& number) {
  const int digits = int(number.digits.size());
  if (number.point <= 0) return number.digits.size() + size_t(2 - number.point);
  return size_t(std::max(number.point, digits + (number.point < digits ? 1 : 0)));
}

template <class T>
std::to_chars_result write_real(char* first, char* last, T value, const std::chars_format* form) {
  std::string text = std::signbit(value) ? "-" : "";
  const T magnitude = std::fabs(value);
  if (std::isnan(value)) {
    text += "nan";
  } else if (std::isinf(value)) {
    text += "inf";
  } else {
    const Shortest number = shortest(magnitude);
    std::string small = scientific(number);
    const bool is_fixed =
        form != nullptr ? *form == std::chars_format::fixed : fixed_length(number) <= small.size();
    text += is_fixed ? fixed(magnitude, number) : small;
  }
  if (text.size() > size_t(last - first)) return {last, std::errc::value_too_large};
  return {std::copy(text.begin(), text.end(), first), std::errc{}};
}

}  // namespace

std::from_chars_result read(const char* first, const char* last, float& value) {
  return read_real(first, last, value);
}
std::from_chars_result read(const char* first, const char* last, double& value) {
  return read_real(first, last, value);
}
std::to_chars_result write(char* first, char* last, float value) {
  return write_real(first, last, value, nullptr);
}
std::to_chars_result write(char* first, char* last, double value) {
  return write_real(first, last, value, nullptr);
}
std::to_chars_result write(char* first, char* last, float value, std::chars_format form) {
  return write_real(first, last, value, &form);
}
std::to_chars_result write(char* first, char* last, double value, std::chars_format form) {
  return write_real(first, last, value, &form);
}

}  // namespace sdx::real_chars
