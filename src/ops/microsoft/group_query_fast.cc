#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernel/attention/values.h"
#include "kernel/elementwise/arrays.h"
#include "kernel/gemm/gemm.h"
#include "kernel/softmax/softmax.h"
#include "ops/microsoft/group_query_attention.h"

namespace sdx::ops::microsoft {
namespace {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();
constexpr size_t kRows = 64;  // queries of heads that share their keys, in one block

size_t aligned(size_t floats) { return (floats + 15) / 16 * 16; }

GemmArgs scores_of(const GroupQuerySizes& s, size_t rows, size_t keys) {
  GemmArgs g;
  g.m = rows;
  g.n = keys;
  g.k = s.size;
  g.lda = g.ldb = s.size;
  g.trans_b = true;
  g.ldc = aligned(s.room);
  return g;
}

// Scratch memory in floats: the caches where they are no outputs; then, per thread, turned
// queries, scores, and room for the product.
struct Layout {
  size_t cache, queries, scores, product;
  Layout(const GroupQuery& a, const GroupQuerySizes& s, int threads)
      : cache(aligned(s.batch * a.kv_heads * s.room * s.size)),
        queries(aligned(kRows * s.size)),
        scores(kRows * aligned(s.room)),
        product(aligned(gemm_scratch_bytes(scores_of(s, kRows, s.room), threads) / sizeof(float) +
                        1)) {}
  size_t per_thread() const { return queries + scores + product; }
};

// Of a call whose shapes are known: what Layout needs of the sizes.
GroupQuerySizes planned_sizes(const GroupQuery& a, const Call& call) {
  GroupQuerySizes s{};
  const Dims query = call.in[kQuery].dims(), cache = call.out[1].dims();
  s.batch = size_t(query[0]);
  s.length = size_t(query[1]);
  s.size = size_t(cache[3]);
  s.room = size_t(cache[2]);
  s.group = a.heads / a.kv_heads;
  return s;
}

}  // namespace

bool fits_fast_group_query(const GroupQuery& a, const Call& call) {
  const bool sink = call.in.size() > kSink && call.in[kSink].present();
  return call.in[kQuery].type == DType::f32 && !sink && !a.smooth && call.out.size() > 2 &&
         call.out[1].is_concrete() && call.out[2].is_concrete();
}

size_t fast_group_query_scratch(const GroupQuery& a, const Call& call) {
  const Layout layout(a, planned_sizes(a, call), call.threads);
  return (2 * layout.cache + size_t(call.threads) * layout.per_thread()) * sizeof(float);
}

Status run_fast_group_query(const GroupQuery& a, Args& args) {
  SDX_ASSIGN(const GroupQuerySizes s, group_query_sizes(a, args));
  Pool& pool = *args.pool;
  const Layout layout(a, s, pool.threads());
  auto* scratch = reinterpret_cast<float*>(args.scratch.data());
  float* keys = args.wants(1) ? args.out(1).data<float>() : scratch;
  float* values = args.wants(2) ? args.out(2).data<float>() : scratch + layout.cache;
  write_caches<float>(a, s, args, keys, values);

  const auto weigh = SDX_PICK(attention_values, args.isa);
  const auto binary = SDX_PICK(array_binary, args.isa);
  const auto unary = SDX_PICK(array_unary, args.isa);
  const GroupQueryBias bias = bias_of(args);
  const size_t rows_of_group = s.group * s.length, blocks = (rows_of_group + kRows - 1) / kRows;
  pool.parallel(s.batch * a.kv_heads * blocks, 1, [&](size_t begin, size_t end, int thread) {
    float* queries = scratch + 2 * layout.cache + size_t(thread) * layout.per_thread();
    float* scores = queries + layout.queries;
    for (size_t block = begin; block < end; ++block) {
      const size_t kv = block / blocks, b = kv / a.kv_heads;
      const size_t first = block % blocks * kRows, rows = std::min(kRows, rows_of_group - first);
      const GroupQueryKeys there = keys_of_batch(s, args, b);
      const auto head_of = [&](size_t r) {
        return kv % a.kv_heads * s.group + (first + r) / s.length;
      };
      size_t reach = 0;
      for (size_t r = 0; r < rows; ++r) {
        const size_t i = (first + r) % s.length;
        const float* q = args.in(kQuery).data<float>() + query_at(a, s, b, head_of(r), i);
        float* to = queries + r * s.size;
        if (a.rotary) {
          turn(a, s, args, position_of(s, args, there, b, i), q, to);
        } else {
          std::memcpy(to, q, s.size * sizeof(float));
        }
        reach = std::max(reach, keys_of_query(a, s, there, i).last);
      }
      GemmArgs g = scores_of(s, rows, reach);
      g.a = queries;
      g.b = keys + kv * s.room * s.size;
      g.c = scores;
      g.affine.alpha = scale_of(a, s);
      g.scratch = scores + layout.scores;
      if (reach > 0) sdx::gemm(g, pool, args.isa);
      for (size_t r = 0; r < rows; ++r) {
        const size_t i = (first + r) % s.length, h = head_of(r);
        const GroupQueryRange range = keys_of_query(a, s, there, i);
        float* row = scores + r * g.ldc;
        const size_t n = range.last - range.first;
        if (a.softcap > 0 && n > 0) {
          float* from = row + range.first;
          binary(BinaryOp::div, from, 1, &a.softcap, 0, from, n);
          unary(UnaryOp::tanh, from, from, n, 0, 0);
          binary(BinaryOp::mul, from, 1, &a.softcap, 0, from, n);
        }
        if (bias.view.present() && n > 0) {
          const float* addend = bias.view.data<float>() + bias.row(s, b, h, i) + range.first;
          binary(BinaryOp::add, row + range.first, 1, addend, 1, row + range.first, n);
        }
        // Keys that this query does not see have a weight of 0.
        std::fill(row, row + range.first, kMinusInfinity);
        std::fill(row + range.last, row + reach, kMinusInfinity);
      }
      SoftmaxRows softmax;
      softmax.x = scores;
      softmax.ld = g.ldc;
      softmax.rows = rows;
      softmax.n = reach;
      softmax.dark_is_zero = true;
      if (reach > 0) SDX_PICK(softmax_rows, args.isa)(softmax);
      for (size_t r = 0; r < rows; ++r) {
        const size_t i = (first + r) % s.length;
        const GroupQueryRange range = keys_of_query(a, s, there, i);
        float* y = args.out().data<float>() + ((b * s.length + i) * a.heads + head_of(r)) * s.size;
        weigh(scores + r * g.ldc, range.first, range.last, values + kv * s.room * s.size, s.size,
              s.size, false, y);
        for (size_t d = 0; d < s.size; ++d) y[d] = store<float>(y[d]);
      }
    }
  });
  return ok();
}

}  // namespace sdx::ops::microsoft
