// FusedAttention: softmax(program(Q * K)) * V by blocks of rows, made by a rewrite from the
// separate operations: the scores never leave the cache. Q, K, V and the result may lie in memory
// with their axes in another order, as the products around it write and read them.
#include <algorithm>

#include "kernel/attention/softmax.h"
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

using Axes = std::vector<size_t>;

struct FusedAttention {
  std::optional<Program> scores;   // on the product Q * K, and the operands that follow V
  std::optional<Program> weights;  // on the softmax's result
  bool adds_mask = false;          // `scores` adds its operand, and no more
  std::optional<float> guard;      // `weights` replaces NaN, and does no more
  // As in Transpose: Q, K and V are turned so before, Y after. Empty: they lie as they are meant.
  Axes q, k, v, y;
  std::optional<float> k_scale;  // K is multiplied by this first
  size_t repeat = 1;             // every matrix of K and V stands for this many, one after another
};

constexpr Version kHistory[] = {
    {1,
     "(Q: T, K: T, V: T, operand...0: T) -> (Y: T) {scores!: strings, weights!: strings, "
     "q_perm: ints, k_perm: ints, v_perm: ints, y_perm: ints, k_scale: float, repeat: int = 1} "
     "T in f32 f16 bf16"}};

bool adds_operand(const Program& program, DType type) {
  const auto& code = program.code();
  const auto is = [&](size_t i, bool binary, int op) {
    return code[i].binary == binary && code[i].op == op;
  };
  if (program.inputs() != 2 || code.empty() || !is(0, true, int(BinaryOp::add)) ||
      code[0].a + code[0].b != 1) {
    return false;
  }
  if (type == DType::f32) return code.size() == 1;
  return type == DType::f16 && code.size() == 2 && is(1, false, int(UnaryOp::round_to_f16)) &&
         code[1].a == 2;
}

Result<Axes> read_axes(const Node& node, const char* name) {
  Axes axes;
  for (const int64_t axis : node.ints_or_empty(name)) axes.push_back(size_t(axis));
  std::vector<bool> seen(axes.size());
  for (const size_t axis : axes) {
    if (axis >= axes.size() || seen[axis])
      return fail("SDX-T0211", "{} {} is no order of axes", name, fmt::join(axes, " "));
    seen[axis] = true;
  }
  return axes;
}

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
  a.adds_mask = a.scores && adds_operand(*a.scores, in[0].type);
  if (a.weights && a.weights->code().size() == 1) {
    const Program::Instruction& only = a.weights->code()[0];
    if (!only.binary && only.op == int(UnaryOp::replace_nan)) a.guard = only.p;
  }
  SDX_ASSIGN(a.q, read_axes(node, "q_perm"));
  SDX_ASSIGN(a.k, read_axes(node, "k_perm"));
  SDX_ASSIGN(a.v, read_axes(node, "v_perm"));
  SDX_ASSIGN(a.y, read_axes(node, "y_perm"));
  if (node.has("k_scale")) a.k_scale = node.f("k_scale");
  if (node.i("repeat") < 1)
    return fail("SDX-T0211", "repeat is {}, expected at least 1", node.i("repeat"));
  a.repeat = size_t(node.i("repeat"));
  return a;
}

Result<Shape> turned(const Fact& fact, const Axes& axes) {
  if (!fact.has_rank() || fact.rank() < 2)
    return fail("SDX-T0310", "expected Q, K and V of rank 2 or more, found {}", fact.text());
  if (axes.empty()) return *fact.shape;
  if (axes.size() != fact.rank())
    return fail("SDX-T0211", "an order of {} axes for {}", axes.size(), fact.text());
  Shape shape;
  for (const size_t axis : axes) shape.push_back(fact.dim(axis));
  return shape;
}

// The shape of the scores: batch axes of Q and K, rows of Q, columns of K.
Result<Shape> scores_shape(const Shape& q, const Shape& k) {
  SDX_ASSIGN(Shape shape, broadcast(Shape(q.begin(), q.end() - 2), Shape(k.begin(), k.end() - 2)));
  shape.push_back(q[q.size() - 2]);
  shape.push_back(k.back());
  return shape;
}

Result<Facts> infer(const FusedAttention& a, const Facts& in) {
  SDX_ASSIGN(const Shape q, turned(in[0], a.q));
  SDX_ASSIGN(Shape k, turned(in[1], a.k));
  SDX_ASSIGN(Shape v, turned(in[2], a.v));
  for (Shape* shape : {&k, &v}) {
    if (a.repeat == 1) continue;
    if (shape->size() < 3)
      return fail("SDX-T0310", "expected K and V of rank 3 or more, found {}", to_string(*shape));
    Dim& heads = (*shape)[shape->size() - 3];
    heads = heads * Dim(int64_t(a.repeat));
  }
  SDX_ASSIGN(Shape shape, scores_shape(q, k));
  SDX_ASSIGN(Shape batch,
             broadcast(Shape(shape.begin(), shape.end() - 2), Shape(v.begin(), v.end() - 2)));
  batch.push_back(shape[shape.size() - 2]);
  batch.push_back(v.back());
  SDX_ASSIGN(Shape y, turned(Fact::tensor(in[0].type, std::move(batch)), a.y));
  return Facts{Fact::tensor(in[0].type, std::move(y))};
}

// Where a batch of matrices lies: steps in elements along the batch axes (0 where it broadcasts),
// from row to row and from column to column.
struct Place {
  std::array<size_t, kMostBatchAxes> batch{};
  size_t row = 0, column = 0;
};

// Everything that a run needs to know of the shapes.
struct Sizes {
  static constexpr size_t kMostAxes = kMostBatchAxes;
  size_t batches = 1, m, n, depth, width;  // scores are m x n, results m x width
  size_t axes;                             // batch axes
  std::array<size_t, kMostAxes> size{};
  size_t repeat;  // so many batches along the last axis read the same K and V
  Place q, k, v, y;
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

// A tensor as it is meant: sizes and steps of its axes.
struct Meant {
  size_t rank;
  std::array<size_t, kMostBatchAxes + 2> size, step;

  // axes[i] is where axis i lies in memory, or if `inverse`, what lies there.
  Meant(DimsOf dims, const Axes& axes, bool inverse) : rank(dims.size()) {
    size_t inner = 1;
    for (size_t at = rank; at-- > 0; inner *= size_t(dims[at])) {
      const auto found = std::find(axes.begin(), axes.end(), at);
      const size_t axis = axes.empty() ? at : inverse ? axes[at] : size_t(found - axes.begin());
      size[axis] = size_t(dims[at]);
      step[axis] = inner;
    }
  }
  size_t rows() const { return size[rank - 2]; }
  size_t columns() const { return size[rank - 1]; }
  Place place(size_t axes) const {
    Place p;
    p.row = step[rank - 2];
    p.column = step[rank - 1];
    for (size_t i = 0; i + 2 < rank; ++i) {
      const size_t axis = rank - 3 - i;
      p.batch[axes - 1 - i] = size[axis] == 1 ? 0 : step[axis];
    }
    return p;
  }
};

// Heads of one row each that read the same K and V are the rows of one product.
void rows_from_heads(Sizes& s) {
  const size_t last = s.axes - 1, count = s.repeat;
  s.m = count;
  s.batches /= count;
  s.size[last] /= count;
  for (Place* place : {&s.q, &s.y}) {
    place->row = place->batch[last];
    place->batch[last] *= count;
  }
  for (auto& step : s.operand) {
    step[s.axes] = step[last];
    step[last] *= count;
  }
  s.repeat = 1;
}

Sizes sizes_of(const FusedAttention& a, std::span<const DimsOf> in, DimsOf out) {
  Sizes s;
  const Meant q(in[0], a.q, false), k(in[1], a.k, false), v(in[2], a.v, false), y(out, a.y, true);
  s.m = q.rows();
  s.depth = q.columns();
  s.n = k.columns();
  s.width = v.columns();
  s.axes = out.size() - 2;
  for (size_t i = 0; i < s.axes; ++i) {
    s.size[i] = y.size[i];
    s.batches *= s.size[i];
  }
  s.q = q.place(s.axes);
  s.k = k.place(s.axes);
  s.v = v.place(s.axes);
  s.y = y.place(s.axes);
  for (size_t i = 3; i < in.size(); ++i) steps(in[i], 1, s.axes + 2, s.operand[i - 2].data());
  s.repeat = a.repeat;
  if (a.repeat > 1 && s.m == 1 && s.q.batch[s.axes - 1] != 0) rows_from_heads(s);
  return s;
}

constexpr size_t kMostInputs = Program::kMostInputs + 2;

Sizes sizes_of(const FusedAttention& a, const Args& args) {
  std::array<DimsOf, kMostInputs> in;
  for (size_t i = 0; i < args.ins.size(); ++i) in[i] = args.in(i).dims;
  return sizes_of(a, std::span(in).first(args.ins.size()), args.out().dims);
}
Sizes sizes_of(const FusedAttention& a, const Call& call) {
  std::array<Dims, kMostInputs> dims;
  std::array<DimsOf, kMostInputs> in;
  for (size_t i = 0; i < call.in.size(); ++i) in[i] = dims[i] = call.in[i].dims();
  const Dims out = call.out[0].dims();
  return sizes_of(a, std::span(in).first(call.in.size()), out);
}

size_t at(const Sizes& s, const size_t* step, size_t batch, size_t repeat = 1) {
  size_t offset = 0;
  for (size_t i = s.axes; i-- > 0; repeat = 1) {
    offset += batch % s.size[i] / repeat * step[i];
    batch /= s.size[i];
  }
  return offset;
}
size_t at_k(const Sizes& s, size_t batch) { return at(s, s.k.batch.data(), batch, s.repeat); }
size_t at_v(const Sizes& s, size_t batch) { return at(s, s.v.batch.data(), batch, s.repeat); }

// One row of scores at a time: chain of fma, program, softmax, program, chain of fma; the result of
// each is rounded to T, as by the separate operators.
template <class T>
void rows(const FusedAttention& a, Args& args, const Sizes& s) {
  std::vector<T> row(s.n), scaled(s.depth);
  std::vector<float> powers(s.n);
  std::array<float, Program::kMostInputs> element;
  for (size_t batch = 0; batch < s.batches; ++batch) {
    const T* k = args.in(1).data<T>() + at_k(s, batch);
    const T* v = args.in(2).data<T>() + at_v(s, batch);
    for (size_t i = 0; i < s.m; ++i) {
      const T* q = args.in(0).data<T>() + at(s, s.q.batch.data(), batch) + i * s.q.row;
      T* y = args.out().data<T>() + at(s, s.y.batch.data(), batch) + i * s.y.row;
      for (size_t j = 0; j < s.n; ++j) {
        const T* key = k + j * s.k.column;
        for (size_t d = 0; a.k_scale && d < s.depth; ++d)
          scaled[d] = store<T>(load(key[d * s.k.row]) * *a.k_scale);
        row[j] = a.k_scale ? dot<T>(s.depth, q, s.q.column, scaled.data(), 1)
                           : dot<T>(s.depth, q, s.q.column, key, s.k.row);
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
      for (size_t d = 0; d < s.width; ++d)
        y[d * s.y.column] = dot<T>(s.n, row.data(), 1, v + d * s.v.column, s.v.row);
    }
  }
}

Status reference(const FusedAttention& a, Args& args) {
  const Sizes s = sizes_of(a, args);
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
  bool packs_k, packs_v;                // few rows read them where they lie
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
  w.ld = aligned(s.n) + 16;  // rows do not lie whole pages apart
  w.packs_v = s.m > kLeastRows;
  w.packs_k = w.packs_v || a.k_scale;
  GemmArgs first = scores_gemm(s, w, type), second = values_gemm(s, w, type);
  constexpr float kSome = 0;
  if (w.packs_k) {
    w.k = aligned(gemm_packed_b_size(s.depth, s.n));
    first.b_packed = &kSome;
  }
  if (w.packs_v) {
    w.v = aligned(gemm_packed_b_size(s.n, s.width));
    second.b_packed = &kSome;
  }
  w.gemm = aligned(std::max(gemm_scratch_bytes(first, 1), gemm_scratch_bytes(second, 1)) / 4);
  w.program =
      aligned(std::max(a.scores ? a.scores->scratch() : 0, a.weights ? a.weights->scratch() : 0));
  if (type != DType::f32) w.widened = (a.scores ? a.scores->inputs() : 1) * aligned(s.n);
  return w;
}

size_t scratch(const FusedAttention& a, const Call& call) {
  const Workspace w = workspace(a, sizes_of(a, call), call.out[0].type);
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
        softmax_narrow_row<BF16>(x, reinterpret_cast<uint16_t*>(widened), s.n, args.isa);
      }
    } else {
      SDX_PICK(softmax_rows, args.isa)(r);
    }
    // On the gaps between rows too: one call for the block.
    const uint8_t whole = 1;
    const float* from = scores;
    if (a.weights && (!a.guard || type == DType::bf16))
      a.weights->run(&from, &whole, scores, rows * w.ld, program);
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
    product.b = in(1, at_k(s, batch));
    sum.b = in(2, at_v(s, batch));
    if (w.packs_k) {
      gemm_pack_b_here(product.b, type, product.ldb, product.trans_b, s.depth, s.n, k);
      product.b_packed = k;
    }
    if (a.k_scale) tile::binary(BinaryOp::mul, k, 1, &*a.k_scale, 0, k, w.k);
    if (w.packs_v) {
      gemm_pack_b_here(sum.b, type, sum.ldb, false, s.n, s.width, v);
      sum.b_packed = v;
    }
    product.c = scores;
    sum.a = scores;
    product.scratch = sum.scratch = gemm;
    const size_t q = at(s, s.q.batch.data(), batch), y = at(s, s.y.batch.data(), batch);
    for (size_t row = first; row < end; row += w.rows) {
      product.m = sum.m = std::min(w.rows, end - row);
      product.a = in(0, q + row * s.q.row);
      gemm_here(product);
      softmax(batch, row, product.m);
      sum.c = static_cast<std::byte*>(args.out().raw) + (y + row * s.y.row) * element_bytes;
      gemm_here(sum);
    }
  }
};

// Whole batches where there are enough of them, else parts of their rows.
Status run(const FusedAttention& a, Args& args) {
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

// Rows of Q, V and Y are contiguous, and of K rows or columns.
bool lies_in_rows(const FusedAttention& a) {
  const auto keeps_last = [](const Axes& axes) {
    return axes.empty() || axes.back() + 1 == axes.size();
  };
  return keeps_last(a.q) && keeps_last(a.v) && keeps_last(a.y) &&
         (keeps_last(a.k) || a.k[a.k.size() - 2] + 1 == a.k.size());
}

constexpr Kernel<FusedAttention> kKernels[] = {
    {.name = "attention_blocks",
     .fits =
         [](const FusedAttention& a, const Call& call) {
           return call.out[0].rank() <= kMostBatchAxes + 2 && lies_in_rows(a) &&
                  (!a.k_scale || call.out[0].type == DType::f32);
         },
     .run = run,
     .scratch = scratch},
};

uint64_t multiply_adds(const FusedAttention& a, const Call& call) {
  const Sizes s = sizes_of(a, call);
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
          {.name = "axes_in_other_orders",
           .opset = 1,
           .attrs = {{"scores", none},
                     {"weights", none},
                     {"q_perm", std::vector<int64_t>{0, 2, 1, 3}},
                     {"k_perm", std::vector<int64_t>{0, 2, 3, 1}},
                     {"v_perm", std::vector<int64_t>{0, 2, 1, 3}},
                     {"y_perm", std::vector<int64_t>{0, 2, 1, 3}}},
           .inputs = {noise({2, 61, 3, 20}), noise({2, 45, 3, 20}, 2), noise({2, 45, 3, 37}, 3)}},
          {.name = "few_queries_of_turned_keys",
           .opset = 1,
           .attrs = {{"scores", none},
                     {"weights", none},
                     {"k_perm", std::vector<int64_t>{1, 2, 0}},
                     {"y_perm", std::vector<int64_t>{1, 0, 2}}},
           .inputs = {noise({3, 5, 20}), noise({45, 3, 20}, 2), noise({3, 45, 37}, 3)}},
          {.name = "axes_that_no_kernel_reads",
           .opset = 1,
           .attrs = {{"scores", none},
                     {"weights", none},
                     {"q_perm", std::vector<int64_t>{1, 0}},
                     {"y_perm", std::vector<int64_t>{1, 0}}},
           .inputs = {noise({4, 7}), noise({4, 9}, 2), noise({9, 5}, 3)}},
          {.name = "shared_keys",
           .opset = 1,
           .attrs = {{"scores", none}, {"weights", none}},
           .inputs = {noise({2, 4, 130, 8}), noise({1, 1, 8, 700}, 2), noise({4, 700, 16}, 3)}},
          {.name = "grouped_heads_of_one_query",
           .opset = 1,
           .attrs = {{"scores", std::vector<std::string>{"add 0 1"}},
                     {"weights", guard},
                     {"k_perm", std::vector<int64_t>{0, 1, 3, 2}},
                     {"y_perm", std::vector<int64_t>{0, 2, 1, 3}},
                     {"k_scale", 0.3f},
                     {"repeat", int64_t{3}}},
           .inputs = {noise({2, 6, 1, 20}), noise({2, 2, 45, 20}, 2), noise({2, 2, 45, 24}, 3),
                      noise({2, 6, 1, 45}, 4)}},
          {.name = "grouped_heads_of_many_queries",
           .opset = 1,
           .attrs = {{"scores", none}, {"weights", none}, {"repeat", int64_t{2}}},
           .inputs = {noise({2, 6, 30, 20}), noise({2, 3, 20, 45}, 2), noise({2, 3, 45, 24}, 3)}},
          {.name = "scaled_halves",
           .opset = 1,
           .attrs = {{"scores", none}, {"weights", none}, {"k_scale", 0.3f}},
           .inputs = {noise(DType::f16, {2, 3, 20}), noise(DType::f16, {2, 20, 9}, 2),
                      noise(DType::f16, {2, 9, 4}, 3)}},
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
