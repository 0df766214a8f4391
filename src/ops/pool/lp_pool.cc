// LpPool.
#include "ops/pool/norm.h"
#include "ops/pool/pool.h"

namespace sdx::ops {
namespace {

struct LpPool {
  Window window;
  float p;
};

constexpr Version kHistory[] = {
    {1,
     "(X: T) -> (Y: T) {auto_pad: string = \"NOTSET\", kernel_shape: ints, p: float = 2, pads: "
     "ints, strides: ints} T in "
     "floats"},
    {2, "{kernel_shape!: ints, p: int = 2}"},
    {11, ""},
    {18, "{ceil_mode: int = 0, dilations: ints}"},
    {22, "T += bf16"},
};

Result<LpPool> read(const Node& node, const Facts& in) {
  SDX_ASSIGN(Window window, read_pool_window(node, in[0]));
  SDX_ASSIGN(const float p, read_norm(node));
  return LpPool{std::move(window), p};
}

Result<Facts> infer(const LpPool& a, const Facts& in) {
  SDX_ASSIGN(Fact y, infer_pool(a.window, in[0]));
  return Facts{std::move(y)};
}

// s = |x[0]|^p + |x[1]|^p + ... from +0, over the window's elements in row-major order, padding
// left out;  y = s^(1/p).
template <class T>
void pool(const LpPool& a, Args& args) {
  using C = Compute<T>;
  const View &x = args.in(0), &y = args.out(0);
  const WindowAxes w = resolve(a.window, x.dims.subspan(2), y.dims.subspan(2), {});
  const size_t planes = size_t(x.dims[0] * x.dims[1]);
  for (size_t plane = 0; plane < planes; ++plane) {
    const T* from = x.data<T>() + plane * w.in;
    for (size_t o = 0; o < w.out; ++o) {
      C sum = 0;
      each_tap(w, position_of(o, w.spatial, [&](size_t i) { return w.axis[i].out; }),
               [&](size_t, int64_t index) {
                 if (index >= 0) sum = sum + norm_term(load(from[index]), C(a.p));
               });
      y.data<T>()[plane * w.out + o] = store<T>(norm_end(sum, C(a.p)));
    }
  }
}

Status reference(const LpPool& a, Args& args) {
  visit_floats(args.in(0).type, [&]<class T>() { pool<T>(a, args); });
  return ok();
}

std::vector<Case> cases() {
  const Tensor x = Tensor::of<float>({1, 1, 3}, {3, -4, 0});
  return {{.name = "opset1_takes_a_float_p",
           .opset = 1,
           .attrs = {{"kernel_shape", std::vector<int64_t>{2}}, {"p", 1.f}},
           .inputs = {x},
           .expected = {Tensor::of<float>({1, 1, 2}, {7, 4})}},
          {.name = "cubes",
           .opset = 18,
           .attrs = {{"kernel_shape", std::vector<int64_t>{2}}, {"p", int64_t{3}}},
           .inputs = {x},
           .expected = {Tensor::of<float>({1, 1, 2}, {4.497941f, 4})},
           .rtol = 1e-5}};
}

Streaming stream(const LpPool& a, const Streamed& s) { return stream_window(a.window, s); }

constexpr OpOf<LpPool> kLpPool{
    .name = "LpPool",
    .doc = "The p-norm of each window.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .cases = cases,
    .stream = stream,
};

}  // namespace

extern const Op lp_pool = erase<kLpPool>();

}  // namespace sdx::ops
