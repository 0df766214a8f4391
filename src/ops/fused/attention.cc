// FusedAttention: softmax(program(Q * K)) * V by blocks of rows, made by a rewrite from the
// separate operations: the scores never leave the cache.
#include <algorithm>

#include "kernel/gemm/gemm.h"
#include "kernel/math/math.h"
#include "kernel/program/program.h"
#include "kernel/rows/rows.h"
#include "kernel/tile/tile.h"
#include "ops/common.h"
#include "ops/matmul/batch.h"
#include "ops/noise.h"
#include "ops/normalization/softmax_row.h"

namespace sdx::ops {
namespace {

struct FusedAttention {
  std::optional<Program> scores;   // on the product Q * K, and the operands that follow V
  std::optional<Program> weights;  // on the softmax's result
};

constexpr Version kHistory[] = {
    {1,
     "(Q: T, K: T, V: T, operand...0: T) -> (Y: T) {scores!: strings, weights!: strings} "
     "T in f32 f16 bf16"}};

Result<FusedAttention> read(const Node& node, const Facts& in) {
  FusedAttention a;
  const auto program = [&](const char* name, size_t inputs,
                           std::optional<Program>& into) -> Status {
    const auto code = node.get<std::vector<std::string>>(name);
    if (code.empty()) return ok();
    SDX_ASSIGN(into, Program::parse(inputs, code));
    return ok();
  };
  SDX_TRY(program("scores", in.size() - 2, a.scores));
  SDX_TRY(program("weights", 1, a.weights));
  return a;
}

// The shape of the scores: batch axes of Q and K, rows of Q, columns of K.
Result<Shape> scores_shape(const Facts& in) {
  const Shape &q = *in[0].shape, &k = *in[1].shape;
  SDX_ASSIGN(Shape shape, broadcast(Shape(q.begin(), q.end() - 2), Shape(k.begin(), k.end() - 2)));
  shape.push_back(q[q.size() - 2]);
  shape.push_back(k.back());
  return shape;
}

Result<Facts> infer(const FusedAttention&, const Facts& in) {
  for (size_t i = 0; i < 3; ++i) {
    if (!in[i].has_rank() || in[i].rank() < 2)
      return fail("SDX-T0310", "expected Q, K and V of rank 2 or more, found {}", in[i].text());
  }
  SDX_ASSIGN(Shape shape, scores_shape(in));
  const Shape& v = *in[2].shape;
  SDX_ASSIGN(Shape batch,
             broadcast(Shape(shape.begin(), shape.end() - 2), Shape(v.begin(), v.end() - 2)));
  batch.push_back(shape[shape.size() - 2]);
  batch.push_back(v.back());
  return Facts{Fact::tensor(in[0].type, std::move(batch))};
}

// Everything that a run needs to know of the shapes.
struct Sizes {
  static constexpr size_t kMostAxes = kMostBatchAxes;
  size_t batches = 1, m, n, depth, width;  // scores are m x n, results m x width
  size_t axes;                             // batch axes
  std::array<size_t, kMostAxes> size{};
  std::array<size_t, kMostAxes> step_q{}, step_k{}, step_v{};
  // Of each operand, in elements: along the batch axes, then along rows and columns.
  std::array<std::array<size_t, kMostAxes + 2>, Program::kMostInputs> operand{};
};

// dims[axes - 1 - i] back to front against `dims`; 0 where it broadcasts.
void steps(std::span<const int64_t> dims, size_t inner, size_t axes, size_t* into) {
  size_t step = inner;
  for (size_t i = 0; i < axes; ++i) {
    const size_t size = i < dims.size() ? size_t(dims[dims.size() - 1 - i]) : 1;
    into[axes - 1 - i] = size == 1 ? 0 : step;
    step *= size;
  }
}

using DimsOf = std::span<const int64_t>;

Sizes sizes_of(std::span<const DimsOf> in, DimsOf out) {
  Sizes s;
  const DimsOf q = in[0], k = in[1], v = in[2];
  s.m = size_t(q[q.size() - 2]);
  s.depth = size_t(q.back());
  s.n = size_t(k.back());
  s.width = size_t(v.back());
  s.axes = out.size() - 2;
  for (size_t i = 0; i < s.axes; ++i) {
    s.size[i] = size_t(out[i]);
    s.batches *= s.size[i];
  }
  steps(q.first(q.size() - 2), s.m * s.depth, s.axes, s.step_q.data());
  steps(k.first(k.size() - 2), s.depth * s.n, s.axes, s.step_k.data());
  steps(v.first(v.size() - 2), s.n * s.width, s.axes, s.step_v.data());
  for (size_t i = 3; i < in.size(); ++i) steps(in[i], 1, s.axes + 2, s.operand[i - 2].data());
  return s;
}

constexpr size_t kMostInputs = Program::kMostInputs + 2;

Sizes sizes_of(const Args& args) {
  std::array<DimsOf, kMostInputs> in;
  for (size_t i = 0; i < args.ins.size(); ++i) in[i] = args.in(i).dims;
  return sizes_of(std::span(in).first(args.ins.size()), args.out().dims);
}
Sizes sizes_of(const Call& call) {
  std::array<Dims, kMostInputs> dims;
  std::array<DimsOf, kMostInputs> in;
  for (size_t i = 0; i < call.in.size(); ++i) in[i] = dims[i] = call.in[i].dims();
  const Dims out = call.out[0].dims();
  return sizes_of(std::span(in).first(call.in.size()), out);
}

size_t at(const Sizes& s, const size_t* step, size_t batch) {
  size_t offset = 0;
  for (size_t i = s.axes; i-- > 0;) {
    offset += batch % s.size[i] * step[i];
    batch /= s.size[i];
  }
  return offset;
}

// One row of scores at a time: chain of fma, program, softmax, program, chain of fma; the result of
// each is rounded to T, as by the separate operators.
template <class T>
void rows(const FusedAttention& a, Args& args, const Sizes& s) {
  std::vector<T> row(s.n);
  std::vector<float> powers(s.n);
  std::array<float, Program::kMostInputs> element;
  T* y = args.out().data<T>();
  for (size_t batch = 0; batch < s.batches; ++batch) {
    const T* k = args.in(1).data<T>() + at(s, s.step_k.data(), batch);
    const T* v = args.in(2).data<T>() + at(s, s.step_v.data(), batch);
    for (size_t i = 0; i < s.m; ++i) {
      const T* q = args.in(0).data<T>() + at(s, s.step_q.data(), batch) + i * s.depth;
      for (size_t j = 0; j < s.n; ++j) {
        row[j] = dot<T>(s.depth, q, 1, k + j, s.n);
        if (!a.scores) continue;
        element[0] = load(row[j]);
        for (size_t x = 1; x < a.scores->inputs(); ++x) {
          const auto& step = s.operand[x];
          const size_t place = at(s, step.data(), batch) + i * step[s.axes] + j * step[s.axes + 1];
          element[x] = load(args.in(x + 2).data<T>()[place]);
        }
        row[j] = store<T>(a.scores->run_scalar(element.data()));
      }
      float most = -std::numeric_limits<float>::infinity();
      for (const T x : row) most = load(x) > most || load(x) != load(x) ? load(x) : most;
      const auto e = [&](size_t j) {
        return rounded<T>(math::exp(rounded<T>(load(row[j]) - most)));
      };
      for (size_t j = 0; j < s.n; ++j) powers[j] = e(j);
      const float sum = rounded_sum<T>(s.n, [&](size_t j) { return powers[j]; });
      for (size_t j = 0; j < s.n; ++j) {
        row[j] = store<T>(powers[j] / sum);
        if (!a.weights) continue;
        element[0] = load(row[j]);
        row[j] = store<T>(a.weights->run_scalar(element.data()));
      }
      for (size_t d = 0; d < s.width; ++d) *y++ = dot<T>(s.n, row.data(), 1, v + d, s.width);
    }
  }
}

Status reference(const FusedAttention& a, Args& args) {
  const Sizes s = sizes_of(args);
  switch (args.out().type) {
    case DType::f32:
      rows<float>(a, args, s);
      break;
    case DType::f16:
      rows<F16>(a, args, s);
      break;
    default:
      rows<BF16>(a, args, s);
      break;
  }
  return ok();
}

// How a thread works: a block of rows of scores, K and V in panels, and what gemm and the programs
// need beside. Sizes in floats.
struct Workspace {
  size_t rows, ld;                      // of a block of scores
  bool packs;                           // few rows read K and V where they lie
  size_t k, v, gemm, program, widened;  // `widened`: one row of each
                                        // operand of 16 bits, the first for rounding

  size_t scores() const { return rows * ld; }
  size_t floats() const { return scores() + k + v + gemm + program + widened; }
};

// A block of scores takes about this much of the second cache.
constexpr size_t kBlockFloats = 32768;
constexpr size_t kLeastRows = 12, kMostRows = 96;

size_t aligned(size_t floats) { return (floats + 15) / 16 * 16; }

GemmArgs scores_gemm(const Sizes& s, const Workspace& w, DType type) {
  GemmArgs g;
  g.m = w.rows;
  g.n = g.ldb = s.n;
  g.k = g.lda = s.depth;
  g.a_type = g.b_type = type;
  g.ldc = w.ld;
  return g;
}
GemmArgs values_gemm(const Sizes& s, const Workspace& w, DType type) {
  GemmArgs g;
  g.m = w.rows;
  g.n = g.ldb = g.ldc = s.width;
  g.k = s.n;
  g.lda = w.ld;
  g.b_type = g.c_type = type;
  return g;
}

Workspace workspace(const FusedAttention& a, const Sizes& s, DType type) {
  Workspace w{};
  w.rows = std::min(s.m, std::clamp(kBlockFloats / (s.n + 1) / 12 * 12, kLeastRows, kMostRows));
  w.ld = aligned(s.n) + 16;  // rows do not lie whole pages apart
  w.packs = s.m > kLeastRows;
  GemmArgs first = scores_gemm(s, w, type), second = values_gemm(s, w, type);
  if (w.packs) {
    w.k = aligned(gemm_packed_b_size(s.depth, s.n));
    w.v = aligned(gemm_packed_b_size(s.n, s.width));
    constexpr float kSome = 0;
    first.b_packed = second.b_packed = &kSome;
  }
  w.gemm = aligned(std::max(gemm_scratch_bytes(first, 1), gemm_scratch_bytes(second, 1)) / 4);
  w.program =
      aligned(std::max(a.scores ? a.scores->scratch() : 0, a.weights ? a.weights->scratch() : 0));
  if (type != DType::f32) w.widened = (a.scores ? a.scores->inputs() : 1) * aligned(s.n);
  return w;
}

size_t scratch(const FusedAttention& a, const Call& call) {
  const Workspace w = workspace(a, sizes_of(call), call.out[0].type);
  return size_t(call.threads) * w.floats() * sizeof(float);
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
  void softmax(float* row) const {
    auto* halves = reinterpret_cast<uint16_t*>(widened);
    if (type == DType::f32) SDX_PICK(softmax_row, args.isa)(false, row, row, s.n);
    if (type == DType::f16) softmax_narrow_row<F16>(row, halves, s.n, args.isa);
    if (type == DType::bf16) softmax_narrow_row<BF16>(row, halves, s.n, args.isa);
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
      float* wide = widened + x * aligned(s.n);
      const auto convert = type == DType::f16 ? tile::from_f16 : tile::from_bf16;
      convert(static_cast<const uint16_t*>(data), wide, stride[x] == 0 ? 1 : s.n);
      from[x] = wide;
    }
    a.scores->run(from.data(), stride.data(), row, s.n, program);
  }

  // Rows [first, end) of one batch.
  void run(size_t batch, size_t first, size_t end) const {
    GemmArgs product = scores_gemm(s, w, type), sum = values_gemm(s, w, type);
    product.b = in(1, at(s, s.step_k.data(), batch));
    sum.b = in(2, at(s, s.step_v.data(), batch));
    if (w.packs) {
      gemm_pack_b_here(product.b, type, s.n, false, s.depth, s.n, k);
      gemm_pack_b_here(sum.b, type, s.width, false, s.n, s.width, v);
      product.b_packed = k;
      sum.b_packed = v;
    }
    product.c = scores;
    sum.a = scores;
    product.scratch = sum.scratch = gemm;
    const size_t q = at(s, s.step_q.data(), batch);
    for (size_t row = first; row < end; row += w.rows) {
      product.m = sum.m = std::min(w.rows, end - row);
      product.a = in(0, q + row * s.depth);
      gemm_here(product);
      for (size_t i = 0; i < product.m; ++i) {
        float* x = scores + i * w.ld;
        round(x);
        if (a.scores) run_program(batch, row + i, x);
        softmax(x);
      }
      // On the gaps between rows too: one call for the block.
      const uint8_t whole = 1;
      const float* from = scores;
      if (a.weights) a.weights->run(&from, &whole, scores, product.m * w.ld, program);
      sum.c =
          static_cast<std::byte*>(args.out().raw) + ((batch * s.m + row) * s.width) * element_bytes;
      gemm_here(sum);
    }
  }
};

// Whole batches where there are enough of them, else parts of their rows.
Status run(const FusedAttention& a, Args& args) {
  const Sizes s = sizes_of(args);
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

constexpr Kernel<FusedAttention> kKernels[] = {
    {.name = "attention_blocks",
     .fits = [](const FusedAttention&,
                const Call& call) { return call.out[0].rank() <= kMostBatchAxes + 2; },
     .run = run,
     .scratch = scratch},
};

uint64_t multiply_adds(const FusedAttention&, const Call& call) {
  const Sizes s = sizes_of(call);
  return uint64_t(s.batches) * s.m * s.n * (s.depth + s.width);
}

std::vector<Case> cases() {
  const std::vector<std::string> none, mask = {"mul 0 1", "add 3 2"}, guard = {"replace_nan 0 0 0"};
  const float inf = std::numeric_limits<float>::infinity();
  Tensor dark = Tensor::of<float>({1, 1, 2, 3}, {0, 0, 0, -inf, -inf, -inf});
  return {{.name = "one_key_gives_its_value",
           .opset = 1,
           .attrs = {{"scores", none}, {"weights", none}},
           .inputs = {Tensor::of<float>({1, 2}, {1, 2}), Tensor::of<float>({2, 1}, {3, 4}),
                      Tensor::of<float>({1, 2}, {5, 6})},
           .expected = {Tensor::of<float>({1, 2}, {5, 6})}},
          {.name = "a_row_without_keys_is_guarded",
           .opset = 1,
           .attrs = {{"scores", std::vector<std::string>{"add 0 1"}}, {"weights", guard}},
           .inputs = {Tensor::of<float>({1, 1, 2, 1}, {0, 0}),
                      Tensor::of<float>({1, 1, 1, 3}, {1, 1, 1}),
                      Tensor::of<float>({1, 1, 3, 1}, {2, 2, 2}), dark},
           .expected = {Tensor::of<float>({1, 1, 2, 1}, {2, 0})},
           .rtol = 1e-6},
          {.name = "heads_with_a_scale_and_a_mask",
           .opset = 1,
           .attrs = {{"scores", mask}, {"weights", guard}},
           .inputs = {noise({2, 3, 61, 20}), noise({2, 3, 20, 45}, 2), noise({2, 3, 45, 37}, 3),
                      noise(Dims{}, 4), noise({2, 1, 1, 45}, 5)}},
          {.name = "shared_keys",
           .opset = 1,
           .attrs = {{"scores", none}, {"weights", none}},
           .inputs = {noise({2, 4, 130, 8}), noise({1, 1, 8, 700}, 2), noise({4, 700, 16}, 3)}},
          {.name = "one_query",
           .opset = 1,
           .attrs = {{"scores", std::vector<std::string>{"add 1 0"}}, {"weights", none}},
           .inputs = {noise({1, 3, 1, 64}), noise({1, 3, 64, 33}, 2), noise({1, 3, 33, 64}, 3),
                      noise({1, 3, 1, 33}, 4)}},
          {.name = "halves",
           .opset = 1,
           .attrs = {{"scores", std::vector<std::string>{"add 0 1", "round_to_f16 2 0 0"}},
                     {"weights", guard}},
           .inputs = {noise(DType::f16, {1, 2, 30, 24}), noise(DType::f16, {1, 2, 24, 50}, 2),
                      noise(DType::f16, {1, 2, 50, 18}, 3), noise(DType::f16, {30, 50}, 4)}}};
}

constexpr OpOf<FusedAttention> kFusedAttention{
    .name = "FusedAttention",
    .doc = "Softmax of a product, times a matrix, by blocks of rows: attention in one operation.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .kernels = kKernels,
    .cases = cases,
    .domain = "sardonyx",
    .multiply_adds = multiply_adds,
};

}  // namespace

extern const Op fused_attention = erase<kFusedAttention>();

}  // namespace sdx::ops
