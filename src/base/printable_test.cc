#include "base/printable.h"

#include <gtest/gtest.h>

#include "base/result.h"

namespace sdx {
namespace {

TEST(Printable, text_stays_and_what_a_terminal_obeys_is_spelled_out) {
  EXPECT_EQ(printable("größe 大きさ"), "größe 大きさ");
  EXPECT_EQ(printable("\x1b[2Jgone\x07"), "\\x1b[2Jgone\\x07");
  EXPECT_EQ(printable("a\nb\tc"), "a\\x0ab\\x09c");
  EXPECT_EQ(printable("a\nb\tc", true), "a\nb\tc");
  EXPECT_EQ(printable("\xe2\x80\xaegnp.exe"), "\\xe2\\x80\\xaegnp.exe")
      << "text from right to left";
}

TEST(Printable, bytes_that_are_no_characters_are_spelled_out) {
  EXPECT_EQ(printable("\xff\xfe"), "\\xff\\xfe");
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf") << "longer than it need be";
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "half of a pair";
  EXPECT_EQ(printable("\xe2\x82"), "\\xe2\\x82") << "cut off";
}

TEST(Printable, errors_are) {
  const Error error = fail("SDX-X0000", "no \"{}\"", "\x1b]0;owned\x07").in("node \xff");
  EXPECT_EQ(error.text(), "error[SDX-X0000]: no \"\\x1b]0;owned\\x07\"\n  --> node \\xff");
}

}  // namespace
}  // namespace sdx
