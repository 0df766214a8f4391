#include "judge.h"

#include <algorithm>
#include <cmath>

#include "fact/fact.h"
#include "listing.h"
#include "ops/list.h"

namespace sdx::cli {
namespace {

std::string type_difference(const Value& found, const Value& expected) {
  return fmt::format("is {}, expected {}", fact_of(found).text(), fact_of(expected).text());
}

std::string difference(const Tensor& a, const Tensor& b, const Tolerance& tolerance) {
  const bool complex = is_complex(a.type());
  if (!is_float(a.type()) && !complex) {
    if (a == b) return "";
    if (a.type() == DType::string) {
      for (size_t i = 0; i < a.count(); ++i) {
        const auto &x = a.data<std::string>()[i], &y = b.data<std::string>()[i];
        if (x != y) return fmt::format("element {} is \"{:.40}\", expected \"{:.40}\"", i, x, y);
      }
      return "";
    }
    for (size_t i = 0; i < a.count(); ++i) {
      const int64_t x = get_i64(a.type(), a.raw(), i), y = get_i64(b.type(), b.raw(), i);
      if (x != y) return fmt::format("element {} is {}, expected {}", i, x, y);
    }
    return "";  // only unused bits of the last byte differ
  }
  const DType type = !complex ? a.type() : a.type() == DType::c64 ? DType::f32 : DType::f64;
  for (size_t i = 0; i < a.count() * (complex ? 2 : 1); ++i) {
    const double x = get_f64(type, a.raw(), i), y = get_f64(type, b.raw(), i);
    const bool same = std::isnan(y)   ? std::isnan(x)
                      : std::isinf(y) ? x == y
                                      : std::fabs(x - y) <=
                                            tolerance.absolute + tolerance.relative * std::fabs(y);
    if (!same) return fmt::format("element {} is {}, expected {}", i, x, y);
  }
  return "";
}

// Mean and variance of f(element).
template <class F>
std::pair<double, double> moments(const Tensor& tensor, F&& f) {
  double sum = 0, squares = 0;
  for (size_t i = 0; i < tensor.count(); ++i) {
    const double x = f(get_f64(tensor.type(), tensor.raw(), i));
    sum += x, squares += x * x;
  }
  const auto n = static_cast<double>(tensor.count());
  return {sum / n, std::max(0.0, squares / n - sum / n * (sum / n))};
}

template <class F>
bool apart(const Tensor& a, const Tensor& b, F&& f) {
  const auto [mean_a, variance_a] = moments(a, f);
  const auto [mean_b, variance_b] = moments(b, f);
  const double error = std::sqrt((variance_a + variance_b) / static_cast<double>(a.count()));
  return !(std::fabs(mean_a - mean_b) <= 6 * error + 1e-6);
}

}  // namespace

std::string difference(const Value& found, const Value& expected, const Tolerance& tolerance) {
  if (found.index() != expected.index()) return type_difference(found, expected);
  if (found.is_none()) return "";
  if (found.is_sequence()) {
    const Sequence &a = found.sequence(), &b = expected.sequence();
    if (a.size() != b.size())
      return fmt::format("has {} elements, expected {}", a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) {
      if (std::string why = difference(a[i], b[i], tolerance); !why.empty())
        return fmt::format("[{}] {}", i, why);
    }
    return "";
  }
  if (found.is_map()) {
    const Map &a = found.map(), &b = expected.map();
    if (a.size() != b.size()) return fmt::format("has {} entries, expected {}", a.size(), b.size());
    for (const auto& [key, value] : b) {
      const auto at = a.find(key);
      if (at == a.end()) return "lacks a key";
      if (std::string why = difference(at->second, value, tolerance); !why.empty())
        return "entry " + why;
    }
    return "";
  }
  if (found.tensor().type() != expected.tensor().type() ||
      found.tensor().dims() != expected.tensor().dims()) {
    return type_difference(found, expected);
  }
  return difference(found.tensor(), expected.tensor(), tolerance);
}

std::string difference_of_draws(const Value& found, const Value& expected) {
  if (!found.is_tensor() || !expected.is_tensor()) return difference(found, expected, {});
  const Tensor &a = found.tensor(), &b = expected.tensor();
  if (a.type() != b.type() || a.dims() != b.dims()) return type_difference(found, expected);
  if (a.count() == 0 || a.type() == DType::string || is_complex(a.type())) return "";
  const auto bits_only = [](const Tensor& tensor) {
    for (size_t i = 0; i < tensor.count(); ++i) {
      const double x = get_f64(tensor.type(), tensor.raw(), i);
      if (x != 0 && x != 1) return false;
    }
    return true;
  };
  if (bits_only(b) && !bits_only(a)) return "has elements other than 0 and 1";
  if (apart(a, b, [](double x) { return x; })) return "has another mean than a draw would";
  if (apart(a, b, [](double x) { return x == 0 ? 1.0 : 0.0; }))
    return "has another share of zeros than a draw would";
  return "";
}

bool draws(const model::Model& model) {
  const auto version = std::find_if(
      model.opset_import.begin(), model.opset_import.end(),
      [](const model::OpsetId& id) { return id.domain.empty() || id.domain == "ai.onnx"; });
  const int64_t opset = version == model.opset_import.end() ? 1 : version->version;
  bool found = false;
  each_node(model, [&](const model::Node& node) {
    if (node.op_type == "Dropout") {
      const model::Attribute* is_test = node.find("is_test");
      const bool old_training = opset < 7 && (is_test == nullptr || is_test->i == 0);
      found = found || old_training || (node.input.size() > 2 && !node.input[2].empty());
    }
    const Op* op = find_op(node.domain, node.op_type);
    found = found || (op != nullptr && !op->deterministic);
  });
  return found;
}

}  // namespace sdx::cli
