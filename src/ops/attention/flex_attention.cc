// FlexAttention: attention whose scores and probabilities pass through subgraphs.
#include <cmath>

#include "kernel/gemm/reference.h"
#include "kernel/lanes.h"
#include "kernel/math/math.h"
#include "ops/attention/heads.h"
#include "ops/control/bodies.h"

namespace sdx::ops {
namespace {

struct FlexAttention {
  std::optional<float> scale;
  DType precision;              // of scores and probabilities
  BodyPtr score_mod, prob_mod;  // null: none
  size_t formal;                // inputs that are not captured by the subgraphs
};

constexpr Version kHistory[] = {
    {1,
     "(Q: T1, K: T1, V: T1) -> (Y: T1) {prob_mod: graph, scale: float, score_mod: graph, "
     "softmax_precision: "
     "int} T1 in floats bf16 experimental"},
};

Result<FlexAttention> read(const Node& node, const Facts& in) {
  FlexAttention a{
      {}, in[0].type == DType::f64 ? DType::f64 : DType::f32, {}, {}, node.formal_inputs};
  if (node.has("scale")) a.scale = node.f("scale");
  SDX_ASSIGN(const auto precision, softmax_precision(node));
  if (precision) a.precision = *precision;
  for (size_t i = 0; i < 3; ++i) {
    if (in[i].has_rank() && in[i].rank() != 4) {
      return fail("SDX-T0540", "input {} has rank {}; it must have 4 dimensions", i, in[i].rank());
    }
  }
  SDX_ASSIGN(const HeadDims q, head_dims(in[0], 0, "Q"));
  SDX_ASSIGN(const HeadDims k, head_dims(in[1], 0, "K"));
  const Facts scores{Fact::tensor(a.precision, {q.batch, q.heads, q.length, k.length})};
  const auto body = [&](std::string_view name) -> Result<BodyPtr> {
    if (!node.has(name)) return BodyPtr{};
    SDX_ASSIGN(BodyPtr typed, source(node, name).type(scores, captured(node, in)));
    if (typed->outputs().size() != 1 || typed->outputs()[0].type != a.precision) {
      return fail("SDX-T0541", "{} must give one tensor of {}", name, short_name(a.precision));
    }
    return typed;
  };
  SDX_ASSIGN(a.score_mod, body("score_mod"));
  SDX_ASSIGN(a.prob_mod, body("prob_mod"));
  return a;
}

Result<Facts> infer(const FlexAttention&, const Facts& in) {
  SDX_ASSIGN(const HeadDims q, head_dims(in[0], 0, "Q"));
  SDX_ASSIGN(const HeadDims v, head_dims(in[2], 0, "V"));
  return Facts{Fact::tensor(in[0].type, {q.batch, q.heads, q.length, v.size})};
}

Status modify(const BodyPtr& body, const FlexAttention& a, Args& args, Tensor& scores) {
  if (!body) return ok();
  std::vector<Value> inputs{scores};
  for (size_t i = a.formal; i < args.ins.size(); ++i) inputs.push_back(args.value(i));
  SDX_ASSIGN(std::vector<Value> results, body->run(inputs, *args.pool, args.isa));
  const Tensor& result = results[0].tensor();
  if (result.dims() != scores.dims()) {
    return fail("SDX-R0540", "a modifier gave shape {} for {}", to_string(result.dims()),
                to_string(scores.dims()));
  }
  scores = result.copy();
  return ok();
}

// With r = sqrt(scale), scale = 1 / sqrt(head size) unless given, in float (double for double):
//   scores = sum over d of (q * r) * (k * r), a chain of fma, rounded to the precision P; score_mod
//   p = softmax as Softmax computes it on P; prob_mod;  y = sum over keys of p * v, a chain of fma,
//   rounded to T
template <class T, class P>
Status attend(const FlexAttention& a, const Heads& q, const Heads& k, const Heads& v, Args& args) {
  using C = Compute<T>;
  using W = Compute<P>;
  const size_t group = q.heads / k.heads;
  const C root = std::sqrt(a.scale ? C(*a.scale) : C(1) / std::sqrt(C(q.size)));
  Tensor scores = Tensor::make(
      a.precision, {int64_t(q.batch), int64_t(q.heads), int64_t(q.length), int64_t(k.length)});
  std::vector<C> one(q.size), two(q.size);
  const auto each_row = [&](auto&& f) {
    for (size_t b = 0, row = 0; b < q.batch; ++b) {
      for (size_t h = 0; h < q.heads; ++h) {
        for (size_t i = 0; i < q.length; ++i, ++row) f(b, h, i, scores.data<P>() + row * k.length);
      }
    }
  };
  each_row([&](size_t b, size_t h, size_t i, P* row) {
    for (size_t d = 0; d < q.size; ++d)
      one[d] = load(args.in(0).data<T>()[q.at(b, h, i) + d]) * root;
    for (size_t j = 0; j < k.length; ++j) {
      for (size_t d = 0; d < q.size; ++d)
        two[d] = load(args.in(1).data<T>()[k.at(b, h / group, j) + d]) * root;
      row[j] = store<P>(W(reference::dot<C>(q.size, one.data(), 1, two.data(), 1)));
    }
  });
  SDX_TRY(modify(a.score_mod, a, args, scores));
  each_row([&](size_t, size_t, size_t, P* row) {
    W most = -std::numeric_limits<W>::infinity();
    for (size_t j = 0; j < k.length; ++j)
      most = load(row[j]) > most || load(row[j]) != load(row[j]) ? load(row[j]) : most;
    const auto e = [&](size_t j) { return math::exp(load(row[j]) - most); };
    const W sum = lane_sum<W>(k.length, e);
    for (size_t j = 0; j < k.length; ++j) row[j] = store<P>(e(j) / sum);
  });
  SDX_TRY(modify(a.prob_mod, a, args, scores));
  Tensor y = Tensor::make(dtype_of<T>,
                          {int64_t(q.batch), int64_t(q.heads), int64_t(q.length), int64_t(v.size)});
  Heads out = q;
  out.size = v.size;
  each_row([&](size_t b, size_t h, size_t i, const P* row) {
    for (size_t d = 0; d < v.size; ++d) {
      W sum = 0;
      for (size_t j = 0; j < k.length; ++j) {
        sum = std::fma(load(row[j]), W(load(args.in(2).data<T>()[v.at(b, h / group, j) + d])), sum);
      }
      y.data<T>()[out.at(b, h, i) + d] = store<T>(C(sum));
    }
  });
  args.give(0, std::move(y));
  return ok();
}

Status reference(const FlexAttention& a, Args& args) {
  SDX_ASSIGN(const Heads q, heads_of(args.in(0).dims, 0, "Q"));
  SDX_ASSIGN(const Heads k, heads_of(args.in(1).dims, 0, "K"));
  SDX_ASSIGN(const Heads v, heads_of(args.in(2).dims, 0, "V"));
  if (q.batch != k.batch || q.batch != v.batch || k.heads != v.heads || k.length != v.length ||
      q.size != k.size || k.heads == 0 || q.heads % k.heads != 0) {
    return fail("SDX-T0516", "shapes do not go together: Q {}, K {}, V {}",
                to_string(args.in(0).dims), to_string(args.in(1).dims), to_string(args.in(2).dims));
  }
  Status status;
  visit_floats(args.in(0).type, [&]<class T>() {
    visit_floats(a.precision, [&]<class P>() { status = attend<T, P>(a, q, k, v, args); });
  });
  return status;
}

constexpr OpOf<FlexAttention> kFlexAttention{
    .name = "FlexAttention",
    .doc = "Attention whose scores and probabilities may be modified by subgraphs.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .domain = "ai.onnx.preview",
    .whole_values = true,
};

}  // namespace

extern const Op flex_attention = erase<kFlexAttention>();

}  // namespace sdx::ops
