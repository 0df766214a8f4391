// MaxPoolLast: MaxPool on bytes whose channels come last; made by a rewrite.
#include <algorithm>

#include "kernel/conv/int8_channels_last/conv_int8_channels_last.h"
#include "ops/fused/channels_last.h"
#include "ops/noise.h"
#include "ops/pool/pool.h"

namespace sdx::ops {
namespace {

struct MaxPoolLast {
  Window window;
};

constexpr Version kHistory[] = {
    {1,
     "(X: T) -> (Y: T) {auto_pad: string = \"NOTSET\", ceil_mode: int = 0, dilations: ints, "
     "kernel_shape!: ints, pads: ints, storage_order: int = 0, strides: ints} T in i8 u8"}};

Result<MaxPoolLast> read(const Node& node, const Facts& in) {
  SDX_ASSIGN(Window window, read_pool_window(node, channels_first(in[0])));
  return MaxPoolLast{std::move(window)};
}

Result<Facts> infer(const MaxPoolLast& a, const Facts& in) {
  if (!in[0].has_rank() || in[0].rank() != 4)
    return fail("SDX-T0321", "X is {}, expected rank 4", in[0].text());
  SDX_ASSIGN(const Fact y, infer_pool(a.window, channels_first(in[0])));
  return Facts{channels_last(y)};
}

// f(window, y) for each pixel of some rows of the output: y = the greatest byte of the window,
// padding left out; the least value of the type where the window holds none.
template <class F>
void rows(const MaxPoolLast& a, const Args& args, size_t begin, size_t end, F f) {
  const View &x = args.in(0), &y = args.out();
  const WindowAxes w = resolve(a.window, x.dims.subspan(1, 2), y.dims.subspan(1, 2), {});
  const WindowAxis &down = w.axis[0], &across = w.axis[1];
  const auto channels = size_t(x.dims[3]);
  for (size_t row = begin; row < end; ++row) {
    const auto n = int64_t(row) / down.out, oy = int64_t(row) % down.out;
    const int64_t ky = down.first(oy), iy = oy * down.stride - down.begin + ky * down.dilation;
    for (int64_t ox = 0; ox < across.out; ++ox) {
      const int64_t kx = across.first(ox),
                    ix = ox * across.stride - across.begin + kx * across.dilation;
      MaxChannelsLastWindow window{};
      window.rows = size_t(std::max<int64_t>(0, down.last(oy) - ky));
      window.columns = size_t(std::max<int64_t>(0, across.last(ox) - kx));
      if (window.rows != 0 && window.columns != 0)
        window.x = x.data<uint8_t>() + size_t((n * down.in + iy) * across.in + ix) * channels;
      window.row_step = size_t(down.dilation * across.in) * channels;
      window.column_step = size_t(across.dilation) * channels;
      window.channels = channels;
      window.is_signed = x.type == DType::i8;
      f(window, y.data<uint8_t>() + (row * size_t(across.out) + size_t(ox)) * channels);
    }
  }
}

size_t row_count(const Args& args) { return size_t(args.out().dims[0] * args.out().dims[1]); }

Status reference(const MaxPoolLast& a, Args& args) {
  rows(a, args, 0, row_count(args), [](const MaxChannelsLastWindow& w, uint8_t* y) {
    for (size_t i = 0; i < w.channels; ++i) {
      int most = w.is_signed ? -128 : 0;
      for (size_t row = 0; row < w.rows; ++row) {
        for (size_t column = 0; column < w.columns; ++column) {
          const uint8_t x = w.x[row * w.row_step + column * w.column_step + i];
          most = std::max(most, w.is_signed ? int(int8_t(x)) : int(x));
        }
      }
      y[i] = uint8_t(most);
    }
  });
  return ok();
}

Status run(const MaxPoolLast& a, Args& args) {
  const auto most = SDX_PICK(max_channels_last, args.isa);
  args.pool->parallel(row_count(args), 1, [&](size_t begin, size_t end, int) {
    rows(a, args, begin, end, [&](const MaxChannelsLastWindow& w, uint8_t* y) { most(w, y); });
  });
  return ok();
}

constexpr Kernel<MaxPoolLast> kKernels[] = {
    {.name = "max_last", .fits = [](const MaxPoolLast&, const Call&) { return true; }, .run = run}};

std::vector<Case> cases() {
  using Ints = std::vector<int64_t>;
  return {
      {.name = "a_padded_window",
       .opset = 1,
       .attrs = {{"kernel_shape", Ints{3, 3}}, {"pads", Ints{1, 1, 1, 1}}, {"strides", Ints{2, 2}}},
       .inputs = {noise(DType::u8, {2, 9, 8, 37}, 1, 0, 256)}},
      {.name = "signed_bytes",
       .opset = 1,
       .attrs = {{"kernel_shape", Ints{2, 1}}},
       .inputs = {Tensor::of<int8_t>({1, 2, 1, 3}, {-5, 2, -128, -7, 3, -127})},
       .expected = {Tensor::of<int8_t>({1, 1, 1, 3}, {-5, 3, -127})}}};
}

constexpr OpOf<MaxPoolLast> kMaxPoolLast{
    .name = "MaxPoolLast",
    .doc = "MaxPool on bytes whose channels come last.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .kernels = kKernels,
    .cases = cases,
    .domain = "sardonyx",
};

}  // namespace

extern const Op max_pool_last = erase<kMaxPoolLast>();

}  // namespace sdx::ops
