// LinearAttention.
#include <cmath>

#include "kernel/math/math.h"
#include "ops/attention/heads.h"

namespace sdx::ops {
namespace {

struct LinearAttention {
  int64_t q_heads, kv_heads;
  float scale;        // 0: 1 / sqrt(d_k)
  bool gated, delta;  // which steps the update rule has
  DType state;
};

constexpr Version kHistory[] = {
    {27,
     "(query: T, key: T, value: T, past_state?: S, decay?: T, beta?: T) -> (output: T, "
     "present_state: S) "
     "{chunk_size: int = 64, kv_num_heads!: int, q_num_heads!: int, scale: float = 0, update_rule: "
     "string = "
     "\"gated_delta\"} T in bf16 f16 f32 S in bf16 f16 f32"},
};

Result<LinearAttention> read(const Node& node, const Facts& in) {
  const std::string& rule = node.s("update_rule");
  LinearAttention a{node.i("q_num_heads"),
                    node.i("kv_num_heads"),
                    node.f("scale"),
                    rule == "gated" || rule == "gated_delta",
                    rule == "delta" || rule == "gated_delta",
                    in.size() > 3 && in[3].present() ? in[3].type : in[0].type};
  if (!a.gated && !a.delta && rule != "linear") {
    return fail("SDX-T0530", "update_rule \"{}\" is not linear, gated, delta or gated_delta", rule);
  }
  if (a.q_heads <= 0 || a.kv_heads <= 0 || a.q_heads % a.kv_heads != 0) {
    return fail("SDX-T0531", "q_num_heads {} is not a positive multiple of kv_num_heads {}",
                a.q_heads, a.kv_heads);
  }
  const auto has = [&](size_t i) { return i < in.size() && in[i].present(); };
  if (has(4) != a.gated)
    return fail("SDX-T0532", "update_rule {} {} decay", rule, a.gated ? "needs" : "has no");
  if (has(5) != a.delta)
    return fail("SDX-T0532", "update_rule {} {} beta", rule, a.delta ? "needs" : "has no");
  return a;
}

Result<Facts> infer(const LinearAttention& a, const Facts& in) {
  SDX_ASSIGN(const HeadDims q, head_dims(in[0], a.q_heads, "query"));
  SDX_ASSIGN(const HeadDims k, head_dims(in[1], a.kv_heads, "key"));
  SDX_ASSIGN(const HeadDims v, head_dims(in[2], a.kv_heads, "value"));
  return Facts{Fact::tensor(in[0].type, {q.batch, q.length, Dim(a.q_heads) * v.size}),
               Fact::tensor(a.state, {q.batch, Dim(a.kv_heads), k.size, v.size})};
}

// For each token, in float, S being [d_k][d_v]:
//   gated:  S[d][m] = S[d][m] * exp(g[d])
//   delta:  v[m] = beta * (v[m] - r[m]), r[m] = sum over d of k[d] * S[d][m], a chain of fma
//   S[d][m] = fma(k[d], v[m], S[d][m]);  o[m] = scale * (sum over d of q[d] * S[d][m], a chain of
//   fma)
Status reference(const LinearAttention& a, Args& args) {
  SDX_ASSIGN(const Heads q, heads_of(args.in(0).dims, a.q_heads, "query"));
  SDX_ASSIGN(const Heads k, heads_of(args.in(1).dims, a.kv_heads, "key"));
  SDX_ASSIGN(const Heads v, heads_of(args.in(2).dims, a.kv_heads, "value"));
  if (!q.packed || !k.packed || !v.packed || q.batch != k.batch || q.batch != v.batch ||
      q.length != k.length || q.length != v.length || q.size != k.size) {
    return fail("SDX-T0533", "shapes do not go together: query {}, key {}, value {}",
                to_string(args.in(0).dims), to_string(args.in(1).dims), to_string(args.in(2).dims));
  }
  const size_t state_size = k.size * v.size;
  if (args.has(3) && args.in(3).count != k.batch * k.heads * state_size) {
    return fail("SDX-T0534", "past_state has shape {}; it must be [{},{},{},{}]",
                to_string(args.in(3).dims), k.batch, k.heads, k.size, v.size);
  }
  const size_t tokens = k.batch * k.length;
  size_t decays = 0, betas = 0;  // per token
  if (a.gated) {
    decays = tokens == 0 ? k.heads : args.in(4).count / tokens;
    if (decays != k.heads && decays != k.heads * k.size) {
      return fail("SDX-T0535", "decay has shape {}; its last dimension must be {} or {}",
                  to_string(args.in(4).dims), k.heads, k.heads * k.size);
    }
  }
  if (a.delta) {
    betas = tokens == 0 ? 1 : args.in(5).count / tokens;
    if (betas != k.heads && betas != 1) {
      return fail("SDX-T0536", "beta has shape {}; its last dimension must be {} or 1",
                  to_string(args.in(5).dims), k.heads);
    }
  }
  const auto at = [](const View& view, size_t i) { return float(get_f64(view.type, view.raw, i)); };
  const float scale = a.scale != 0 ? a.scale : 1 / std::sqrt(float(k.size));
  const size_t group = q.heads / k.heads;
  Heads o = q;
  o.size = v.size;
  std::vector<float> s(state_size), now(v.size);
  for (size_t b = 0; b < k.batch; ++b) {
    for (size_t h = 0; h < k.heads; ++h) {
      const size_t first = (b * k.heads + h) * state_size;
      for (size_t i = 0; i < state_size; ++i) s[i] = args.has(3) ? at(args.in(3), first + i) : 0.0f;
      for (size_t t = 0; t < k.length; ++t) {
        const size_t token = b * k.length + t;
        const auto key = [&](size_t d) { return at(args.in(1), k.at(b, h, t) + d); };
        if (a.gated) {
          for (size_t d = 0; d < k.size; ++d) {
            const size_t which = decays == k.heads ? h : h * k.size + d;
            const float factor = math::exp(at(args.in(4), token * decays + which));
            for (size_t m = 0; m < v.size; ++m) s[d * v.size + m] *= factor;
          }
        }
        for (size_t m = 0; m < v.size; ++m) {
          now[m] = at(args.in(2), v.at(b, h, t) + m);
          if (!a.delta) continue;
          float retrieved = 0;
          for (size_t d = 0; d < k.size; ++d)
            retrieved = std::fma(key(d), s[d * v.size + m], retrieved);
          now[m] = at(args.in(5), token * betas + (betas == 1 ? 0 : h)) * (now[m] - retrieved);
        }
        for (size_t d = 0; d < k.size; ++d) {
          for (size_t m = 0; m < v.size; ++m)
            s[d * v.size + m] = std::fma(key(d), now[m], s[d * v.size + m]);
        }
        for (size_t head = h * group; head < (h + 1) * group; ++head) {
          for (size_t m = 0; m < v.size; ++m) {
            float sum = 0;
            for (size_t d = 0; d < k.size; ++d) {
              sum = std::fma(at(args.in(0), q.at(b, head, t) + d), s[d * v.size + m], sum);
            }
            visit_floats(args.out().type, [&]<class T>() {
              args.out().data<T>()[o.at(b, head, t) + m] = store<T>(Compute<T>(scale * sum));
            });
          }
        }
      }
      if (!args.wants(1)) continue;
      visit_floats(args.out(1).type, [&]<class T>() {
        for (size_t i = 0; i < state_size; ++i)
          args.out(1).data<T>()[first + i] = store<T>(Compute<T>(s[i]));
      });
    }
  }
  return ok();
}

constexpr OpOf<LinearAttention> kLinearAttention{
    .name = "LinearAttention",
    .doc =
        "Attention as a recurrence over a state matrix: linear, gated, delta or gated delta rule.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
};

}  // namespace

extern const Op linear_attention = erase<kLinearAttention>();

}  // namespace sdx::ops
