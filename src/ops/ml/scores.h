// What the operators of classical machine learning share: rows of numbers, class labels and the
// transforms of scores.
#pragma once

#include "ops/common.h"

namespace sdx {

inline constexpr std::string_view kMlDomain = "ai.onnx.ml";

// A tensor [N,C], or [C] as one row, as rows of numbers.
struct Rows {
  const View& x;
  size_t count, width;

  explicit Rows(const View& view)
      : x(view),
        count(view.rank() < 2 ? 1 : size_t(view.dims[0])),
        width(view.rank() == 0 ? 1
              : count == 0     ? 0
                               : view.count / count) {}
  // Every float, double and 32-bit integer exactly; 64-bit integers rounded.
  double at(size_t row, size_t column) const {
    return get_f64(x.type, x.raw, row * width + column);
  }
};
// N as inference sees it; 1 for a vector.
inline Dim row_count(const Fact& x) { return x.rank() < 2 ? Dim(1) : x.dim(0); }
// C, if known.
inline std::optional<int64_t> row_width(const Fact& x) {
  if (!x.has_rank() || x.rank() == 0 || !x.shape->back().is_const()) return std::nullopt;
  return x.shape->back().value();
}
// [C] and [N,C] are all that these operators take.
Status check_matrix(const Fact& x);

enum class Transform { none, softmax, logistic, softmax_zero, probit };
Result<Transform> transform_of(std::string_view name);
// Scores of one row, in place. T is float or double.
//   logistic      1 / (1 + exp -s)
//   softmax       exp(s - max) / sum (by lanes)
//   softmax_zero  the same, where scores within 1e-7 of zero only scale with exp(-max)
//   probit        the inverse of the normal distribution, by Winitzki's formula
template <class T>
void apply(Transform, std::span<T> scores);

// Class labels: integers or strings.
struct Labels {
  std::vector<int64_t> ints;
  std::vector<std::string> strings;

  size_t count() const { return std::max(ints.size(), strings.size()); }
  DType type() const { return strings.empty() ? DType::i64 : DType::string; }
  // y[row] = the label of a class. With a label for one class only, class 0 is "0" and class 1 "1".
  void write(const View& y, size_t row, size_t chosen) const;
};
Result<Labels> read_labels(const Node&, std::string_view ints, std::string_view strings);

// The first of the largest; NaN is never it.
template <class T>
size_t largest(std::span<const T> scores) {
  size_t best = 0;
  for (size_t i = 1; i < scores.size(); ++i) {
    if (scores[i] > scores[best] || scores[best] != scores[best]) best = i;
  }
  return best;
}

inline std::vector<float> floats(const Node& node, std::string_view attr) {
  return node.has(attr) ? node.get<std::vector<float>>(attr) : std::vector<float>{};
}
inline std::vector<std::string> strings(const Node& node, std::string_view attr) {
  return node.has(attr) ? node.get<std::vector<std::string>>(attr) : std::vector<std::string>{};
}

}  // namespace sdx
