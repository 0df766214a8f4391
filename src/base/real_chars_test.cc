#include "base/real_chars.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>

namespace sdx::real_chars {
namespace {

template <class T>
using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;

template <class T>
void expect_read_alike(std::string_view text) {
  T ours = 42, theirs = 42;
  const char *const first = text.data(), *const last = first + text.size();
  const auto a = read(first, last, ours);
  const auto b = std::from_chars(first, last, theirs);
  EXPECT_EQ(a.ptr - first, b.ptr - first) << text;
  EXPECT_EQ(int(a.ec), int(b.ec)) << text;
  EXPECT_EQ(std::bit_cast<Bits<T>>(ours), std::bit_cast<Bits<T>>(theirs)) << text;
}

template <class T, class... Form>
std::string expect_written_alike(T value, Form... form) {
  char ours[400], theirs[400];
  const auto a = write(ours, ours + sizeof ours, value, form...);
  const auto b = std::to_chars(theirs, theirs + sizeof theirs, value, form...);
  EXPECT_EQ(std::string(ours, a.ptr), std::string(theirs, b.ptr));
  return {ours, a.ptr};
}

template <class T>
void expect_alike(T value) {
  const std::string text = expect_written_alike(value);
  expect_read_alike<T>(text);
  expect_written_alike(value, std::chars_format::fixed);
  expect_written_alike(value, std::chars_format::scientific);
}

TEST(RealChars, reads_what_the_library_reads) {
  for (const char* text : {"1e400",
                           "1e-400",
                           "4e-324",
                           "1e-45",
                           "0e999999999999",
                           "1e99999999999999999999",
                           "inf",
                           "-nan",
                           "nan(abc)x",
                           "INFINITY",
                           "infin",
                           "1.",
                           ".",
                           ".5",
                           "1e",
                           "1e+",
                           "0x10",
                           "-",
                           "1e-46",
                           "-0.0",
                           "nan(",
                           "2e-324",
                           "3e-324",
                           "",
                           "+1",
                           " 1",
                           "1 ",
                           "--1",
                           "-inf",
                           "1e5x",
                           "1.5e-3.2",
                           "00012",
                           "-.5e1",
                           "e5",
                           "1..2",
                           "16777217",
                           "9007199254740993",
                           "340282356779733661637539395458142568447",
                           "340282356779733661637539395458142568448",
                           "2.4703282292062327208e-324",
                           "2.4703282292062328e-324",
                           "1.00000017881393432617187499",
                           "1.00000017881393432617187500",
                           "1.00000017881393432617187501"}) {
    expect_read_alike<float>(text);
    expect_read_alike<double>(text);
  }
}

TEST(RealChars, writes_and_reads_back_as_the_library_does) {
  for (const double value : {0.0,
                             -0.0,
                             1.0,
                             10.0,
                             1e5,
                             100000.0,
                             123456.0,
                             1e15,
                             1e16,
                             1e17,
                             1e22,
                             1e23,
                             0.1,
                             1e-4,
                             1e-5,
                             12345e-9,
                             5e-324,
                             1.7976931348623157e308,
                             2.2250738585072014e-308,
                             9007199254740993.0,
                             123456789012345678.0}) {
    expect_alike(value);
    expect_alike(float(value));
  }
  std::mt19937_64 random(1);
  for (int i = 0; i < 100000; ++i) {
    expect_alike(std::bit_cast<double>(random()));
    expect_alike(std::bit_cast<float>(uint32_t(random())));
    expect_alike(float(double(int64_t(random() % 2000000000) - 1000000000) * 1e-3));
    expect_alike(double(random() >> (random() % 64)));
    if (HasFailure()) return;
  }
}

TEST(RealChars, writes_nothing_beyond_its_room) {
  char room[4] = {'x', 'x', 'x', 'x'};
  const auto [end, error] = write(room, room + 3, 0.25);
  EXPECT_EQ(error, std::errc::value_too_large);
  EXPECT_EQ(end, room + 3);
  EXPECT_EQ(std::string_view(room, 4), "xxxx");
}

}  // namespace
}  // namespace sdx::real_chars
