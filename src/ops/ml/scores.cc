#include "ops/ml/scores.h"

#include <cmath>

#include "kernel/lanes.h"
#include "kernel/math/math.h"

namespace sdx {

Status check_matrix(const Fact& x) {
  if (!x.has_rank() || x.rank() == 1 || x.rank() == 2) return ok();
  return fail("SDX-T0640", "the input is {}, expected [C] or [N,C]", x.text());
}

Result<Transform> transform_of(std::string_view name) {
  constexpr std::string_view kNames[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
  for (size_t i = 0; i < std::size(kNames); ++i) {
    if (name == kNames[i]) return Transform(i);
  }
  return fail("SDX-T0641", "post_transform \"{}\" is none of ONNX's", name);
}

namespace {

template <class T>
T logistic(T s) {
  // exp of a negative number cannot overflow.
  const T v = T(1) / (T(1) + math::exp(-std::fabs(s)));
  return s < 0 ? T(1) - v : v;
}

// erf^-1(y) = sgn(y) sqrt(-v + sqrt(v^2 - log(1 - y^2) / a)),  v = 2 / (pi a) + log(1 - y^2) / 2
template <class T>
T probit(T p) {
  const T a = T(0.147), y = T(2) * p - T(1);
  const T log = math::log((T(1) - y) * (T(1) + y));
  const T v = T(2) / (T(3.14159265358979323846) * a) + T(0.5) * log;
  const T root = std::sqrt(-v + std::sqrt(v * v - log / a));
  return T(1.41421356237309504880) * (y < 0 ? -root : root);
}

template <class T>
void softmax(std::span<T> scores, bool keep_zeros) {
  if (scores.empty()) return;
  const T most = scores[largest(std::span<const T>(scores))];
  const T scale = math::exp(-most);
  for (T& s : scores) {
    s = keep_zeros && std::fabs(s) <= T(1e-7) ? s * scale : math::exp(s - most);
  }
  const T sum = lane_sum<T>(scores.size(), [&](size_t i) { return scores[i]; });
  for (T& s : scores) s = sum == 0 ? T(0.5) : s / sum;
}

}  // namespace

template <class T>
void apply(Transform transform, std::span<T> scores) {
  switch (transform) {
    case Transform::none:
      break;
    case Transform::softmax:
      softmax(scores, false);
      break;
    case Transform::softmax_zero:
      softmax(scores, true);
      break;
    case Transform::logistic:
      for (T& s : scores) s = logistic(s);
      break;
    case Transform::probit:
      for (T& s : scores) s = probit(s);
      break;
  }
}
template void apply(Transform, std::span<float>);
template void apply(Transform, std::span<double>);

void Labels::write(const View& y, size_t row, size_t chosen) const {
  if (type() == DType::string) {
    y.data<std::string>()[row] = strings.size() == 1 ? std::to_string(chosen) : strings[chosen];
  } else {
    y.data<int64_t>()[row] = ints.size() == 1 ? int64_t(chosen) : ints[chosen];
  }
}

Result<Labels> read_labels(const Node& node, std::string_view ints_name,
                           std::string_view strings_name) {
  Labels labels{node.ints_or_empty(ints_name), strings(node, strings_name)};
  if (labels.ints.empty() == labels.strings.empty()) {
    return fail("SDX-T0642", "one of {} and {} must be given", ints_name, strings_name);
  }
  return labels;
}

}  // namespace sdx
