// Tables keyed by what a model's author wrote: names, tokens, numbers.
//
// Whoever knows a hash function can write thousands of names that it takes to one value, and a
// table of them costs the square of their number. The function here has a key that is drawn when
// the process starts (SipHash with one round per word and three at the end), so nobody can know it
// beforehand. Its values differ from run to run, and the order of a table with it: such a table
// cannot be walked, but in the order of its keys.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace sdx {

struct HashKey {
  uint64_t k0, k1;
};
uint64_t keyed_hash(std::string_view bytes, const HashKey& key);
const HashKey& process_hash_key();

struct KeyedHash {
  size_t operator()(std::string_view text) const {
    return size_t(keyed_hash(text, process_hash_key()));
  }
  template <class T>
  requires std::is_integral_v<T> size_t operator()(T number) const {
    return (*this)({reinterpret_cast<const char*>(&number), sizeof number});
  }
};

template <class Key, class T>
class KeyedMap : private std::unordered_map<Key, T, KeyedHash> {
  using Table = std::unordered_map<Key, T, KeyedHash>;

 public:
  using Table::contains;
  using Table::emplace;
  using Table::end;
  using Table::find;
  using Table::size;
  using Table::try_emplace;

  template <class F>
  void each_in_order(const F& visit) const {
    std::vector<const typename Table::value_type*> entries;
    for (const auto& entry : static_cast<const Table&>(*this)) entries.push_back(&entry);
    std::ranges::sort(entries, {}, [](const auto* entry) -> const Key& { return entry->first; });
    for (const auto* entry : entries) visit(entry->first, entry->second);
  }
};

template <class Key>
class KeyedSet : private std::unordered_set<Key, KeyedHash> {
  using Table = std::unordered_set<Key, KeyedHash>;

 public:
  using Table::contains;
  using Table::insert;
  using Table::size;
};

}  // namespace sdx
