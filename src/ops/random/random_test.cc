// Random operators: the distribution is the one asked for, and the seed alone decides the numbers.
#include <gtest/gtest.h>

#include <cmath>

#include "ops/list.h"
#include "typed/eval.h"

namespace sdx {
namespace {

Tensor draw(std::string_view name, AttrMap attrs, std::vector<Value> inputs = {}) {
  Node use;
  use.op = find_op("", name);
  use.opset = 15;
  use.attrs = std::move(attrs);
  use.wanted = {true};
  use.formal_inputs = inputs.size();
  // The defaults that a model's node would get.
  for (const AttrDecl& decl : use.op->at(use.opset)->attributes) {
    if (decl.fallback) use.attrs.emplace(decl.name, *decl.fallback);
  }
  const auto values = typed::eval(use, inputs);
  EXPECT_TRUE(values) << values.error().text();
  return values ? (*values)[0].tensor() : Tensor();
}

struct Moments {
  double mean = 0, deviation = 0;
};
Moments moments(const Tensor& t) {
  Moments m;
  for (size_t i = 0; i < t.count(); ++i) m.mean += get_f64(t.type(), t.raw(), i);
  m.mean /= double(t.count());
  for (size_t i = 0; i < t.count(); ++i)
    m.deviation += std::pow(get_f64(t.type(), t.raw(), i) - m.mean, 2);
  m.deviation = std::sqrt(m.deviation / double(t.count()));
  return m;
}

const std::vector<int64_t> kShape{100, 200};

TEST(Random, uniform_numbers_fill_their_interval) {
  const AttrMap attrs{{"shape", kShape}, {"low", 2.f}, {"high", 6.f}, {"seed", 5.f}};
  const Tensor t = draw("RandomUniform", attrs);
  ASSERT_EQ(t.dims(), Dims(kShape));
  const Moments m = moments(t);
  EXPECT_NEAR(m.mean, 4, 0.05);
  EXPECT_NEAR(m.deviation, 4 / std::sqrt(12.), 0.05);
  for (const float x : t.values<float>()) ASSERT_TRUE(x >= 2 && x <= 6) << x;
}

TEST(Random, normal_numbers_have_mean_and_deviation) {
  const AttrMap attrs{{"shape", kShape}, {"mean", -3.f}, {"scale", 2.f}, {"seed", 5.f}};
  const Moments m = moments(draw("RandomNormal", attrs));
  EXPECT_NEAR(m.mean, -3, 0.08);
  EXPECT_NEAR(m.deviation, 2, 0.08);
}

TEST(Random, the_seed_decides) {
  for (const char* name : {"RandomUniform", "RandomNormal"}) {
    const auto with = [&](float seed) { return draw(name, {{"shape", kShape}, {"seed", seed}}); };
    EXPECT_EQ(with(1), with(1));
    EXPECT_FALSE(with(1) == with(2));
  }
}

TEST(Random, events_come_as_often_as_they_should) {
  Tensor p = Tensor::make(DType::f32, {20000});
  std::fill_n(p.data<float>(), p.count(), 0.3f);
  EXPECT_NEAR(moments(draw("Bernoulli", {{"seed", 5.f}}, {p})).mean, 0.3, 0.02);
  const Tensor classes = draw("Multinomial", {{"sample_size", int64_t{20000}}, {"seed", 5.f}},
                              {Tensor::of<float>({1, 2}, {std::log(1.f), std::log(3.f)})});
  EXPECT_NEAR(moments(classes).mean, 0.75, 0.02);
}

}  // namespace
}  // namespace sdx
