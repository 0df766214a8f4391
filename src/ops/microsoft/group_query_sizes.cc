#include <cmath>

#include "ops/microsoft/group_query_attention.h"

namespace sdx::ops::microsoft {
namespace {

Status check_caches(const GroupQuery& a, GroupQuerySizes& s, const Args& args) {
  for (const size_t i : {kPastKey, kPastValue}) {
    if (!args.has(i)) continue;
    const auto dims = args.in(i).dims;
    if (dims.size() != 4 || size_t(dims[0]) != s.batch || size_t(dims[1]) != a.kv_heads ||
        size_t(dims[3]) != s.size || (i == kPastValue && size_t(dims[2]) != s.past_room)) {
      return fail("SDX-T1076", "{} has shape {}; expected [{},{},keys,{}]",
                  i == kPastKey ? "past_key" : "past_value", to_string(dims), s.batch, a.kv_heads,
                  s.size);
    }
    s.past_room = size_t(dims[2]);
  }
  const View& total = args.in(kTotal);
  if (total.count != 1 || total.data<int32_t>()[0] < 1)
    return fail("SDX-R0504", "total_sequence_length must be one positive number");
  s.total = size_t(total.data<int32_t>()[0]);
  s.room = std::max(s.past_room, s.total);
  s.prompt = s.length == s.total;
  if (args.in(kLengths).count != s.batch) {
    return fail("SDX-T1077", "seqlens_k has shape {}; expected one number for each of {} batches",
                to_string(args.in(kLengths).dims), s.batch);
  }
  for (const int32_t last : args.in(kLengths).values<int32_t>()) {
    const int64_t valid = int64_t(last) + 1;
    const bool fresh = s.prompt || !args.has(kPastKey);
    const int64_t past = s.new_keys == 0 ? valid : fresh ? 0 : valid - int64_t(s.length);
    const bool short_of_queries = !s.prompt && valid < int64_t(s.length);
    if (valid < 1 || valid > int64_t(s.room) || short_of_queries || past < 0 ||
        past > int64_t(s.past_room) || past + int64_t(s.new_keys) > int64_t(s.room)) {
      return fail(
          "SDX-R0505",
          "seqlens_k holds {}: {} new keys after {} old ones do not fit caches of {} and {}", last,
          s.new_keys, past, s.past_room, s.room);
    }
  }
  return ok();
}

Status check_rotary(const GroupQuery& a, GroupQuerySizes& s, const Args& args) {
  if (!a.rotary) return ok();
  const auto cos = args.in(kCos).dims, sin = args.in(kSin).dims;
  if (cos.size() != 2 || !std::equal(cos.begin(), cos.end(), sin.begin(), sin.end()) ||
      size_t(cos[1]) * 2 > s.size) {
    return fail("SDX-T1078", "cos_cache and sin_cache have shapes {} and {}, for heads of {}",
                to_string(cos), to_string(sin), s.size);
  }
  s.turned = size_t(cos[1]) * 2;
  if (args.has(kPositions)) {
    if (args.in(kPositions).count != s.batch * s.length)
      return fail("SDX-T1078", "position_ids has shape {}; expected [{},{}]",
                  to_string(args.in(kPositions).dims), s.batch, s.length);
    for (const int64_t position : args.in(kPositions).values<int64_t>()) {
      if (position < 0 || position >= cos[0])
        return fail("SDX-R0501", "position {} is not in the caches of {} rows", position, cos[0]);
    }
  } else if (s.total > size_t(cos[0])) {
    return fail("SDX-R0501", "position {} is not in the caches of {} rows", s.total - 1, cos[0]);
  }
  return ok();
}

}  // namespace

Result<GroupQuerySizes> group_query_sizes(const GroupQuery& a, const Args& args) {
  GroupQuerySizes s{};
  const auto query = args.in(kQuery).dims;
  s.packed = !args.has(kKey);
  const auto heads = int64_t(s.all_heads(a));
  if (query.size() != 3 || query[2] == 0 || query[2] % heads != 0) {
    return fail("SDX-T1075", "query has shape {}; expected [batch,length,{} heads]",
                to_string(query), heads);
  }
  s.batch = size_t(query[0]);
  s.length = s.new_keys = size_t(query[1]);
  s.size = size_t(query[2] / heads);
  s.group = a.heads / a.kv_heads;
  for (const size_t i : {kKey, kValue}) {
    if (s.packed) break;
    const auto dims = args.in(i).dims;
    if (dims.size() != 3 || dims[0] != query[0] || (size_t(dims[1]) != s.length && dims[1] != 0) ||
        size_t(dims[2]) != a.kv_heads * s.size || (i == kValue && size_t(dims[1]) != s.new_keys)) {
      return fail("SDX-T1075", "{} has shape {}; expected [{},{},{}]", i == kKey ? "key" : "value",
                  to_string(dims), s.batch, s.length, a.kv_heads * s.size);
    }
    s.new_keys = size_t(dims[1]);
  }
  SDX_TRY(check_caches(a, s, args));
  SDX_TRY(check_rotary(a, s, args));
  if (args.has(kBias)) {
    const auto dims = args.in(kBias).dims;
    if (dims.size() != 4 || (dims[0] != 1 && dims[0] != query[0]) ||
        (dims[1] != 1 && size_t(dims[1]) != a.heads) || size_t(dims[2]) != s.length ||
        size_t(dims[3]) < s.total) {
      return fail("SDX-T1079", "attention_bias has shape {}; expected [{} or 1,{} or 1,{},{}]",
                  to_string(dims), s.batch, a.heads, s.length, s.total);
    }
  }
  if (args.has(kSink) && args.in(kSink).count != a.heads) {
    return fail("SDX-T1079", "head_sink has shape {}; expected [{}]",
                to_string(args.in(kSink).dims), a.heads);
  }
  return s;
}

GroupQueryKeys keys_of_batch(const GroupQuerySizes& s, const Args& args, size_t batch) {
  const size_t valid = size_t(args.in(kLengths).data<int32_t>()[batch]) + 1;
  if (s.prompt || !args.has(kPastKey)) return {s.new_keys == 0 ? valid : 0, valid};
  return {s.new_keys == 0 ? valid : valid - s.length, valid};
}

GroupQueryRange keys_of_query(const GroupQuery& a, const GroupQuerySizes& s,
                              const GroupQueryKeys& keys, size_t i) {
  // Without new keys the queries are the last of the old ones.
  const size_t before = s.prompt ? 0 : s.new_keys == 0 ? keys.valid - s.length : keys.past;
  const size_t last = a.causal ? std::min(before + i + 1, keys.valid) : keys.valid;
  const bool local = a.window >= 0 && last > size_t(a.window);
  return {local ? last - size_t(a.window) : 0, last};
}

float scale_of(const GroupQuery& a, const GroupQuerySizes& s) {
  return a.scale ? *a.scale : 1.0f / std::sqrt(float(s.size));
}

size_t query_at(const GroupQuery& a, const GroupQuerySizes& s, size_t b, size_t h, size_t i) {
  return ((b * s.length + i) * s.all_heads(a) + h) * s.size;
}

const View& new_keys_in(const GroupQuerySizes& s, const Args& args, size_t which) {
  return args.in(s.packed ? size_t{kQuery} : kKey + which);
}
size_t new_key_at(const GroupQuery& a, const GroupQuerySizes& s, size_t b, size_t h, size_t i,
                  size_t which) {
  if (s.packed) return query_at(a, s, b, a.heads + which * a.kv_heads + h, i);
  return ((b * s.new_keys + i) * a.kv_heads + h) * s.size;
}

size_t position_of(const GroupQuerySizes& s, const Args& args, const GroupQueryKeys& keys, size_t b,
                   size_t i) {
  if (args.has(kPositions)) return size_t(args.in(kPositions).data<int64_t>()[b * s.length + i]);
  if (s.prompt) return i;
  return keys.valid - s.length + i;
}

GroupQueryBias bias_of(const Args& args) {
  if (!args.has(kBias)) return {};
  return {args.in(kBias), size_t(args.in(kBias).dims[3])};
}

}  // namespace sdx::ops::microsoft
