// GroupQueryAttention: attention over a cache of keys and values, with the turning of queries and
// keys by their positions inside. The caches come out with the new keys and values behind the old.
#include "ops/microsoft/group_query_attention.h"

#include <cmath>

#include "kernel/lanes.h"
#include "kernel/math/math.h"
#include "ops/noise.h"

namespace sdx::ops::microsoft {
namespace {

constexpr Version kHistory[] = {
    {1,
     "(query: T, key?: T, value?: T, past_key?: T_CACHE, past_value?: T_CACHE, seqlens_k: M, "
     "total_sequence_length: M, cos_cache?: T, sin_cache?: T, position_ids?: i64, attention_bias?: "
     "T, head_sink?: T, k_scale?: T_KV_SCALE, v_scale?: T_KV_SCALE, q_norm_weight?: T, "
     "k_norm_weight?: T) -> (output: T, present_key?: T_CACHE, present_value?: T_CACHE, "
     "output_qk?: T) {causal: int = 1, do_rotary: int, k_quant_type: string = \"NONE\", "
     "kv_cache_bit_width: int, kv_num_heads!: int, local_window_size: int = -1, num_heads!: int, "
     "qk_norm_epsilon: float = 1e-06, qk_output: int = 0, rotary_interleaved: int, scale: float, "
     "sliding_window_cache: int = 0, smooth_softmax: int = -1, softcap: float, v_quant_type: "
     "string = \"NONE\"} T in f16 bf16 f32 T_CACHE in f32 f16 bf16 u8 i8 f8e4m3fn T_KV_SCALE in "
     "f32 M in i32"}};

Result<GroupQuery> read(const Node& node, const Facts& in) {
  const int64_t heads = node.i("num_heads"), kv_heads = node.i("kv_num_heads");
  if (heads < 1 || kv_heads < 1 || heads % kv_heads != 0 || heads > 1 << 20) {
    return fail("SDX-T1070", "num_heads {} must be a multiple of kv_num_heads {}", heads, kv_heads);
  }
  const auto has = [&](size_t i) { return i < in.size() && in[i].present(); };
  if (has(kKey) != has(kValue)) return fail("SDX-T1071", "key and value must be given together");
  if (has(kPastKey) != has(kPastValue))
    return fail("SDX-T1071", "past_key and past_value must be given together");
  if (node.s("k_quant_type") != "NONE" || node.s("v_quant_type") != "NONE" || has(12) || has(13))
    return fail("SDX-T1072", "caches of quantised keys and values do not run here");
  if (node.i("sliding_window_cache") != 0)
    return fail("SDX-T1072", "sliding_window_cache: caches that slide do not run here");
  if (node.i("qk_output") != 0 || node.wants(3))
    return fail("SDX-T1072", "qk_output: the scores are not given out here");
  if (has(14) || has(15))
    return fail("SDX-T1072", "q_norm_weight and k_norm_weight do not run here");
  GroupQuery a{size_t(heads),
               size_t(kv_heads),
               node.i("causal") != 0,
               {},
               node.f_or("softcap", 0),
               node.i("local_window_size"),
               node.i_or("do_rotary", 0) != 0,
               node.i_or("rotary_interleaved", 0) != 0,
               node.i("smooth_softmax") == 1};
  if (const float scale = node.f_or("scale", 0); scale != 0) a.scale = scale;
  if (a.window < -1 || (!a.causal && a.window >= 0)) {
    return fail("SDX-T1073", "local_window_size is {}: -1, or more if causal", a.window);
  }
  const auto known = in[kTotal].integers();
  a.late_caches = (node.wants(1) || node.wants(2)) && !known;
  if (a.rotary && (!has(kCos) || !has(kSin)))
    return fail("SDX-T1074", "do_rotary needs cos_cache and sin_cache");
  return a;
}

Result<Facts> infer(const GroupQuery& a, const Facts& in) {
  const auto at = [&](size_t i) { return i < in.size() ? in[i] : Fact{}; };
  const bool packed = !at(kKey).present();
  const auto heads = int64_t(a.heads), kv_heads = int64_t(a.kv_heads);
  for (const size_t i : {kQuery, kKey, kValue}) {
    if (at(i).present() && at(i).has_rank() && at(i).rank() != 3)
      return fail("SDX-T1075", "input {} is {}; it must have 3 dimensions", i, at(i).text());
  }
  for (const size_t i : {kPastKey, kPastValue}) {
    if (at(i).present() && at(i).has_rank() && at(i).rank() != 4)
      return fail("SDX-T1075", "input {} is {}; it must have 4 dimensions", i, at(i).text());
    if (at(i).present() && at(i).type != in[0].type)
      return fail("SDX-T1075", "the caches are {}, the query {}", short_name(at(i).type),
                  short_name(in[0].type));
  }
  Fact y = Fact::tensor(in[0].type), cache = Fact::tensor(in[0].type);
  if (!in[0].has_rank()) return Facts{y, cache, cache};
  const Dim size = floor_div(in[0].dim(2), Dim(packed ? heads + 2 * kv_heads : heads));
  y.shape = Shape{in[0].dim(0), in[0].dim(1), packed ? size * Dim(heads) : in[0].dim(2)};
  const auto total = in[kTotal].integers();
  Dim room = total && total->size() == 1 ? (*total)[0] : Dim::unknown();
  if (at(kPastKey).present()) {
    room = at(kPastKey).has_rank() && !room.is_unknown() ? max(at(kPastKey).dim(2), room)
                                                         : Dim::unknown();
  }
  cache.shape = Shape{in[0].dim(0), Dim(kv_heads), room, size};
  return Facts{y, cache, cache};
}

// For each query, with scale = 1 / sqrt(head size) unless given:
//   score[j] = (sum over d of q[d] * k[j][d], a chain of fma, d ascending) * scale
//   score[j] = tanh(score[j] / softcap) * softcap, if there is a softcap; then + bias[j]
//   p[j] = exp(score[j] - m) / sum, m = max score, over the keys that the query sees; a sink (one
//   per head; 0 if smooth) is a further score of no value: its exp is added to the sum, last.
//   Where every score is -inf, p is 0
//   y[d] = sum over j of p[j] * v[j][d], a chain of fma, j ascending
// in float, rounded once to the type. Queries and keys are turned and rounded to the type before.
template <class T>
void attend(const GroupQuery& a, const GroupQuerySizes& s, const Args& args, const T* keys,
            const T* values) {
  const float scale = scale_of(a, s);
  const GroupQueryBias bias = bias_of(args);
  args.pool->parallel(s.batch * a.heads, 1, [&](size_t begin, size_t end, int) {
    std::vector<T> turned(s.size);
    std::vector<float> row(s.room), q(s.size);
    for (size_t head = begin; head < end; ++head) {
      const size_t b = head / a.heads, h = head % a.heads;
      const GroupQueryKeys there = keys_of_batch(s, args, b);
      const size_t kv = (b * a.kv_heads + h / s.group) * s.room * s.size;
      for (size_t i = 0; i < s.length; ++i) {
        const T* from = args.in(kQuery).data<T>() + query_at(a, s, b, h, i);
        if (a.rotary) {
          turn(a, s, args, position_of(s, args, there, b, i), from, turned.data());
          from = turned.data();
        }
        for (size_t d = 0; d < s.size; ++d) q[d] = load(from[d]);
        const GroupQueryRange range = keys_of_query(a, s, there, i);
        float most = -std::numeric_limits<float>::infinity();
        for (size_t j = range.first; j < range.last; ++j) {
          float score = 0;
          for (size_t d = 0; d < s.size; ++d)
            score = std::fma(q[d], load(keys[kv + j * s.size + d]), score);
          score = score * scale;
          if (a.softcap > 0) score = math::tanh(score / a.softcap) * a.softcap;
          if (bias.view.present())
            score = score + load(bias.view.data<T>()[bias.row(s, b, h, i) + j]);
          row[j] = score;
          most = score > most || score != score ? score : most;
        }
        const bool sink = a.smooth || args.has(kSink);
        const float resting = args.has(kSink) ? load(args.in(kSink).data<T>()[h]) : 0;
        if (sink) most = std::max(most, resting);
        const bool none = most == -std::numeric_limits<float>::infinity();
        for (size_t j = 0; j < range.last; ++j) {
          row[j] = none || j < range.first ? 0 : math::exp(row[j] - most);
        }
        float sum = lane_sum<float>(range.last, [&](size_t j) { return row[j]; });
        if (sink) sum = sum + math::exp(resting - most);
        for (size_t j = range.first; j < range.last && !none; ++j) row[j] = row[j] / sum;
        T* to = args.out().data<T>() + ((b * s.length + i) * a.heads + h) * s.size;
        for (size_t d = 0; d < s.size; ++d) {
          float y = 0;
          for (size_t j = range.first; j < range.last; ++j)
            y = std::fma(row[j], load(values[kv + j * s.size + d]), y);
          to[d] = store<T>(y);
        }
      }
    }
  });
}

Status reference(const GroupQuery& a, Args& args) {
  SDX_ASSIGN(const GroupQuerySizes s, group_query_sizes(a, args));
  const Dims cache{int64_t(s.batch), int64_t(a.kv_heads), int64_t(s.room), int64_t(s.size)};
  // Caches whose size nobody knew, or that nobody wants, are made here first.
  Tensor own[2];
  void* to[2];
  for (size_t which = 0; which < 2; ++which) {
    const bool planned = args.wants(1 + which);
    if (!planned) own[which] = Tensor::make(args.in(kQuery).type, cache);
    to[which] = planned ? args.out(1 + which).raw : own[which].raw();
  }
  visit_floats(args.in(kQuery).type, [&]<class T>() {
    if constexpr (!std::is_same_v<T, double>) {
      write_caches<T>(a, s, args, static_cast<T*>(to[0]), static_cast<T*>(to[1]));
      attend<T>(a, s, args, static_cast<const T*>(to[0]), static_cast<const T*>(to[1]));
    }
  });
  for (size_t which = 0; which < 2; ++which) {
    const size_t output = 1 + which;
    if (output >= args.outs.size() || args.wants(output) || !a.late_caches) continue;
    SDX_ASSIGN(const View made, args.make(output, cache));
    std::memcpy(made.raw, own[which].raw(), own[which].bytes());
  }
  return ok();
}

uint64_t multiply_adds(const GroupQuery&, const Call& call) {
  const Dims q = call.out[0].dims();
  const bool known = call.out.size() > 1 && call.out[1].is_concrete();
  const int64_t keys = known ? call.out[1].dims()[2] : q[1];
  return uint64_t(q[0]) * uint64_t(q[1]) * uint64_t(q[2]) * uint64_t(keys) * 2;
}

constexpr Kernel<GroupQuery> kKernels[] = {{.name = "group_query_f32",
                                            .fits = fits_fast_group_query,
                                            .run = run_fast_group_query,
                                            .scratch = fast_group_query_scratch}};

std::vector<Case> cases() {
  const auto attrs = [](int64_t heads, int64_t kv_heads) {
    return AttrMap{{"num_heads", heads}, {"kv_num_heads", kv_heads}};
  };
  const auto with = [](AttrMap map, const std::string& name, AttrValue value) {
    map[name] = std::move(value);
    return map;
  };
  const auto ids = [](std::vector<int32_t> lengths, int32_t total) {
    return std::vector<Value>{
        Tensor::of<int32_t>({int64_t(lengths.size())}, std::span<const int32_t>(lengths)),
        Tensor::of<int32_t>({1}, {total})};
  };
  const auto join = [](std::vector<Value> a, const std::vector<Value>& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  };
  const Tensor zero = Tensor::make(DType::f32, {1, 2, 4});
  return {
      {.name = "a_prompt_sees_no_later_key",
       .opset = 1,
       .attrs = attrs(1, 1),
       .inputs = join(
           {zero, zero, Tensor::of<float>({1, 2, 4}, {2, 2, 2, 2, 4, 4, 4, 4}), Value{}, Value{}},
           ids({1}, 2)),
       .expected = {Tensor::of<float>({1, 2, 4}, {2, 2, 2, 2, 3, 3, 3, 3}),
                    Tensor::make(DType::f32, {1, 1, 2, 4}),
                    Tensor::of<float>({1, 1, 2, 4}, {2, 2, 2, 2, 4, 4, 4, 4})},
       .outputs = 3},
      {.name = "one_token_after_a_past_in_a_larger_room",
       .opset = 1,
       .attrs = attrs(4, 2),
       .inputs = join({noise({2, 1, 32}), noise({2, 1, 16}, 2), noise({2, 1, 16}, 3),
                       noise({2, 2, 9, 8}, 4), noise({2, 2, 9, 8}, 5)},
                      ids({4, 6}, 7)),
       .outputs = 3},
      {.name = "turned_by_positions_with_a_window",
       .opset = 1,
       .attrs = with(with(attrs(4, 2), "do_rotary", int64_t{1}), "local_window_size", int64_t{3}),
       .inputs = join(join({noise({1, 5, 64}), Value{}, Value{}, noise({1, 2, 20, 8}, 4),
                            noise({1, 2, 20, 8}, 5)},
                           ids({11}, 12)),
                      {noise({32, 4}, 6), noise({32, 4}, 7)}),
       .outputs = 3},
      {.name = "a_growing_cache_with_a_softcap_and_a_bias",
       .opset = 1,
       .attrs = with(with(attrs(2, 2), "softcap", 5.f), "scale", .3f),
       .inputs = join(join({noise({1, 1, 40}), noise({1, 1, 40}, 2), noise({1, 1, 40}, 3),
                            noise({1, 2, 70, 20}, 4), noise({1, 2, 70, 20}, 5)},
                           ids({70}, 71)),
                      {Value{}, Value{}, Value{}, noise({1, 2, 1, 71}, 6)}),
       .outputs = 3},
      {.name = "halves_with_a_sink",
       .opset = 1,
       .attrs = attrs(2, 1),
       .inputs = join(join({noise(DType::f16, {1, 3, 16}), noise(DType::f16, {1, 3, 8}, 2),
                            noise(DType::f16, {1, 3, 8}, 3), Value{}, Value{}},
                           ids({2}, 3)),
                      {Value{}, Value{}, Value{}, Value{}, noise(DType::f16, {2}, 6)}),
       .outputs = 3}};
}

constexpr OpOf<GroupQuery> kGroupQueryAttention{
    .name = "GroupQueryAttention",
    .doc = "Causal attention of grouped heads over caches of keys and values, turned by positions.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .kernels = kKernels,
    .cases = cases,
    .domain = "com.microsoft",
    .multiply_adds = multiply_adds,
};

}  // namespace

extern const Op group_query_attention = erase<kGroupQueryAttention>();

}  // namespace sdx::ops::microsoft
