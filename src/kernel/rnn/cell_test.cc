#include "kernel/rnn/cell.h"

#include <gtest/gtest.h>

#include <bit>
#include <limits>
#include <random>
#include <vector>

#include "kernel/isa_testing.h"
#include "kernel/math/ops.h"

namespace sdx {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<float> random_floats(size_t n, unsigned seed) {
  std::mt19937 rng(seed);
  std::normal_distribution<float> normal(0, 3);
  std::vector<float> x(n);
  for (float& v : x) v = normal(rng);
  if (n > 20) x[3] = 1e30f, x[17] = -kInfinity, x[19] = std::numeric_limits<float>::quiet_NaN();
  return x;
}

float cut(float x, float clip) { return x < -clip ? -clip : x > clip ? clip : x; }
float sigmoid(float x) { return scalar_unary(UnaryOp::sigmoid, x, 0, 0); }
float tanh(float x) { return scalar_unary(UnaryOp::tanh, x, 0, 0); }
float canonical(float x) { return x == x ? x : std::numeric_limits<float>::quiet_NaN(); }

void expect_bits(const std::vector<float>& want, const std::vector<float>& got) {
  for (size_t i = 0; i < want.size(); ++i)
    ASSERT_EQ(std::bit_cast<uint32_t>(want[i]), std::bit_cast<uint32_t>(got[i])) << "unit " << i;
}

// 37 units: two whole blocks and a part of one. Everything as the kernels want it.
struct Layer {
  static constexpr size_t kHidden = 37, kBlocks = 3;
  size_t gates;
  std::vector<float> x, h, w_bias, bias, r_bias;
  explicit Layer(size_t count)
      : gates(count),
        x(random_floats(count * kBlocks * kCellUnits, 1)),
        h(random_floats(count * kBlocks * kCellUnits, 2)),
        w_bias(random_floats(count * kBlocks * kCellUnits, 3)),
        bias(random_floats(count * kBlocks * kCellUnits, 4)),
        r_bias(random_floats(count * kBlocks * kCellUnits, 5)) {}
  static CellRange all() { return {kHidden, 0, kBlocks}; }
  // Unit j of gate g.
  float at(const std::vector<float>& of, size_t g, size_t j) const {
    return of[(j / kCellUnits * gates + g) * kCellUnits + j % kCellUnits];
  }
  float pre(size_t g, size_t j) const { return (at(x, g, j) + at(h, g, j)) + at(bias, g, j); }
};

// i = f(pre i + Pi c); f = f(pre f + Pf c) or 1 - i; C = f c + i g(pre c); o = f(pre o + Po C);
// H = o h(C).
TEST(LstmCell, has_the_bits_of_its_formula_at_every_level) {
  const Layer layer(4);
  const auto peepholes = random_floats(3 * Layer::kHidden, 6);
  const auto state = random_floats(Layer::kHidden, 7);
  for (const bool coupled : {false, true}) {
    for (const float clip : {kInfinity, 1.5f}) {
      for (const bool peeps : {false, true}) {
        std::vector<float> want_c(Layer::kHidden), want_h(Layer::kHidden);
        for (size_t j = 0; j < Layer::kHidden; ++j) {
          const auto peep = [&](float value, size_t which, float cell) {
            return peeps ? value + peepholes[which * Layer::kHidden + j] * cell : value;
          };
          const float c = state[j];
          const float i = sigmoid(cut(peep(layer.pre(0, j), 0, c), clip));
          const float f = coupled ? 1.0f - i : sigmoid(cut(peep(layer.pre(2, j), 2, c), clip));
          const float g = tanh(cut(layer.pre(3, j), clip));
          const float kept = f * c, added = i * g;
          const float next = kept + added;
          const float o = sigmoid(cut(peep(layer.pre(1, j), 1, next), clip));
          want_c[j] = canonical(next);
          want_h[j] = canonical(o * tanh(cut(next, clip)));
        }
        for (const Isa isa : available_isas()) {
          SCOPED_TRACE(isa_name(isa));
          std::vector<float> c = state, h(Layer::kHidden, 5.f);
          SDX_PICK(lstm_cell, isa)
          ({Layer::all(), layer.x.data(), layer.h.data(), layer.bias.data(),
            peeps ? peepholes.data() : nullptr, coupled, clip, c.data(), h.data()});
          expect_bits(want_c, c);
          expect_bits(want_h, h);
        }
      }
    }
  }
}

// z = f(pre z); r = f(pre r); H = (1 - z) g(x + r (h + Rb) + Wb) + z h.
TEST(GruCell, has_the_bits_of_its_formula_at_every_level) {
  const Layer layer(3);
  const auto state = random_floats(Layer::kHidden, 7);
  std::vector<float> want(Layer::kHidden);
  for (size_t j = 0; j < Layer::kHidden; ++j) {
    const float z = sigmoid(cut(layer.pre(0, j), 2)), r = sigmoid(cut(layer.pre(1, j), 2));
    const float linear = layer.at(layer.h, 2, j) + layer.at(layer.r_bias, 2, j);
    const float reset = r * linear;
    const float last = (layer.at(layer.x, 2, j) + reset) + layer.at(layer.w_bias, 2, j);
    const float fresh = (1.0f - z) * tanh(cut(last, 2)), kept = z * state[j];
    want[j] = canonical(fresh + kept);
  }
  for (const Isa isa : available_isas()) {
    SCOPED_TRACE(isa_name(isa));
    std::vector<float> got(Layer::kHidden, 5.f);
    GruCell cell{};
    cell.units = Layer::all();
    cell.x = layer.x.data(), cell.h = layer.h.data();
    cell.w_bias = layer.w_bias.data(), cell.bias = layer.bias.data();
    cell.r_bias = layer.r_bias.data();
    cell.clip = 2;
    cell.state_h = state.data();
    cell.next_h = got.data();
    SDX_PICK(gru_cell, isa)(cell);
    expect_bits(want, got);
  }
}

TEST(RnnCell, takes_relu_or_tanh_of_the_sum) {
  const Layer layer(1);
  for (const bool relu : {false, true}) {
    std::vector<float> want(Layer::kHidden);
    for (size_t j = 0; j < Layer::kHidden; ++j) {
      const float pre = cut(layer.pre(0, j), 2);
      want[j] = relu ? scalar_unary(UnaryOp::relu, pre, 0, 0) : tanh(pre);
    }
    for (const Isa isa : available_isas()) {
      SCOPED_TRACE(isa_name(isa));
      std::vector<float> got(Layer::kHidden, 5.f);
      SDX_PICK(rnn_cell, isa)
      ({Layer::all(), layer.x.data(), layer.h.data(), layer.bias.data(), relu, 2, got.data()});
      expect_bits(want, got);
    }
  }
}

TEST(Cells, leave_units_outside_of_their_range_alone) {
  const Layer layer(1);
  for (const Isa isa : available_isas()) {
    std::vector<float> got(Layer::kHidden, 5.f);
    SDX_PICK(rnn_cell, isa)
    ({{Layer::kHidden, 1, 2},
      layer.x.data(),
      layer.h.data(),
      layer.bias.data(),
      true,
      2,
      got.data()});
    for (size_t j = 0; j < Layer::kHidden; ++j) {
      if (j / kCellUnits != 1) {
        EXPECT_EQ(got[j], 5.f) << isa_name(isa) << " unit " << j;
      }
    }
  }
}

}  // namespace
}  // namespace sdx
