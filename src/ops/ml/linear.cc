// LinearRegressor and LinearClassifier.
#include <cmath>

#include "ops/ml/scores.h"

namespace sdx::ops {
namespace {

struct Linear {
  size_t targets = 1, width = 0;
  std::vector<float> coefficients;  // [targets, width]
  std::vector<float> intercepts;    // [targets], or none
  Transform transform = Transform::none;
  Labels labels;  // of a classifier
};

constexpr Version kRegressorHistory[] = {
    {1,
     "(X: T) -> (Y: f32) {coefficients: floats, intercepts: floats, post_transform: string = "
     "\"NONE\", targets: int = 1} T in f32 f64 i32 i64"},
};
constexpr Version kClassifierHistory[] = {
    {1,
     "(X: T1) -> (Y: T2, Z: f32) {classlabels_ints: ints, classlabels_strings: strings, "
     "coefficients!: floats, intercepts: floats, multi_class: int = 0, post_transform: string = "
     "\"NONE\"} T1 in f32 f64 i32 i64 T2 in i64 string"},
};

Status read_weights(const Node& node, const Facts& in, Linear& a) {
  SDX_TRY(check_matrix(in[0]));
  a.coefficients = floats(node, "coefficients");
  a.intercepts = floats(node, "intercepts");
  SDX_ASSIGN(a.transform, transform_of(node.s("post_transform")));
  return ok();
}

// With `targets` set.
Status check_weights(const Facts& in, Linear& a) {
  if (a.targets == 0 || a.coefficients.empty() || a.coefficients.size() % a.targets != 0) {
    return fail("SDX-T0643", "{} coefficients cannot be shared by {} targets",
                a.coefficients.size(), a.targets);
  }
  a.width = a.coefficients.size() / a.targets;
  if (!a.intercepts.empty() && a.intercepts.size() != a.targets) {
    return fail("SDX-T0643", "there are {} intercepts for {} targets", a.intercepts.size(),
                a.targets);
  }
  if (const auto width = row_width(in[0]); width && *width != int64_t(a.width)) {
    return fail("SDX-T0643", "rows have {} features, the coefficients are for {}", *width, a.width);
  }
  return ok();
}

Result<Linear> read_regressor(const Node& node, const Facts& in) {
  Linear a;
  SDX_TRY(read_weights(node, in, a));
  if (node.i("targets") < 1) return fail("SDX-T0643", "targets is {}", node.i("targets"));
  a.targets = size_t(node.i("targets"));
  SDX_TRY(check_weights(in, a));
  return a;
}

Result<Linear> read_classifier(const Node& node, const Facts& in) {
  Linear a;
  SDX_TRY(read_weights(node, in, a));
  SDX_ASSIGN(a.labels, read_labels(node, "classlabels_ints", "classlabels_strings"));
  // Two classes may share one score.
  a.targets = a.intercepts.size();
  if (a.targets == 0) {
    const auto width = row_width(in[0]);
    const bool shared =
        a.labels.count() == 2 && width && *width > 0 && int64_t(a.coefficients.size()) == *width;
    a.targets = shared ? 1 : a.labels.count();
  }
  if (a.targets != a.labels.count() && !(a.targets == 1 && a.labels.count() == 2)) {
    return fail("SDX-T0643", "there are {} scores for {} classes", a.targets, a.labels.count());
  }
  SDX_TRY(check_weights(in, a));
  return a;
}

// s = fma chain over the features, in order, from +0; then + intercept. Floats in float, other
// types in double, rounded at the end.
template <class T>
void score_row(const Linear& a, const Rows& rows, size_t row, std::span<T> scores) {
  for (size_t t = 0; t < a.targets; ++t) {
    T sum = 0;
    for (size_t i = 0; i < a.width; ++i) {
      sum = std::fma(T(rows.at(row, i)), T(a.coefficients[t * a.width + i]), sum);
    }
    scores[t] = a.intercepts.empty() ? sum : sum + T(a.intercepts[t]);
  }
}

template <class T>
Status run(const Linear& a, Args& args) {
  const Rows rows(args.in(0));
  if (rows.width != a.width && rows.count != 0) {
    return fail("SDX-R0640", "rows have {} features, the coefficients are for {}", rows.width,
                a.width);
  }
  const bool classifier = a.labels.count() != 0;
  const size_t columns = std::max(a.targets, a.labels.count());
  std::vector<T> scores(columns);
  for (size_t row = 0; row < rows.count; ++row) {
    score_row<T>(a, rows, row, scores);
    if (a.targets == 1 && columns == 2) {
      scores[1] = scores[0];
      scores[0] = -scores[1];
    }
    if (classifier && args.wants(0)) {
      const size_t chosen = columns == 1 ? scores[0] > 0 : largest(std::span<const T>(scores));
      a.labels.write(args.out(0), row, chosen);
    }
    if (!args.wants(classifier ? 1 : 0)) continue;
    apply(a.transform, std::span<T>(scores));
    float* y = args.out(classifier ? 1 : 0).data<float>() + row * columns;
    for (size_t i = 0; i < columns; ++i) y[i] = store<float>(float(scores[i]));
  }
  return ok();
}

Status reference(const Linear& a, Args& args) {
  return args.in(0).type == DType::f32 ? run<float>(a, args) : run<double>(a, args);
}

Result<Facts> infer_regressor(const Linear& a, const Facts& in) {
  if (!in[0].has_rank()) {
    return Facts{Fact::tensor(DType::f32, {Dim::unknown(), Dim(int64_t(a.targets))})};
  }
  return Facts{Fact::tensor(DType::f32, {row_count(in[0]), Dim(int64_t(a.targets))})};
}
Result<Facts> infer_classifier(const Linear& a, const Facts& in) {
  const Dim rows = in[0].has_rank() ? row_count(in[0]) : Dim::unknown();
  return Facts{Fact::tensor(a.labels.type(), {rows}),
               Fact::tensor(DType::f32, {rows, Dim(int64_t(a.labels.count()))})};
}

std::vector<Case> regressor_cases() {
  return {{.name = "two_targets",
           .opset = 1,
           .attrs = {{"coefficients", std::vector<float>{1, 2, -1, .5f}},
                     {"intercepts", std::vector<float>{10, 20}},
                     {"targets", int64_t{2}}},
           .inputs = {Tensor::of<float>({2, 2}, {1, 2, 3, 4})},
           .expected = {Tensor::of<float>({2, 2}, {15, 20, 21, 19})}},
          {.name = "a_vector_of_integers_is_one_row",
           .opset = 1,
           .attrs = {{"coefficients", std::vector<float>{1, 2}},
                     {"post_transform", std::string("LOGISTIC")}},
           .inputs = {Tensor::of<int64_t>({2}, {2, -1})},
           .expected = {Tensor::of<float>({1, 1}, {.5f})}}};
}

std::vector<Case> classifier_cases() {
  return {{.name = "the_largest_score_wins",
           .opset = 1,
           .attrs = {{"coefficients", std::vector<float>{1, 0, 0, 1, 1, 1}},
                     {"intercepts", std::vector<float>{0, 0, -5}},
                     {"classlabels_strings", std::vector<std::string>{"x", "y", "both"}}},
           .inputs = {Tensor::of<double>({2, 2}, {3, 1, 4, 6})},
           .expected = {Tensor::of<std::string>({2}, {"x", "y"}),
                        Tensor::of<float>({2, 3}, {3, 1, -1, 4, 6, 5})},
           .outputs = 2},
          {.name = "one_score_for_two_classes",
           .opset = 1,
           .attrs = {{"coefficients", std::vector<float>{1, 1}},
                     {"intercepts", std::vector<float>{-2}},
                     {"post_transform", std::string("LOGISTIC")},
                     {"classlabels_ints", std::vector<int64_t>{7, 8}}},
           .inputs = {Tensor::of<float>({3, 2}, {1, 1, 1, 2, 0, 1})},
           .expected = {Tensor::of<int64_t>({3}, {7, 8, 7}),
                        Tensor::of<float>(
                            {3, 2}, {.5f, .5f, .26894142f, .73105858f, .73105858f, .26894142f})},
           .rtol = 1e-6,
           .outputs = 2},
          {.name = "softmax_of_the_scores",
           .opset = 1,
           .attrs = {{"coefficients", std::vector<float>{1, -1}},
                     {"intercepts", std::vector<float>{0, 0}},
                     {"post_transform", std::string("SOFTMAX")},
                     {"classlabels_ints", std::vector<int64_t>{0, 1}}},
           .inputs = {Tensor::of<int32_t>({1, 1}, {1})},
           .expected = {Tensor::of<int64_t>({1}, {0}),
                        Tensor::of<float>({1, 2}, {.88079708f, .11920292f})},
           .rtol = 1e-6,
           .outputs = 2}};
}

constexpr OpOf<Linear> kLinearRegressor{
    .name = "LinearRegressor",
    .doc = "Weighted sums of each row's features.",
    .history = kRegressorHistory,
    .read = read_regressor,
    .infer = infer_regressor,
    .reference = reference,
    .cases = regressor_cases,
    .domain = kMlDomain,
};
constexpr OpOf<Linear> kLinearClassifier{
    .name = "LinearClassifier",
    .doc = "The class whose weighted sum of a row's features is largest, and the sums.",
    .history = kClassifierHistory,
    .read = read_classifier,
    .infer = infer_classifier,
    .reference = reference,
    .cases = classifier_cases,
    .domain = kMlDomain,
};

}  // namespace

extern const Op linear_regressor = erase<kLinearRegressor>();
extern const Op linear_classifier = erase<kLinearClassifier>();

}  // namespace sdx::ops
