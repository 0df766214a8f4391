// Bodies of attention and what goes with it.
#include <cmath>

#include "infer/bodies/bodies.h"

namespace sdx::infer {
namespace {

constexpr int64_t kToTheEnd = INT64_MAX;

// Whether the heads of input i are packed into its last axis: it then has three axes.
bool packed(const OperatorUse& use, size_t i, std::string_view heads) {
  const auto rank = use.rank(i);
  return rank ? *rank == 3 : use.integer(heads, 0) > 0;
}

// `to` = `from` as [batch, heads, length, size].
void split_heads(BodyText& body, const OperatorUse& use, size_t i, std::string_view heads,
                 std::string_view from, std::string_view to) {
  if (!packed(use, i, heads)) {
    body.line("{} = Identity ({})", to, from);
    return;
  }
  body.list(fmt::format("{}_split_shape", to), {0, 0, use.integer(heads, 1), -1});
  body.line("{}_split = Reshape ({}, {}_split_shape)", to, from, to);
  body.line("{} = Transpose <perm = [0, 2, 1, 3]> ({}_split)", to, to);
}

// seen = which keys each query may see by causality, window and length.
bool restrict_keys(BodyText& body, const OperatorUse& use) {
  const bool causal = use.integer("is_causal", 0) != 0, lengths = use.has(6);
  const int64_t left = use.integer("left_window_size", -1);
  const int64_t right = use.integer("right_window_size", -1);
  if (!causal && !lengths && left < 0 && right < 0) return false;
  body.line("nought = Constant <value_int = 0> ()");
  body.line("step = Constant <value_int = 1> ()");
  body.list("scalar", {});
  body.list("as_column", {1});
  body.line("query_count = Shape <start = 2, end = 3> (q)");
  body.line("queries = Reshape (query_count, scalar)");
  body.line("total_count = Shape <start = 2, end = 3> (present_key)");
  body.line("total = Reshape (total_count, scalar)");
  body.line("key_index = Range (nought, total, step)");
  body.line("query_index = Range (nought, queries, step)");
  body.line("query_column = Unsqueeze (query_index, as_column)");
  if (lengths) {
    body.list("per_batch", {-1, 1, 1, 1});
    body.line("valid = Reshape (nonpad_kv_seqlen, per_batch)");
    body.line("offset = Sub (valid, queries)");
  } else if (use.has(4)) {
    body.line("offset = Shape <start = 2, end = 3> (past_key)");
  } else {
    body.line("offset = Identity (nought)");
  }
  body.line("position = Add (query_column, offset)");
  std::string seen;
  const auto also = [&](std::string_view name) {
    if (!seen.empty()) body.line("{}_too = And ({}, {})", name, seen, name);
    seen = seen.empty() ? std::string(name) : fmt::format("{}_too", name);
  };
  if (lengths) {
    body.line("in_length = Less (key_index, valid)");
    also("in_length");
  }
  if (causal) {
    body.line("not_later = LessOrEqual (key_index, position)");
    also("not_later");
  }
  if (left >= 0) {
    body.line("left_size = Constant <value_int = {}> ()", left);
    body.line("left_end = Sub (position, left_size)");
    body.line("in_left = GreaterOrEqual (key_index, left_end)");
    also("in_left");
  }
  if (right >= 0) {
    body.line("right_size = Constant <value_int = {}> ()", right);
    body.line("right_end = Add (position, right_size)");
    body.line("in_right = LessOrEqual (key_index, right_end)");
    also("in_right");
  }
  body.line("seen = Identity ({})", seen);
  return true;
}

// Keys or values, once for each of the query heads that share them.
void repeat_heads(BodyText& body, std::string_view from, std::string_view to) {
  body.line("{}_apart = Unsqueeze ({}, third)", to, from);
  body.line("{}_repeated = Expand ({}_apart, repeats)", to, to);
  body.line("{}_batch = Shape <start = 0, end = 1> ({})", to, from);
  body.line("{}_rest = Shape <start = 2, end = 4> ({})", to, from);
  body.line("{}_shape = Concat <axis = 0> ({}_batch, q_heads, {}_rest)", to, to, to);
  body.line("{} = Reshape ({}_repeated, {}_shape)", to, to, to);
}

}  // namespace

std::optional<model::Function> attention_body(const OperatorUse& use) {
  if (use.has(3) && use.type(3) == DType::undefined) return std::nullopt;
  const int64_t mode = use.integer("qk_matmul_output_mode", 0);
  BodyText body(use, "Q, K, V, attn_mask, past_key, past_value, nonpad_kv_seqlen",
                "Y, present_key, present_value, qk_matmul_output");
  const auto expose = [&](int64_t at, std::string_view name) {
    if (mode == at && use.wants(3)) body.line("qk_matmul_output = Identity ({})", name);
  };
  split_heads(body, use, 0, "q_num_heads", "Q", "q");
  split_heads(body, use, 1, "kv_num_heads", "K", "k");
  split_heads(body, use, 2, "kv_num_heads", "V", "v");
  body.line(use.has(4) ? "present_key = Concat <axis = 2> (past_key, k)"
                       : "present_key = Identity (k)");
  body.line(use.has(5) ? "present_value = Concat <axis = 2> (past_value, v)"
                       : "present_value = Identity (v)");
  body.list("third", {2});
  body.list("one", {1});
  body.line("q_heads = Shape <start = 1, end = 2> (q)");
  body.line("k_heads = Shape <start = 1, end = 2> (k)");
  body.line("group = Div (q_heads, k_heads)");
  body.line("repeats = Concat <axis = 0> (one, one, group, one, one)");
  repeat_heads(body, "present_key", "keys");
  repeat_heads(body, "present_value", "values");

  if (use.has("scale")) {
    body.number("root", std::sqrt(double(use.number("scale", 1))), "Q");
  } else {
    body.line("head_size = Shape <start = 3, end = 4> (q)");
    body.line("head_number = Cast <to = 1> (head_size)");
    body.line("head_root = Sqrt (head_number)");
    body.line("scale = Reciprocal (head_root)");
    body.line("scale_root = Sqrt (scale)");
    body.line("root = CastLike (scale_root, Q)");
  }
  body.line("scaled_q = Mul (q, root)");
  body.line("scaled_keys = Mul (keys, root)");
  body.line("turned_keys = Transpose <perm = [0, 1, 3, 2]> (scaled_keys)");
  body.line("product = MatMul (scaled_q, turned_keys)");
  expose(0, "product");
  std::string score = "product";
  if (const float cap = use.number("softcap", 0); cap > 0) {
    body.number("cap", cap, "Q");
    body.line("part = Div (product, cap)");
    body.line("bent = Tanh (part)");
    body.line("capped = Mul (bent, cap)");
    score = "capped";
  }
  expose(1, score);
  body.number("zero", 0, "Q");
  body.line("infinite = Constant <value = float {-inf}> ()");
  body.line("never = CastLike (infinite, Q)");
  if (use.has(3)) {
    body.line(use.type(3) == DType::boolean ? "bias = Where (attn_mask, zero, never)"
                                            : "bias = CastLike (attn_mask, Q)");
    // A mask may end before the keys do: those beyond it are not seen.
    body.list("last", {-1});
    body.list("none", {0});
    body.line("mask_keys = Shape <start = -1> (bias)");
    body.line("all_keys = Shape <start = 2, end = 3> (keys)");
    body.line("beyond = Sub (all_keys, mask_keys)");
    body.line("pads = Concat <axis = 0> (none, beyond)");
    body.line("whole_bias = Pad (bias, pads, never, last)");
    body.line("biased = Add ({}, whole_bias)", score);
    score = "biased";
  }
  if (restrict_keys(body, use)) {
    body.line("restricted = Where (seen, {}, never)", score);
    score = "restricted";
  }
  expose(2, score);
  // A query that sees no key gets zeros.
  if (use.has("softmax_precision")) {
    body.line("precise = Cast <to = {}> ({})", use.integer("softmax_precision", 1), score);
  } else {
    body.line("precise = Identity ({})", score);
  }
  body.line("nothing = CastLike (infinite, precise)");
  body.line("no_weight = CastLike (zero, precise)");
  body.list("along_keys", {-1});
  body.line("largest = ReduceMax (precise, along_keys)");
  body.line("blind = Equal (largest, nothing)");
  body.line("safe = Where (blind, no_weight, precise)");
  body.line("soft = Softmax (safe)");
  body.line("weights = Where (blind, no_weight, soft)");
  body.line("probability = CastLike (weights, Q)");
  expose(3, "probability");
  body.line("probability_of_values = CastLike (probability, V)");
  body.line("mixed = MatMul (probability_of_values, values)");
  body.line("result = CastLike (mixed, Q)");
  if (packed(use, 0, "q_num_heads")) {
    body.line("by_query = Transpose <perm = [0, 2, 1, 3]> (result)");
    body.list("as_packed", {0, 0, -1});
    body.line("Y = Reshape (by_query, as_packed)");
  } else {
    body.line("Y = Identity (result)");
  }
  return body.function();
}

// The first elements of a head are pairs that are turned by the angle of the token's position.
std::optional<model::Function> rotary_embedding_body(const OperatorUse& use) {
  const bool is_packed = packed(use, 0, "num_heads");
  const bool interleaved = use.integer("interleaved", 0) != 0;
  const int64_t rotated = use.integer("rotary_embedding_dim", 0);
  BodyText body(use, "X, cos_cache, sin_cache, position_ids", "Y");
  body.list("last", {3});
  body.list("zero", {0});
  body.list("one", {1});
  body.list("two", {2});
  body.list("end", {kToTheEnd});
  body.line("shape = Shape (X)");
  if (is_packed) {  // as [batch, length, heads, size]
    body.list("by_head", {0, 0, use.integer("num_heads", 1), -1});
    body.line("x = Reshape (X, by_head)");
  } else {
    body.line("x = Transpose <perm = [0, 2, 1, 3]> (X)");
  }
  if (rotated > 0) {
    body.list("border", {rotated});
    body.line("turning = Slice (x, zero, border, last)");
    body.line("staying = Slice (x, border, end, last)");
  } else {
    body.line("turning = Identity (x)");
  }
  for (const std::string_view name : {"cos", "sin"}) {
    if (use.has(3)) {
      body.line("{}_rows = Gather ({}_cache, position_ids)", name, name);
    } else {
      body.line("{}_rows = Identity ({}_cache)", name, name);
    }
    body.line("{} = Unsqueeze ({}_rows, two)", name, name);
  }
  if (interleaved) {
    body.line("x1 = Slice (turning, zero, end, last, two)");
    body.line("x2 = Slice (turning, one, end, last, two)");
  } else {
    body.line("x1, x2 = Split <axis = -1, num_outputs = 2> (turning)");
  }
  body.line("c1 = Mul (cos, x1)");
  body.line("s2 = Mul (sin, x2)");
  body.line("y1 = Sub (c1, s2)");
  body.line("s1 = Mul (sin, x1)");
  body.line("c2 = Mul (cos, x2)");
  body.line("y2 = Add (s1, c2)");
  if (interleaved) {
    body.list("pairs", {-1});
    body.line("odd = Unsqueeze (y1, pairs)");
    body.line("even = Unsqueeze (y2, pairs)");
    body.line("both = Concat <axis = -1> (odd, even)");
    body.line("turning_shape = Shape (turning)");
    body.line("turned = Reshape (both, turning_shape)");
  } else {
    body.line("turned = Concat <axis = -1> (y1, y2)");
  }
  body.line(rotated > 0 ? "y = Concat <axis = -1> (turned, staying)" : "y = Identity (turned)");
  body.line(is_packed ? "Y = Reshape (y, shape)" : "Y = Transpose <perm = [0, 2, 1, 3]> (y)");
  return body.function();
}

// A convolution of each channel over the past and the present.
std::optional<model::Function> causal_conv_body(const OperatorUse& use) {
  const auto channels = use.size(1, 0);
  if (!channels || *channels == 0) return std::nullopt;
  const std::string activation = use.text("activation", "none");
  BodyText body(use, "input, weight, bias, past_state", "output, present_state");
  body.list("time", {2});
  body.list("end", {kToTheEnd});
  if (use.has(3)) {
    body.line("past = Identity (past_state)");
  } else {
    body.number("zero", 0, "input");
    body.list("one", {1});
    body.line("taps = Shape <start = 2, end = 3> (weight)");
    body.line("length = Sub (taps, one)");
    body.line("rows = Shape <start = 0, end = 2> (input)");
    body.line("past_shape = Concat <axis = 0> (rows, length)");
    body.line("past = Expand (zero, past_shape)");
  }
  body.line("sequence = Concat <axis = 2> (past, input)");
  body.line("convolved = Conv <group = {}> (sequence, weight{})", *channels,
            use.has(2) ? ", bias" : "");
  if (activation == "none") {
    body.line("output = Identity (convolved)");
  } else {
    body.line("gate = Sigmoid (convolved)");
    body.line("output = Mul (convolved, gate)");
  }
  body.line("present_length = Shape <start = 2, end = 3> (input)");
  body.line("present_state = Slice (sequence, present_length, end, time)");
  return body.function();
}

// A scan over the tokens: the state forgets (gated), corrects what it would give for the key
// (delta), learns the key's value, and answers the query.
std::optional<model::Function> linear_attention_body(const OperatorUse& use) {
  const std::string rule = use.text("update_rule", "gated_delta");
  const bool gated = rule.starts_with("gated"), delta = rule.ends_with("delta");
  const int64_t q_heads = use.integer("q_num_heads", 1), kv_heads = use.integer("kv_num_heads", 1);
  const auto decay_width = use.size(4, 2), beta_width = use.size(5, 2);
  if (kv_heads <= 0 || (gated && !decay_width) || (delta && !beta_width)) return std::nullopt;
  const int64_t group = q_heads / kv_heads;
  BodyText body(use, "query, key, value, past_state, decay, beta", "output, present_state");
  // [length, batch, kv heads, rows, columns], the rows of a query being those that share a key.
  const auto tokens = [&](std::string_view from, std::string_view to,
                          std::initializer_list<int64_t> shape) {
    body.line("{}_float = Cast <to = 1> ({})", to, from);
    body.list(fmt::format("{}_shape", to), shape);
    body.line("{}_heads = Reshape ({}_float, {}_shape)", to, to, to);
    body.line("{} = Transpose <perm = [1, 0, 2, 3, 4]> ({}_heads)", to, to);
  };
  tokens("query", "q", {0, 0, kv_heads, group, -1});
  tokens("key", "k", {0, 0, kv_heads, 1, -1});
  tokens("value", "v", {0, 0, kv_heads, 1, -1});
  std::string scanned = "q, k, v", formal = "qt, kt, vt";
  if (gated) {
    tokens("decay", "g", {0, 0, kv_heads, -1, 1});
    scanned += ", g";
    formal += ", gt";
  }
  if (delta) {
    tokens("beta", "b", {0, 0, *beta_width == 1 ? 1 : kv_heads, 1, 1});
    scanned += ", b";
    formal += ", bt";
  }
  body.line("key_size = Shape <start = 4, end = 5> (k)");
  body.line("value_size = Shape <start = 4, end = 5> (v)");
  if (use.has(3)) {
    body.line("start = Cast <to = 1> (past_state)");
  } else {
    body.line("nothing = Constant <value_float = 0.0> ()");
    body.line("batch_heads = Shape <start = 1, end = 3> (k)");
    body.line("state_shape = Concat <axis = 0> (batch_heads, key_size, value_size)");
    body.line("start = Expand (nothing, state_shape)");
  }
  if (use.number("scale", 0) != 0) {
    body.line("scale = Constant <value = float {{{:.9g}}}> ()", use.number("scale", 0));
  } else {
    body.line("key_number = Cast <to = 1> (key_size)");
    body.line("key_root = Sqrt (key_number)");
    body.line("scale = Reciprocal (key_root)");
  }
  std::string step;
  const auto add = [&](std::string_view text) { step += fmt::format("    {}\n", text); };
  std::string state = "state", learnt = "vt";
  if (gated) {
    add("factor = Exp (gt)");
    add("kept = Mul (state, factor)");
    state = "kept";
  }
  if (delta) {
    add(fmt::format("found = MatMul (kt, {})", state));
    add("missing = Sub (vt, found)");
    add("change = Mul (bt, missing)");
    learnt = "change";
  }
  add("key_column = Transpose <perm = [0, 1, 3, 2]> (kt)");
  add(fmt::format("product = Mul (key_column, {})", learnt));
  add(fmt::format("next = Add ({}, product)", state));
  add("answer = MatMul (qt, next)");
  body.line(
      "end_state, answers = Scan <num_scan_inputs = {}, body: graph = step (state, {}) => "
      "(next, answer) {{\n{}  }}> (start, {})",
      3 + int(gated) + int(delta), formal, step, scanned);
  body.line("scaled = Mul (answers, scale)");
  body.line("by_batch = Transpose <perm = [1, 0, 2, 3, 4]> (scaled)");
  body.list("as_packed", {0, 0, -1});
  body.line("joined = Reshape (by_batch, as_packed)");
  body.line("output = CastLike (joined, query)");
  body.line("present_state = CastLike (end_state, {})", use.has(3) ? "past_state" : "query");
  return body.function();
}

}  // namespace sdx::infer
