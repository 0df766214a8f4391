// Plain decimals ("-12.375") as the nearest float or double, where that takes one division.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace sardonyx::serve {

inline constexpr double kPowersOfTen[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,
                                          1e7,  1e8,  1e9,  1e10, 1e11, 1e12, 1e13,
                                          1e14, 1e15, 1e16, 1e17, 1e18, 1e19};

// Appends the digits at the front of a text to a number, eight at a time where there are so many;
// answers how many there were. Over 19 digits may overflow, which the caller refuses.
inline size_t take_digits(std::string_view& text, uint64_t& number) {
  const size_t before = text.size();
  for (uint64_t eight = 0; text.size() >= 8; text.remove_prefix(8)) {
    std::memcpy(&eight, text.data(), 8);
    eight -= 0x3030303030303030;
    // A byte that was no digit has a high bit now, or gets one by this sum.
    if (((eight | (eight + 0x7676767676767676)) & 0x8080808080808080) != 0) break;
    eight = eight * 10 + (eight >> 8);  // pairs of digits, the first one lowest in memory
    eight = ((eight & 0x000000ff000000ff) * (100 + (uint64_t{1000000} << 32)) +
             ((eight >> 16) & 0x000000ff000000ff) * (1 + (uint64_t{10000} << 32))) >>
            32;
    number = number * 100'000'000 + eight;
  }
  while (!text.empty() && text.front() >= '0' && text.front() <= '9') {
    number = number * 10 + static_cast<uint64_t>(text.front() - '0');
    text.remove_prefix(1);
  }
  return before - text.size();
}

// Reads the decimal at the front of a text and takes it off. False, with the text as far as it was
// read: not so plain, or so close to the middle between two floats that it takes more care.
template <std::floating_point T>
bool read_plain_decimal(std::string_view& text, T& to) {
  const bool negative = text.starts_with('-');
  text.remove_prefix(negative ? 1 : 0);
  uint64_t digits = 0;
  const bool zero = text.starts_with('0');
  const size_t whole = take_digits(text, digits);
  size_t behind = 0;
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    behind = take_digits(text, digits);
    if (behind == 0) return false;
  }
  if (whole == 0 || (zero && whole > 1) || whole + behind > 19) return false;
  if (text.starts_with('e') || text.starts_with('E')) return false;
  if (std::same_as<T, double> && digits > uint64_t{1} << 53) return false;
  // Powers of ten so small are exact. So are the digits of a double, and one rounding is the right
  // one. For a float the digits' rounding and the quotient's leave the double less than 3 units of
  // its last place away: the float next to it is the right one, unless the middle between two
  // floats, bit 28 of the 29 that are dropped and no other, is as close.
  const double value = static_cast<double>(digits) / kPowersOfTen[behind];
  if constexpr (std::same_as<T, float>) {
    const auto dropped = static_cast<int64_t>(std::bit_cast<uint64_t>(value) & 0x1fffffff);
    if (dropped > 0x10000000 - 4 && dropped < 0x10000000 + 4) return false;
  }
  to = static_cast<T>(negative ? -value : value);
  return true;
}

}  // namespace sardonyx::serve
