#include "ops/attention/attention_fast.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/aligned.h"
#include "kernel/attention/values.h"
#include "kernel/elementwise/arrays.h"
#include "kernel/gemm/block.h"
#include "kernel/gemm/gemm.h"
#include "kernel/softmax/softmax.h"

namespace sdx::ops {
namespace {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

// A block of scores takes about this much of the second cache.
constexpr size_t kBlockFloats = 32768;
constexpr size_t kLeastRows = 12, kMostRows = 96;

// The query heads that share a head of keys and values are rows of one product: row r is query
// r % length of head r / length of the group.
struct Blocks {
  size_t rows, ld;  // of a block of scores
  size_t all;       // rows of one head of keys
  bool alike;       // all of them see all keys: values are packed once
  Blocks(const Attention& a, const AttentionSizes& s, bool has_lengths)
      : all(s.group * s.q.length) {
    const size_t most =
        std::clamp(kBlockFloats / (s.total + 1) / kLeastRows * kLeastRows, kLeastRows, kMostRows);
    rows = std::max<size_t>(1, std::min(all, most));
    ld = aligned_floats(s.total) + 16;  // rows do not lie whole pages apart
    alike = !a.causal && a.left < 0 && a.right < 0 && !has_lengths && all > kLeastRows;
  }
  size_t count() const { return (all + rows - 1) / rows; }
};

GemmArgs scores_of(const AttentionSizes& s, const Blocks& b, const float* packed) {
  GemmArgs g;
  g.m = b.rows;
  g.n = s.total;
  g.k = g.lda = s.q.size;
  g.b_packed = packed;
  g.ldc = b.ld;
  g.raw = true;  // a NaN makes its row's sum NaN, whatever its bits
  return g;
}
// The values of keys [0, keys).
GemmArgs sums_of(const AttentionSizes& s, const Blocks& b, size_t keys, size_t step) {
  GemmArgs g;
  g.m = b.rows;
  g.n = g.ldc = s.v.size;
  g.k = keys;
  g.lda = b.ld;
  g.ldb = step;
  g.raw = true;
  return g;
}

// Scratch memory in floats. Of all: keys and values after the past ones, where no output holds
// them. Of each thread: the packed keys, scaled, and values; scaled queries; scores; results; room
// for the products.
struct Layout {
  size_t joined_keys, joined_values;
  size_t keys, values, queries, scores, results, product;
  Layout(const AttentionSizes& s, const Blocks& b, bool gives_keys, bool gives_values)
      : joined_keys(s.past == 0 || gives_keys
                        ? 0
                        : aligned_floats(s.k.batch * s.k.heads * s.total * s.k.size)),
        joined_values(s.past == 0 || gives_values
                          ? 0
                          : aligned_floats(s.v.batch * s.v.heads * s.total * s.v.size)),
        keys(aligned_floats(gemm_packed_b_size(s.q.size, s.total))),
        values(b.alike ? aligned_floats(gemm_packed_b_size(s.total, s.v.size)) : 0),
        queries(aligned_floats(b.rows * s.q.size)),
        scores(b.rows * b.ld),
        results(aligned_floats(b.rows * s.v.size)) {
    constexpr float kSome = 0;
    const size_t first = gemm_scratch_bytes(scores_of(s, b, &kSome), 1);
    const size_t second = gemm_scratch_bytes(sums_of(s, b, s.total, s.v.size), 1);
    product = aligned_floats(std::max(first, second) / sizeof(float) + 1);
  }
  size_t shared() const { return joined_keys + joined_values; }
  size_t per_thread() const { return keys + values + queries + scores + results + product; }
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

// Where a head's keys or values lie, old and new together.
struct Rows {
  const float* data;
  size_t step;  // floats from one to the next
};

// One thread's work.
struct Worker {
  const Attention& a;
  const AttentionSizes& s;
  const Args& args;
  const Mask& mask;
  const Blocks& blocks;
  float root;
  float *keys, *packed_values, *queries, *scores, *results, *product;

  // Packs the keys of a head, times the root of the scale, and its values.
  void take(const Rows& from, const Rows& values) const {
    gemm_pack_b_here(from.data, DType::f32, from.step, true, s.k.size, s.total, keys, args.isa);
    if (blocks.alike) {
      gemm_pack_b_here(values.data, DType::f32, values.step, false, s.total, s.v.size,
                       packed_values, args.isa);
    }
    const size_t count = gemm_packed_b_size(s.k.size, s.total);
    SDX_PICK(array_binary, args.isa)(BinaryOp::mul, keys, 1, &root, 0, keys, count);
  }

  // Rows [first, first + rows) of those that share head `kv` of batch `b`.
  void run(size_t b, size_t kv, size_t first, size_t rows, const Rows& values) const {
    const auto head_of = [&](size_t r) { return kv * s.group + (first + r) / s.q.length; };
    const auto query_of = [&](size_t r) { return (first + r) % s.q.length; };
    KeyRange ranges[kMostRows];
    size_t reach = 0;
    for (size_t r = 0; r < rows; ++r) {
      ranges[r] = keys_of(a, s, args, b, query_of(r));
      reach = std::max(reach, ranges[r].last);
      const float* q = args.in(0).data<float>() + s.q.at(b, head_of(r), query_of(r));
      for (size_t d = 0; d < s.q.size; ++d) queries[r * s.q.size + d] = q[d] * root;
    }
    // Whole panels of keys, as they are packed.
    const size_t columns = std::min(s.total, (reach + kPanel - 1) / kPanel * kPanel);
    GemmArgs g = scores_of(s, blocks, keys);
    g.m = rows;
    g.n = columns;
    g.a = queries;
    g.c = scores;
    g.scratch = product;
    if (columns > 0) gemm_here(g, args.isa);
    for (size_t r = 0; r < rows; ++r) {
      prepare(ranges[r], columns, mask.present() ? mask.row(b, head_of(r), query_of(r)) : 0,
              scores + r * blocks.ld);
    }
    SoftmaxRows softmax;
    softmax.x = scores;
    softmax.ld = blocks.ld;
    softmax.rows = rows;
    softmax.n = columns;
    softmax.dark_is_zero = true;
    if (columns > 0) SDX_PICK(softmax_rows, args.isa)(softmax);
    weigh(ranges, rows, values);
    Heads y = s.q;
    y.size = s.v.size;
    for (size_t r = 0; r < rows; ++r) {
      const float* from = results + r * s.v.size;
      float* to = args.out().data<float>() + y.at(b, head_of(r), query_of(r));
      for (size_t d = 0; d < s.v.size; ++d)
        to[d] = from[d] == from[d] ? from[d] : std::numeric_limits<float>::quiet_NaN();
    }
  }

 private:
  // One row of products becomes scores; those of keys that take no part are -infinity.
  void prepare(const KeyRange& range, size_t columns, size_t mask_at, float* row) const {
    if (const size_t n = range.last - range.first; a.softcap > 0 && n > 0) {
      float* from = row + range.first;
      SDX_PICK(array_binary, args.isa)(BinaryOp::div, from, 1, &a.softcap, 0, from, n);
      SDX_PICK(array_unary, args.isa)(UnaryOp::tanh, from, from, n, 0, 0);
      SDX_PICK(array_binary, args.isa)(BinaryOp::mul, from, 1, &a.softcap, 0, from, n);
    }
    if (mask.present()) add_mask(mask, mask_at, range, row);
    std::fill(row, row + range.first, kMinusInfinity);
    std::fill(row + range.last, row + columns, kMinusInfinity);
  }

  // Keys that all rows see are one product; those before and after it, some rows' own, are the
  // beginning and the end of the same chains.
  void weigh(const KeyRange* ranges, size_t rows, const Rows& values) const {
    KeyRange common{0, s.total};
    for (size_t r = 0; r < rows; ++r) {
      common.first = std::max(common.first, ranges[r].first);
      common.last = std::min(common.last, ranges[r].last);
    }
    const auto chain = SDX_PICK(attention_values, args.isa);
    const auto row_chain = [&](size_t r, size_t from, size_t to, bool resume) {
      chain(scores + r * blocks.ld, from, to, values.data, values.step, s.v.size, resume,
            results + r * s.v.size);
    };
    if (common.first >= common.last) {
      for (size_t r = 0; r < rows; ++r) row_chain(r, ranges[r].first, ranges[r].last, false);
      return;
    }
    for (size_t r = 0; r < rows; ++r) row_chain(r, ranges[r].first, common.first, false);
    GemmArgs g = sums_of(s, blocks, common.last - common.first, values.step);
    g.m = rows;
    g.a = scores + common.first;
    g.b = values.data + common.first * values.step;
    if (blocks.alike) g.b_packed = packed_values;
    g.c = results;
    g.resume = true;
    g.scratch = product;
    gemm_here(g, args.isa);
    for (size_t r = 0; r < rows; ++r) {
      if (ranges[r].last > common.last) row_chain(r, common.last, ranges[r].last, true);
    }
  }
};

// The views that attention_sizes looks at, with no more than shapes.
struct Shapes {
  std::vector<View> ins;
  std::vector<Dims> dims;
  Args args{};
  explicit Shapes(const Call& call) : ins(call.in.size()), dims(call.in.size()) {
    for (size_t i = 0; i < 6 && i < ins.size(); ++i) {
      if (!call.in[i].present()) continue;
      dims[i] = call.in[i].dims();
      ins[i].type = call.in[i].type;
      ins[i].dims = dims[i];
    }
    args.ins = ins;
  }
};

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
  const auto s = attention_sizes(a, Shapes(call).args);
  if (!s) return 0;
  const bool has_lengths = call.in.size() > 6 && call.in[6].present();
  // Whether an output is wanted is only known when it runs.
  const Layout layout(*s, Blocks(a, *s, has_lengths), false, false);
  return (layout.shared() + size_t(call.threads) * layout.per_thread()) * sizeof(float);
}

Status run_fast_attention(const Attention& a, Args& args) {
  SDX_ASSIGN(const AttentionSizes s, attention_sizes(a, args));
  SDX_ASSIGN(const Mask mask, mask_of(s, args));
  Pool& pool = *args.pool;
  const Blocks blocks(a, s, args.has(6));
  const Layout layout(s, blocks, args.wants(1), args.wants(2));
  auto* room = reinterpret_cast<float*>(args.scratch.data());
  float* all_keys = args.wants(1) ? args.out(1).data<float>() : room;
  float* all_values = args.wants(2) ? args.out(2).data<float>() : room + layout.joined_keys;
  const float root = std::sqrt(a.scale ? *a.scale : 1.0f / std::sqrt(float(s.q.size)));

  // Keys and values, old and new, head by head.
  const auto row_of = [&](const Heads& now, size_t input, size_t past, size_t head, size_t j) {
    if (j < s.past) return args.in(past).data<float>() + (head * s.past + j) * now.size;
    return args.in(input).data<float>() + now.at(head / now.heads, head % now.heads, j - s.past);
  };
  const bool joins_keys = s.past != 0 || args.wants(1), joins_values = s.past != 0 || args.wants(2);
  if (joins_keys || joins_values) {
    pool.parallel(s.k.batch * s.k.heads * s.total, 64, [&](size_t begin, size_t end, int) {
      for (size_t i = begin; i < end; ++i) {
        if (joins_keys)
          std::memcpy(all_keys + i * s.k.size, row_of(s.k, 1, 4, i / s.total, i % s.total),
                      s.k.size * sizeof(float));
        if (joins_values)
          std::memcpy(all_values + i * s.v.size, row_of(s.v, 2, 5, i / s.total, i % s.total),
                      s.v.size * sizeof(float));
      }
    });
  }
  const auto keys_at = [&](size_t b, size_t kv) -> Rows {
    if (joins_keys) return {all_keys + (b * s.k.heads + kv) * s.total * s.k.size, s.k.size};
    return {args.in(1).data<float>() + s.k.at(b, kv, 0), s.k.row_step()};
  };
  const auto values_at = [&](size_t b, size_t kv) -> Rows {
    if (joins_values) return {all_values + (b * s.v.heads + kv) * s.total * s.v.size, s.v.size};
    return {args.in(2).data<float>() + s.v.at(b, kv, 0), s.v.row_step()};
  };

  // Whole heads of keys where there are enough of them, else parts of their rows.
  const auto threads = size_t(pool.threads());
  const size_t heads = s.k.batch * s.k.heads;
  if (heads * blocks.all == 0) return ok();
  size_t parts = 1;
  if (threads > 1 && heads < 2 * threads)
    parts = std::min(blocks.count(), (2 * threads + heads - 1) / heads);
  pool.parallel(heads * parts, 1, [&](size_t begin, size_t end, int thread) {
    float* own = room + layout.shared() + size_t(thread) * layout.per_thread();
    Worker worker{a, s, args, mask, blocks, root, own, nullptr, nullptr, nullptr, nullptr, nullptr};
    worker.packed_values = worker.keys + layout.keys;
    worker.queries = worker.packed_values + layout.values;
    worker.scores = worker.queries + layout.queries;
    worker.results = worker.scores + layout.scores;
    worker.product = worker.results + layout.results;
    for (size_t i = begin; i < end; ++i) {
      const size_t b = i / parts / s.k.heads, kv = i / parts % s.k.heads, part = i % parts;
      const size_t stop = std::min(blocks.all, blocks.count() * (part + 1) / parts * blocks.rows);
      worker.take(keys_at(b, kv), values_at(b, kv));
      for (size_t row = blocks.count() * part / parts * blocks.rows; row < stop; row += blocks.rows)
        worker.run(b, kv, row, std::min(blocks.rows, stop - row), values_at(b, kv));
    }
  });
  return ok();
}

}  // namespace sdx::ops
