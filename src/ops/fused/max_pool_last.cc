// MaxPoolLast: MaxPool on bytes whose channels come last; made by a rewrite.
#include <cstring>

#include "kernel/conv/conv_last.h"
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

// y = the greatest byte of the window, padding left out; the least value of the type where the
// window holds none. `merge(x, y, n)` makes y[i] the greater of x[i] and y[i].
template <class Merge>
void rows(const MaxPoolLast& a, const Args& args, size_t begin, size_t end, Merge merge) {
  const View &x = args.in(0), &y = args.out();
  const WindowAxes w = resolve(a.window, x.dims.subspan(1, 2), y.dims.subspan(1, 2), {});
  const WindowAxis &down = w.axis[0], &across = w.axis[1];
  const auto channels = size_t(x.dims[3]);
  for (size_t row = begin; row < end; ++row) {
    const auto n = int64_t(row) / down.out, oy = int64_t(row) % down.out;
    for (int64_t ox = 0; ox < across.out; ++ox) {
      uint8_t* to = y.data<uint8_t>() + (row * size_t(across.out) + size_t(ox)) * channels;
      std::memset(to, x.type == DType::i8 ? 0x80 : 0, channels);
      for (int64_t ky = down.first(oy); ky < down.last(oy); ++ky) {
        for (int64_t kx = across.first(ox); kx < across.last(ox); ++kx) {
          const int64_t iy = oy * down.stride - down.begin + ky * down.dilation;
          const int64_t ix = ox * across.stride - across.begin + kx * across.dilation;
          merge(x.data<uint8_t>() + size_t((n * down.in + iy) * across.in + ix) * channels, to,
                channels);
        }
      }
    }
  }
}

size_t row_count(const Args& args) { return size_t(args.out().dims[0] * args.out().dims[1]); }

Status reference(const MaxPoolLast& a, Args& args) {
  const bool is_signed = args.in(0).type == DType::i8;
  rows(a, args, 0, row_count(args), [&](const uint8_t* x, uint8_t* y, size_t n) {
    for (size_t i = 0; i < n; ++i) {
      const bool more = is_signed ? int8_t(x[i]) > int8_t(y[i]) : x[i] > y[i];
      if (more) y[i] = x[i];
    }
  });
  return ok();
}

Status run(const MaxPoolLast& a, Args& args) {
  const bool is_signed = args.in(0).type == DType::i8;
  const auto merge = SDX_PICK(max_bytes, args.isa);
  args.pool->parallel(row_count(args), 1, [&](size_t begin, size_t end, int) {
    rows(a, args, begin, end,
         [&](const uint8_t* x, uint8_t* y, size_t n) { merge(x, y, n, is_signed); });
  });
  return ok();
}

constexpr Kernel<MaxPoolLast> kKernels[] = {
    {.name = "max_bytes",
     .fits = [](const MaxPoolLast&, const Call&) { return true; },
     .run = run}};

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
