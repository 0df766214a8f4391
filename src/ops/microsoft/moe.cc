// MoE and QMoE: each token goes through the few experts that a router likes best for it, and their
// answers are added by weight. QMoE's experts are matrices of 4- or 8-bit integers.
#include <cmath>
#include <vector>

#include "kernel/gemm/gemm.h"
#include "kernel/lanes.h"
#include "kernel/math/math.h"
#include "ops/common.h"
#include "ops/noise.h"

namespace sdx::ops::microsoft {
namespace {

enum class Act : uint8_t { relu, gelu, silu, identity, swiglu };

// Which inputs one layer of the experts has; kNone: no such input.
constexpr size_t kNone = 99;
struct Layer {
  size_t weights, bias, scales, zeros;
};

struct Moe {
  size_t k;
  Act act;
  bool halves;  // SwiGLU: gates first, then what they gate; otherwise in turn
  float alpha, beta, limit;
  bool normalise;
  size_t bits = 0, block = 0;  // of quantised weights; 0: floats; a row is one block
  Layer first, second, third;

  bool quantised() const { return bits != 0; }
  size_t blocks_of(size_t depth) const { return block == 0 ? 1 : (depth + block - 1) / block; }
};

constexpr Version kHistory[] = {
    {1,
     "(input: T, router_probs: T, fc1_experts_weights: T, fc1_experts_bias?: T, "
     "fc2_experts_weights: T, fc2_experts_bias?: T, fc3_experts_weights?: T, fc3_experts_bias?: T) "
     "-> (output: T) {activation_alpha: float = 1, activation_beta: float = 0, activation_type: "
     "string = \"relu\", k: int = 1, normalize_routing_weights: int = 0, swiglu_fusion: int = 0, "
     "swiglu_limit: float, use_sparse_mixer: int = 0} T in f32 f16 bf16"}};
constexpr Version kQuantisedHistory[] = {
    {1,
     "(input: T, router_probs: T, fc1_experts_weights: T1, fc1_scales?: T2, fc1_experts_bias?: T, "
     "fc2_experts_weights: T1, fc2_scales?: T2, fc2_experts_bias?: T, fc3_experts_weights?: T1, "
     "fc3_scales?: T2, fc3_experts_bias?: T, fc1_zero_points?: T1, fc2_zero_points?: T1, "
     "fc3_zero_points?: T1, router_weights?: T, fc1_global_scale?: T4, fc2_global_scale?: T4, "
     "fc1_act_scale?: T4, fc2_act_scale?: T4, fc1_act_block_scale?: T2, fc2_act_block_scale?: T2) "
     "-> (output: T) {activation_alpha: float = 1, activation_beta: float = 0, activation_type: "
     "string = \"relu\", block_size: int, expert_weight_bits: int = 4, k: int = 1, "
     "normalize_routing_weights: int = 0, quant_type: string = \"int\", swiglu_fusion: int = 0, "
     "swiglu_limit: float, use_sparse_mixer: int = 0, weights_prepacked: int = -1} T in f32 f16 "
     "bf16 T1 in u8 f8e4m3fn T2 in f32 f16 bf16 f8e8m0 f8e4m3fn T4 in f32"}};

Result<Moe> read_common(const Node& node) {
  const std::string& name = node.s("activation_type");
  const std::string_view names[] = {"relu", "gelu", "silu", "identity", "swiglu"};
  const auto* const at = std::find(std::begin(names), std::end(names), name);
  if (at == std::end(names)) {
    return fail("SDX-T1110", "activation_type \"{}\" is not relu, gelu, silu, identity or swiglu",
                name);
  }
  Moe a{};
  a.act = Act(at - std::begin(names));
  const int64_t k = node.i("k"), fusion = node.i("swiglu_fusion");
  if (k < 1 || k > 1 << 16) return fail("SDX-T1111", "k is {}; it must be positive", k);
  if (fusion < 0 || fusion > 2) return fail("SDX-T1112", "swiglu_fusion is {}: 0, 1 or 2", fusion);
  if (node.i("use_sparse_mixer") != 0)
    return fail("SDX-T1072", "use_sparse_mixer does not run here");
  a.k = size_t(k);
  a.halves = fusion == 2;
  a.alpha = node.f("activation_alpha");
  a.beta = node.f("activation_beta");
  a.limit = node.f_or("swiglu_limit", std::numeric_limits<float>::infinity());
  a.normalise = node.i("normalize_routing_weights") != 0;
  return a;
}

Result<Moe> read(const Node& node, const Facts&) {
  SDX_ASSIGN(Moe a, read_common(node));
  a.first = {2, 3, kNone, kNone};
  a.second = {4, 5, kNone, kNone};
  a.third = {6, 7, kNone, kNone};
  return a;
}

Result<Moe> read_quantised(const Node& node, const Facts& in) {
  SDX_ASSIGN(Moe a, read_common(node));
  const int64_t bits = node.i("expert_weight_bits"), block = node.i_or("block_size", 0);
  const auto has = [&](size_t i) { return i < in.size() && in[i].present(); };
  if (node.s("quant_type") != "int" || in[2].type != DType::u8)
    return fail("SDX-T1072", "quant_type \"{}\": experts of floats of 4 or 8 bits do not run here",
                node.s("quant_type"));
  if (bits != 2 && bits != 4 && bits != 8)
    return fail("SDX-T1063", "expert_weight_bits is {}; it must be 2, 4 or 8", bits);
  if (block < 0 || block > int64_t{1} << 24)
    return fail("SDX-T1064", "block_size is {}; it must not be negative", block);
  if (node.i("weights_prepacked") == 1)
    return fail("SDX-T1065", "weights packed for a GPU have no meaning here");
  for (size_t i = 14; i < in.size(); ++i) {
    if (has(i)) return fail("SDX-T1072", "input {} does not run here", i);
  }
  if (!has(3) || !has(6) || (has(8) && !has(9)))
    return fail("SDX-T1113", "quantised experts need their scales");
  a.normalise =
      true;  // onnxruntime takes the softmax over the chosen ones alone, whatever it is told
  a.bits = size_t(bits);
  a.block = size_t(block);
  a.first = {2, 4, 3, 11};
  a.second = {5, 7, 6, 12};
  a.third = {8, 10, 9, 13};
  return a;
}

Result<Facts> infer(const Moe&, const Facts& in) { return Facts{like(in[0])}; }

// One layer of one expert at run time: rows x depth weights.
struct Matrix {
  const Moe* a;
  View weights, bias, scales, zeros;
  size_t expert, rows, depth;

  float weight(size_t row, size_t k) const {
    if (!a->quantised()) {
      return float(get_f64(weights.type, weights.raw, (expert * rows + row) * depth + k));
    }
    const auto small = [&](const View& v, size_t width, size_t i) {
      const size_t per_byte = 8 / a->bits, bytes = (width + per_byte - 1) / per_byte;
      const unsigned byte = v.data<uint8_t>()[(expert * rows + row) * bytes + i / per_byte];
      return float(byte >> (i % per_byte * a->bits) & ((1u << a->bits) - 1));
    };
    const size_t block = a->block == 0 ? depth : a->block, blocks = a->blocks_of(depth);
    const float zero =
        zeros.present() ? small(zeros, blocks, k / block) : float(1u << (a->bits - 1));
    const auto scale =
        float(get_f64(scales.type, scales.raw, (expert * rows + row) * blocks + k / block));
    return store<float>((small(weights, depth, k) - zero) * scale);
  }
  float bias_of(size_t row) const {
    return bias.present() ? float(get_f64(bias.type, bias.raw, expert * rows + row)) : 0;
  }
};

struct Sizes {
  size_t tokens, hidden, experts, inner, wide;  // wide: rows of the first layer
};

Status check_layer(const Moe& a, const Args& args, const Layer& layer, const Sizes& s, size_t rows,
                   size_t depth, std::string_view what) {
  const size_t per_byte = a.quantised() ? 8 / a.bits : 1;
  const size_t blocks = a.blocks_of(depth);
  const auto want = [&](size_t input, size_t count) -> Status {
    if (input == kNone || !args.has(input) || args.in(input).count == count) return ok();
    return fail("SDX-T1114", "{}: input {} has shape {}; expected {} elements", what, input,
                to_string(args.in(input).dims), count);
  };
  SDX_TRY(want(layer.weights, s.experts * rows * ((depth + per_byte - 1) / per_byte)));
  SDX_TRY(want(layer.bias, s.experts * rows));
  SDX_TRY(want(layer.scales, s.experts * rows * blocks));
  return want(layer.zeros, s.experts * rows * ((blocks + per_byte - 1) / per_byte));
}

Result<Sizes> sizes_of(const Moe& a, const Args& args) {
  const auto x = args.in(0).dims, router = args.in(1).dims;
  const auto first = args.in(a.first.weights).dims, second = args.in(a.second.weights).dims;
  if (x.empty() || router.size() != 2 || first.size() != 3 || second.size() != 3 || x.back() == 0) {
    return fail("SDX-T1114", "input {}, router_probs {}, fc1 {}, fc2 {}", to_string(x),
                to_string(router), to_string(first), to_string(second));
  }
  Sizes s{};
  s.hidden = size_t(x.back());
  s.tokens = args.in(0).count / s.hidden;
  s.experts = size_t(router[1]);
  s.wide = size_t(first[1]);
  s.inner = a.act == Act::swiglu ? s.wide / 2 : s.wide;
  if (size_t(router[0]) != s.tokens || a.k > s.experts || size_t(first[0]) != s.experts ||
      size_t(second[0]) != s.experts || size_t(second[1]) != s.hidden ||
      (a.act == Act::swiglu && s.wide % 2 != 0)) {
    return fail("SDX-T1114", "input {}, router_probs {}, fc1 {}, fc2 {} for {} experts per token",
                to_string(x), to_string(router), to_string(first), to_string(second), a.k);
  }
  SDX_TRY(check_layer(a, args, a.first, s, s.wide, s.hidden, "fc1"));
  SDX_TRY(check_layer(a, args, a.second, s, s.hidden, s.inner, "fc2"));
  if (args.has(a.third.weights))
    SDX_TRY(check_layer(a, args, a.third, s, s.inner, s.hidden, "fc3"));
  return s;
}

Matrix layer_of(const Moe& a, const Args& args, const Layer& layer, size_t expert, size_t rows,
                size_t depth) {
  const auto at = [&](size_t i) { return i != kNone && args.has(i) ? args.in(i) : View{}; };
  return {&a,   at(layer.weights), at(layer.bias), at(layer.scales), at(layer.zeros), expert, rows,
          depth};
}

// The softmax of the token's row of router_probs; of its k greatest (the first of equals first) the
// weights, each divided by their sum, taken from the greatest on, if told so. 0: not chosen.
std::vector<float> routed(const Moe& a, const Sizes& s, const View& router, size_t token) {
  std::vector<float> p(s.experts), weights(s.experts, 0);
  float most = -std::numeric_limits<float>::infinity();
  for (size_t e = 0; e < s.experts; ++e) {
    p[e] = float(get_f64(router.type, router.raw, token * s.experts + e));
    most = p[e] > most || p[e] != p[e] ? p[e] : most;
  }
  for (float& x : p) x = math::exp(x - most);
  const float sum = lane_sum<float>(s.experts, [&](size_t e) { return p[e]; });
  for (float& x : p) x = x / sum;
  float chosen = 0;
  std::vector<bool> taken(s.experts, false);
  for (size_t n = 0; n < a.k; ++n) {
    size_t best = s.experts;
    for (size_t e = 0; e < s.experts; ++e) {
      if (!taken[e] && (best == s.experts || p[e] > p[best])) best = e;
    }
    taken[best] = true;
    weights[best] = p[best];
    chosen = chosen + p[best];
  }
  for (size_t e = 0; a.normalise && e < s.experts; ++e) weights[e] = weights[e] / chosen;
  return weights;
}

// The activation on one row of the first layer, and the product with the third's, if there is one.
void activate(const Moe& a, const Sizes& s, const float* from, const float* other, float* to) {
  for (size_t i = 0; i < s.inner; ++i) {
    float y = from[i];
    if (a.act == Act::relu) y = y > 0 || y != y ? y : 0;
    if (a.act == Act::gelu) y = math::gelu_tanh(y);
    if (a.act == Act::silu) y = y * math::sigmoid(y);
    if (a.act == Act::swiglu) {
      const float gate = std::min(a.halves ? from[i] : from[2 * i], a.limit);
      const float line = a.halves ? from[s.inner + i] : from[2 * i + 1];
      const float held = std::min(std::max(line, -a.limit), a.limit);
      y = (gate * math::sigmoid(a.alpha * gate)) * (held + a.beta);
    }
    to[i] = other != nullptr ? y * other[i] : y;
  }
}

// h = activation(fc1 x + b1), times (fc3 x + b3) if there is one; z = fc2 h + b2, sums as chains of
// fma over the columns; y = sum over the chosen experts, ascending, of weight * z from +0, each
// operation rounded; in float, rounded once to the type.
Status reference(const Moe& a, Args& args) {
  SDX_ASSIGN(const Sizes s, sizes_of(a, args));
  const View &x = args.in(0), &y = args.out();
  const auto product = [&](const Matrix& m, const std::vector<float>& in, std::vector<float>& out) {
    for (size_t r = 0; r < m.rows; ++r) {
      float sum = 0;
      for (size_t i = 0; i < m.depth; ++i) sum = std::fma(in[i], m.weight(r, i), sum);
      out[r] = m.bias.present() ? sum + m.bias_of(r) : sum;
    }
  };
  args.pool->parallel(s.tokens, 1, [&](size_t begin, size_t end, int) {
    std::vector<float> in(s.hidden), wide(s.wide), third(s.inner), h(s.inner), z(s.hidden);
    for (size_t token = begin; token < end; ++token) {
      for (size_t i = 0; i < s.hidden; ++i)
        in[i] = float(get_f64(x.type, x.raw, token * s.hidden + i));
      const std::vector<float> weights = routed(a, s, args.in(1), token);
      std::vector<float> sum(s.hidden, 0);
      for (size_t e = 0; e < s.experts; ++e) {
        if (!(weights[e] > 0)) continue;
        product(layer_of(a, args, a.first, e, s.wide, s.hidden), in, wide);
        const bool gated = args.has(a.third.weights);
        if (gated) product(layer_of(a, args, a.third, e, s.inner, s.hidden), in, third);
        activate(a, s, wide.data(), gated ? third.data() : nullptr, h.data());
        product(layer_of(a, args, a.second, e, s.hidden, s.inner), h, z);
        for (size_t i = 0; i < s.hidden; ++i) sum[i] = sum[i] + weights[e] * z[i];
      }
      visit_floats(y.type, [&]<class T>() {
        for (size_t i = 0; i < s.hidden; ++i)
          y.data<T>()[token * s.hidden + i] = store<T>(Compute<T>(sum[i]));
      });
    }
  });
  return ok();
}

// The kernel: the tokens of one expert together, its weights as floats, products by gemm.
Status run_by_expert(const Moe& a, Args& args) {
  SDX_ASSIGN(const Sizes s, sizes_of(a, args));
  const float* x = args.in(0).data<float>();
  float* y = args.out().data<float>();
  std::fill_n(y, s.tokens * s.hidden, 0.0f);
  std::vector<std::vector<float>> weights(s.tokens);
  args.pool->parallel(s.tokens, 16, [&](size_t begin, size_t end, int) {
    for (size_t t = begin; t < end; ++t) weights[t] = routed(a, s, args.in(1), t);
  });
  std::vector<float> matrix, biases;
  const auto product = [&](const Matrix& m, size_t rows, const float* in, float* out) {
    GemmArgs g;
    g.m = rows;
    g.n = m.rows;
    g.k = m.depth;
    g.lda = g.ldb = m.depth;
    g.ldc = m.rows;
    g.trans_b = true;
    g.a = in;
    g.c = out;
    if (a.quantised()) {
      matrix.resize(m.rows * m.depth);
      args.pool->parallel(m.rows, 16, [&](size_t begin, size_t end, int) {
        for (size_t r = begin; r < end; ++r) {
          for (size_t i = 0; i < m.depth; ++i) matrix[r * m.depth + i] = m.weight(r, i);
        }
      });
      g.b = matrix.data();
    } else {
      g.b = m.weights.data<float>() + m.expert * m.rows * m.depth;
    }
    if (m.bias.present()) {
      biases.resize(m.rows);
      for (size_t r = 0; r < m.rows; ++r) biases[r] = m.bias_of(r);
      g.affine.bias = biases.data();
      g.affine.bias_col = 1;
    }
    const std::shared_ptr<void> scratch =
        allocate_aligned(gemm_scratch_bytes(g, args.pool->threads()));
    g.scratch = scratch.get();
    sdx::gemm(g, *args.pool, args.isa);
  };
  std::vector<size_t> tokens;
  std::vector<float> in, wide, third, h, z;
  for (size_t e = 0; e < s.experts; ++e) {
    tokens.clear();
    for (size_t t = 0; t < s.tokens; ++t) {
      if (weights[t][e] > 0) tokens.push_back(t);
    }
    if (tokens.empty()) continue;
    const size_t n = tokens.size();
    in.resize(n * s.hidden);
    wide.resize(n * s.wide);
    third.resize(n * s.inner);
    h.resize(n * s.inner);
    z.resize(n * s.hidden);
    for (size_t i = 0; i < n; ++i)
      std::copy_n(x + tokens[i] * s.hidden, s.hidden, in.data() + i * s.hidden);
    product(layer_of(a, args, a.first, e, s.wide, s.hidden), n, in.data(), wide.data());
    const bool gated = args.has(a.third.weights);
    if (gated)
      product(layer_of(a, args, a.third, e, s.inner, s.hidden), n, in.data(), third.data());
    args.pool->parallel(n, 4, [&](size_t begin, size_t end, int) {
      for (size_t i = begin; i < end; ++i) {
        activate(a, s, wide.data() + i * s.wide, gated ? third.data() + i * s.inner : nullptr,
                 h.data() + i * s.inner);
      }
    });
    product(layer_of(a, args, a.second, e, s.hidden, s.inner), n, h.data(), z.data());
    for (size_t i = 0; i < n; ++i) {
      float* row = y + tokens[i] * s.hidden;
      const float weight = weights[tokens[i]][e];
      for (size_t d = 0; d < s.hidden; ++d) row[d] = row[d] + weight * z[i * s.hidden + d];
    }
  }
  for (float& value : args.out().values<float>()) value = store<float>(value);
  return ok();
}

bool fits(const Moe&, const Call& call) { return call.in[0].type == DType::f32; }

constexpr Kernel<Moe> kKernels[] = {{.name = "by_expert", .fits = fits, .run = run_by_expert}};

std::vector<Case> cases() {
  const auto attrs = [](int64_t k, const char* act) {
    return AttrMap{{"k", k}, {"activation_type", std::string(act)}};
  };
  AttrMap swiglu = attrs(2, "swiglu");
  swiglu["swiglu_fusion"] = int64_t{1};
  swiglu["normalize_routing_weights"] = int64_t{1};
  swiglu["swiglu_limit"] = 1.f;
  return {{.name = "the_likeliest_expert_answers",
           .opset = 1,
           .attrs = attrs(1, "relu"),
           .inputs = {Tensor::of<float>({1, 1}, {3}), Tensor::of<float>({1, 2}, {0, 100}),
                      Tensor::of<float>({2, 1, 1}, {1, 2}), Value{},
                      Tensor::of<float>({2, 1, 1}, {1, 10}), Tensor::of<float>({2, 1}, {0, 5})},
           .expected = {Tensor::of<float>({1, 1}, {65})}},
          {.name = "several_experts_with_a_gate",
           .opset = 1,
           .attrs = attrs(2, "silu"),
           .inputs = {noise({2, 5, 12}), noise({10, 4}, 2), noise({4, 20, 12}, 3),
                      noise({4, 20}, 4), noise({4, 12, 20}, 5), noise({4, 12}, 6),
                      noise({4, 20, 12}, 7), noise({4, 20}, 8)}},
          {.name = "swiglu",
           .opset = 1,
           .attrs = swiglu,
           .inputs = {noise({7, 12}), noise({7, 4}, 2), noise({4, 40, 12}, 3), noise({4, 40}, 4),
                      noise({4, 12, 20}, 5)}}};
}
std::vector<Case> cases_quantised() {
  const auto bytes = [](Dims dims, uint64_t seed) {
    return noise(DType::u8, std::move(dims), seed, 0, 256);
  };
  AttrMap four{{"k", int64_t{2}}, {"activation_type", std::string("gelu")}};
  AttrMap eight = four;
  eight["expert_weight_bits"] = int64_t{8};
  eight["block_size"] = int64_t{16};
  return {
      {.name = "a_scale_per_row",
       .opset = 1,
       .attrs = four,
       .inputs = {noise({5, 16}), noise({5, 4}, 2), bytes({4, 32, 8}, 3),
                  noise(DType::f32, {4, 32}, 4, .01, .1), Value{}, bytes({4, 16, 16}, 5),
                  noise(DType::f32, {4, 16}, 6, .01, .1)}},
      {.name = "eight_bits_in_blocks_of_halves",
       .opset = 1,
       .attrs = eight,
       .inputs = {noise(DType::f16, {5, 32}), noise(DType::f16, {5, 4}, 2), bytes({4, 16, 32}, 3),
                  noise(DType::f16, {4, 16, 2}, 4, .01, .1), noise(DType::f16, {4, 16}, 7),
                  bytes({4, 32, 16}, 5), noise(DType::f16, {4, 32, 1}, 6, .01, .1)}}};
}

constexpr OpOf<Moe> kMoe{
    .name = "MoE",
    .doc = "The weighted sum of the answers of the experts that a router chooses for each token.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .kernels = kKernels,
    .cases = cases,
    .domain = "com.microsoft",
};
constexpr OpOf<Moe> kQMoe{
    .name = "QMoE",
    .doc = "MoE whose experts are matrices of 2-, 4- or 8-bit integers.",
    .history = kQuantisedHistory,
    .read = read_quantised,
    .infer = infer,
    .reference = reference,
    .kernels = kKernels,
    .cases = cases_quantised,
    .domain = "com.microsoft",
};

}  // namespace

extern const Op moe = erase<kMoe>();
extern const Op qmoe = erase<kQMoe>();

}  // namespace sdx::ops::microsoft
