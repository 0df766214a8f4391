// Derivatives against differences: every rule, in double, on small inputs.
#include "gradient/gradient.h"

#include <gtest/gtest.h>

#include <cmath>

#include "gradient/builder.h"
#include "typed/eval.h"
#include "typed/text.h"

namespace sdx::gradient {
namespace {

using typed::Graph;

// Numbers in (low, high) that differ from each other.
Tensor spread(const Dims& dims, double low, double high, size_t seed) {
  Tensor tensor = Tensor::make(DType::f64, dims);
  for (size_t i = 0; i < tensor.count(); ++i) {
    const double t =
        std::fmod(0.5 + double(i + 1) * 0.6180339887498949 + 0.2357 * double(seed), 1.0);
    tensor.data<double>()[i] = low + (high - low) * t;
  }
  return tensor;
}

struct Range {
  double low = -1, high = 1;
};

// `body` computes %y from inputs of type f64. Their shapes may have symbols; `dims` are the shapes
// of the run then.
void check(const std::string& body, Range range = {}, std::vector<Dims> dims = {}) {
  Result<Graph> graph = typed::parse("graph \"\" {\n" + body + "\n output \"y\" = %y\n}\n");
  ASSERT_TRUE(graph) << graph.error().text() << body;
  std::vector<Value> inputs;
  const std::vector<Outlet> xs = graph->inputs();
  for (size_t i = 0; i < xs.size(); ++i) {
    inputs.emplace_back(
        spread(dims.empty() ? graph->fact(xs[i]).dims() : dims[i], range.low, range.high, i));
  }
  // The outputs' elements count differently: their sum alone may be constant.
  Outlet y = graph->outputs()[0].outlet;
  const auto shown = typed::eval(*graph, inputs);
  ASSERT_TRUE(shown) << shown.error().text() << body;
  Builder b(*graph);
  y = b.mul(y, graph->constant(spread((*shown)[0].tensor().dims(), .5, 2, 99)));
  ASSERT_TRUE(b.status()) << b.status().error().text();
  graph->output("weighed", y);
  const Result<std::vector<Outlet>> grads = differentiate(*graph, y, xs);
  ASSERT_TRUE(grads) << grads.error().text() << body;
  for (const Outlet grad : *grads) graph->output("", grad);
  ASSERT_TRUE(graph->verify()) << graph->verify().error().text();

  const auto run = [&](const std::vector<Value>& at) {
    auto outputs = typed::eval(*graph, at);
    EXPECT_TRUE(outputs) << outputs.error().text() << body;
    return outputs ? *std::move(outputs) : std::vector<Value>(xs.size() + 2, shown->at(0));
  };
  const auto total = [&](const std::vector<Value>& at) {
    double sum = 0;
    const std::vector<Value> outputs = run(at);
    for (const double v : outputs[1].tensor().values<double>()) sum += v;
    return sum;
  };
  const std::vector<Value> found = run(inputs);
  for (size_t i = 0; i < xs.size(); ++i) {
    const Tensor& x = inputs[i].tensor();
    const Tensor& got = found[i + 2].tensor();
    ASSERT_EQ(got.dims(), x.dims()) << body;
    for (size_t k = 0; k < x.count(); ++k) {
      const double step = 1e-5;
      std::vector<Value> up = inputs, down = inputs;
      Tensor above = x.copy(), below = x.copy();
      above.data<double>()[k] += step;
      below.data<double>()[k] -= step;
      up[i] = above;
      down[i] = below;
      const double want = (total(up) - total(down)) / (2 * step);
      EXPECT_NEAR(got.data<double>()[k], want, 1e-7 + 1e-6 * std::fabs(want))
          << body << "\ninput " << i << ", element " << k;
    }
  }
}

// One node of one input.
void one(const std::string& node, const std::string& shape, Range range = {}) {
  check(fmt::format(" %x = input : f64{}\n %y = {}", shape, node), range);
}
void two(const std::string& node, const std::string& a, const std::string& b, Range range = {}) {
  check(fmt::format(" %a = input : f64{}\n %b = input : f64{}\n %y = {}", a, b, node), range);
}

TEST(Gradient, functions_of_one_element) {
  for (const char* name : {"Identity.13",
                           "Neg.13",
                           "Abs.13",
                           "Exp.13",
                           "Erf.13",
                           "Sin.7",
                           "Cos.7",
                           "Tan.7",
                           "Asin.7",
                           "Acos.7",
                           "Atan.7",
                           "Sinh.9",
                           "Cosh.9",
                           "Tanh.13",
                           "Asinh.9",
                           "Atanh.9",
                           "Relu.14",
                           "LeakyRelu.16 {alpha=0.1}",
                           "ThresholdedRelu.22 {alpha=0.25}",
                           "Elu.6 {alpha=0.5}",
                           "Celu.28 {alpha=0.5}",
                           "Selu.6",
                           "Sigmoid.13",
                           "HardSigmoid.6 {alpha=0.7}",
                           "Softplus.1",
                           "Softsign.1",
                           "HardSwish.14",
                           "Swish.24 {alpha=0.5}",
                           "Mish.18",
                           "Gelu.20",
                           "Gelu.20 {approximate=\"tanh\"}",
                           "Clip.6 {min=-0.5, max=0.5}"}) {
    one(fmt::format("{} (%x)", name), "[3,4]", {-.95, .96});
  }
  for (const char* name : {"Log.13", "Sqrt.13", "Reciprocal.13"})
    one(fmt::format("{} (%x)", name), "[5]", {.5, 3});
  one("Acosh.9 (%x)", "[5]", {1.5, 3});
}

TEST(Gradient, operands_that_broadcast) {
  for (const char* name : {"Add.14", "Sub.14", "Mul.14", "Div.14", "Pow.15", "Max.13", "Min.13",
                           "Sum.13", "Mean.13"}) {
    two(fmt::format("{} (%a, %b)", name), "[2,3]", "[2,3]", {.3, 2});
    two(fmt::format("{} (%a, %b)", name), "[2,1,3]", "[4,1]", {.3, 2});
  }
  two("PRelu.16 (%a, %b)", "[2,3,2]", "[3,1]");
  two("Add.1 {axis=1, broadcast=1} (%a, %b)", "[2,3,2]", "[3]");
  two("Mul.6 {axis=0, broadcast=1} (%a, %b)", "[2,3,2]", "[2,3]");
  check(R"( %a = input : f64[2,3]
 %b = input : f64[3]
 %c = Less.13 (%a, %b)
 %y = Where.16 (%c, %a, %b))");
  check(R"( %x = input : f64[9]
 %lo = input : f64[]
 %y = Clip.13 (%x, %lo))",
        {-1, 0.9});
}

TEST(Gradient, symbolic_sizes_that_turn_out_to_broadcast) {
  const std::string body = R"( %a = input : f64[N,3]
 %b = input : f64[M,3]
 %y = Mul.14 (%a, %b))";
  check(body, {}, {{1, 3}, {4, 3}});
  check(body, {}, {{4, 3}, {4, 3}});
}

TEST(Gradient, reductions) {
  for (const char* name :
       {"ReduceSum.1", "ReduceMean.1", "ReduceSumSquare.1", "ReduceL1.1", "ReduceL2.1",
        "ReduceLogSum.1", "ReduceLogSumExp.1", "ReduceMax.1", "ReduceMin.1", "ReduceProd.1"}) {
    one(fmt::format("{} {{axes=[1], keepdims=0}} (%x)", name), "[2,3,2]", {.2, 2});
    one(fmt::format("{} {{axes=[0,-1]}} (%x)", name), "[2,3,2]", {.2, 2});
    one(fmt::format("{} {{keepdims=0}} (%x)", name), "[2,3]", {.2, 2});
  }
  check(R"( %x = input : f64[2,3]
 %axes = i64[1] {1}
 %y = ReduceMean.18 {keepdims=0} (%x, %axes))");
}

TEST(Gradient, moved_elements) {
  check(" %x = input : f64[2,3]\n %s = i64[2] {3, -1}\n %y = Reshape.14 (%x, %s)");
  one("Flatten.13 {axis=2} (%x)", "[2,3,2]");
  one("Transpose.13 {perm=[2,0,1]} (%x)", "[2,3,2]");
  one("Transpose.13 (%x)", "[2,3]");
  one("Squeeze.1 {axes=[1]} (%x)", "[2,1,2]");
  two("Concat.13 {axis=-1} (%a, %b)", "[2,3]", "[2,1]");
  check(
      " %x = input : f64[5,2]\n %p, %q = Split.2 {axis=0, split=[2,3]} (%x)\n %q2 = Exp.13 (%q)\n"
      " %s = ReduceSum.1 {axes=[0]} (%q2)\n %y = Mul.14 (%p, %s)");
  one("Slice.1 {axes=[0,1], starts=[1,-2], ends=[3,9]} (%x)", "[4,3]");
  check(" %x = input : f64[4,3]\n %i = i64[2,2] {3, 0, 0, -1}\n %y = Gather.13 (%x, %i)");
  check(" %x = input : f64[2,2]\n %i = i64[1,2] {1, 0}\n %y = GatherElements.13 (%x, %i)");
  check(" %x = input : f64[2,2]\n %i = i64[2,1] {1, 0}\n %y = GatherND.13 (%x, %i)");
  check(" %x = input : f64[2,2]\n %i = i64[2] {2, 3}\n %y = Tile.13 (%x, %i)");
  check(" %x = input : f64[2,1]\n %i = i64[3] {3, 1, 4}\n %y = Expand.13 (%x, %i)");
  one("DepthToSpace.13 {blocksize=2} (%x)", "[1,4,1,2]");
  one("SpaceToDepth.13 {blocksize=2} (%x)", "[1,1,2,4]");
  one("Trilu.14 (%x)", "[3,3]");
  one("Pad.2 {pads=[1,0,0,2], value=3.0} (%x)", "[2,3]");
  one("Pad.2 {pads=[1,0,0,2], mode=\"reflect\"} (%x)", "[2,3]");
  check(
      " %x = input : f64[2,3]\n %v = input : f64[]\n %p = i64[4] {1, 0, 0, 2}\n"
      " %y = Pad.13 (%x, %p, %v)");
  check(
      " %x = input : f64[2,3]\n %i = i64[] {1}\n"
      " %y = CumSum.14 {exclusive=1, reverse=1} (%x, %i)");
  check(
      " %x = input : f64[3,2]\n %i = i64[1,2] {2, 0}\n %u = input : f64[1,2]\n"
      " %y = ScatterElements.18 (%x, %i, %u)");
  check(
      " %x = input : f64[3,2]\n %i = i64[2,1] {2, 2}\n %u = input : f64[2,2]\n"
      " %y = ScatterND.18 {reduction=\"add\"} (%x, %i, %u)");
  check(" %x = input : f64[2,5]\n %k = i64[1] {2}\n %y, %i = TopK.11 (%x, %k)");
}

TEST(Gradient, products) {
  two("MatMul.13 (%a, %b)", "[2,3]", "[3,4]");
  two("MatMul.13 (%a, %b)", "[2,1,2,3]", "[3,3,2]");
  two("MatMul.13 (%a, %b)", "[3]", "[2,3,2]");
  two("MatMul.13 (%a, %b)", "[2,2,3]", "[3]");
  two("MatMul.13 (%a, %b)", "[3]", "[3]");
  check(
      " %a = input : f64[3,2]\n %b = input : f64[4,3]\n %c = input : f64[4]\n"
      " %y = Gemm.13 {transA=1, transB=1, alpha=0.5, beta=2.0} (%a, %b, %c)");
  two("Einsum.12 {equation=\"bij,bjk->bk\"} (%a, %b)", "[2,2,3]", "[2,3,2]");
  two("Einsum.12 {equation=\"ij,jk\"} (%a, %b)", "[2,3]", "[3,2]");
  two("Einsum.12 {equation=\"...ij,jk->...ik\"} (%a, %b)", "[2,2,3]", "[3,2]");
  two("Einsum.12 {equation=\"...i,...i->...\"} (%a, %b)", "[2,3]", "[1,3]");
}

TEST(Gradient, softmax_and_normalisations) {
  one("Softmax.13 {axis=1} (%x)", "[2,3,2]");
  one("Softmax.1 {axis=1} (%x)", "[2,3,2]");
  one("LogSoftmax.13 (%x)", "[2,4]");
  check(
      " %x = input : f64[2,3,2]\n %s = input : f64[3]\n %b = input : f64[3]\n %m = input : f64[3]\n"
      " %v = input : f64[3]\n %y = BatchNormalization.15 (%x, %s, %b, %m, %v)",
      {.5, 2});
  check(
      " %x = input : f64[2,2,3]\n %s = input : f64[2]\n %b = input : f64[2]\n"
      " %y = InstanceNormalization.6 {epsilon=0.1} (%x, %s, %b)");
  check(
      " %x = input : f64[2,4]\n %s = input : f64[4]\n %b = input : f64[4]\n"
      " %y = LayerNormalization.17 {epsilon=0.1} (%x, %s, %b)");
  check(
      " %x = input : f64[2,4]\n %s = input : f64[4]\n"
      " %y = RMSNormalization.23 {epsilon=0.1} (%x, %s)");
  for (const char* version : {"18", "21"}) {
    const char* count = version[0] == '1' ? "2" : "4";
    check(
        fmt::format(" %x = input : f64[2,4,2]\n %s = input : f64[{0}]\n %b = input : f64[{0}]\n"
                    " %y = GroupNormalization.{1} {{num_groups=2, epsilon=0.1}} (%x, %s, %b)",
                    count, version));
  }
  one("LpNormalization.1 {axis=1, p=2} (%x)", "[2,3]", {.5, 2});
}

TEST(Gradient, windows) {
  check(
      " %x = input : f64[1,2,5,4]\n %w = input : f64[3,2,3,2]\n %b = input : f64[3]\n"
      " %y = Conv.11 {strides=[2,1], pads=[1,0,1,1]} (%x, %w, %b)");
  two("Conv.11 {group=2, dilations=[2], strides=[2]} (%a, %b)", "[2,2,8]", "[4,1,2]");
  two("Conv.11 {auto_pad=\"SAME_UPPER\", strides=[2]} (%a, %b)", "[1,1,5]", "[1,1,2]");
  check(
      " %x = input : f64[1,2,3]\n %w = input : f64[2,2,3]\n %b = input : f64[2]\n"
      " %y = ConvTranspose.11 {strides=[2], pads=[1,0], output_padding=[1]} (%x, %w, %b)");
  one("AveragePool.19 {kernel_shape=[2,3], strides=[1,2], pads=[0,1,1,1]} (%x)", "[1,2,3,4]");
  one("AveragePool.19 {kernel_shape=[3], strides=[2], pads=[1,1], ceil_mode=1, "
      "count_include_pad=1} (%x)",
      "[1,1,6]");
  one("MaxPool.12 {kernel_shape=[2,2], pads=[1,0,0,0]} (%x)", "[1,2,3,3]");
  one("GlobalAveragePool.1 (%x)", "[2,2,3]");
  one("GlobalMaxPool.1 (%x)", "[2,2,3]");
}

TEST(Gradient, losses) {
  for (const char* reduction : {"none", "sum", "mean"}) {
    check(fmt::format(" %x = input : f64[3,4]\n %t = i64[3] {{1, 3, 0}}\n %w = input : f64[4]\n"
                      " %y = NegativeLogLikelihoodLoss.13 {{reduction=\"{}\", ignore_index=3}} "
                      "(%x, %t, %w)",
                      reduction),
          {.5, 1});
    check(
        fmt::format(" %x = input : f64[2,3,2]\n %t = i64[2,2] {{1, 0, 2, 2}}\n"
                    " %y = SoftmaxCrossEntropyLoss.13 {{reduction=\"{}\"}} (%x, %t)",
                    reduction));
  }
  check(
      " %x = input : f64[2,3]\n %t = i64[2] {1, 2}\n"
      " %l, %p = SoftmaxCrossEntropyLoss.13 (%x, %t)\n %y = Add.14 (%l, %p)");
}

TEST(Gradient, a_wire_that_is_used_twice_adds_up) {
  check(" %x = input : f64[3]\n %1 = Exp.13 (%x)\n %2 = Mul.14 (%1, %x)\n %y = Mul.14 (%2, %1)");
}

TEST(Gradient, of_a_gradient) {
  Result<Graph> graph = typed::parse(
      "graph \"\" {\n %x = input : f64[]\n %c = f64[] {3}\n %y = Pow.15 (%x, %c)\n"
      " output \"y\" = %y\n}\n");
  ASSERT_TRUE(graph) << graph.error().text();
  Outlet y = graph->outputs()[0].outlet;
  const Outlet x = graph->inputs()[0];
  for (int order = 1; order <= 3; ++order) {
    const auto grads = differentiate(*graph, y, std::span(&x, 1));
    ASSERT_TRUE(grads) << grads.error().text();
    y = (*grads)[0];
    graph->output("", y);
  }
  const std::vector<Value> at{Tensor::scalar(2.0)};
  const auto outputs = typed::eval(*graph, at);
  ASSERT_TRUE(outputs) << outputs.error().text();
  for (const auto& [i, want] : {std::pair{0, 8.}, {1, 12.}, {2, 12.}, {3, 6.}}) {
    EXPECT_DOUBLE_EQ((*outputs)[size_t(i)].tensor().data<double>()[0], want) << i;
  }
}

TEST(Gradient, an_operator_without_a_rule_is_named) {
  Result<Graph> graph = typed::parse(
      "graph \"\" {\n %x = input : f32[2,2]\n %y = Det.11 (%x) \"area\"\n output \"y\" = %y\n}\n");
  ASSERT_TRUE(graph) << graph.error().text();
  const Outlet x = graph->inputs()[0];
  const auto grads = differentiate(*graph, graph->outputs()[0].outlet, std::span(&x, 1));
  ASSERT_FALSE(grads);
  EXPECT_NE(grads.error().text().find("operator Det has no derivative rule"), std::string::npos);
  EXPECT_NE(grads.error().text().find("area"), std::string::npos);
}

TEST(Gradient, steps_and_what_does_not_matter_are_flat) {
  Result<Graph> graph = typed::parse(
      "graph \"\" {\n %x = input : f32[2]\n %z = input : f32[3]\n %y = Floor.13 (%x)\n"
      " output \"y\" = %y\n}\n");
  ASSERT_TRUE(graph) << graph.error().text();
  const auto grads = differentiate(*graph, graph->outputs()[0].outlet, graph->inputs());
  ASSERT_TRUE(grads) << grads.error().text();
  for (const Outlet grad : *grads) graph->output("", grad);
  const std::vector<Value> at{Tensor::of<float>({2}, {1, 2}), Tensor::of<float>({3}, {1, 2, 3})};
  const auto outputs = typed::eval(*graph, at);
  ASSERT_TRUE(outputs) << outputs.error().text();
  EXPECT_EQ((*outputs)[1].tensor(), Tensor::of<float>({2}, {0, 0}));
  EXPECT_EQ((*outputs)[2].tensor(), Tensor::of<float>({3}, {0, 0, 0}));
}

}  // namespace
}  // namespace sdx::gradient
