#include "distance.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "fact/fact.h"

namespace sdx::cli {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

double apart(double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
  const double d = std::abs(a - b);
  return std::isnan(d) ? kInfinite : d;
}

// Strings: each differing one is beyond any tolerance.
void strings(const Tensor& a, const Tensor& b, Distance& d) {
  for (size_t i = 0; i < a.count(); ++i) {
    if (a.data<std::string>()[i] == b.data<std::string>()[i]) continue;
    if (d.beyond++ == 0) d.worst = i;
    d.max_abs = d.mean_abs = d.max_rel = kInfinite;
  }
}

void numbers(const Tensor& a, const Tensor& b, const Tolerance& tolerance, Distance& d) {
  const auto part = [](DType type) {
    return type == DType::c64 ? DType::f32 : type == DType::c128 ? DType::f64 : type;
  };
  const size_t parts = is_complex(a.type()) ? 2 : 1;
  double sum = 0;
  for (size_t i = 0; i < a.count() * parts; ++i) {
    const double x = get_f64(part(a.type()), a.raw(), i), y = get_f64(part(b.type()), b.raw(), i);
    const double error = apart(x, y);
    sum += error;
    if (error > d.max_abs) d.max_abs = error, d.worst = i, d.found = x, d.expected = y;
    if (error > 0 && y != 0)
      d.max_rel = std::max(d.max_rel, std::isnan(y) ? kInfinite : error / std::abs(y));
    if (!(error <= tolerance.absolute + tolerance.relative * std::abs(y)) && error > 0) ++d.beyond;
  }
  if (d.count > 0) d.mean_abs = sum / static_cast<double>(a.count() * parts);
}

Distance of_lists(const Value& found, const Value& expected, const Tolerance& tolerance) {
  Distance all;
  all.equal_bits = true;
  const auto &a = found.sequence(), &b = expected.sequence();
  if (a.size() != b.size()) {
    all.why = fmt::format("{} elements against {}", a.size(), b.size());
    return all;
  }
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    Distance one = distance(a[i], b[i], tolerance);
    if (!one.why.empty()) return one;
    all.equal_bits = all.equal_bits && one.equal_bits;
    sum += one.mean_abs * static_cast<double>(one.count);
    all.count += one.count, all.beyond += one.beyond;
    all.max_rel = std::max(all.max_rel, one.max_rel);
    if (one.max_abs > all.max_abs) {
      all.max_abs = one.max_abs, all.worst = one.worst;
      all.found = one.found, all.expected = one.expected;
    }
  }
  if (all.count > 0) all.mean_abs = sum / static_cast<double>(all.count);
  return all;
}

}  // namespace

Distance distance(const Value& found, const Value& expected, const Tolerance& tolerance) {
  if (found.is_sequence() && expected.is_sequence()) return of_lists(found, expected, tolerance);
  Distance d;
  d.equal_bits = equal(found, expected);
  if (!found.is_tensor() || !expected.is_tensor()) {
    if (!d.equal_bits)
      d.why = fmt::format("{} against {}", fact_of(found).text(), fact_of(expected).text());
    return d;
  }
  const Tensor &a = found.tensor(), &b = expected.tensor();
  const auto kind = [](DType type) { return type == DType::string ? 0 : is_complex(type) ? 1 : 2; };
  if (a.dims() != b.dims() || kind(a.type()) != kind(b.type())) {
    d.why = fmt::format("{}{} against {}{}", short_name(a.type()), to_string(a.dims()),
                        short_name(b.type()), to_string(b.dims()));
    return d;
  }
  d.count = a.count();
  if (d.equal_bits) return d;
  if (a.type() == DType::string) {
    strings(a, b, d);
  } else {
    numbers(a, b, tolerance, d);
  }
  return d;
}

std::string Distance::text() const {
  if (!why.empty()) return why;
  if (equal_bits) return "equal bits";
  std::string text =
      fmt::format("max {:.3g}, mean {:.3g}, relative {:.3g}", max_abs, mean_abs, max_rel);
  if (max_abs > 0 && max_abs < kInfinite)
    text += fmt::format("; element {} is {:.9g} against {:.9g}", worst, found, expected);
  return text + (beyond == 0 ? "" : fmt::format("; {} of {} beyond the tolerance", beyond, count));
}

}  // namespace sdx::cli
