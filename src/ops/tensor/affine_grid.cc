// AffineGrid.
#include <cmath>

#include "ops/tensor/ints.h"

namespace sdx::ops {
namespace {

struct AffineGrid {
  bool align_corners;
};

constexpr Version kHistory[] = {
    {20,
     "(theta: T1, size: T2) -> (grid: T1) {align_corners: int = 0} T1 in floats bf16 T2 in i64"},
};

Result<AffineGrid> read(const Node& node, const Facts&) {
  return AffineGrid{node.i("align_corners") != 0};
}

Result<Facts> infer(const AffineGrid&, const Facts& in) {
  const auto size = in[1].integers();
  if (!size) return Facts{unknown_dims(in[0].type, in[1])};
  const int64_t axes = int64_t(size->size()) - 2;
  if (axes != 2 && axes != 3)
    return fail("SDX-T0232", "size {} must be [N,C,H,W] or [N,C,D,H,W]", to_string(*size));
  if (in[0].is_concrete()) {
    const Dims theta = in[0].dims();
    if (theta.size() != 3 || theta[1] != axes || theta[2] != axes + 1) {
      return fail("SDX-T0232", "theta must be [N,{},{}], not {}", axes, axes + 1, in[0].text());
    }
    if ((*size)[0].is_const() && (*size)[0].value() != theta[0]) {
      return fail("SDX-T0232", "size asks for {} grids, theta {} has {}", (*size)[0].value(),
                  in[0].text(), theta[0]);
    }
  }
  Shape shape{(*size)[0]};
  shape.insert(shape.end(), size->begin() + 2, size->end());
  shape.push_back(axes);
  return Facts{Fact::tensor(in[0].type, std::move(shape))};
}

// Position i of n on [-1, 1]: with aligned corners the ends are -1 and 1, otherwise they lie half a
// pixel inside.
template <class C>
C place(size_t i, size_t n, bool align_corners) {
  if (align_corners) return n == 1 ? C(-1) : C(2) * C(i) / C(n - 1) - C(1);
  return (C(2) * C(i) + C(1)) / C(n) - C(1);
}

// grid = theta * (x, y[, z], 1): one chain of fused multiply-adds from 0 in this order.
Status reference(const AffineGrid& a, Args& args) {
  const View &theta = args.in(0), &y = args.out();
  const size_t axes = y.rank() - 2;
  visit_floats(y.type, [&]<class T>() {
    using C = Compute<T>;
    const size_t points = axes == 0 ? 0 : split_at(y.dims, 1, axes).size;
    for (size_t i = 0; i < size_t(y.dims[0]) * points; ++i) {
      const T* matrix = theta.data<T>() + i / points * axes * (axes + 1);
      for (size_t row = 0; row < axes; ++row) {
        C sum = 0;
        for (size_t k = 0, rest = i % points; k < axes; ++k) {
          const size_t n = size_t(y.dims[axes - k]);  // x runs along the last spatial axis
          sum = std::fma(load(matrix[row * (axes + 1) + k]), place<C>(rest % n, n, a.align_corners),
                         sum);
          rest /= n;
        }
        y.data<T>()[i * axes + row] = store<T>(sum + load(matrix[row * (axes + 1) + axes]));
      }
    }
  });
  return ok();
}

std::vector<Case> cases() {
  return {{.name = "the_identity_gives_pixel_centres",
           .opset = 20,
           .attrs = {},
           .inputs = {Tensor::of<float>({1, 2, 3}, {1, 0, 0, 0, 1, 0}),
                      Tensor::of<int64_t>({4}, {1, 1, 1, 2})},
           .expected = {Tensor::of<float>({1, 1, 2, 2}, {-.5f, 0, .5f, 0})}}};
}

constexpr OpOf<AffineGrid> kAffineGrid{
    .name = "AffineGrid",
    .doc = "Where each pixel of a picture comes from under affine maps: what GridSample takes.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .cases = cases,
};

}  // namespace

extern const Op affine_grid = erase<kAffineGrid>();

}  // namespace sdx::ops
