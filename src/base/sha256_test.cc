#include "base/sha256.h"

#include <gtest/gtest.h>

#include <string_view>

namespace sdx {
namespace {

std::string hash(std::string_view text, size_t piece) {
  Sha256 sha;
  for (size_t at = 0; at < text.size(); at += piece) {
    const std::string_view part = text.substr(at, piece);
    sha.add(part.data(), part.size());
  }
  return sha.hex();
}

// The examples of FIPS 180-4.
TEST(Sha256, gives_the_published_hashes) {
  EXPECT_EQ(hash("", 1), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hash("abc", 3), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hash("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hash(std::string(1000000, 'a'), 1000000),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, does_not_depend_on_how_the_bytes_are_cut) {
  for (size_t size = 0; size < 200; ++size) {
    const std::string text(size, 'x');
    const std::string whole = hash(text, 1000);
    for (const size_t piece : {1, 3, 63, 64, 65}) {
      EXPECT_EQ(hash(text, piece), whole) << size << " in pieces of " << piece;
    }
  }
}

}  // namespace
}  // namespace sdx
