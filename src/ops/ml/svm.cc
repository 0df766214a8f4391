// SVMRegressor and SVMClassifier. All sums are taken in double, in order, and rounded at the end.
#include <cmath>

#include "kernel/math/math.h"
#include "ops/ml/scores.h"

namespace sdx::ops {
namespace {

enum class KernelType { linear, poly, rbf, sigmoid };

struct Machine {
  KernelType type = KernelType::linear;
  double gamma = 0, coef0 = 0, degree = 0;
  size_t vectors = 0, width = 0;  // vectors 0: coefficients weigh the features themselves
  std::vector<float> support;     // [vectors, width]
  std::vector<float> coefficients, rho;
  Transform transform = Transform::none;
};

struct Regressor : Machine {
  bool one_class = false;
};
struct Classifier : Machine {
  Labels labels;
  std::vector<size_t> start;  // of each class among the vectors; one more for the end
  std::vector<float> prob_a, prob_b;

  size_t classes() const { return labels.count(); }
  size_t pairs() const { return classes() * (classes() - 1) / 2; }
  bool one_against_one() const { return vectors != 0; }
  // Columns of the second output.
  size_t scores() const {
    if (!one_against_one() || !prob_a.empty()) return classes();
    return classes() == 2 ? 2 : pairs();
  }
};

constexpr Version kRegressorHistory[] = {
    {1,
     "(X: T) -> (Y: f32) {coefficients: floats, kernel_params: floats, kernel_type: string = "
     "\"LINEAR\", n_supports: int = 0, one_class: int = 0, post_transform: string = \"NONE\", rho: "
     "floats, support_vectors: floats} T in f32 f64 i32 i64"},
};
constexpr Version kClassifierHistory[] = {
    {1,
     "(X: T1) -> (Y: T2, Z: f32) {classlabels_ints: ints, classlabels_strings: strings, "
     "coefficients: floats, kernel_params: floats, kernel_type: string = \"LINEAR\", "
     "post_transform: string = \"NONE\", prob_a: floats, prob_b: floats, rho: floats, "
     "support_vectors: floats, vectors_per_class: ints} T1 in f32 f64 i32 i64 T2 in i64 string"},
};

Status read_machine(const Node& node, const Facts& in, Machine& a) {
  SDX_TRY(check_matrix(in[0]));
  a.coefficients = floats(node, "coefficients");
  a.rho = floats(node, "rho");
  a.support = floats(node, "support_vectors");
  SDX_ASSIGN(a.transform, transform_of(node.s("post_transform")));
  const std::string& type = node.s("kernel_type");
  if (type == "POLY") {
    a.type = KernelType::poly;
  } else if (type == "RBF") {
    a.type = KernelType::rbf;
  } else if (type == "SIGMOID") {
    a.type = KernelType::sigmoid;
  } else if (type != "LINEAR") {
    return fail("SDX-T0660", "kernel_type is \"{}\", expected LINEAR, POLY, RBF or SIGMOID", type);
  }
  if (const auto params = floats(node, "kernel_params"); !params.empty()) {
    if (params.size() != 3) {
      return fail("SDX-T0660", "kernel_params has {} entries, expected gamma, coef0 and degree",
                  params.size());
    }
    a.gamma = double(params[0]);
    a.coef0 = double(params[1]);
    a.degree = std::trunc(double(params[2]));
  }
  if (a.coefficients.empty() || a.rho.empty()) {
    return fail("SDX-T0660", "coefficients and rho must be given");
  }
  return ok();
}

// With `vectors` set: the width, from the support vectors or from `rows` of coefficients.
Status check_width(const Facts& in, Machine& a, size_t rows) {
  const size_t stored = a.vectors != 0 ? a.support.size() : a.coefficients.size();
  const size_t parts = a.vectors != 0 ? a.vectors : rows;
  if (a.vectors == 0) a.type = KernelType::linear;
  if (stored == 0 || stored % parts != 0) {
    return fail("SDX-T0661", "{} numbers cannot be {} vectors", stored, parts);
  }
  a.width = stored / parts;
  if (const auto width = row_width(in[0]); width && *width != int64_t(a.width)) {
    return fail("SDX-T0661", "rows have {} features, the vectors {}", *width, a.width);
  }
  return ok();
}

Result<Regressor> read_regressor(const Node& node, const Facts& in) {
  Regressor a;
  SDX_TRY(read_machine(node, in, a));
  a.one_class = node.i("one_class") != 0;
  if (node.i("n_supports") < 0) return fail("SDX-T0661", "n_supports is {}", node.i("n_supports"));
  a.vectors = size_t(node.i("n_supports"));
  SDX_TRY(check_width(in, a, 1));
  if (a.coefficients.size() < a.vectors) {
    return fail("SDX-T0661", "there are {} coefficients for {} support vectors",
                a.coefficients.size(), a.vectors);
  }
  return a;
}

Result<Classifier> read_classifier(const Node& node, const Facts& in) {
  Classifier a;
  SDX_TRY(read_machine(node, in, a));
  SDX_ASSIGN(a.labels, read_labels(node, "classlabels_ints", "classlabels_strings"));
  a.prob_a = floats(node, "prob_a");
  a.prob_b = floats(node, "prob_b");
  a.start.push_back(0);
  for (const int64_t count : node.ints_or_empty("vectors_per_class")) {
    if (count < 0 || count > int64_t(a.support.size())) {
      return fail("SDX-T0661", "vectors_per_class holds {}", count);
    }
    a.start.push_back(a.start.back() + size_t(count));
  }
  a.vectors = a.start.back();
  SDX_TRY(check_width(in, a, a.classes()));
  if (!a.one_against_one()) {
    a.prob_a.clear();
    return a;
  }
  if (a.start.size() != a.classes() + 1 || a.classes() < 2) {
    return fail("SDX-T0661", "vectors_per_class has {} entries for {} classes", a.start.size() - 1,
                a.classes());
  }
  if (a.coefficients.size() < (a.classes() - 1) * a.vectors || a.rho.size() < a.pairs()) {
    return fail("SDX-T0661", "{} classes and {} vectors need {} coefficients and {} rho",
                a.classes(), a.vectors, (a.classes() - 1) * a.vectors, a.pairs());
  }
  if (a.prob_a.size() != a.prob_b.size() || (!a.prob_a.empty() && a.prob_a.size() < a.pairs())) {
    return fail("SDX-T0661", "there are {} prob_a and {} prob_b for {} pairs of classes",
                a.prob_a.size(), a.prob_b.size(), a.pairs());
  }
  return a;
}

// K(x, v): x.v, (gamma x.v + coef0)^degree, exp(-gamma |x - v|^2), tanh(gamma x.v + coef0)
double kernel(const Machine& a, const double* x, const float* v) {
  double sum = 0;
  if (a.type == KernelType::rbf) {
    for (size_t i = 0; i < a.width; ++i) sum += (x[i] - double(v[i])) * (x[i] - double(v[i]));
    return math::exp(-a.gamma * sum);
  }
  for (size_t i = 0; i < a.width; ++i) sum += x[i] * double(v[i]);
  switch (a.type) {
    case KernelType::poly:
      return math::pow(a.gamma * sum + a.coef0, a.degree);
    case KernelType::sigmoid:
      return math::tanh(a.gamma * sum + a.coef0);
    default:
      return sum;
  }
}

// Calls f(row, x) for the rows [begin, end), x as doubles.
template <class F>
void each_row(const Rows& rows, size_t begin, size_t end, F&& f) {
  std::vector<double> x(rows.width);
  for (size_t row = begin; row < end; ++row) {
    for (size_t i = 0; i < rows.width; ++i) x[i] = rows.at(row, i);
    f(row, x.data());
  }
}

Status check_rows(const Machine& a, const Rows& rows) {
  if (rows.width == a.width || rows.count == 0) return ok();
  return fail("SDX-R0647", "rows have {} features, the vectors {}", rows.width, a.width);
}

void regress(const Regressor& a, Args& args, size_t begin, size_t end) {
  each_row(Rows(args.in(0)), begin, end, [&](size_t row, const double* x) {
    double sum = 0;
    if (a.vectors == 0) sum = kernel(a, x, a.coefficients.data());
    for (size_t j = 0; j < a.vectors; ++j) {
      sum += double(a.coefficients[j]) * kernel(a, x, a.support.data() + j * a.width);
    }
    sum += double(a.rho[0]);
    if (a.one_class) {
      sum = sum > 0 ? 1 : -1;
    } else {
      apply(a.transform, std::span<double>(&sum, 1));
    }
    args.out().data<float>()[row] = store<float>(float(sum));
  });
}

// Probabilities p of k classes from those of pairs, r[i][j] of i against j, as in libsvm: p with
// the least sum of (r[j][i] p[i] - r[i][j] p[j])^2, by at most max(100, k) sweeps.
std::vector<double> couple(size_t k, const std::vector<double>& r) {
  std::vector<double> q(k * k), p(k, 1.0 / double(k)), qp(k);
  for (size_t t = 0; t < k; ++t) {
    for (size_t j = 0; j < k; ++j) {
      if (j == t) continue;
      q[t * k + t] += r[j * k + t] * r[j * k + t];
      q[t * k + j] = -r[j * k + t] * r[t * k + j];
    }
  }
  const double enough = 0.005 / double(k);
  for (size_t sweep = 0; sweep < std::max<size_t>(100, k); ++sweep) {
    double pqp = 0, error = 0;
    for (size_t t = 0; t < k; ++t) {
      qp[t] = 0;
      for (size_t j = 0; j < k; ++j) qp[t] += q[t * k + j] * p[j];
      pqp += p[t] * qp[t];
    }
    for (size_t t = 0; t < k; ++t) error = std::max(error, std::fabs(qp[t] - pqp));
    if (error < enough) break;
    for (size_t t = 0; t < k; ++t) {
      const double step = (pqp - qp[t]) / q[t * k + t];
      p[t] += step;
      pqp = (pqp + step * (step * q[t * k + t] + 2 * qp[t])) / (1 + step) / (1 + step);
      for (size_t j = 0; j < k; ++j) {
        qp[j] = (qp[j] + step * q[t * k + j]) / (1 + step);
        p[j] /= 1 + step;
      }
    }
  }
  return p;
}

// The decision for each pair of classes i < j, positive for i.
std::vector<double> decisions(const Classifier& a, const double* x) {
  std::vector<double> kernels(a.vectors), result;
  for (size_t v = 0; v < a.vectors; ++v) kernels[v] = kernel(a, x, a.support.data() + v * a.width);
  for (size_t i = 0; i < a.classes(); ++i) {
    for (size_t j = i + 1; j < a.classes(); ++j) {
      double sum = 0;
      for (size_t v = a.start[i]; v < a.start[i + 1]; ++v) {
        sum += double(a.coefficients[(j - 1) * a.vectors + v]) * kernels[v];
      }
      for (size_t v = a.start[j]; v < a.start[j + 1]; ++v) {
        sum += double(a.coefficients[i * a.vectors + v]) * kernels[v];
      }
      result.push_back(sum + double(a.rho[result.size()]));
    }
  }
  return result;
}

std::vector<double> probabilities(const Classifier& a, const std::vector<double>& decided) {
  const size_t k = a.classes();
  std::vector<double> r(k * k);
  size_t pair = 0;
  for (size_t i = 0; i < k; ++i) {
    for (size_t j = i + 1; j < k; ++j, ++pair) {
      double p = -(decided[pair] * double(a.prob_a[pair]) + double(a.prob_b[pair]));
      apply(Transform::logistic, std::span<double>(&p, 1));
      p = std::min(std::max(p, 1e-7), 1 - 1e-7);
      r[i * k + j] = p;
      r[j * k + i] = 1 - p;
    }
  }
  return couple(k, r);
}

void classify(const Classifier& a, Args& args, size_t begin, size_t end) {
  each_row(Rows(args.in(0)), begin, end, [&](size_t row, const double* x) {
    std::vector<double> scores;
    size_t chosen = 0;
    if (a.one_against_one()) {
      scores = decisions(a, x);
      std::vector<float> votes(a.classes());
      size_t pair = 0;
      for (size_t i = 0; i < a.classes(); ++i) {
        for (size_t j = i + 1; j < a.classes(); ++j) votes[scores[pair++] > 0 ? i : j] += 1;
      }
      chosen = largest(std::span<const float>(votes));
      if (!a.prob_a.empty()) {
        scores = probabilities(a, scores);
      } else if (a.classes() == 2) {
        scores = {-scores[0], scores[0]};
      }
    } else {
      for (size_t c = 0; c < a.classes(); ++c) {
        scores.push_back(kernel(a, x, a.coefficients.data() + c * a.width) + double(a.rho[0]));
      }
      chosen = a.classes() == 1 ? scores[0] > 0 : largest(std::span<const double>(scores));
    }
    apply(a.transform, std::span<double>(scores));
    if (args.wants(0)) a.labels.write(args.out(0), row, chosen);
    if (!args.wants(1)) return;
    for (size_t i = 0; i < scores.size(); ++i) {
      args.out(1).data<float>()[row * scores.size() + i] = store<float>(float(scores[i]));
    }
  });
}

template <auto kRun, class A>
Status in_order(const A& a, Args& args) {
  const Rows rows(args.in(0));
  SDX_TRY(check_rows(a, rows));
  kRun(a, args, 0, rows.count);
  return ok();
}
template <auto kRun, class A>
Status in_parallel(const A& a, Args& args) {
  const Rows rows(args.in(0));
  SDX_TRY(check_rows(a, rows));
  args.pool->parallel(rows.count, 1,
                      [&](size_t begin, size_t end, int) { kRun(a, args, begin, end); });
  return ok();
}
template <class A>
bool always(const A&, const Call&) {
  return true;
}

Result<Facts> infer_regressor(const Regressor&, const Facts& in) {
  const Dim rows = in[0].has_rank() ? row_count(in[0]) : Dim::unknown();
  return Facts{Fact::tensor(DType::f32, {rows, Dim(1)})};
}
Result<Facts> infer_classifier(const Classifier& a, const Facts& in) {
  const Dim rows = in[0].has_rank() ? row_count(in[0]) : Dim::unknown();
  return Facts{Fact::tensor(a.labels.type(), {rows}),
               Fact::tensor(DType::f32, {rows, Dim(int64_t(a.scores()))})};
}

using F = std::vector<float>;

std::vector<Case> regressor_cases() {
  const auto with = [](std::string kind, F params, float a, float b) {
    return Case{.name = kind,
                .opset = 1,
                .attrs = {{"kernel_type", kind},
                          {"kernel_params", std::move(params)},
                          {"n_supports", int64_t{2}},
                          {"support_vectors", F{1, 0, 0, 1}},
                          {"coefficients", F{2, -1}},
                          {"rho", F{.5f}}},
                .inputs = {Tensor::of<float>({2, 2}, {1, 2, 3, 0})},
                .expected = {Tensor::of<float>({2, 1}, {a, b})},
                .rtol = 1e-6};
  };
  return {with("LINEAR", {}, .5f, 6.5f),
          with("POLY", {1, 1, 2}, -.5f, 31.5f),
          // |x - v|^2 is 4 and 2; then 4 and 10
          with("RBF", {.5f, 0, 0}, .40279112f, .76393261f),
          // tanh 1 and tanh 2; tanh 3 and tanh 0
          with("SIGMOID", {1, 0, 0}, 1.0591607f, 2.4901095f),
          {.name = "one_class_without_vectors",
           .opset = 1,
           .attrs = {{"coefficients", F{1, 1}}, {"rho", F{-2}}, {"one_class", int64_t{1}}},
           .inputs = {Tensor::of<int64_t>({2, 2}, {1, 1, 1, 2})},
           .expected = {Tensor::of<float>({2, 1}, {-1, 1})}}};
}

std::vector<Case> classifier_cases() {
  AttrMap three{{"classlabels_strings", std::vector<std::string>{"a", "b", "c"}},
                {"support_vectors", F{1, 2, 3}},
                {"vectors_per_class", std::vector<int64_t>{1, 1, 1}},
                {"coefficients", F{1, -1, -1, 2, 1, -2}},
                {"rho", F{0, .5f, 1}}};
  AttrMap two{{"classlabels_ints", std::vector<int64_t>{0, 1}},
              {"support_vectors", F{1, 2}},
              {"vectors_per_class", std::vector<int64_t>{1, 1}},
              {"coefficients", F{1, -1}},
              {"rho", F{.25f}}};
  AttrMap sure = two;
  sure["prob_a"] = F{-1};
  sure["prob_b"] = F{0};
  // Decisions: ab = x(1) - x(2) + 0, ac = 2x - 3x + .5, bc = 2x - 6x + 1.
  return {{.name = "three_classes_vote",
           .opset = 1,
           .attrs = three,
           .inputs = {Tensor::of<float>({2, 1}, {-1, 1})},
           .expected = {Tensor::of<std::string>({2}, {"a", "c"}),
                        Tensor::of<float>({2, 3}, {1, 1.5f, 5, -1, -.5f, -3})},
           .outputs = 2},
          {.name = "two_classes_have_opposite_scores",
           .opset = 1,
           .attrs = two,
           .inputs = {Tensor::of<double>({2, 1}, {1, 0})},
           .expected = {Tensor::of<int64_t>({2}, {1, 0}),
                        Tensor::of<float>({2, 2}, {.75f, -.75f, -.25f, .25f})},
           .outputs = 2},
          {.name = "two_classes_have_probabilities",
           .opset = 1,
           .attrs = sure,
           .inputs = {Tensor::of<float>({1, 1}, {1})},
           .expected = {Tensor::of<int64_t>({1}, {1}),
                        Tensor::of<float>({1, 2}, {.32082130f, .67917870f})},
           .rtol = 1e-6,
           .outputs = 2},
          {.name = "without_vectors_each_class_has_weights",
           .opset = 1,
           .attrs = {{"classlabels_ints", std::vector<int64_t>{5, 6}},
                     {"coefficients", F{1, 0, 0, 1}},
                     {"rho", F{1}}},
           .inputs = {Tensor::of<int32_t>({1, 2}, {2, 3})},
           .expected = {Tensor::of<int64_t>({1}, {6}), Tensor::of<float>({1, 2}, {3, 4})},
           .outputs = 2}};
}

constexpr Kernel<Regressor> kRegressorKernels[] = {
    {"rows", always<Regressor>, in_parallel<regress, Regressor>}};
constexpr Kernel<Classifier> kClassifierKernels[] = {
    {"rows", always<Classifier>, in_parallel<classify, Classifier>}};

constexpr OpOf<Regressor> kSvmRegressor{
    .name = "SVMRegressor",
    .doc = "A support vector machine's value for each row, or whether it belongs to one class.",
    .history = kRegressorHistory,
    .read = read_regressor,
    .infer = infer_regressor,
    .reference = in_order<regress, Regressor>,
    .kernels = kRegressorKernels,
    .cases = regressor_cases,
    .domain = kMlDomain,
};
constexpr OpOf<Classifier> kSvmClassifier{
    .name = "SVMClassifier",
    .doc = "The class that a support vector machine gives each row, and its scores.",
    .history = kClassifierHistory,
    .read = read_classifier,
    .infer = infer_classifier,
    .reference = in_order<classify, Classifier>,
    .kernels = kClassifierKernels,
    .cases = classifier_cases,
    .domain = kMlDomain,
};

}  // namespace

extern const Op svm_regressor = erase<kSvmRegressor>();
extern const Op svm_classifier = erase<kSvmClassifier>();

}  // namespace sdx::ops
