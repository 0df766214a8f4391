// RandomUniform, RandomNormal, their Like forms, Bernoulli and Multinomial: functions of the seed
// and the element's index.
#include <bit>

#include "kernel/math/math.h"
#include "kernel/random/philox.h"
#include "ops/common.h"

namespace sdx::ops {
namespace {

struct Random {
  DType output;
  std::optional<Dims> shape;  // none: the input's
  uint64_t seed;
  float first, second;  // low and high, or mean and scale
  int64_t samples;      // Multinomial
};

constexpr Version kUniformHistory[] = {
    {1,
     "() -> (output: T) {dtype: int = 1, high: float = 1, low: float = 0, seed: float, shape!: "
     "ints} T in "
     "floats"},
    {22, "T += bf16"},
};
constexpr Version kNormalHistory[] = {
    {1,
     "() -> (output: T) {dtype: int = 1, mean: float = 0, scale: float = 1, seed: float, shape!: "
     "ints} T in "
     "floats"},
    {22, "T += bf16"},
};
constexpr Version kUniformLikeHistory[] = {
    {1,
     "(input: T1) -> (output: T2) {dtype: int, high: float = 1, low: float = 0, seed: float} T1 in "
     "all T2 "
     "in floats"},
    {22, "T1 += bf16 T2 += bf16"},
};
constexpr Version kNormalLikeHistory[] = {
    {1,
     "(input: T1) -> (output: T2) {dtype: int, mean: float = 0, scale: float = 1, seed: float} T1 "
     "in all T2 "
     "in floats"},
    {22, "T1 += bf16 T2 += bf16"},
};
constexpr Version kBernoulliHistory[] = {
    {15, "(input: T1) -> (output: T2) {dtype: int, seed: float} T1 in floats T2 in num bf16 bool"},
    {22, "T1 += bf16"},
};
constexpr Version kMultinomialHistory[] = {
    {7,
     "(input: T1) -> (output: T2) {dtype: int = 6, sample_size: int = 1, seed: float} T1 in floats "
     "T2 in "
     "i32 i64"},
    {22, "T1 += bf16"},
};

Result<Random> read(const Node& node, const Facts& in) {
  Random a{DType::undefined,           {}, std::bit_cast<uint32_t>(node.f_or("seed", 0)), 0, 0,
           node.i_or("sample_size", 1)};
  const int64_t type = node.i_or("dtype", in.empty() ? int64_t(DType::f32) : int64_t(in[0].type));
  if (!valid(type)) return fail("SDX-T0701", "dtype {} is not an element type", type);
  a.output = DType(type);
  if (node.has("shape")) {
    a.shape = node.ints("shape");
    SDX_TRY(element_count(*a.shape));
  }
  a.first = node.has("low") ? node.f("low") : node.f_or("mean", 0);
  a.second = node.has("high") ? node.f("high") : node.f_or("scale", 1);
  if (a.samples < 0)
    return fail("SDX-T0702", "sample_size is {}; it must not be negative", a.samples);
  return a;
}

Result<Random> read_floats(const Node& node, const Facts& in) {
  SDX_ASSIGN(Random a, read(node, in));
  if (!visit_floats(a.output, []<class T>() {})) {
    return fail("SDX-T0703", "the output type would be {}; it must be a floating one: give dtype",
                short_name(a.output));
  }
  return a;
}

Result<Facts> infer(const Random& a, const Facts& in) {
  if (a.shape) return Facts{Fact::tensor(a.output, shape_of(*a.shape))};
  return Facts{like(in[0], a.output)};
}

// y = low + u * (high - low) in double, u uniform in [0, 1); rounded once.
Status uniform(const Random& a, Args& args) {
  visit_floats(a.output, [&]<class T>() {
    const Philox random(a.seed);
    const double low = a.first, width = double(a.second) - low;
    T* y = args.out().data<T>();
    args.pool->parallel(args.out().count, 4096, [&](size_t begin, size_t end, int) {
      for (size_t i = begin; i < end; ++i) {
        y[i] = store<T>(Compute<T>(low + random.uniform(i) * width));
      }
    });
  });
  return ok();
}

// y = mean + scale * z in double, z normally distributed; rounded once.
Status normal(const Random& a, Args& args) {
  visit_floats(a.output, [&]<class T>() {
    const Philox random(a.seed);
    T* y = args.out().data<T>();
    args.pool->parallel(args.out().count, 1024, [&](size_t begin, size_t end, int) {
      for (size_t i = begin; i < end; ++i) {
        y[i] = store<T>(Compute<T>(double(a.first) + double(a.second) * random.normal(i)));
      }
    });
  });
  return ok();
}

// y = 1 if u < p, else 0; u uniform in [0, 1).
Status draw_bernoulli(const Random& a, Args& args) {
  const View &p = args.in(0), &y = args.out();
  const Philox random(a.seed);
  for (size_t i = 0; i < p.count; ++i) {
    const bool hit = random.uniform(i) < get_f64(p.type, p.raw, i);
    if (is_float(y.type)) {
      set_f64(y.type, y.raw, i, hit ? 1 : 0);
    } else {
      set_i64(y.type, y.raw, i, hit ? 1 : 0);
    }
  }
  return ok();
}

Result<Facts> infer_multinomial(const Random& a, const Facts& in) {
  if (in[0].has_rank() && in[0].rank() != 2) {
    return fail("SDX-T0704", "the input has rank {}; it must be [batch, classes]", in[0].rank());
  }
  return Facts{
      Fact::tensor(a.output, {in[0].has_rank() ? in[0].dim(0) : Dim::unknown(), Dim(a.samples)})};
}

// In double: e = exp(x - max x) per class, its running sums in order; a sample is the first class
// whose running sum exceeds u * total, u being number (row * samples + sample) of the stream.
Status draw_multinomial(const Random& a, Args& args) {
  const View &x = args.in(0), &y = args.out();
  const Philox random(a.seed);
  if (x.rank() != 2)
    return fail("SDX-T0704", "the input has rank {}; it must be [batch, classes]", x.rank());
  const size_t rows = size_t(x.dims[0]), classes = size_t(x.dims[1]), samples = size_t(a.samples);
  if (classes == 0 && rows * samples > 0)
    return fail("SDX-R0701", "there are no classes to draw from");
  std::vector<double> running(classes);
  for (size_t row = 0; row < rows; ++row) {
    const auto in = [&](size_t c) { return get_f64(x.type, x.raw, row * classes + c); };
    double most = -std::numeric_limits<double>::infinity(), sum = 0;
    for (size_t c = 0; c < classes; ++c) most = in(c) > most ? in(c) : most;
    for (size_t c = 0; c < classes; ++c) {
      const double e = math::exp(in(c)-most);
      running[c] = sum = sum + (e == e ? e : 0);
    }
    for (size_t s = 0; s < samples; ++s) {
      const double level = random.uniform(row * samples + s) * sum;
      size_t c = 0;
      while (c + 1 < classes && !(running[c] > level)) ++c;
      set_i64(y.type, y.raw, row * samples + s, int64_t(c));
    }
  }
  return ok();
}

// An interval or a deviation of nothing leaves one number to draw.
std::vector<Case> uniform_cases() {
  return {{.name = "from_an_interval_without_width",
           .opset = 1,
           .attrs = {{"shape", std::vector<int64_t>{2}}, {"low", 3.f}, {"high", 3.f}},
           .inputs = {},
           .expected = {Tensor::of<float>({2}, {3, 3})}}};
}
std::vector<Case> normal_cases() {
  return {{.name = "without_deviation",
           .opset = 1,
           .attrs = {{"shape", std::vector<int64_t>{2}}, {"mean", -2.f}, {"scale", 0.f}},
           .inputs = {},
           .expected = {Tensor::of<float>({2}, {-2, -2})}}};
}
std::vector<Case> uniform_like_cases() {
  return {{.name = "of_the_inputs_type_and_shape",
           .opset = 1,
           .attrs = {{"low", 3.f}, {"high", 3.f}},
           .inputs = {Tensor::of<double>({1, 2}, {0, 0})},
           .expected = {Tensor::of<double>({1, 2}, {3, 3})}}};
}
std::vector<Case> normal_like_cases() {
  return {{.name = "of_another_type",
           .opset = 1,
           .attrs = {{"dtype", int64_t(DType::f64)}, {"mean", -2.f}, {"scale", 0.f}},
           .inputs = {Tensor::of<float>({1, 2}, {0, 0})},
           .expected = {Tensor::of<double>({1, 2}, {-2, -2})}}};
}
std::vector<Case> multinomial_cases() {
  return {{.name = "a_certain_class_is_always_drawn",
           .opset = 7,
           .attrs = {{"sample_size", int64_t{3}}},
           .inputs = {Tensor::of<float>({1, 3}, {-1000, 0, -1000})},
           .expected = {Tensor::of<int32_t>({1, 3}, {1, 1, 1})}}};
}
std::vector<Case> bernoulli_cases() {
  return {{.name = "certain_events",
           .opset = 15,
           .attrs = {{"dtype", int64_t(DType::i32)}},
           .inputs = {Tensor::of<float>({2}, {0, 1})},
           .expected = {Tensor::of<int32_t>({2}, {0, 1})}}};
}

constexpr OpOf<Random> kRandomUniform{
    .name = "RandomUniform",
    .doc = "A tensor of numbers drawn uniformly from [low, high), the same for the same seed.",
    .history = kUniformHistory,
    .read = read_floats,
    .infer = infer,
    .reference = uniform,
    .cases = uniform_cases,
    .deterministic = false,
};
constexpr OpOf<Random> kRandomUniformLike{
    .name = "RandomUniformLike",
    .doc = "RandomUniform with the shape of the input.",
    .history = kUniformLikeHistory,
    .read = read_floats,
    .infer = infer,
    .reference = uniform,
    .cases = uniform_like_cases,
    .deterministic = false,
};
constexpr OpOf<Random> kRandomNormal{
    .name = "RandomNormal",
    .doc = "A tensor of normally distributed numbers, the same for the same seed.",
    .history = kNormalHistory,
    .read = read_floats,
    .infer = infer,
    .reference = normal,
    .cases = normal_cases,
    .deterministic = false,
};
constexpr OpOf<Random> kRandomNormalLike{
    .name = "RandomNormalLike",
    .doc = "RandomNormal with the shape of the input.",
    .history = kNormalLikeHistory,
    .read = read_floats,
    .infer = infer,
    .reference = normal,
    .cases = normal_like_cases,
    .deterministic = false,
};
constexpr OpOf<Random> kBernoulli{
    .name = "Bernoulli",
    .doc = "1 with the probability that the input says, else 0; the same for the same seed.",
    .history = kBernoulliHistory,
    .read = read,
    .infer = infer,
    .reference = draw_bernoulli,
    .cases = bernoulli_cases,
    .deterministic = false,
};
constexpr OpOf<Random> kMultinomial{
    .name = "Multinomial",
    .doc = "Classes drawn by their unnormalised log-probabilities; the same for the same seed.",
    .history = kMultinomialHistory,
    .read = read,
    .infer = infer_multinomial,
    .reference = draw_multinomial,
    .cases = multinomial_cases,
    .deterministic = false,
};

}  // namespace

extern const Op random_uniform = erase<kRandomUniform>();
extern const Op random_uniform_like = erase<kRandomUniformLike>();
extern const Op random_normal = erase<kRandomNormal>();
extern const Op random_normal_like = erase<kRandomNormalLike>();
extern const Op bernoulli = erase<kBernoulli>();
extern const Op multinomial = erase<kMultinomial>();

}  // namespace sdx::ops
