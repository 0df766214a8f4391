// MaxPool.
#include "ops/pool/max_pool.h"

#include <cmath>

#include "ops/noise.h"
#include "ops/pool/pool.h"
#include "ops/widened.h"

namespace sdx::ops {
namespace {

constexpr Version kHistory[] = {
    {1,
     "(X: T) -> (Y: T) {auto_pad: string = \"NOTSET\", kernel_shape!: ints, pads: ints, strides: "
     "ints} T in floats"},
    {8, "-> (Y: T, Indices?: I) {storage_order: int = 0} I in i64"},
    {10, "{ceil_mode: int = 0, dilations: ints}"},
    {11, ""},
    {12, "T += i8 u8"},
    {22, "T += bf16"},
};

Result<MaxPool> read(const Node& node, const Facts& in) {
  SDX_ASSIGN(Window window, read_pool_window(node, in[0]));
  return MaxPool{std::move(window), node.i_or("storage_order", 0) != 0,
                 std::max<size_t>(1, node.wanted.size())};
}

Result<Facts> infer(const MaxPool& a, const Facts& in) {
  SDX_ASSIGN(Fact y, infer_pool(a.window, in[0]));
  Facts facts{y};
  if (a.outputs > 1) facts.push_back(like(y, DType::i64));
  return facts;
}

// y = the greatest element of the window, padding left out; NaN is greater than all, +0 greater
// than -0. The index is the first such element's. A window with no element at all gives the least
// value of the type, and index -1.
template <class T>
void pool(const MaxPool& a, Args& args) {
  const View &x = args.in(0), &y = args.out(0);
  const WindowAxes w = resolve(a.window, x.dims.subspan(2), y.dims.subspan(2), {});
  const size_t planes = size_t(x.dims[0] * x.dims[1]);
  for (size_t plane = 0; plane < planes; ++plane) {
    const T* from = x.data<T>() + plane * w.in;
    for (size_t o = 0; o < w.out; ++o) {
      T best = least<T>();
      int64_t at = -1;
      each_tap(w, position_of(o, w.spatial, [&](size_t i) { return w.axis[i].out; }),
               [&](size_t, int64_t index) {
                 if (index < 0 || (at >= 0 && !above(from[index], best))) return;
                 best = from[index];
                 at = index;
               });
      y.data<T>()[plane * w.out + o] = canonical(best);
      if (!args.wants(1)) continue;
      if (a.column_major && at >= 0) {
        const Position p =
            position_of(size_t(at), w.spatial, [&](size_t i) { return w.axis[i].in; });
        at = 0;
        for (size_t i = w.spatial; i-- > 0;) at = at * w.axis[i].in + p[i];
      }
      args.out(1).data<int64_t>()[plane * w.out + o] = at < 0 ? -1 : int64_t(plane * w.in) + at;
    }
  }
}

Status reference(const MaxPool& a, Args& args) {
  const auto run = [&]<class T>() { pool<T>(a, args); };
  if (visit_floats(args.in(0).type, run) || visit_integers(args.in(0).type, run)) return ok();
  return unsupported_type("MaxPool", args.in(0).type);
}

bool fits(const MaxPool& a, const Call& call) {
  return (call.out.size() < 2 || !call.out[1].present()) && plane_fits(a.window, call);
}
size_t scratch(const MaxPool& a, const Call& call) {
  return planes_scratch(plane_shape(a.window, call.in[0].dims(), call.out[0].dims()), call.threads);
}
Status run(const MaxPool& a, Args& args) {
  const View &x = args.in(0), &y = args.out();
  const WindowAxes w = resolve(a.window, x.dims.subspan(2), y.dims.subspan(2), {});
  const PoolShape shape = plane_shape(w);
  const auto pool = SDX_PICK(max_pool_planes, args.isa);
  share_planes(shape, size_t(x.dims[0] * x.dims[1]), *args.pool, args.scratch.data(),
               [&](const PoolWork& work, size_t first, size_t count, float* staged) {
                 pool(work, x.data<float>() + first * w.in, y.data<float>() + first * w.out, count,
                      staged);
               });
  return ok();
}
constexpr Kernel<MaxPool> kPlain = {
    .name = "max_pool_f32", .fits = fits, .run = run, .scratch = scratch};
constexpr Kernel<MaxPool> kBytes = {
    .name = "max_pool_bytes",
    .fits = [](const MaxPool& a, const Call& call) { return fits_max_pool_bytes(a.window, call); },
    .run = [](const MaxPool& a, Args& args) { return run_max_pool_bytes(a.window, args); }};
constexpr Kernel<MaxPool> kBytePlanes = {
    .name = "max_pool_byte_planes",
    .fits = [](const MaxPool& a,
               const Call& call) { return fits_max_pool_byte_planes(a.window, call); },
    .run = [](const MaxPool& a, Args& args) { return run_max_pool_byte_planes(a.window, args); },
    .scratch = scratch};
constexpr Kernel<MaxPool> kKernels[] = {kPlain, widened<kPlain>("max_pool_f16"), kBytes,
                                        kBytePlanes};

std::vector<Case> cases() {
  const Tensor x = Tensor::of<float>({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  return {{.name = "opset1_pads_are_left_out",
           .opset = 1,
           .attrs = {{"kernel_shape", std::vector<int64_t>{2, 2}},
                     {"pads", std::vector<int64_t>{1, 1, 0, 0}},
                     {"strides", std::vector<int64_t>{2, 2}}},
           .inputs = {Tensor::of<float>({1, 1, 2, 2}, {-1, -2, -3, -4})},
           .expected = {Tensor::of<float>({1, 1, 1, 1}, {-1})}},
          {.name = "indices_in_column_major_order",
           .opset = 12,
           .attrs = {{"kernel_shape", std::vector<int64_t>{2, 2}}, {"storage_order", int64_t{1}}},
           .inputs = {x},
           .expected = {Tensor::of<float>({1, 1, 2, 2}, {5, 6, 8, 9}),
                        Tensor::of<int64_t>({1, 1, 2, 2}, {4, 7, 5, 8})},
           .outputs = 2},
          {.name = "ceil_mode_adds_the_last_window",
           .opset = 10,
           .attrs = {{"kernel_shape", std::vector<int64_t>{2, 2}},
                     {"strides", std::vector<int64_t>{2, 2}},
                     {"ceil_mode", int64_t{1}}},
           .inputs = {x},
           .expected = {Tensor::of<float>({1, 1, 2, 2}, {5, 6, 8, 9})}},
          {.name = "unsigned_bytes",
           .opset = 12,
           .attrs = {{"kernel_shape", std::vector<int64_t>{2}}},
           .inputs = {Tensor::of<uint8_t>({1, 1, 4}, {1, 200, 3, 4})},
           .expected = {Tensor::of<uint8_t>({1, 1, 3}, {200, 200, 4})}},
          {.name = "padded_with_stride",
           .opset = 22,
           .attrs = {{"kernel_shape", std::vector<int64_t>{3, 3}},
                     {"pads", std::vector<int64_t>{1, 1, 1, 1}},
                     {"strides", std::vector<int64_t>{2, 2}}},
           .inputs = {noise({2, 3, 13, 41})}},
          {.name = "dilated_with_ceil",
           .opset = 22,
           .attrs = {{"kernel_shape", std::vector<int64_t>{2, 3}},
                     {"dilations", std::vector<int64_t>{2, 3}},
                     {"strides", std::vector<int64_t>{1, 3}},
                     {"ceil_mode", int64_t{1}}},
           .inputs = {noise({1, 2, 9, 40})}},
          {.name = "three_dimensions",
           .opset = 22,
           .attrs = {{"kernel_shape", std::vector<int64_t>{2, 2, 2}},
                     {"auto_pad", std::string("SAME_LOWER")}},
           .inputs = {noise({1, 2, 3, 4, 19})}},
          {.name = "channels_in_blocks",
           .opset = 22,
           .attrs = {{"kernel_shape", std::vector<int64_t>{3, 3, 1}},
                     {"pads", std::vector<int64_t>{1, 1, 0, 1, 1, 0}},
                     {"strides", std::vector<int64_t>{2, 2, 1}}},
           .inputs = {noise({1, 2, 9, 14, 16})}},
          {.name = "planes_of_bytes",
           .opset = 22,
           .attrs = {{"kernel_shape", std::vector<int64_t>{3, 3}},
                     {"pads", std::vector<int64_t>{1, 1, 1, 1}},
                     {"strides", std::vector<int64_t>{2, 2}}},
           .inputs = {noise(DType::u8, {2, 3, 13, 41}, 1, 0, 256)}},
          {.name = "planes_of_signed_bytes",
           .opset = 22,
           .attrs = {{"kernel_shape", std::vector<int64_t>{1, 3}},
                     {"pads", std::vector<int64_t>{2, 5, 3, 5}},
                     {"strides", std::vector<int64_t>{3, 4}}},
           .inputs = {noise(DType::i8, {1, 3, 1, 7}, 1, -128, 128)}},
          {.name = "bytes_with_channels_last",
           .opset = 22,
           .attrs = {{"kernel_shape", std::vector<int64_t>{3, 3, 1}},
                     {"pads", std::vector<int64_t>{1, 1, 0, 1, 1, 0}},
                     {"strides", std::vector<int64_t>{2, 2, 1}}},
           .inputs = {noise(DType::u8, {2, 1, 9, 8, 37}, 1, 0, 256)}},
          {.name = "signed_bytes_with_channels_last",
           .opset = 22,
           .attrs = {{"kernel_shape", std::vector<int64_t>{2, 1, 1}}},
           .inputs = {Tensor::of<int8_t>({1, 1, 2, 1, 3}, {-5, 2, -128, -7, 3, -127})},
           .expected = {Tensor::of<int8_t>({1, 1, 1, 1, 3}, {-5, 3, -127})}},
          {.name = "many_small_images",
           .opset = 22,
           .attrs = {{"kernel_shape", std::vector<int64_t>{2, 2}},
                     {"strides", std::vector<int64_t>{2, 2}}},
           .inputs = {noise({7, 19, 5, 4})}},
          {.name = "windows_in_the_padding_alone",
           .opset = 22,
           .attrs = {{"kernel_shape", std::vector<int64_t>{1, 3}},
                     {"pads", std::vector<int64_t>{2, 5, 3, 5}},
                     {"strides", std::vector<int64_t>{3, 4}}},
           .inputs = {noise({1, 3, 1, 7})}},
          {.name = "of_no_images",
           .opset = 22,
           .attrs = {{"kernel_shape", std::vector<int64_t>{2, 2}}},
           .inputs = {noise({0, 3, 5, 7})}},
          {.name = "zeros_of_both_signs",
           .opset = 12,
           .attrs = {{"kernel_shape", std::vector<int64_t>{2}}},
           .inputs = {Tensor::of<float>({1, 1, 4}, {-0.f, 0.f, -0.f, -0.f})},
           .expected = {Tensor::of<float>({1, 1, 3}, {0.f, 0.f, -0.f})}},
          {.name = "bfloats",
           .opset = 22,
           .attrs = {{"kernel_shape", std::vector<int64_t>{3}}},
           .inputs = {noise(DType::bf16, {1, 2, 40})}}};
}

Streaming stream(const MaxPool& a, const Streamed& s) {
  if (s.use.wants(1)) return Streaming::refuse("its indices count over the whole axis");
  Streaming how = stream_window(a.window, s);
  how.value = -std::numeric_limits<float>::infinity();
  return how;
}

constexpr OpOf<MaxPool> kMaxPool{
    .name = "MaxPool",
    .doc = "The greatest element of each window.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .kernels = kKernels,
    .cases = cases,
    .layout = [](const MaxPool&, const Relay& asked) { return pool_layout(asked); },
    .stream = stream,
};

}  // namespace

extern const Op max_pool = erase<kMaxPool>();

}  // namespace sdx::ops
