// GroupQueryAttention: what its reference and its kernel share: sizes of one run, the keys that
// each query sees, and turned queries and keys.
#pragma once

#include <optional>

#include "ops/common.h"

namespace sdx::ops::microsoft {

struct GroupQuery {
  size_t heads, kv_heads;
  bool causal;
  std::optional<float> scale;
  float softcap;   // 0: none
  int64_t window;  // so many keys up to the query's own; -1: all
  bool rotary, interleaved, smooth;
  bool late_caches = false;  // somebody wants the caches, and only the run tells their size
};

// The inputs by their place.
enum GroupQueryInput : uint8_t {
  kQuery,
  kKey,
  kValue,
  kPastKey,
  kPastValue,
  kLengths,
  kTotal,
  kCos,
  kSin,
  kPositions,
  kBias,
  kSink
};

struct GroupQuerySizes {
  size_t batch, length, new_keys, size;  // queries and new keys per batch; elements of a head
  size_t past_room = 0, room = 0;        // keys that the caches have room for
  size_t total = 0;                      // of the longest batch
  size_t group;                          // query heads per key head
  size_t turned = 0;                     // elements of a head that are turned
  bool packed, prompt;                   // one tensor for all three; nothing has gone before

  size_t all_heads(const GroupQuery& a) const {
    return packed ? a.heads + 2 * a.kv_heads : a.heads;
  }
};
// Checks all inputs against each other.
Result<GroupQuerySizes> group_query_sizes(const GroupQuery&, const Args&);

// Keys of a batch: `past` old ones stay, `valid` are there with the new ones.
struct GroupQueryKeys {
  size_t past, valid;
};
GroupQueryKeys keys_of_batch(const GroupQuerySizes&, const Args&, size_t batch);
// Keys [first, last) that query i of a batch sees.
struct GroupQueryRange {
  size_t first, last;
};
GroupQueryRange keys_of_query(const GroupQuery&, const GroupQuerySizes&, const GroupQueryKeys&,
                              size_t i);

// What scores are multiplied by.
float scale_of(const GroupQuery&, const GroupQuerySizes&);

// Where a vector of the inputs begins: head h of token i.
size_t query_at(const GroupQuery&, const GroupQuerySizes&, size_t b, size_t h, size_t i);
// Of key head h (which = 0) or value head h (which = 1) among the new ones, and the tensor that
// holds it.
const View& new_keys_in(const GroupQuerySizes&, const Args&, size_t which);
size_t new_key_at(const GroupQuery&, const GroupQuerySizes&, size_t b, size_t h, size_t i,
                  size_t which);

// The token's position, by which it is turned.
size_t position_of(const GroupQuerySizes&, const Args&, const GroupQueryKeys&, size_t b, size_t i);
// A head's vector turned by its position: pairs (x1, x2) become (c x1 - s x2, s x1 + c x2), each
// operation rounded; what lies behind the turned elements is copied.
template <class T>
void turn(const GroupQuery& a, const GroupQuerySizes& s, const Args& args, size_t position,
          const T* from, T* to) {
  const size_t half = s.turned / 2;
  for (size_t j = 0; j < half; ++j) {
    const float cos = load(args.in(kCos).data<T>()[position * half + j]);
    const float sin = load(args.in(kSin).data<T>()[position * half + j]);
    const size_t one = a.interleaved ? 2 * j : j, two = a.interleaved ? one + 1 : one + half;
    const float x1 = load(from[one]), x2 = load(from[two]);
    to[one] = store<T>(cos * x1 - sin * x2);
    to[two] = store<T>(sin * x1 + cos * x2);
  }
  std::copy_n(from + s.turned, s.size - s.turned, to + s.turned);
}

// The caches with the new keys (turned) and values behind the old ones, and zeros behind those.
template <class T>
void write_caches(const GroupQuery& a, const GroupQuerySizes& s, const Args& args, T* keys,
                  T* values) {
  args.pool->parallel(s.batch * a.kv_heads, 1, [&](size_t begin, size_t end, int) {
    for (size_t head = begin; head < end; ++head) {
      const size_t b = head / a.kv_heads, h = head % a.kv_heads;
      const GroupQueryKeys at = keys_of_batch(s, args, b);
      for (size_t which = 0; which < 2; ++which) {
        T* to = (which == 0 ? keys : values) + head * s.room * s.size;
        if (at.past > 0) {
          const T* old = args.in(kPastKey + which).template data<T>();
          std::copy_n(old + head * s.past_room * s.size, at.past * s.size, to);
        }
        for (size_t i = 0; i < s.new_keys; ++i) {
          const T* from =
              new_keys_in(s, args, which).template data<T>() + new_key_at(a, s, b, h, i, which);
          T* row = to + (at.past + i) * s.size;
          if (which == 0 && a.rotary) {
            turn(a, s, args, position_of(s, args, at, b, i), from, row);
          } else {
            std::copy_n(from, s.size, row);
          }
        }
        const size_t used = at.past + s.new_keys;
        std::fill_n(to + used * s.size, (s.room - used) * s.size, T{});
      }
    }
  });
}

// The additive bias [1 or batch, 1 or heads, length, keys]: where row i of a head begins; the row
// has `keys` elements.
struct GroupQueryBias {
  View view;
  size_t keys = 0;
  size_t row(const GroupQuerySizes& s, size_t b, size_t h, size_t i) const {
    const size_t heads = size_t(view.dims[1]);
    const size_t batch = view.dims[0] == 1 ? 0 : b, head = heads == 1 ? 0 : h;
    return ((batch * heads + head) * s.length + i) * keys;
  }
};
GroupQueryBias bias_of(const Args&);

bool fits_fast_group_query(const GroupQuery&, const Call&);
size_t fast_group_query_scratch(const GroupQuery&, const Call&);
Status run_fast_group_query(const GroupQuery&, Args&);

}  // namespace sdx::ops::microsoft
