// Plain decimals ("-12.375") as the nearest float or double, where that takes one division.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace sardonyx::serve {

inline constexpr double kPowersOfTen[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,
                                          1e7,  1e8,  1e9,  1e10, 1e11, 1e12, 1e13,
                                          1e14, 1e15, 1e16, 1e17, 1e18, 1e19};

// Appends the digits from `at` on to a number, eight at a time where there are so many, and answers
// where they end. Over 19 digits may overflow, which the caller refuses.
inline const char* take_digits(const char* at, const char* end, uint64_t& number) {
  for (; end - at >= 8; at += 8) {
    uint64_t eight = 0;
    std::memcpy(&eight, at, 8);
    eight -= 0x3030303030303030;
    // A byte that was no digit has a high bit now, or gets one by this sum.
    if (((eight | (eight + 0x7676767676767676)) & 0x8080808080808080) != 0) break;
    eight = eight * 10 + (eight >> 8);  // pairs of digits, the first one lowest in memory
    eight = ((eight & 0x000000ff000000ff) * (100 + (uint64_t{1000000} << 32)) +
             ((eight >> 16) & 0x000000ff000000ff) * (1 + (uint64_t{10000} << 32))) >>
            32;
    number = number * 100'000'000 + eight;
  }
  for (; at != end && *at >= '0' && *at <= '9'; ++at)
    number = number * 10 + static_cast<uint64_t>(*at - '0');
  return at;
}

// Reads the decimal at the front of a text and answers where it ends. Null: not so plain, or so
// close to the middle between two floats that it takes more care.
template <std::floating_point T>
const char* read_plain_decimal(const char* at, const char* end, T& to) {
  const bool negative = at != end && *at == '-';
  at += negative ? 1 : 0;
  const char* first = at;
  uint64_t digits = 0;
  for (; at != end && *at >= '0' && *at <= '9'; ++at)  // few, mostly
    digits = digits * 10 + static_cast<uint64_t>(*at - '0');
  const auto whole = at - first;
  ptrdiff_t behind = 0;
  if (at != end && *at == '.') {
    const char* point = at + 1;
    at = take_digits(point, end, digits);
    behind = at - point;
    if (behind == 0) return nullptr;
  }
  if (whole == 0 || (whole > 1 && *first == '0') || whole + behind > 19) return nullptr;
  if (at != end && (*at == 'e' || *at == 'E')) return nullptr;
  if (std::same_as<T, double> && digits > uint64_t{1} << 53) return nullptr;
  // Powers of ten so small are exact. So are the digits of a double, and one rounding is the right
  // one. For a float the digits' rounding and the quotient's leave the double less than 3 units of
  // its last place away: the float next to it is the right one, unless the middle between two
  // floats, bit 28 of the 29 that are dropped and no other, is as close.
  const double value = static_cast<double>(digits) / kPowersOfTen[behind];
  if constexpr (std::same_as<T, float>) {
    const auto dropped = static_cast<int64_t>(std::bit_cast<uint64_t>(value) & 0x1fffffff);
    if (dropped > 0x10000000 - 4 && dropped < 0x10000000 + 4) return nullptr;
  }
  to = static_cast<T>(negative ? -value : value);
  return at;
}

}  // namespace sardonyx::serve
