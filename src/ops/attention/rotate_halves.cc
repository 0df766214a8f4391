// RotateHalves: rotary position embedding as exporters write it, with cosines and sines of whole
// rows; made by a rewrite from the separate operations.
#include "ops/attention/rotate_halves.h"

#include <algorithm>

#include "kernel/rows/rows.h"
#include "ops/common.h"
#include "ops/noise.h"

namespace sdx::ops {
namespace {

constexpr Version kHistory[] = {{1, "(X: T, cos: T, sin: T) -> (Y: T) {scale: float} T in f32"}};

Result<RotateHalves> read(const Node& node, const Facts&) {
  RotateHalves a;
  if (node.has("scale")) a.scale = node.f("scale");
  return a;
}

Result<Facts> infer(const RotateHalves&, const Facts& in) {
  const Fact& x = in[0];
  if (!x.has_rank() || x.rank() == 0 || !x.shape->back().is_const() ||
      x.shape->back().value() % 2 != 0) {
    return fail("SDX-T0504", "expected rows of an even length, found {}", x.text());
  }
  for (const size_t i : {1, 2}) {
    if (!in[i].has_rank() || in[i].rank() == 0 || !(in[i].shape->back() == x.shape->back()))
      return fail("SDX-T0505", "{} for rows of {}", in[i].text(), x.text());
    SDX_ASSIGN(const Shape both, broadcast(*x.shape, *in[i].shape));
    if (both != *x.shape) return fail("SDX-T0505", "{} for {}", in[i].text(), x.text());
  }
  return Facts{like(x)};
}

// The row of `other` that broadcasts to row `row` of x.
size_t row_of(const View& x, const View& other, size_t row) {
  size_t at = 0, step = 1;
  for (size_t back = 1; back < x.rank(); ++back) {
    const auto size = size_t(x.dims[x.rank() - 1 - back]);
    const size_t mine = back < other.rank() ? size_t(other.dims[other.rank() - 1 - back]) : 1;
    if (mine != 1) at += row % size * step;
    row /= size;
    step *= mine;
  }
  return at;
}

// Of a row x with halves a and b: y = x * cos + (-b, a) * sin, then times the scale; every
// operation rounded.
Status reference(const RotateHalves& a, Args& args) {
  const View& x = args.in(0);
  const size_t size = size_t(x.dims.back()), half = size / 2;
  for (size_t i = 0; i < x.count; ++i) {
    const size_t row = i / size, at = i % size;
    const float* from = x.data<float>() + row * size;
    const float c = args.in(1).data<float>()[row_of(x, args.in(1), row) * size + at];
    const float s = args.in(2).data<float>()[row_of(x, args.in(2), row) * size + at];
    const float other = at < half ? -from[half + at] : from[at - half];
    float y = from[at] * c + other * s;
    if (a.scale) y = y * *a.scale;
    args.out().data<float>()[i] = store<float>(y);
  }
  return ok();
}

Status run(const RotateHalves& a, Args& args) {
  const View& x = args.in(0);
  const size_t size = size_t(x.dims.back()), rows = size == 0 ? 0 : x.count / size;
  const auto rotate = SDX_PICK(rotate_halves, args.isa);
  const float* scale = a.scale ? &*a.scale : nullptr;
  args.pool->parallel(rows, 1 + 8192 / (size + 1), [&](size_t begin, size_t end, int) {
    for (size_t row = begin; row < end; ++row) {
      rotate(x.data<float>() + row * size,
             args.in(1).data<float>() + row_of(x, args.in(1), row) * size,
             args.in(2).data<float>() + row_of(x, args.in(2), row) * size, scale,
             args.out().data<float>() + row * size, size / 2);
    }
  });
  return ok();
}

constexpr Kernel<RotateHalves> kKernels[] = {
    {.name = "rotate_halves_f32",
     .fits = [](const RotateHalves&, const Call&) { return true; },
     .run = run},
};

std::vector<Case> cases() {
  return {{.name = "a_quarter_turn",
           .opset = 1,
           .attrs = {{"scale", 2.0f}},
           .inputs = {Tensor::of<float>({1, 4}, {1, 2, 3, 4}), Tensor::of<float>({4}, {0, 1, 0, 1}),
                      Tensor::of<float>({4}, {1, 0, 1, 0})},
           .expected = {Tensor::of<float>({1, 4}, {-6, 4, 2, 8})}},
          {.name = "heads_share_angles",
           .opset = 1,
           .attrs = {},
           .inputs = {noise({2, 3, 5, 38}), noise({2, 1, 5, 38}, 2), noise({5, 38}, 3)}}};
}

constexpr OpOf<RotateHalves> kRotateHalves{
    .name = "RotateHalves",
    .doc = "Pairs of a row's elements, half a row apart, turned by angles.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .kernels = kKernels,
    .cases = cases,
    .domain = "sardonyx",
};

}  // namespace

extern const Op rotate_halves = erase<kRotateHalves>();

}  // namespace sdx::ops
