#include "statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sdx::cli {
namespace {

constexpr size_t kMostLookedAt = size_t{1} << 18, kFirst = 12, kBars = 16;

std::string first_of(const Tensor& tensor) {
  std::string text;
  const size_t shown = std::min(tensor.count(), kFirst);
  for (size_t i = 0; i < shown; ++i) {
    if (tensor.type() == DType::string) {
      text +=
          fmt::format("{}\"{}\"", i > 0 ? " " : "", tensor.data<std::string>()[i].substr(0, 40));
    } else {
      text += fmt::format("{}{:.6g}", i > 0 ? " " : "", get_f64(tensor.type(), tensor.raw(), i));
    }
  }
  return text + (shown < tensor.count() ? " ..." : "");
}

Json number(double x) { return std::isfinite(x) ? Json(x) : Json(nullptr); }

}  // namespace

Json statistics(const Tensor& tensor) {
  Json json = {{"type", short_name(tensor.type())},
               {"shape", tensor.dims()},
               {"count", tensor.count()},
               {"bytes", tensor.type() == DType::string ? 0 : tensor.bytes()}};
  if (!is_complex(tensor.type())) json["first"] = first_of(tensor);
  if (tensor.type() == DType::string || is_complex(tensor.type()) || tensor.count() == 0)
    return json;
  const size_t stride = std::max<size_t>(1, tensor.count() / kMostLookedAt);
  double least = std::numeric_limits<double>::infinity(), most = -least, sum = 0, squares = 0;
  size_t zeros = 0, nans = 0, finite = 0, looked = 0;
  for (size_t i = 0; i < tensor.count(); i += stride, ++looked) {
    const double x = get_f64(tensor.type(), tensor.raw(), i);
    nans += std::isnan(x) ? 1 : 0;
    if (!std::isfinite(x)) continue;
    ++finite;
    zeros += x == 0 ? 1 : 0;
    least = std::min(least, x), most = std::max(most, x);
    sum += x, squares += x * x;
  }
  if (stride > 1) json["sampled"] = looked;
  json["zeros"] = double(zeros) / double(looked);
  if (nans > 0) json["nans"] = double(nans) / double(looked);
  if (finite == 0) return json;
  const double mean = sum / double(finite);
  json["min"] = number(least), json["max"] = number(most), json["mean"] = number(mean);
  json["std"] = number(std::sqrt(std::max(0.0, squares / double(finite) - mean * mean)));
  if (!(most > least)) return json;
  std::vector<size_t> bars(kBars, 0);
  for (size_t i = 0; i < tensor.count(); i += stride) {
    const double x = get_f64(tensor.type(), tensor.raw(), i);
    if (!std::isfinite(x)) continue;
    ++bars[std::min(kBars - 1, size_t((x - least) / (most - least) * kBars))];
  }
  json["histogram"] = bars;
  return json;
}

}  // namespace sdx::cli
