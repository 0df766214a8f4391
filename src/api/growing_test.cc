// One session through many sizes gives, at each, the bits of a model compiled for that size alone.
#include <gtest/gtest.h>

#include <array>

#include "api/engine.h"
#include "model/text.h"

namespace sdx {
namespace {

constexpr const char* kDecoder = R"(
<ir_version: 10, opset_import: ["" : 21]>
decoder (float[1,1,8] x, float[1,2,P,4] past) => (float[1,2,T,4] present, float[1,1,8] y) {
  zero = Constant <value_float = 0.0> ()
  last = Constant <value_float = 64.0> ()
  one = Constant <value_float = 1.0> ()
  line = Range (zero, last, one)
  square = Constant <value_ints = [8, 8]> ()
  waves = Sin (line)
  w = Reshape (waves, square)
  q = MatMul (x, w)
  heads = Constant <value_ints = [1, 1, 2, 4]> ()
  split = Reshape (q, heads)
  head = Transpose <perm = [0, 2, 1, 3]> (split)
  present = Concat <axis = 2> (past, head)
  keys = Transpose <perm = [0, 1, 3, 2]> (present)
  scores = MatMul (head, keys)
  sizes = Shape (present)
  two = Constant <value_int = 2> ()
  length = Gather (sizes, two)
  reach = Cast <to = 1> (length)
  scaled = Div (scores, reach)
  p = Softmax <axis = -1> (scaled)
  mixed = MatMul (p, present)
  back = Transpose <perm = [0, 2, 1, 3]> (mixed)
  flat = Constant <value_ints = [1, 1, 8]> ()
  joined = Reshape (back, flat)
  out = MatMul (joined, w)
  y = Add (out, x)
}
)";

// Shape arithmetic, views, joins and outputs of all kinds.
constexpr const char* kShapes = R"(
<ir_version: 10, opset_import: ["" : 21]>
shapes (float[N,6] x, float[M,6] z) => (float[A,6] joined, float[B] flat, float[C,3] left, int64[D] steps) {
  a = Relu (x)
  b = Neg (z)
  sum = Concat <axis = 0> (a, b)
  joined = Exp (sum)
  all = Constant <value_ints = [-1]> ()
  flat = Reshape (a, all)
  left, right = Split <axis = 1, num_outputs = 2> (joined)
  size = Shape <start = 0, end = 1> (joined)
  scalar = Squeeze (size)
  from = Constant <value_int = 0> ()
  by = Constant <value_int = 2> ()
  steps = Range (from, scalar, by)
}
)";

// Which branch runs follows from the size; what it captures grows.
constexpr const char* kBranch = R"(
<ir_version: 10, opset_import: ["" : 21]>
branch (float[N,4] x) => (float[K,4] y) {
  size = Shape <start = 0, end = 1> (x)
  five = Constant <value_ints = [5]> ()
  many = Less (five, size)
  y = If <then_branch = large () => (float[K,4] t) { t = Add (x, x) },
          else_branch = small () => (float[K,4] e) { e = Mul (x, x) }> (many)
}
)";

// The condition is an input: both branches stay, and bind their sizes when they run.
constexpr const char* kMerged = R"(
<ir_version: 10, opset_import: ["" : 21]>
merged (bool[1] cached, float[1,N,4] past, float[1,1,4] x) => (float[1,T,4] present) {
  present = If <then_branch = longer () => (float[1,T,4] t) { t = Concat <axis = 1> (past, x) },
                else_branch = fresh () => (float[1,T,4] e) {
                  twice = Add (past, past)
                  e = Concat <axis = 1> (twice, x)
                }> (cached)
}
)";

// The same where one branch has a past and the other has none.
constexpr const char* kForked = R"(
<ir_version: 10, opset_import: ["" : 21]>
forked (bool[1] cached, float[1,N,4] past, float[1,1,4] x) => (float[1,T,4] present) {
  present = If <then_branch = longer () => (float[1,T,4] t) { t = Concat <axis = 1> (past, x) },
                else_branch = fresh () => (float[1,1,4] e) { e = Neg (x) }> (cached)
}
)";

// What the branches capture is a piece of a constant that follows the size, and a whole one.
constexpr const char* kTabled = R"(
<ir_version: 10, opset_import: ["" : 21]>
tabled (bool[1] cached, float[N,4] x) => (float[N,4] y) {
  zero = Constant <value_float = 0.0> ()
  last = Constant <value_float = 64.0> ()
  one = Constant <value_float = 1.0> ()
  line = Range (zero, last, one)
  square = Constant <value_ints = [16, 4]> ()
  table = Reshape (line, square)
  size = Shape <start = 0, end = 1> (x)
  begin = Constant <value_ints = [0]> ()
  rows = Slice (table, begin, size)
  scale = Constant <value_floats = [1.0, 2.0, 3.0, 4.0]> ()
  y = If <then_branch = sum () => (float[N,4] t) { a = Mul (x, scale) t = Add (a, rows) },
          else_branch = product () => (float[N,4] e) { e = Mul (x, rows) }> (cached)
}
)";

// A size goes into numbers that are read where no size changes.
constexpr const char* kCounted = R"(
<ir_version: 10, opset_import: ["" : 21]>
counted (float[N,4] x, int64[2] z) => (int64[2] y, float[2] scaled) {
  sizes = Shape (x)
  y = Add (z, sizes)
  counts = Cast <to = 1> (sizes)
  given = Cast <to = 1> (z)
  scaled = Mul (given, counts)
}
)";

// Which sizes may meet follows from which are equal.
constexpr const char* kProduct = R"(
<ir_version: 10, opset_import: ["" : 21]>
product (float[N,K] x, float[L,M] z) => (float[N,M] y) {
  a = Relu (x)
  b = Neg (z)
  p = MatMul (a, b)
  y = Softmax <axis = -1> (p)
}
)";

// A slope of one element is for all channels; any other number is one for each, and lies along
// another axis.
constexpr const char* kSlopes = R"(
<ir_version: 7, opset_import: ["" : 6]>
slopes (float[2,C,5] x, float[S] slope) => (float[2,C,5] y) {
  a = Exp (x)
  b = Neg (a)
  y = PRelu (b, slope)
}
)";

// Nothing but numbers changes with the past.
constexpr const char* kPast = R"(
<ir_version: 10, opset_import: ["" : 21]>
grows (float[1,2,P,4] past, float[1,2,1,4] x) => (float[1,2,T,4] present, float[1,2,1,4] y) {
  present = Concat <axis = 2> (past, x)
  keys = Transpose <perm = [0, 1, 3, 2]> (present)
  scores = MatMul (x, keys)
  p = Softmax <axis = -1> (scores)
  y = MatMul (p, present)
}
)";

// A mask as exporters write it: sizes become numbers, numbers sizes again.
constexpr const char* kMask = R"(
<ir_version: 10, opset_import: ["" : 21]>
mask (float[1,3,P,4] past, float[1,3,Q,4] x) => (float[1,3,Q,T] y) {
  zero = Constant <value_int = 0> ()
  one = Constant <value_int = 1> ()
  two = Constant <value_int = 2> ()
  from = Constant <value_ints = [0]> ()
  axis = Constant <value_ints = [0]> ()
  third = Constant <value_ints = [3]> ()
  front = Constant <value_ints = [0, 1]> ()
  low = Constant <value_float = -9.0> ()
  before = Shape (past)
  length = Gather (before, two)
  now = Shape (x)
  rows = Gather (now, two)
  total = Add (length, rows)
  wider = Add (total, one)
  columns = Range (zero, wider, one)
  own = Range (length, total, one)
  one1 = Constant <value_ints = [1]> ()
  below = Unsqueeze (own, one1)
  hidden = Greater (columns, below)
  flags = Cast <to = 1> (hidden)
  rows1 = Unsqueeze (rows, axis)
  wider1 = Unsqueeze (wider, axis)
  shape = Concat <axis = 0> (rows1, wider1)
  blank = ConstantOfShape (shape)
  high = Add (blank, low)
  weighed = Mul (flags, high)
  grid = Unsqueeze (weighed, front)
  ones = Constant <value_ints = [1]> ()
  whole = Concat <axis = 0> (ones, ones, rows1, wider1)
  spread = Expand (grid, whole)
  present = Concat <axis = 2> (past, x)
  total1 = Unsqueeze (total, axis)
  cut = Slice (spread, from, total1, third)
  keys = Transpose <perm = [0, 1, 3, 2]> (present)
  scores = MatMul (x, keys)
  masked = Add (scores, cut)
  y = Softmax <axis = -1> (masked)
}
)";

Tensor noise(const Dims& dims, uint32_t seed) {
  Tensor tensor = Tensor::make(DType::f32, dims);
  for (size_t i = 0; i < tensor.count(); ++i) {
    seed = seed * 1664525 + 1013904223;
    tensor.data<float>()[i] = float(seed >> 8) / float(1 << 24) - 0.5F;
  }
  return tensor;
}

Result<std::shared_ptr<const plan::Compiled>> compiled(const char* text, size_t most_plans = 8) {
  SDX_ASSIGN(model::Model model, model::parse_text(text));
  CompileOptions options;
  options.threads = 2;
  options.most_plans = most_plans;
  return compile(std::make_shared<const model::Model>(std::move(model)), options);
}

constexpr const char* kApart = R"(<ir_version: 8, opset_import: ["" : 17]>
apart (float[N, 6] x, float[M, 6] z) => (float[N, 6] a, float[M, 6] b) {
  xt = Transpose (x)
  xs = Softmax (xt)
  a = Transpose (xs)
  zt = Transpose (z)
  zs = Softmax (zt)
  b = Transpose (zs)
})";

// Runs one session and, for each inputs, a compilation of its own.
void same_bits(const char* text, const std::vector<std::vector<Value>>& runs, size_t made_at_most) {
  const auto shared = compiled(text);
  ASSERT_TRUE(shared) << shared.error().text();
  run::Session session(*shared);
  for (const std::vector<Value>& inputs : runs) {
    const auto found = session.run(inputs);
    ASSERT_TRUE(found) << found.error().text();
    const auto alone = compiled(text);
    ASSERT_TRUE(alone);
    const auto expected = run::Session(*alone).run(inputs);
    ASSERT_TRUE(expected) << expected.error().text();
    ASSERT_EQ(found->size(), expected->size());
    for (size_t i = 0; i < found->size(); ++i) {
      EXPECT_EQ((*found)[i].tensor(), (*expected)[i].tensor()) << "output " << i;
    }
  }
  EXPECT_LE((*shared)->plans_made_anew(), made_at_most);
}

TEST(Growing, a_decoder_is_planned_once_for_all_lengths_of_its_past) {
  std::vector<std::vector<Value>> runs;
  for (const int64_t length : {3, 4, 5, 6, 7, 8, 20, 21, 90, 91, 2, 1, 0, 5, 200}) {
    runs.push_back({noise({1, 1, 8}, 1), noise({1, 2, length, 4}, uint32_t(length))});
  }
  same_bits(kDecoder, runs, 1);
}

TEST(Growing, numbers_that_follow_from_a_size_do_so_where_no_size_changes) {
  std::vector<std::vector<Value>> runs;
  for (int64_t n = 1; n < 20; ++n)
    runs.push_back({noise({n, 4}, 1), Tensor::of<int64_t>({2}, {n, 7})});
  same_bits(kCounted, runs, 1);
}

TEST(Growing, sizes_that_were_equal_and_are_not_are_refused) {
  const auto shared = compiled(kProduct, 2);
  ASSERT_TRUE(shared);
  run::Session session(*shared);
  const std::array<int64_t, 4> runs[] = {{2, 5, 5, 3}, {3, 6, 6, 3}, {2, 6, 5, 3}, {4, 7, 7, 2},
                                         {5, 5, 5, 5}, {6, 6, 5, 5}, {1, 1, 1, 1}, {1, 9, 1, 9},
                                         {0, 4, 4, 0}, {2, 8, 8, 3}};
  for (const auto& [n, k, l, m] : runs) {
    const std::vector<Value> inputs{noise({n, k}, 1), noise({l, m}, 2)};
    const auto found = session.run(inputs);
    EXPECT_EQ(bool(found), k == l) << n << "," << k << " " << l << "," << m;
    const auto alone = compiled(kProduct);
    ASSERT_TRUE(alone);
    const auto expected = run::Session(*alone).run(inputs);
    ASSERT_EQ(bool(found), bool(expected));
    if (found) {
      EXPECT_EQ((*found)[0].tensor(), (*expected)[0].tensor());
    } else {
      EXPECT_EQ(found.error().text(), expected.error().text());
    }
  }
}

TEST(Growing, what_a_node_was_read_as_follows_which_sizes_are_one) {
  std::vector<std::vector<Value>> runs;
  const std::pair<int64_t, int64_t> sizes[] = {{4, 4}, {5, 5}, {4, 1}, {6, 6}, {1, 1},
                                               {7, 1}, {5, 5}, {8, 8}, {5, 1}, {9, 9}};
  for (const auto& [c, s] : sizes) runs.push_back({noise({2, c, 5}, 1), noise({s}, 2)});
  same_bits(kSlopes, runs, 1);
}

// Past lengths meet the number of heads, of rows and of columns, and what facts keep track of.
TEST(Growing, a_mask_that_is_computed_from_sizes_follows_them) {
  std::vector<std::vector<Value>> runs;
  for (int64_t length = 0; length < 80; length += length < 6 ? 1 : 3) {
    for (const int64_t rows : {1, 3}) {
      runs.push_back({noise({1, 3, length, 4}, 1), noise({1, 3, rows, 4}, 2)});
    }
  }
  same_bits(kMask, runs, 1);
}

// Made anew, a plan knows of some wires more than their sizes; all that it does is the same.
TEST(Growing, a_grown_plan_is_that_which_is_made_anew) {
  const auto grows = compiled(kMask, 2);
  ASSERT_TRUE(grows);
  for (const int64_t length : {8, 9, 10, 3, 1, 0, 11, 70, 71, 4}) {
    const std::vector<Value> inputs{noise({1, 3, length, 4}, 1), noise({1, 3, 1, 4}, 2)};
    const auto alone = compiled(kMask);
    ASSERT_TRUE(alone);
    const auto found = (*grows)->plan_for(inputs), expected = (*alone)->plan_for(inputs);
    ASSERT_TRUE(found && expected);
    ASSERT_EQ((*found)->graph.size(), (*expected)->graph.size());
    for (uint32_t id = 0; id < (*found)->graph.size(); ++id) {
      const typed::Node &now = (*found)->graph.node(id), &anew = (*expected)->graph.node(id);
      ASSERT_EQ(now.outputs.size(), anew.outputs.size());
      for (size_t slot = 0; slot < now.outputs.size(); ++slot)
        EXPECT_EQ(now.outputs[slot].text(), anew.outputs[slot].text()) << id << " " << length;
    }
    EXPECT_TRUE((*found)->graph.verify());
  }
  EXPECT_EQ((*grows)->plans_made_anew(), 1U);
}

// With room for two plans each length is written over that of the one before the last.
TEST(Growing, a_plan_that_is_written_over_another_is_what_it_is_without) {
  const auto over = compiled(kDecoder, 2), apart = compiled(kDecoder, 2);
  ASSERT_TRUE(over && apart);
  std::vector<std::shared_ptr<const plan::Plan>> held;
  for (const int64_t length : {3, 4, 5, 6, 3, 7, 60, 61, 5, 62, 3, 0, 1, 2, 63, 200, 3}) {
    const std::vector<Value> inputs{noise({1, 1, 8}, 1), noise({1, 2, length, 4}, 2)};
    const auto found = (*over)->plan_for(inputs), expected = (*apart)->plan_for(inputs);
    ASSERT_TRUE(found && expected);
    held.push_back(*expected);
    EXPECT_EQ(plan::to_text(**found), plan::to_text(**expected)) << length;
  }
  EXPECT_EQ((*over)->plans(), 2U);
}

// Behind the first few, no node of a longer past is looked at: numbers are written where they
// stand.
TEST(Growing, lengths_that_differ_in_numbers_alone_are_on_one_course) {
  const auto grows = compiled(kPast, 2);
  ASSERT_TRUE(grows);
  run::Session session(*grows);
  std::shared_ptr<const plan::Course> course;
  size_t on_it = 0;
  for (int64_t length = 20; length < 60; ++length) {
    const std::vector<Value> inputs{noise({1, 2, length, 4}, 1), noise({1, 2, 1, 4}, 2)};
    const auto alone = compiled(kPast);
    ASSERT_TRUE(alone);
    const auto found = session.run(inputs), expected = run::Session(*alone).run(inputs);
    ASSERT_TRUE(found && expected);
    for (size_t i = 0; i < expected->size(); ++i)
      EXPECT_EQ((*found)[i].tensor(), (*expected)[i].tensor()) << length;
    const plan::Plan& now = *session.plan();
    const auto anew = (*alone)->plan_for(inputs);
    ASSERT_TRUE(anew);
    ASSERT_EQ(now.graph.size(), (*anew)->graph.size());
    for (uint32_t id = 0; id < now.graph.size(); ++id) {
      const Facts &facts = now.graph.node(id).outputs, &same = (*anew)->graph.node(id).outputs;
      for (size_t slot = 0; slot < facts.size(); ++slot)
        EXPECT_EQ(facts[slot].text(), same[slot].text()) << id << " " << length;
    }
    on_it += now.course != nullptr && now.course == course ? 1 : 0;
    course = now.course;
  }
  EXPECT_GT(on_it, 20U);
  EXPECT_EQ((*grows)->plans_made_anew(), 1U);
}

TEST(Growing, a_graph_that_somebody_has_is_not_written_over) {
  const auto grows = compiled(kPast, 1);
  ASSERT_TRUE(grows);
  typed::Graph held;
  std::vector<std::string> texts;
  for (int64_t length = 20; length < 30; ++length) {
    const auto made =
        (*grows)->plan_for(std::vector<Value>{noise({1, 2, length, 4}, 1), noise({1, 2, 1, 4}, 2)});
    ASSERT_TRUE(made);
    if (length == 25) {
      held = (*made)->graph;
      for (const typed::Node& node : held.nodes()) texts.push_back(node.outputs[0].text());
    }
  }
  for (uint32_t id = 0; id < texts.size(); ++id)
    EXPECT_EQ(held.node(id).outputs[0].text(), texts[id]) << id;
}

TEST(Growing, a_plan_that_a_session_runs_is_not_written_over) {
  const auto shared = compiled(kDecoder, 1);
  ASSERT_TRUE(shared);
  run::Session still(*shared), grows(*shared);
  const std::vector<Value> inputs{noise({1, 1, 8}, 1), noise({1, 2, 9, 4}, 2)};
  const auto first = still.run(inputs);
  ASSERT_TRUE(first);
  for (int64_t length = 1; length < 8; ++length) {
    ASSERT_TRUE(grows.run(std::vector<Value>{noise({1, 1, 8}, 1), noise({1, 2, length, 4}, 2)}));
    const auto again = still.run(inputs);
    ASSERT_TRUE(again);
    for (size_t i = 0; i < first->size(); ++i)
      EXPECT_EQ((*first)[i].tensor(), (*again)[i].tensor()) << length;
  }
}

TEST(Growing, shape_arithmetic_views_and_joins_follow_the_sizes) {
  std::vector<std::vector<Value>> runs;
  const std::pair<int64_t, int64_t> sizes[] = {{2, 3},   {3, 3}, {3, 2}, {9, 1}, {1, 9},
                                               {16, 16}, {0, 4}, {4, 0}, {2, 3}, {33, 7}};
  for (const auto& [n, m] : sizes) runs.push_back({noise({n, 6}, 5), noise({m, 6}, 6)});
  same_bits(kShapes, runs, runs.size());
}

TEST(Growing, another_branch_is_taken_when_the_size_says_so) {
  std::vector<std::vector<Value>> runs;
  for (const int64_t n : {2, 3, 5, 6, 7, 5, 9, 1}) runs.push_back({noise({n, 4}, uint32_t(n))});
  same_bits(kBranch, runs, runs.size());
}

TEST(Growing, subgraphs_that_run_by_an_input_are_planned_once) {
  std::vector<std::vector<Value>> runs;
  for (const int64_t n : {1, 2, 3, 4, 9, 2}) {
    for (const bool cached : {true, false}) {
      runs.push_back({Tensor::of<bool>({1}, {cached}), noise({1, n, 4}, 3), noise({1, 1, 4}, 4)});
    }
  }
  same_bits(kMerged, runs, 1);
}

TEST(Growing, what_subgraphs_capture_of_a_constant_follows_the_size) {
  std::vector<std::vector<Value>> runs;
  for (const int64_t n : {3, 4, 4, 5, 2, 9, 16, 3, 1}) {
    for (const bool cached : {true, false})
      runs.push_back({Tensor::of<bool>({1}, {cached}), noise({n, 4}, 3)});
  }
  same_bits(kTabled, runs, 1);
}

TEST(Growing, a_run_holds_on_to_nothing_of_the_caller_that_its_subgraphs_capture) {
  const auto shared = compiled(kTabled);
  ASSERT_TRUE(shared);
  run::Session session(*shared);
  for (const int64_t n : {3, 3, 4}) {
    const Tensor given = noise({n, 4}, 3);
    auto memory = std::make_shared<std::vector<float>>(given.data<float>(),
                                                       given.data<float>() + given.count());
    const std::weak_ptr<std::vector<float>> alive = memory;
    std::vector<Value> inputs{Tensor::of<bool>({1}, {true}),
                              Tensor::over(DType::f32, {n, 4}, memory, memory->data())};
    memory.reset();
    ASSERT_TRUE(session.run(inputs));
    inputs.clear();
    EXPECT_TRUE(alive.expired()) << n;
  }
}

std::vector<Value> forked_inputs(bool cached, int64_t length) {
  return {Tensor::of<bool>({1}, {cached}), noise({1, length, 4}, 3), noise({1, 1, 4}, 4)};
}

TEST(Growing, branches_that_give_different_sizes_are_planned_once) {
  std::vector<std::vector<Value>> runs;
  for (const int64_t n : {3, 4, 0, 5, 1, 0, 9}) {
    runs.push_back(forked_inputs(true, n));
    runs.push_back(forked_inputs(false, n));
  }
  same_bits(kForked, runs, 1);
}

// Only without a past do both branches give one row, so that the size of the output is known.
TEST(Growing, a_node_that_gives_the_same_for_other_sizes_is_not_made_again) {
  const auto shared = compiled(kForked, 2);
  ASSERT_TRUE(shared);
  const auto first = (*shared)->plan_for(forked_inputs(true, 3));
  ASSERT_TRUE(first);
  const uint32_t id = (*first)->graph.outputs()[0].outlet.node;
  for (const int64_t length : {4, 0, 5, 6, 0, 7}) {
    const auto plan = (*shared)->plan_for(forked_inputs(true, length));
    ASSERT_TRUE(plan);
    EXPECT_EQ(&(*plan)->graph.node(id) == &(*first)->graph.node(id), length != 0) << length;
    EXPECT_EQ((*plan)->graph.fact({id, 0}).is_concrete(), length == 0) << length;
  }
}

// What grew made a layout in which what shrank has little room; then it has its first size again.
TEST(Growing, a_size_that_shrank_and_is_as_it_was_has_its_room) {
  std::vector<std::vector<Value>> runs;
  const std::pair<int64_t, int64_t> sizes[] = {
      {1, 3000}, {5000, 1}, {2, 3000}, {1, 3001}, {9000, 2}};
  for (const auto& [n, m] : sizes) runs.push_back({noise({n, 6}, 5), noise({m, 6}, 6)});
  same_bits(kApart, runs, 1);
}

TEST(Growing, a_layout_with_room_keeps_to_the_limit_of_memory) {
  auto parsed = model::parse_text(kDecoder);
  ASSERT_TRUE(parsed);
  CompileOptions options;
  options.most_arena_bytes = 16 << 10;
  options.threads = 1;  // each has scratch memory of its own
  const auto limited = compile(std::make_shared<const model::Model>(*std::move(parsed)), options);
  ASSERT_TRUE(limited);
  run::Session session(*limited);
  for (int64_t length = 1; length < 64; ++length) {
    const std::vector<Value> inputs{noise({1, 1, 8}, 1), noise({1, 2, length, 4}, 2)};
    const auto y = session.run(inputs);
    if (!y) {
      EXPECT_TRUE(y.error().code == "SDX-R0020" || y.error().code == "SDX-R0022");
      EXPECT_GT(length, 8);
      return;
    }
    EXPECT_LE(session.arena_bytes(), options.most_arena_bytes);
  }
}

TEST(Growing, a_run_that_was_refused_leaves_no_mark_on_smaller_ones) {
  auto parsed = model::parse_text(kDecoder);
  ASSERT_TRUE(parsed);
  CompileOptions options;
  options.most_arena_bytes = 16 << 10;
  options.threads = 1;
  const auto limited = compile(std::make_shared<const model::Model>(*std::move(parsed)), options);
  ASSERT_TRUE(limited);
  run::Session session(*limited);
  for (const int64_t length : {200, 3, 200, 1}) {  // the first of all is the one to grow from
    const auto y =
        session.run(std::vector<Value>{noise({1, 1, 8}, 1), noise({1, 2, length, 4}, 2)});
    EXPECT_EQ(static_cast<bool>(y), length < 100) << length << (y ? "" : y.error().text());
  }
}

}  // namespace
}  // namespace sdx
