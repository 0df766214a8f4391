// FusedAttention: softmax(program(Q * K)) * V by blocks of rows, made by a rewrite from the
// separate operations: the scores never leave the cache. Q, K, V and the result may lie in memory
// with their axes in another order, as the products around it write and read them.
#include "ops/attention/fused_attention.h"

#include <fmt/ranges.h>

#include "kernel/math/math.h"
#include "ops/noise.h"
#include "ops/normalization/softmax_row.h"

namespace sdx::ops {
namespace {

using namespace attention_parts;  // NOLINT: they are parts of one operator

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
    const auto& code = node.get<std::vector<std::string>>(name);
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

// Then the heads of Q are a multiple of those of K and V.
bool repeats_heads(const FusedAttention& a) { return a.repeat != 1; }

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

constexpr Kernel<FusedAttention> kKernels[] = {
    {.name = "attention_blocks", .fits = blocks_fit, .run = run_blocks, .scratch = blocks_scratch}};

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
    .by_equality = true,
    .by_more = repeats_heads,
    .multiply_adds = multiply_adds,
};

}  // namespace

extern const Op fused_attention = erase<kFusedAttention>();

}  // namespace sdx::ops
