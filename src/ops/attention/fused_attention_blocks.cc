// One thread takes a head, or some of its rows, and a block of rows after another: scores, softmax,
// values.
#include <algorithm>

#include "base/aligned.h"
#include "kernel/elementwise/halves.h"
#include "kernel/gemm/gemm.h"
#include "kernel/softmax/softmax.h"
#include "ops/attention/fused_attention.h"
#include "ops/normalization/softmax_row.h"

namespace sdx::ops::attention_parts {
namespace {

// How a thread works: a block of rows of scores, K and V in panels, and what gemm and the programs
// need beside. Sizes in floats.
struct Workspace {
  size_t rows, ld;                      // of a block of scores
  bool packs_k, packs_v;                // few rows read them where they lie
  size_t k, v, gemm, program, widened;  // `widened`: one row of each
                                        // operand of 16 bits, the first for rounding

  size_t scores() const { return rows * ld; }
  size_t floats() const { return scores() + k + v + gemm + program + widened; }
};

// A block of scores takes about this much of the second cache.
constexpr size_t kBlockFloats = 32768;
constexpr size_t kLeastRows = 12, kMostRows = 96;

GemmArgs scores_gemm(const Sizes& s, const Workspace& w, DType type) {
  GemmArgs g;
  g.m = w.rows;
  g.n = s.n;
  g.k = s.depth;
  g.lda = s.q.row;
  g.trans_b = s.k.column != 1;
  g.ldb = g.trans_b ? s.k.column : s.k.row;
  g.a_type = g.b_type = type;
  g.ldc = w.ld;
  g.raw = true;  // a NaN makes its row's sum NaN, whatever its bits
  return g;
}
GemmArgs values_gemm(const Sizes& s, const Workspace& w, DType type) {
  GemmArgs g;
  g.m = w.rows;
  g.n = s.width;
  g.k = s.n;
  g.lda = w.ld;
  g.ldb = s.v.row;
  g.ldc = s.y.row;
  g.b_type = g.c_type = type;
  return g;
}

Workspace workspace(const FusedAttention& a, const Sizes& s, DType type) {
  Workspace w{};
  const size_t most = std::clamp(kBlockFloats / (s.n + 1) / 12 * 12, kLeastRows, kMostRows);
  const size_t blocks = std::max<size_t>(1, (s.m + most - 1) / most);
  w.rows = std::min(s.m, ((s.m + blocks - 1) / blocks + 11) / 12 * 12);
  w.ld = aligned_floats(s.n) + 16;  // rows do not lie whole pages apart
  w.packs_v = s.m > kLeastRows;
  w.packs_k = w.packs_v || a.k_scale;
  GemmArgs first = scores_gemm(s, w, type), second = values_gemm(s, w, type);
  constexpr float kSome = 0;
  if (w.packs_k) {
    w.k = aligned_floats(gemm_packed_b_size(s.depth, s.n));
    first.b_packed = &kSome;
  }
  if (w.packs_v) {
    w.v = aligned_floats(gemm_packed_b_size(s.n, s.width));
    second.b_packed = &kSome;
  }
  w.gemm =
      aligned_floats(std::max(gemm_scratch_bytes(first, 1), gemm_scratch_bytes(second, 1)) / 4);
  w.program = aligned_floats(
      std::max(a.scores ? a.scores->scratch() : 0, a.weights ? a.weights->scratch() : 0));
  if (type != DType::f32) w.widened = (a.scores ? a.scores->inputs() : 1) * aligned_floats(s.n);
  return w;
}

// One thread's work on one batch.
struct Worker {
  const FusedAttention& a;
  const Args& args;
  const Sizes& s;
  const Workspace& w;
  DType type;
  size_t element_bytes;
  float *scores, *k, *v, *gemm, *program, *widened;

  Worker(const FusedAttention& attention, const Args& call, const Sizes& sizes,
         const Workspace& space, size_t thread)
      : a(attention),
        args(call),
        s(sizes),
        w(space),
        type(call.out().type),
        element_bytes(bits(type) / 8) {
    scores = reinterpret_cast<float*>(call.scratch.data()) + thread * w.floats();
    k = scores + w.scores();
    v = k + w.k;
    gemm = v + w.v;
    program = gemm + w.gemm;
    widened = program + w.program;
  }

  const void* in(size_t input, size_t place) const {
    return static_cast<const std::byte*>(args.in(input).raw) + place * element_bytes;
  }
  void round(float* row) const {
    auto* halves = reinterpret_cast<uint16_t*>(widened);
    if (type == DType::f16) round_row<F16>(row, halves, s.n, args.isa);
    if (type == DType::bf16) round_row<BF16>(row, halves, s.n, args.isa);
  }
  // A block's scores become weights.
  void softmax(size_t batch, size_t row, size_t rows) const {
    SoftmaxRows r{.x = scores, .ld = w.ld, .rows = rows, .n = s.n, .halves = type == DType::f16};
    if (a.adds_mask) {
      const auto& step = s.operand[1];
      r.mask = in(3, at(s, step.data(), batch) + row * step[s.axes]);
      r.mask_row = step[s.axes];
      r.mask_col = step[s.axes + 1];
    }
    if (a.guard) r.nan = *a.guard;
    for (size_t i = 0; i < rows && a.scores && !a.adds_mask; ++i) {
      round(scores + i * w.ld);
      run_program(batch, row + i, scores + i * w.ld);
    }
    if (type == DType::bf16) {
      for (size_t i = 0; i < rows; ++i) {
        float* x = scores + i * w.ld;
        if (!a.scores) round(x);
        softmax_bf16_row(x, reinterpret_cast<uint16_t*>(widened), s.n, args.isa);
      }
    } else {
      SDX_PICK(softmax_rows, args.isa)(r);
    }
    // On the gaps between rows too: one call for the block.
    const uint8_t whole = 1;
    const float* from = scores;
    if (a.weights && (!a.guard || type == DType::bf16))
      a.weights->run(&from, &whole, scores, rows * w.ld, program, args.isa);
  }

  void run_program(size_t batch, size_t i, float* row) const {
    std::array<const float*, Program::kMostInputs> from;
    std::array<uint8_t, Program::kMostInputs> stride{};
    from[0] = row;
    stride[0] = 1;
    for (size_t x = 1; x < a.scores->inputs(); ++x) {
      const auto& step = s.operand[x];
      stride[x] = uint8_t(step[s.axes + 1]);
      const void* data = in(x + 2, at(s, step.data(), batch) + i * step[s.axes]);
      from[x] = static_cast<const float*>(data);
      if (type == DType::f32) continue;
      float* wide = widened + x * aligned_floats(s.n);
      widening(type, args.isa)(static_cast<const uint16_t*>(data), wide, stride[x] == 0 ? 1 : s.n);
      from[x] = wide;
    }
    a.scores->run(from.data(), stride.data(), row, s.n, program, args.isa);
  }

  // Rows [first, end) of one batch.
  void run(size_t batch, size_t first, size_t end) const {
    GemmArgs product = scores_gemm(s, w, type), sum = values_gemm(s, w, type);
    product.b = in(1, at_k(s, batch));
    sum.b = in(2, at_v(s, batch));
    if (w.packs_k) {
      gemm_pack_b_here(product.b, type, product.ldb, product.trans_b, s.depth, s.n, k, args.isa);
      product.b_packed = k;
    }
    if (a.k_scale) SDX_PICK(array_binary, args.isa)(BinaryOp::mul, k, 1, &*a.k_scale, 0, k, w.k);
    if (w.packs_v) {
      gemm_pack_b_here(sum.b, type, sum.ldb, false, s.n, s.width, v, args.isa);
      sum.b_packed = v;
    }
    product.c = scores;
    sum.a = scores;
    product.scratch = sum.scratch = gemm;
    const size_t q = at(s, s.q.batch.data(), batch), y = at(s, s.y.batch.data(), batch);
    for (size_t row = first; row < end; row += w.rows) {
      product.m = sum.m = std::min(w.rows, end - row);
      product.a = in(0, q + row * s.q.row);
      gemm_here(product, args.isa);
      softmax(batch, row, product.m);
      sum.c = static_cast<std::byte*>(args.out().raw) + (y + row * s.y.row) * element_bytes;
      gemm_here(sum, args.isa);
    }
  }
};

// Rows of Q, V and Y are contiguous, and of K rows or columns.
bool lies_in_rows(const FusedAttention& a) {
  const auto keeps_last = [](const Axes& axes) {
    return axes.empty() || axes.back() + 1 == axes.size();
  };
  return keeps_last(a.q) && keeps_last(a.v) && keeps_last(a.y) &&
         (keeps_last(a.k) || a.k[a.k.size() - 2] + 1 == a.k.size());
}

}  // namespace

bool blocks_fit(const FusedAttention& a, const Call& call) {
  return call.out[0].rank() <= kMostBatchAxes + 2 && lies_in_rows(a) &&
         (!a.k_scale || call.out[0].type == DType::f32);
}

size_t blocks_scratch(const FusedAttention& a, const Call& call) {
  const Workspace w = workspace(a, sizes_of(a, call), call.out[0].type);
  return size_t(call.threads) * w.floats() * sizeof(float);
}

// Whole batches where there are enough of them, else parts of their rows.
Status run_blocks(const FusedAttention& a, Args& args) {
  const Sizes s = sizes_of(a, args);
  if (args.out().count == 0) return ok();
  const Workspace w = workspace(a, s, args.out().type);
  const auto threads = size_t(args.pool->threads());
  const size_t blocks = (s.m + w.rows - 1) / w.rows;
  size_t parts = 1;
  if (threads > 1 && s.batches < 2 * threads)
    parts = std::min(blocks, (2 * threads + s.batches - 1) / s.batches);
  args.pool->parallel(s.batches * parts, 1, [&](size_t begin, size_t end, int thread) {
    const Worker worker(a, args, s, w, size_t(thread));
    for (size_t i = begin; i < end; ++i) {
      const size_t part = i % parts;
      worker.run(i / parts, blocks * part / parts * w.rows,
                 std::min(s.m, blocks * (part + 1) / parts * w.rows));
    }
  });
  return ok();
}

}  // namespace sdx::ops::attention_parts
