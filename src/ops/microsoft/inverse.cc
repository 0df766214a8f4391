// Inverse: of square matrices.
#include <cmath>
#include <vector>

#include "base/deadline.h"
#include "ops/common.h"
#include "ops/noise.h"

namespace sdx::ops::microsoft {
namespace {

struct Inverse {};

constexpr Version kHistory[] = {{1, "(X: T) -> (Y: T) T in floats"}};

Result<Inverse> read(const Node&, const Facts&) { return Inverse{}; }

Result<Facts> infer(const Inverse&, const Facts& in) {
  if (!in[0].has_rank()) return Facts{like(in[0])};
  const size_t rank = in[0].rank();
  const bool square =
      rank >= 2 && (!in[0].dim(rank - 1).is_const() || !in[0].dim(rank - 2).is_const() ||
                    in[0].dim(rank - 1) == in[0].dim(rank - 2));
  if (!square) return fail("SDX-T1097", "X is {}; it must hold square matrices", in[0].text());
  return Facts{like(in[0])};
}

// Gauss and Jordan on [A, 1]: for each column the row with the greatest magnitude there, the first
// of equals, comes up; it is divided by its pivot; every other row loses its multiple,
// a[i][j] = a[i][j] - f * a[p][j], each operation rounded. A pivot of 0 gives infinities and NaN.
template <class C>
void invert(std::vector<C>& a, size_t n) {
  const size_t width = 2 * n;
  for (size_t p = 0; p < n; ++p) {
    size_t best = p;
    for (size_t i = p + 1; i < n; ++i) {
      if (std::fabs(a[i * width + p]) > std::fabs(a[best * width + p])) best = i;
    }
    for (size_t j = 0; best != p && j < width; ++j)
      std::swap(a[best * width + j], a[p * width + j]);
    const C pivot = a[p * width + p];
    for (size_t j = 0; j < width; ++j) a[p * width + j] = a[p * width + j] / pivot;
    for (size_t i = 0; i < n; ++i) {
      if (i == p) continue;
      Deadline::step(width);
      const C factor = a[i * width + p];
      for (size_t j = 0; j < width; ++j) {
        a[i * width + j] = a[i * width + j] - factor * a[p * width + j];
      }
    }
  }
}

Status reference(const Inverse&, Args& args) {
  const View &x = args.in(0), &y = args.out();
  const size_t n = size_t(x.dims.back()), count = n == 0 ? 0 : x.count / (n * n);
  visit_floats(x.type, [&]<class T>() {
    using C = Compute<T>;
    std::vector<C> a(2 * n * n);
    for (size_t m = 0; m < count; ++m) {
      for (size_t i = 0; i < n; ++i) {
        for (size_t j = 0; j < n; ++j) {
          a[i * 2 * n + j] = load(x.data<T>()[(m * n + i) * n + j]);
          a[i * 2 * n + n + j] = i == j ? C(1) : C(0);
        }
      }
      invert(a, n);
      for (size_t i = 0; i < n; ++i) {
        for (size_t j = 0; j < n; ++j)
          y.data<T>()[(m * n + i) * n + j] = store<T>(a[i * 2 * n + n + j]);
      }
    }
  });
  return ok();
}

std::vector<Case> cases() {
  return {{.name = "a_matrix_that_needs_its_rows_exchanged",
           .opset = 1,
           .attrs = {},
           .inputs = {Tensor::of<float>({1, 2, 2}, {0, 2, 4, 0})},
           .expected = {Tensor::of<float>({1, 2, 2}, {0, .25f, .5f, 0})}},
          {.name = "of_doubles",
           .opset = 1,
           .attrs = {},
           .inputs = {Tensor::of<double>({2, 2}, {2, 1, 1, 1})},
           .expected = {Tensor::of<double>({2, 2}, {1, -1, -1, 2})}}};
}

constexpr OpOf<Inverse> kInverse{
    .name = "Inverse",
    .doc = "The inverse of square matrices.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .cases = cases,
    .domain = "com.microsoft",
};

}  // namespace

extern const Op inverse = erase<kInverse>();

}  // namespace sdx::ops::microsoft
