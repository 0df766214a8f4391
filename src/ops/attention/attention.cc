// Attention.
#include "ops/attention/attention.h"

#include <cmath>

#include "base/deadline.h"
#include "kernel/gemm/reference.h"
#include "kernel/math/math.h"
#include "op/streaming.h"
#include "ops/attention/attention_fast.h"
#include "ops/noise.h"
#include "ops/rounded.h"

namespace sdx::ops {
namespace {

constexpr Version kHistory[] = {
    {23,
     "(Q: T1, K: T1, V: T2, attn_mask?: U, past_key?: T1, past_value?: T2) -> (Y: T1, "
     "present_key?: T1, "
     "present_value?: T2, qk_matmul_output?: T1) {is_causal: int = 0, kv_num_heads: int, "
     "q_num_heads: int, "
     "qk_matmul_output_mode: int = 0, scale: float, softcap: float = 0, softmax_precision: int} T1 "
     "in floats bf16 "
     "T2 in floats bf16 U in num bf16 bool"},
    {24,
     "(Q: T1, K: T1, V: T2, attn_mask?: U, past_key?: T1, past_value?: T2, nonpad_kv_seqlen?: "
     "i64)"},
    {25, "{left_window_size: int = -1, right_window_size: int = -1}"},
};

Result<Attention> read(const Node& node, const Facts& in) {
  Attention a{node.i("is_causal") != 0,
              node.i_or("q_num_heads", 0),
              node.i_or("kv_num_heads", 0),
              node.i_or("left_window_size", -1),
              node.i_or("right_window_size", -1),
              node.i("qk_matmul_output_mode"),
              {},
              node.f("softcap"),
              {}};
  if (node.has("scale")) a.scale = node.f("scale");
  SDX_ASSIGN(a.precision, softmax_precision(node));
  if (a.mode < 0 || a.mode > 3)
    return fail("SDX-T0511", "qk_matmul_output_mode {} is not 0, 1, 2 or 3", a.mode);
  if (a.left < -1 || a.right < -1)
    return fail("SDX-T0512", "window sizes {} and {}: -1 or more", a.left, a.right);
  const auto has = [&](size_t i) { return i < in.size() && in[i].present(); };
  if (has(4) != has(5)) return fail("SDX-T0513", "past_key and past_value must be given together");
  if (has(4) && has(6))
    return fail("SDX-T0514", "nonpad_kv_seqlen cannot be combined with past_key");
  return a;
}

Result<Facts> infer(const Attention& a, const Facts& in) {
  SDX_ASSIGN(const HeadDims q, head_dims(in[0], a.q_heads, "Q"));
  SDX_ASSIGN(const HeadDims k, head_dims(in[1], a.kv_heads, "K"));
  SDX_ASSIGN(const HeadDims v, head_dims(in[2], a.kv_heads, "V"));
  Dim total = k.length;
  if (in.size() > 4 && in[4].present()) {
    if (in[4].has_rank() && in[4].rank() != 4) {
      return fail("SDX-T0515", "past_key has rank {}; it must have 4 dimensions", in[4].rank());
    }
    total = in[4].has_rank() ? in[4].dim(2) + k.length : Dim::unknown();
  }
  Fact y = Fact::tensor(in[0].type);
  if (in[0].has_rank()) {
    y.shape = in[0].rank() == 4 ? Shape{q.batch, q.heads, q.length, v.size}
                                : Shape{q.batch, q.length, q.heads * v.size};
  }
  return Facts{y, Fact::tensor(in[0].type, {k.batch, k.heads, total, k.size}),
               Fact::tensor(in[2].type, {v.batch, v.heads, total, v.size}),
               Fact::tensor(in[0].type, {q.batch, q.heads, q.length, total})};
}

// Keys or values after the past ones, as [batch, heads, total, size].
template <class C>
std::vector<C> joined(const AttentionSizes& s, const Heads& now, const View& past, const View& in) {
  std::vector<C> out(now.batch * now.heads * s.total * now.size);
  for (size_t b = 0, to = 0; b < now.batch; ++b) {
    for (size_t h = 0; h < now.heads; ++h) {
      for (size_t j = 0; j < s.total; ++j) {
        const bool old = j < s.past;
        const View& from = old ? past : in;
        const size_t at =
            old ? ((b * now.heads + h) * s.past + j) * now.size : now.at(b, h, j - s.past);
        for (size_t d = 0; d < now.size; ++d) out[to++] = C(get_f64(from.type, from.raw, at + d));
      }
    }
  }
  return out;
}

template <class C>
void put(const View& out, size_t at, C x) {
  visit_floats(out.type, [&]<class T>() { out.data<T>()[at] = store<T>(Compute<T>(x)); });
}

// The softmax of the keys' scores in the precision P, each step rounded to P: m = max score, e =
// exp(score - m), e / sum e. Scores of -inf alone give zeros.
template <class P, class C>
void softmax(std::vector<C>& row, const KeyRange& keys) {
  using W = Compute<P>;
  std::vector<W> e(row.size(), W(0));
  W most = -std::numeric_limits<W>::infinity();
  for (size_t j = keys.first; j < keys.last; ++j) {
    e[j] = rounded<P>(W(row[j]));
    most = e[j] > most || e[j] != e[j] ? e[j] : most;
  }
  row.assign(row.size(), C(0));
  if (most == -std::numeric_limits<W>::infinity()) return;
  for (size_t j = keys.first; j < keys.last; ++j) {
    e[j] = rounded<P>(math::exp(rounded<P>(e[j] - most)));
  }
  const W sum = rounded_sum<P>(e.size(), [&](size_t j) { return e[j]; });
  for (size_t j = keys.first; j < keys.last; ++j) row[j] = C(rounded<P>(e[j] / sum));
}

// With r = sqrt(scale), scale = 1 / sqrt(head size) unless given:
//   product[i][j] = sum over d of (q[i][d] * r) * (k[j][d] * r), a chain of fma, d ascending
//   capped = tanh(product / softcap) * softcap, if there is a softcap
//   score = capped + mask, or -inf where the mask is false or -inf
//   p = softmax of the scores of the keys in range;  y[i] = sum over j of p[j] * v[j], a chain of
//   fma, j ascending
// in float, or double if an input is double. A row without keys, or with all masked, is zero. Of
// bfloat16 each of these results, and r, is rounded to bfloat16: ONNX's published answers are, and
// differ by more than a last place otherwise.
template <class T, class C>
Status attend(const Attention& a, const AttentionSizes& s, Args& args) {
  SDX_ASSIGN(const Mask mask, mask_of(s, args));
  const View none;
  const std::vector<C> k = joined<C>(s, s.k, args.has(4) ? args.in(4) : none, args.in(1));
  const std::vector<C> v = joined<C>(s, s.v, args.has(5) ? args.in(5) : none, args.in(2));
  for (size_t i = 0; args.wants(1) && i < k.size(); ++i) put(args.out(1), i, k[i]);
  for (size_t i = 0; args.wants(2) && i < v.size(); ++i) put(args.out(2), i, v[i]);

  constexpr C kMinusInfinity = -std::numeric_limits<C>::infinity();
  const auto step = [](C x) {
    if constexpr (std::is_same_v<T, BF16>) {
      return rounded<T>(x);
    } else {
      return x;
    }
  };
  const C root = step(std::sqrt(a.scale ? C(*a.scale) : C(1) / std::sqrt(C(s.q.size))));
  const C cap = C(a.softcap);
  Heads y = s.q;
  y.size = s.v.size;
  std::vector<C> q(s.q.size), scaled(s.q.size), row(s.total);
  for (size_t b = 0; b < s.q.batch; ++b) {
    for (size_t h = 0; h < s.q.heads; ++h) {
      const size_t kv = (b * s.k.heads + h / s.group) * s.total;
      for (size_t i = 0; i < s.q.length; ++i) {
        const KeyRange keys = keys_of(a, s, args, b, i);
        for (size_t d = 0; d < s.q.size; ++d) {
          q[d] = step(C(get_f64(args.in(0).type, args.in(0).raw, s.q.at(b, h, i) + d)) * root);
        }
        const size_t scores_at = ((b * s.q.heads + h) * s.q.length + i) * s.total;
        const auto expose = [&](int64_t mode, size_t j) {
          if (args.wants(3) && a.mode == mode) put(args.out(3), scores_at + j, row[j]);
        };
        for (size_t j = 0; j < s.total; ++j) {
          Deadline::step(s.q.size);
          for (size_t d = 0; d < s.q.size; ++d) scaled[d] = step(k[(kv + j) * s.k.size + d] * root);
          row[j] = step(reference::dot<C>(s.q.size, q.data(), 1, scaled.data(), 1));
          expose(0, j);
          if (cap > 0) row[j] = step(step(math::tanh(step(row[j] / cap))) * cap);
          expose(1, j);
          C bias = j >= keys.first && j < keys.last ? C(0) : kMinusInfinity;
          if (mask.present()) {
            const size_t at = mask.row(b, h, i) + j;
            if (j >= mask.keys) {
              bias = kMinusInfinity;
            } else if (mask.view.type == DType::boolean) {
              if (!mask.view.data<bool>()[at]) bias = kMinusInfinity;
            } else {
              bias += C(get_f64(mask.view.type, mask.view.raw, at));
            }
          }
          row[j] = bias == kMinusInfinity ? kMinusInfinity : step(row[j] + bias);
          expose(2, j);
        }
        const DType natural = std::is_same_v<T, BF16> ? DType::bf16 : dtype_of<C>;
        visit_floats(a.precision.value_or(natural), [&]<class P>() { softmax<P>(row, keys); });
        for (C& p : row) p = step(p);
        for (size_t j = 0; j < s.total; ++j) expose(3, j);
        for (size_t d = 0; d < s.v.size; ++d) {
          C sum = 0;
          for (size_t j = keys.first; j < keys.last; ++j) {
            sum = std::fma(row[j], v[(kv + j) * s.v.size + d], sum);
          }
          put(args.out(), y.at(b, h, i) + d, sum);
        }
      }
    }
  }
  return ok();
}

Status reference(const Attention& a, Args& args) {
  SDX_ASSIGN(const AttentionSizes s, attention_sizes(a, args));
  Status status;
  visit_floats(args.in(0).type, [&]<class T>() {
    const bool wide = std::is_same_v<T, float> && args.in(2).type == DType::f64;
    status = wide ? attend<float, double>(a, s, args) : attend<T, Compute<T>>(a, s, args);
  });
  return status;
}

uint64_t multiply_adds(const Attention& a, const Call& call) {
  const auto q = heads_of(call.in[0].dims(), a.q_heads, "Q");
  const auto v = heads_of(call.in[2].dims(), a.kv_heads, "V");
  if (!q || !v) return 0;
  const bool past = call.in.size() > 4 && call.in[4].is_concrete();
  const uint64_t total = v->length + (past ? uint64_t(call.in[4].dims()[2]) : 0);
  return q->batch * q->heads * q->length * total * (q->size + v->size);
}

constexpr Kernel<Attention> kKernels[] = {{.name = "attention_f32",
                                           .fits = fits_fast_attention,
                                           .run = run_fast_attention,
                                           .scratch = fast_attention_scratch}};

std::vector<Case> cases() {
  const Tensor q = Tensor::of<float>({1, 1, 2, 1}, {0, 0}),
               v = Tensor::of<float>({1, 1, 2, 1}, {2, 4});
  return {
      {.name = "equal_scores_average_the_values",
       .opset = 23,
       .attrs = {},
       .inputs = {q, q, v},
       .expected = {Tensor::of<float>({1, 1, 2, 1}, {3, 3})}},
      {.name = "a_causal_query_sees_no_later_key",
       .opset = 23,
       .attrs = {{"is_causal", int64_t{1}}},
       .inputs = {q, q, v},
       .expected = {Tensor::of<float>({1, 1, 2, 1}, {2, 3})}},
      {.name = "shared_heads_with_a_window_and_a_past",
       .opset = 25,
       .attrs = {{"is_causal", int64_t{1}}, {"left_window_size", int64_t{20}}, {"softcap", 2.0f}},
       .inputs = {noise(DType::f32, {2, 4, 5, 24}, 1), noise(DType::f32, {2, 2, 5, 24}, 2),
                  noise(DType::f32, {2, 2, 5, 84}, 3), noise(DType::f32, {5, 33}, 4),
                  noise(DType::f32, {2, 2, 28, 24}, 5), noise(DType::f32, {2, 2, 28, 84}, 6)},
       .outputs = 3},
      {.name = "packed_heads_with_a_boolean_mask_and_lengths",
       .opset = 24,
       .attrs = {{"q_num_heads", int64_t{2}}, {"kv_num_heads", int64_t{2}}},
       .inputs = {noise(DType::f32, {2, 70, 36}, 1), noise(DType::f32, {2, 21, 36}, 2),
                  noise(DType::f32, {2, 21, 20}, 3), noise(DType::boolean, {2, 1, 70, 20}, 4, 0, 2),
                  Value{}, Value{}, Tensor::of<int64_t>({2}, {21, 7})}},
      {.name = "causal_queries_in_several_blocks",
       .opset = 23,
       .attrs = {{"is_causal", int64_t{1}}},
       .inputs = {noise(DType::f32, {1, 2, 150, 20}, 1), noise(DType::f32, {1, 1, 150, 20}, 2),
                  noise(DType::f32, {1, 1, 150, 40}, 3)}},
      {.name = "many_queries_that_see_all_keys",
       .opset = 23,
       .attrs = {},
       .inputs = {noise(DType::f32, {1, 2, 110, 20}, 1), noise(DType::f32, {1, 2, 45, 20}, 2),
                  noise(DType::f32, {1, 2, 45, 37}, 3)}},
      {.name = "a_value_that_a_query_does_not_see_is_nothing_to_it",
       .opset = 23,
       .attrs = {{"is_causal", int64_t{1}}},
       .inputs = {noise(DType::f32, {1, 1, 3, 4}, 1), noise(DType::f32, {1, 1, 3, 4}, 2),
                  Tensor::of<float>({1, 1, 3, 1}, {1, 1, std::numeric_limits<float>::infinity()})},
       .expected = {Tensor::of<float>({1, 1, 3, 1},
                                      {1, 1, std::numeric_limits<float>::infinity()})},
       .rtol = 1e-6},
      {.name = "doubles",
       .opset = 23,
       .attrs = {},
       .inputs = {noise(DType::f64, {1, 1, 2, 3}, 1), noise(DType::f64, {1, 1, 4, 3}, 2),
                  Tensor::of<double>({1, 1, 4, 1}, {1, 1, 1, 1})},
       .expected = {Tensor::of<double>({1, 1, 2, 1}, {1, 1})},
       .rtol = 1e-14}};
}

// A query sees the keys up to its own, or a window of them.
Streaming stream(const Attention& a, const Streamed& s) {
  const size_t along = s.in[0].rank() - 2;
  const auto moves = [&](size_t i) { return s.flows(i) && *s.axes[i] == along; };
  if (!s.flows(0) || *s.axes[0] == 0 || !s.flows(1)) return Streaming::ask();
  if (!moves(0) || !moves(1) || !moves(2) || s.in[1].rank() != s.in[0].rank() ||
      s.in[2].rank() != s.in[0].rank())
    return Streaming::refuse("queries, keys and values do not move along one axis");
  for (size_t i = 3; i < s.in.size(); ++i) {
    if (s.in[i].present()) return Streaming::refuse("it has a mask, a past or lengths of its own");
  }
  for (size_t i = 1; i < s.out.size(); ++i) {
    if (s.use.wants(i)) return Streaming::refuse("it gives all keys or all scores");
  }
  if (!a.causal && a.right < 0)
    return Streaming::refuse("every query sees all keys (full attention)");
  Streaming how = Streaming::of(Streaming::Kind::attend);
  how.behind = a.left;
  how.ahead = a.causal ? 0 : a.right;
  return how;
}

constexpr OpOf<Attention> kAttention{
    .name = "Attention",
    .doc =
        "Scaled dot-product attention with grouped heads, masks, windows and a cache of keys and "
        "values.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .kernels = kKernels,
    .cases = cases,
    .multiply_adds = multiply_adds,
    .stream = stream,
};

}  // namespace

Result<AttentionSizes> attention_sizes(const Attention& a, const Args& args) {
  AttentionSizes s;
  SDX_ASSIGN(s.q, heads_of(args.in(0).dims, a.q_heads, "Q"));
  SDX_ASSIGN(s.k, heads_of(args.in(1).dims, a.kv_heads, "K"));
  SDX_ASSIGN(s.v, heads_of(args.in(2).dims, a.kv_heads, "V"));
  const auto shapes = [&] {
    return fmt::format("Q {}, K {}, V {}", to_string(args.in(0).dims), to_string(args.in(1).dims),
                       to_string(args.in(2).dims));
  };
  if (s.q.batch != s.k.batch || s.q.batch != s.v.batch || s.k.heads != s.v.heads ||
      s.k.length != s.v.length || s.q.size != s.k.size) {
    return fail("SDX-T0516", "shapes do not go together: {}", shapes());
  }
  if (s.k.heads == 0 || s.q.heads % s.k.heads != 0) {
    return fail("SDX-T0517", "{} query heads cannot share {} key heads: {}", s.q.heads, s.k.heads,
                shapes());
  }
  s.group = s.q.heads / s.k.heads;
  for (size_t i = 4; i < 6 && args.has(i); ++i) {
    const auto dims = args.in(i).dims;
    const Heads& now = i == 4 ? s.k : s.v;
    if (dims.size() != 4 || size_t(dims[0]) != now.batch || size_t(dims[1]) != now.heads ||
        size_t(dims[3]) != now.size || (i == 5 && size_t(dims[2]) != s.past)) {
      return fail("SDX-T0518", "{} has shape {}, which does not go with {}",
                  i == 4 ? "past_key" : "past_value", to_string(dims), shapes());
    }
    s.past = size_t(dims[2]);
  }
  s.total = s.past + s.k.length;
  if (args.has(6)) {
    if (args.in(6).count != s.q.batch) {
      return fail("SDX-T0519", "nonpad_kv_seqlen has shape {}; it must be [{}]",
                  to_string(args.in(6).dims), s.q.batch);
    }
    for (const int64_t n : args.in(6).values<int64_t>()) {
      if (n < 0 || n > int64_t(s.total)) {
        return fail("SDX-R0502", "nonpad_kv_seqlen holds {}; there are {} keys", n, s.total);
      }
    }
  }
  return s;
}

KeyRange keys_of(const Attention& a, const AttentionSizes& s, const Args& args, size_t batch,
                 size_t i) {
  const int64_t valid = args.has(6) ? args.in(6).data<int64_t>()[batch] : int64_t(s.total);
  const int64_t offset = args.has(6) ? valid - int64_t(s.q.length) : int64_t(s.past);
  const int64_t position = int64_t(i) + offset;
  int64_t first = 0, last = valid;
  if (a.causal) last = std::min(last, position + 1);
  if (a.left >= 0) first = std::max(first, position - a.left);
  if (a.right >= 0) last = std::min(last, position + a.right + 1);
  last = std::max<int64_t>(last, 0);
  return {size_t(std::min(first, last)), size_t(last)};
}

Result<Mask> mask_of(const AttentionSizes& s, const Args& args) {
  Mask mask;
  if (!args.has(3)) return mask;
  mask.view = args.in(3);
  const auto dims = mask.view.dims;
  const size_t full[3] = {s.q.batch, s.q.heads, s.q.length};
  bool fits = !dims.empty() && dims.size() <= 4 && size_t(dims.back()) <= s.total;
  if (fits) {
    mask.keys = size_t(dims.back());
    size_t step = mask.keys;
    for (size_t back = 1; back < dims.size(); ++back) {
      const size_t axis = 3 - back, size = size_t(dims[dims.size() - 1 - back]);
      if (size != 1 && size != full[axis]) fits = false;
      if (size != 1) mask.step[axis] = step;
      step *= size;
    }
  }
  if (!fits) {
    return fail("SDX-T0520", "attn_mask of shape {} does not broadcast to [{},{},{},{}]",
                to_string(dims), full[0], full[1], full[2], s.total);
  }
  return mask;
}

extern const Op attention = erase<kAttention>();

}  // namespace sdx::ops
