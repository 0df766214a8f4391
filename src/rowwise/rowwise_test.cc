#include "rowwise/rowwise.h"

#include <gtest/gtest.h>
#include <sardonyx/sardonyx.h>

#include <cstring>
#include <random>

namespace sdx::rowwise {
namespace {

using sardonyx::Dims;
using sardonyx::Model;
using sardonyx::Tensor;

Model model(const std::string& ports, const std::string& nodes, const std::string& weights = "") {
  return Model::from_text("<ir_version: 8, opset_import: [\"\" : 17]> g " + ports +
                          (weights.empty() ? "" : " <" + weights + ">") + " {" + nodes + "}");
}

// Every proof is put to the test: rows together, and each by itself.
void holds(const Model& model, const Dims& one_row) {
  const sardonyx::RowWise rows = model.row_wise();
  ASSERT_TRUE(rows.proved) << rows.reason;
  sardonyx::Session session = model.compile({.threads = 1});
  constexpr int64_t kRows = 5;
  Dims all = one_row;
  all[0] = kRows;
  Tensor x(sardonyx::Type::f32, all);
  std::mt19937 random(7);
  for (float& value : x.values<float>()) value = float(int(random() % 2001) - 1000) / 256;
  const auto together = session.run({{model.inputs()[0].name, x}});
  const size_t in_row = x.count() / kRows;
  for (size_t row = 0; row < kRows; ++row) {
    Dims dims = one_row;
    dims[0] = 1;
    const Tensor part(sardonyx::Type::f32, dims, x.values<float>().data() + row * in_row);
    const auto alone = session.run({{model.inputs()[0].name, part}});
    for (size_t i = 0; i < together.size(); ++i) {
      ASSERT_EQ(together[i].dims()[0], kRows);
      const size_t out_row = together[i].bytes() / kRows;
      ASSERT_EQ(alone[i].bytes(), out_row);
      EXPECT_EQ(0, std::memcmp(static_cast<const char*>(together[i].data()) + row * out_row,
                               alone[i].data(), out_row));
    }
  }
}

void names(const Model& model, const std::string& word) {
  const sardonyx::RowWise rows = model.row_wise();
  EXPECT_FALSE(rows.proved);
  EXPECT_NE(rows.reason.find(word), std::string::npos) << rows.reason;
}

TEST(RowWise, a_net_of_layers_is) {
  holds(model("(float[N, 4] x) => (float[N, 3] y)",
              "a = MatMul (x, w) b = Relu (a) c = Add (b, k) y = Softmax (c)",
              "float[4, 3] w = {1,2,3,4,5,6,7,8,9,10,11,12}, float[3] k = {1,2,3}"),
        {1, 4});
}

TEST(RowWise, tokens_folded_into_rows_and_back_are) {
  holds(model("(float[N, 3, 4] x) => (float[N, 3, 4] y)",
              "flat = Reshape (x, to) a = Gemm (flat, w) y = Reshape (a, back)",
              "int64[2] to = {-1, 4}, float[4, 4] w = {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16}, "
              "int64[3] back = {-1, 3, 4}"),
        {1, 3, 4});
}

TEST(RowWise, attention_with_its_shape_arithmetic_is) {
  holds(model("(float[N, 6, 4] x) => (float[N, 6, 4] y)",
              "s = Shape (x) n = Gather (s, zero) n1 = Unsqueeze (n, ax) to = Concat <axis = 0> "
              "(n1, rest)"
              "h = Reshape (x, to) q = Transpose <perm = [0, 2, 1, 3]> (h) kt = Transpose <perm = "
              "[0, 2, 3, 1]> (h)"
              "p = MatMul (q, kt) w = Softmax <axis = -1> (p) o = MatMul (w, q) t = Transpose "
              "<perm = [0, 2, 1, 3]> (o)"
              "y = Reshape (t, like)",
              "int64 zero = {0}, int64[1] ax = {0}, int64[3] rest = {6, 2, 2}, int64[3] like = {0, "
              "6, 4}"),
        {1, 6, 4});
}

TEST(RowWise, convolutions_and_poolings_are) {
  holds(model("(float[N, 1, 6, 6] x) => (float[N, 2] y)",
              "a = Conv (x, w) b = MaxPool <kernel_shape = [2, 2]> (a) c = GlobalAveragePool (b) y "
              "= Flatten (c)",
              "float[2, 1, 2, 2] w = {1,2,3,4,5,6,7,8}"),
        {1, 1, 6, 6});
}

TEST(RowWise, rows_that_are_not_first_within_are) {
  holds(
      model(
          "(float[N, 3, 2] x) => (float[N, 3, 2] y)",
          "t = Transpose <perm = [1, 0, 2]> (x) r = Relu (t) y = Transpose <perm = [1, 0, 2]> (r)"),
      {1, 3, 2});
}

TEST(RowWise, a_token_put_before_every_row_is) {
  holds(model("(float[N, 3, 2] x) => (float[N, 4, 2] y)",
              "s = Shape <start = 0, end = 1> (x) to = Concat <axis = 0> (s, rest) c = Expand "
              "(cls, to) y = Concat <axis = 1> (c, x)",
              "int64[2] rest = {1, 2}, float[1, 1, 2] cls = {5, 6}"),
        {1, 3, 2});
}

// As x[:, i, j] is exported: the rows go last, pairs of indices pick the first two axes, and back.
TEST(RowWise, tuples_of_indices_that_pick_within_a_row_are) {
  holds(model("(float[N, 2, 2, 3] x) => (float[N, 4, 3] y)",
              "t = Transpose <perm = [1, 2, 0, 3]> (x) g = GatherND (t, pairs) y = Transpose <perm "
              "= [1, 0, 2]> (g)",
              "int64[4, 2] pairs = {0, 0, 1, 0, 0, 1, -1, -1}"),
        {1, 2, 2, 3});
  holds(model("(float[N, 3] x) => (float[N, 1, 2] y)",
              "r = Greater (x, zero) i = Cast <to = 7> (r) s = Slice (i, from, to, ax) u = "
              "Unsqueeze (s, ax) y = GatherND (table, u)",
              "float zero = {0}, int64[1] from = {1}, int64[1] to = {2}, int64[1] ax = {1}, "
              "float[2, 2] table = {1, 2, 3, 4}"),
        {1, 3});
  holds(model("(float[N, 3, 2] x) => (float[N, 2] y)",
              "r = Greater (x, zero) i = Cast <to = 7> (r) s = Slice (i, from, to, both) u = "
              "Squeeze (s, last) y = GatherND <batch_dims = 1> (x, u)",
              "float zero = {0}, int64[2] from = {0, 0}, int64[2] to = {1, 1}, int64[2] both = {1, "
              "2}, int64[1] last = {2}"),
        {1, 3, 2});
  names(model("(float[N, 4] x) => (float[3, 4] y)", "[pick] y = GatherND (x, i)",
              "int64[3, 1] i = {0, 0, 0}"),
        "\"pick\" (GatherND): it picks rows");
}

TEST(RowWise, what_looks_at_other_rows_is_named) {
  names(model("(float[N, 4] x) => (float[N, 4] y)",
              "[mean] m = ReduceMean <axes = [0]> (x) y = Sub (x, m)"),
        "\"mean\" (ReduceMean): it reduces over the rows");
  names(model("(float[N, 4] x) => (float s)", "[sum] s = ReduceSum <keepdims = 0> (x)"),
        "over all rows");
  names(model("(float[N, 4] x) => (float[N, 4] y)", "[soft] y = Softmax <axis = 0> (x)"),
        "\"soft\"");
  names(model("(float[N, 4] x) => (float[N, 4] y)", "[cum] y = CumSum (x, z)", "int64 z = {0}"),
        "\"cum\"");
  names(model("(float[N, 4] x) => (uint8[N, 4] y, float s, uint8 z)",
              "[q] y, s, z = DynamicQuantizeLinear (x)"),
        "\"q\" (DynamicQuantizeLinear)");
  names(model("(float[N, 4] x) => (int64[2, M] y)", "[nz] y = NonZero (x)"), "\"nz\" (NonZero)");
  names(model("(float[N, 4] x) => (float[N, 4] y)", "r = RandomNormalLike (x) y = Add (x, r)"),
        "random");
}

TEST(RowWise, the_number_of_rows_as_a_number_is_refused) {
  names(model("(float[N, 4] x) => (float[N, 4] y)",
              "s = Shape <start = 0, end = 1> (x) f = Cast <to = 1> (s) [scale] y = Div (x, f)"),
        "\"scale\" (Div)");
}

TEST(RowWise, rows_reversed_cut_or_turned_over_are_refused) {
  names(model("(float[N, 4] x) => (float[N, 4] y)", "[turn] y = Slice (x, s, e, a, st)",
              "int64[1] s = {-1}, int64[1] e = {-1000000}, int64[1] a = {0}, int64[1] st = {-1}"),
        "\"turn\"");
  names(model("(float[N, 4] x) => (float[4, N] y)", "y = Transpose (x)"), "output \"y\"");
  names(model("(float[N, 4] x) => (float[M, 2] y)", "[mix] t = Transpose (x) y = Reshape (t, to)",
              "int64[2] to = {-1, 2}"),
        "(Reshape)");
}

TEST(RowWise, indices_of_maxima_count_through_all_rows) {
  names(model("(float[N, 1, 4] x) => (float[N, 1, 2] y, int64[N, 1, 2] i)",
              "y, i = MaxPool <kernel_shape = [2], strides = [2]> (x)"),
        "indices");
}

TEST(RowWise, inputs_without_an_open_size_say_so) {
  names(model("(float[2, 4] x) => (float[2, 4] y)", "y = Relu (x)"), "open first size");
  names(model("(float[N, N] x) => (float[N, N] y)", "y = Relu (x)"), "along axis 1");
}

TEST(RowWise, inputs_that_all_rows_share_are_told_apart) {
  const auto rows =
      model("(float[N, 4] x, float[4] k) => (float[N, 4] y)", "y = Mul (x, k)").row_wise();
  ASSERT_TRUE(rows.proved) << rows.reason;
  EXPECT_EQ(rows.inputs, std::vector<std::string>{"x"});
}

}  // namespace
}  // namespace sdx::rowwise
