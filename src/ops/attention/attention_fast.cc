#include "ops/attention/attention_fast.h"

#include <cmath>
#include <cstring>

#include "kernel/attention/rows.h"
#include "kernel/elementwise/arrays.h"
#include "kernel/gemm/gemm.h"

namespace sdx::ops {
namespace {

constexpr size_t kQueries = 64;  // in one block
constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

size_t aligned(size_t floats) { return (floats + 15) / 16 * 16; }

GemmArgs scores_of(const AttentionSizes& s, size_t rows, size_t keys) {
  GemmArgs g;
  g.m = rows;
  g.n = keys;
  g.k = s.q.size;
  g.lda = g.ldb = s.q.size;
  g.trans_b = true;
  g.ldc = s.total;
  return g;
}

// Scratch memory in floats: scaled keys and joined values of all heads; then, per thread, scaled
// queries, scores, and room for the product.
struct Layout {
  size_t keys, values, queries, scores, product;
  Layout(const AttentionSizes& s, int threads)
      : keys(aligned(s.k.batch * s.k.heads * s.total * s.k.size)),
        values(s.past == 0 ? 0 : aligned(s.v.batch * s.v.heads * s.total * s.v.size)),
        queries(aligned(kQueries * s.q.size)),
        scores(aligned(kQueries * s.total)),
        product(aligned(
            gemm_scratch_bytes(scores_of(s, kQueries, s.total), threads) / sizeof(float) + 1)) {}
  size_t per_thread() const { return queries + scores + product; }
};

// The mask on one row of scores: true or a finite number is added, false or -inf excludes.
void add_mask(const Mask& mask, size_t at, const KeyRange& keys, float* row) {
  const size_t end = std::min(keys.last, mask.keys);
  if (mask.view.type == DType::boolean) {
    const bool* allowed = mask.view.data<bool>() + at;
    for (size_t j = keys.first; j < end; ++j) row[j] = allowed[j] ? row[j] : kMinusInfinity;
  } else {
    const float* bias = mask.view.data<float>() + at;
    for (size_t j = keys.first; j < end; ++j)
      row[j] = bias[j] == kMinusInfinity ? kMinusInfinity : row[j] + bias[j];
  }
  for (size_t j = std::max(keys.first, end); j < keys.last; ++j) row[j] = kMinusInfinity;
}

}  // namespace

bool fits_fast_attention(const Attention& a, const Call& call) {
  const auto has = [&](size_t i) { return i < call.in.size() && call.in[i].present(); };
  for (const size_t i : {0, 1, 2}) {
    if (call.in[i].type != DType::f32) return false;
  }
  if (a.precision && *a.precision != DType::f32) return false;
  if (has(3) && call.in[3].type != DType::boolean && call.in[3].type != DType::f32) return false;
  // The product itself is for looking into: the reference shows it.
  return call.out.size() < 4 || !call.out[3].present();
}

size_t fast_attention_scratch(const Attention& a, const Call& call) {
  std::vector<View> ins(call.in.size());
  std::vector<Dims> dims(call.in.size());
  for (size_t i = 0; i < 6 && i < ins.size(); ++i) {
    if (!call.in[i].present()) continue;
    dims[i] = call.in[i].dims();
    ins[i].type = call.in[i].type;
    ins[i].dims = dims[i];
  }
  if (ins.size() > 6) ins[6] = {};
  Args args{};
  args.ins = ins;
  const auto s = attention_sizes(a, args);
  if (!s) return 0;
  const Layout layout(*s, call.threads);
  return (layout.keys + layout.values + size_t(call.threads) * layout.per_thread()) * sizeof(float);
}

Status run_fast_attention(const Attention& a, Args& args) {
  SDX_ASSIGN(const AttentionSizes s, attention_sizes(a, args));
  SDX_ASSIGN(const Mask mask, mask_of(s, args));
  Pool& pool = *args.pool;
  const Layout layout(s, pool.threads());
  auto* scaled_keys = reinterpret_cast<float*>(args.scratch.data());
  float* joined_values = scaled_keys + layout.keys;
  float* own = joined_values + layout.values;
  const float root = std::sqrt(a.scale ? *a.scale : 1.0f / std::sqrt(float(s.q.size)));

  // Keys and values, old and new, head by head.
  const auto row_of = [&](const Heads& now, size_t input, size_t past, size_t head, size_t j) {
    if (j < s.past) return args.in(past).data<float>() + (head * s.past + j) * now.size;
    return args.in(input).data<float>() + now.at(head / now.heads, head % now.heads, j - s.past);
  };
  pool.parallel(s.k.batch * s.k.heads * s.total, 64, [&](size_t begin, size_t end, int) {
    for (size_t i = begin; i < end; ++i) {
      const float* key = row_of(s.k, 1, 4, i / s.total, i % s.total);
      const float* value = row_of(s.v, 2, 5, i / s.total, i % s.total);
      for (size_t d = 0; d < s.k.size; ++d) scaled_keys[i * s.k.size + d] = key[d] * root;
      if (args.wants(1))
        std::memcpy(args.out(1).data<float>() + i * s.k.size, key, s.k.size * sizeof(float));
      if (args.wants(2))
        std::memcpy(args.out(2).data<float>() + i * s.v.size, value, s.v.size * sizeof(float));
      if (s.past != 0) std::memcpy(joined_values + i * s.v.size, value, s.v.size * sizeof(float));
    }
  });

  Heads y = s.q;
  y.size = s.v.size;
  const auto softmax = SDX_PICK(attention_softmax, args.isa);
  const auto weigh = SDX_PICK(attention_values, args.isa);
  const auto binary = SDX_PICK(array_binary, args.isa);
  const auto unary = SDX_PICK(array_unary, args.isa);
  const size_t blocks = (s.q.length + kQueries - 1) / kQueries;
  pool.parallel(s.q.batch * s.q.heads * blocks, 1, [&](size_t begin, size_t end, int thread) {
    float* queries = own + size_t(thread) * layout.per_thread();
    float* scores = queries + layout.queries;
    for (size_t block = begin; block < end; ++block) {
      const size_t b = block / blocks / s.q.heads, h = block / blocks % s.q.heads;
      const size_t first_query = block % blocks * kQueries,
                   rows = std::min(kQueries, s.q.length - first_query);
      const size_t kv = h / s.group, head = b * s.k.heads + kv;
      size_t reach = 0;
      for (size_t r = 0; r < rows; ++r) {
        reach = std::max(reach, keys_of(a, s, args, b, first_query + r).last);
        const float* q = args.in(0).data<float>() + s.q.at(b, h, first_query + r);
        for (size_t d = 0; d < s.q.size; ++d) queries[r * s.q.size + d] = q[d] * root;
      }
      GemmArgs g = scores_of(s, rows, reach);
      g.a = queries;
      g.b = scaled_keys + head * s.total * s.k.size;
      g.c = scores;
      g.scratch = scores + layout.scores;
      if (reach > 0) gemm(g, pool, args.isa);
      const float* values = s.past != 0 ? joined_values + head * s.total * s.v.size
                                        : args.in(2).data<float>() + s.v.at(b, kv, 0);
      const size_t step = s.past != 0 ? s.v.size : s.v.row_step();
      for (size_t r = 0; r < rows; ++r) {
        const size_t i = first_query + r;
        const KeyRange keys = keys_of(a, s, args, b, i);
        float* row = scores + r * s.total;
        if (const size_t n = keys.last - keys.first; a.softcap > 0 && n > 0) {
          binary(BinaryOp::div, row + keys.first, 1, &a.softcap, 0, row + keys.first, n);
          unary(UnaryOp::tanh, row + keys.first, row + keys.first, n, 0, 0);
          binary(BinaryOp::mul, row + keys.first, 1, &a.softcap, 0, row + keys.first, n);
        }
        if (mask.present()) add_mask(mask, mask.row(b, h, i), keys, row);
        softmax(row, keys.first, keys.last);
        weigh(row, keys.first, keys.last, values, step, s.v.size,
              args.out().data<float>() + y.at(b, h, i));
      }
    }
  });
  return ok();
}

}  // namespace sdx::ops
