// Dynamic shapes go through chains of small integer operators; what comes out must be the exact
// expression.
#include <gtest/gtest.h>

#include "ops/list.h"

namespace sdx {
namespace {

// The facts of one use of an operator at opset 21.
Facts facts(const Op& op, Facts in, AttrMap attrs = {}, size_t outputs = 1) {
  Node node;
  node.op = &op;
  node.opset = 21;
  node.attrs = std::move(attrs);
  node.wanted.assign(outputs, true);
  for (const AttrDecl& attr : op.at(node.opset)->attributes) {
    if (attr.fallback) node.attrs.emplace(attr.name, *attr.fallback);
  }
  auto resolved = op.read(node, in);
  EXPECT_TRUE(resolved.ok()) << (resolved ? "" : resolved.error().what);
  if (!resolved) return {};
  auto out = op.infer(resolved->get(), in);
  EXPECT_TRUE(out.ok()) << (out ? "" : out.error().what);
  return out ? *out : Facts{};
}
Fact ints(std::initializer_list<int64_t> values) {
  return Fact::constant(Tensor::of<int64_t>({int64_t(values.size())}, values));
}
std::string values(const Fact& fact) { return fact.symbolic ? to_string(*fact.symbolic) : "none"; }

const Dim kN = Dim::symbol("N"), kS = Dim::symbol("S");
const Fact kInput = Fact::tensor(DType::f32, {kN, kS, 768});

TEST(ShapeArithmetic, heads_are_split_and_joined) {
  const Fact shape = facts(ops::shape, {kInput})[0];
  EXPECT_EQ(values(shape), "[N,S,768]");
  const Fact n = facts(ops::gather, {shape, ints({0})})[0];
  const Fact s = facts(ops::slice, {shape, ints({1}), ints({2}), ints({0})})[0];
  const Fact wanted = facts(ops::concat, {n, s, ints({12, 64})}, {{"axis", int64_t{0}}})[0];
  EXPECT_EQ(values(wanted), "[N,S,12,64]");
  const Fact heads = facts(ops::reshape, {kInput, wanted})[0];
  EXPECT_EQ(to_string(*heads.shape), "[N,S,12,64]");
  const Fact joined = facts(ops::reshape, {heads, ints({0, 0, -1})})[0];
  EXPECT_EQ(to_string(*joined.shape), "[N,S,768]");
}

TEST(ShapeArithmetic, reshape_solves_minus_one) {
  const Fact rows = facts(ops::reshape, {kInput, ints({-1, 768})})[0];
  EXPECT_EQ(to_string(*rows.shape), "[N*S,768]");
  const Fact back = facts(ops::reshape, {rows, facts(ops::shape, {kInput})[0]})[0];
  EXPECT_EQ(to_string(*back.shape), "[N,S,768]");
}

TEST(ShapeArithmetic, a_scalar_from_a_shape_becomes_a_range) {
  const Fact shape = facts(ops::shape, {kInput})[0];
  const Fact s = facts(ops::gather, {shape, Fact::constant(Tensor::scalar<int64_t>(1))})[0];
  const Fact zero = Fact::constant(Tensor::scalar<int64_t>(0)),
             one = Fact::constant(Tensor::scalar<int64_t>(1));
  EXPECT_EQ(to_string(*facts(ops::range, {zero, s, one})[0].shape), "[S]");
  const Fact list = facts(ops::unsqueeze, {s, ints({0})})[0];
  EXPECT_EQ(values(facts(ops::squeeze, {list, ints({0})})[0]), "[S]");
  const Fact narrow = facts(ops::cast, {list}, {{"to", int64_t(DType::i32)}})[0];
  EXPECT_EQ(values(facts(ops::cast, {narrow}, {{"to", int64_t(DType::i64)}})[0]), "[S]");
  EXPECT_EQ(to_string(*facts(ops::constant_of_shape, {list})[0].shape), "[S]");
  EXPECT_EQ(values(facts(ops::expand, {list, ints({2})})[0]), "[S,S]");
}

TEST(ShapeArithmetic, slices_of_symbolic_axes_are_exact) {
  const auto sliced = [](int64_t start, int64_t end, int64_t step = 1) {
    return facts(ops::slice, {kInput, ints({start}), ints({end}), ints({1}), ints({step})})[0].dim(
        1);
  };
  constexpr int64_t kEnd = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(sliced(0, kEnd), kS);
  EXPECT_EQ(sliced(kEnd, std::numeric_limits<int64_t>::min(), -1), kS);
  EXPECT_EQ(sliced(0, kEnd, 2), ceil_div(kS, 2));
  for (const auto& [start, end] : std::vector<std::pair<int64_t, int64_t>>{
           {1, kEnd}, {-3, kEnd}, {0, -1}, {2, 5}, {-4, -2}, {1, -1}, {-3, 4}, {0, 3}}) {
    for (int64_t n = 0; n < 9; ++n) {
      const Fact known = Fact::tensor(DType::f32, {1, n, 1});
      const Fact exact = facts(ops::slice, {known, ints({start}), ints({end}), ints({1})})[0];
      EXPECT_EQ(sliced(start, end).eval({{"S", n}}), exact.dim(1).value())
          << start << ":" << end << " of " << n;
    }
  }
}

TEST(ShapeArithmetic, split_and_pad_keep_expressions) {
  const Facts halves =
      facts(ops::split, {kInput}, {{"axis", int64_t{2}}, {"num_outputs", int64_t{2}}}, 2);
  EXPECT_EQ(to_string(*halves[1].shape), "[N,S,384]");
  const Fact padded = facts(ops::pad, {kInput, ints({0, 1, 0, 0, 2, 0})})[0];
  EXPECT_EQ(to_string(*padded.shape), "[N,S+3,768]");
  EXPECT_EQ(values(facts(ops::size, {kInput})[0]), "[768*N*S]");
}

TEST(ShapeArithmetic, comparisons_hold_whatever_the_symbols_are_or_say_nothing) {
  const Fact shape = facts(ops::shape, {kInput})[0];  // N, S, 768
  const Fact more = facts(ops::add, {shape, ints({1, 0, 0})})[0];
  EXPECT_EQ(values(facts(ops::equal_, {shape, shape})[0]), "[1,1,1]");
  EXPECT_EQ(values(facts(ops::equal_, {more, shape})[0]), "[0,1,1]");
  EXPECT_EQ(values(facts(ops::less, {shape, more})[0]), "[1,0,0]");
  EXPECT_EQ(values(facts(ops::greater_or_equal, {more, shape})[0]), "[1,1,1]");
  EXPECT_EQ(values(facts(ops::less_or_equal, {more, shape})[0]), "[0,1,1]");
  EXPECT_EQ(values(facts(ops::greater, {shape, ints({0, 0, 0})})[0]), "none");
  const Fact grew = facts(ops::greater, {more, shape})[0];
  const Fact same = facts(ops::not_, {grew})[0];
  EXPECT_EQ(values(same), "[0,1,1]");
  EXPECT_EQ(values(facts(ops::and_, {grew, same})[0]), "[0,0,0]");
  EXPECT_EQ(values(facts(ops::or_, {grew, same})[0]), "[1,1,1]");
  EXPECT_EQ(values(facts(ops::xor_, {grew, grew})[0]), "[0,0,0]");
  EXPECT_EQ(values(facts(ops::cast, {same}, {{"to", int64_t(DType::i64)}})[0]), "[0,1,1]");
  const AttrMap to_bool{{"to", int64_t(DType::boolean)}};
  EXPECT_EQ(values(facts(ops::cast, {shape}, to_bool)[0]), "none");
  const Fact last = facts(ops::slice, {shape, ints({2}), ints({3})})[0];
  EXPECT_EQ(values(facts(ops::cast, {last}, to_bool)[0]), "[1]");
}

TEST(ShapeArithmetic, an_impossible_reshape_is_an_error) {
  Node node;
  node.op = &ops::reshape;
  node.opset = 21;
  node.attrs = {{"allowzero", int64_t{0}}};
  node.wanted = {true};
  const Facts in{Fact::tensor(DType::f32, {2, 3}), ints({4, -1})};
  auto resolved = ops::reshape.read(node, in);
  ASSERT_TRUE(resolved.ok());
  const auto out = ops::reshape.infer(resolved->get(), in);
  ASSERT_FALSE(out.ok());
  EXPECT_EQ(out.error().code, "SDX-T0201");
}

}  // namespace
}  // namespace sdx
