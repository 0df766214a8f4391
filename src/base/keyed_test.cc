#include "base/keyed.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace sdx {
namespace {

TEST(Keyed, a_hash_depends_on_every_byte_and_on_both_halves_of_its_key) {
  std::set<uint64_t> seen;
  std::string text;
  for (size_t length = 0; length < 40; ++length, text += '\0') {
    EXPECT_TRUE(seen.insert(keyed_hash(text, {1, 2})).second) << length << " zeros";
    EXPECT_TRUE(seen.insert(keyed_hash(text, {1, 3})).second) << length;
    EXPECT_TRUE(seen.insert(keyed_hash(text, {3, 2})).second) << length;
    for (size_t i = 0; i < length; ++i) {
      std::string other = text;
      other[i] = '\x80';
      EXPECT_TRUE(seen.insert(keyed_hash(other, {1, 2})).second) << length << ", byte " << i;
    }
  }
}

TEST(Keyed, the_key_of_a_process_is_drawn) {
  EXPECT_TRUE(process_hash_key().k0 != 0 || process_hash_key().k1 != 0);
  EXPECT_EQ(KeyedHash()("name"), keyed_hash("name", process_hash_key()));
  EXPECT_NE(KeyedHash()(int64_t{1}), 1U) << "numbers are hashed too";
}

TEST(Keyed, a_table_is_walked_in_the_order_of_its_keys_alone) {
  KeyedMap<std::string, int> table;
  for (int i = 999; i >= 100; --i) table.emplace(std::to_string(i), i);
  EXPECT_FALSE(table.emplace("500", 0).second);
  EXPECT_EQ(table.find("500")->second, 500);
  EXPECT_TRUE(table.find("50") == table.end());
  int next = 100;
  table.each_in_order([&](const std::string&, int value) { EXPECT_EQ(value, next++); });
  EXPECT_EQ(next, 1000);
}

}  // namespace
}  // namespace sdx
