// Det.
#include <algorithm>
#include <cmath>

#include "base/deadline.h"
#include "ops/common.h"

namespace sdx::ops {
namespace {

struct Det {};

constexpr Version kHistory[] = {{11, "(X: T) -> (Y: T) T in floats"}, {22, "T += bf16"}};

Result<Det> read(const Node&, const Facts&) { return Det{}; }

Result<Facts> infer(const Det&, const Facts& in) {
  const Fact& x = in[0];
  if (!x.has_rank()) return Facts{Fact::tensor(x.type)};
  if (x.rank() < 2)
    return fail("SDX-T0314", "the input has rank {}, expected at least 2", x.rank());
  const Dim &rows = x.dim(x.rank() - 2), &cols = x.dim(x.rank() - 1);
  if (rows.is_const() && cols.is_const() && !(rows == cols)) {
    return fail("SDX-T0314", "matrices of {} by {} are not square", rows.text(), cols.text());
  }
  return Facts{Fact::tensor(x.type, Shape(x.shape->begin(), x.shape->end() - 2))};
}

// Elimination with the first entry of greatest magnitude as pivot: m[i, j] = m[i, j] - (m[i, k] /
// pivot) * m[k, j], every operation rounded on its own. The result is the product of the pivots in
// order, negated for an odd number of exchanges.
template <class C>
C determinant(std::vector<C>& m, size_t n) {
  C det = 1;
  for (size_t k = 0; k < n; ++k) {
    size_t pivot = k;
    for (size_t i = k + 1; i < n; ++i) {
      if (std::fabs(m[i * n + k]) > std::fabs(m[pivot * n + k])) pivot = i;
    }
    if (m[pivot * n + k] == 0) return 0;
    if (pivot != k) {
      std::swap_ranges(m.begin() + ptrdiff_t(k * n), m.begin() + ptrdiff_t(k * n + n),
                       m.begin() + ptrdiff_t(pivot * n));
      det = -det;
    }
    det = det * m[k * n + k];
    for (size_t i = k + 1; i < n; ++i) {
      Deadline::step(n);
      const C factor = m[i * n + k] / m[k * n + k];
      for (size_t j = k + 1; j < n; ++j) m[i * n + j] = m[i * n + j] - factor * m[k * n + j];
    }
  }
  return det;
}

Status reference(const Det&, Args& args) {
  const View &x = args.in(0), &y = args.out();
  const auto n = size_t(x.dims.back());
  visit_floats(x.type, [&]<class T>() {
    std::vector<Compute<T>> m(n * n);
    for (size_t batch = 0; batch < y.count; ++batch) {
      for (size_t i = 0; i < n * n; ++i) m[i] = load(x.data<T>()[batch * n * n + i]);
      y.data<T>()[batch] = store<T>(determinant(m, n));
    }
  });
  return ok();
}

std::vector<Case> cases() {
  return {{.name = "rows_are_exchanged",
           .opset = 11,
           .attrs = {},
           .inputs = {Tensor::of<float>({2, 2, 2}, {0, 1, 2, 3, 1, 2, 2, 4})},
           .expected = {Tensor::of<float>({2}, {-2, 0})}}};
}

constexpr OpOf<Det> kDet{
    .name = "Det",
    .doc = "The determinants of square matrices.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .cases = cases,
};

}  // namespace

extern const Op det = erase<kDet>();

}  // namespace sdx::ops
