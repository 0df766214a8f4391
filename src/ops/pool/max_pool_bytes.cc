#include <algorithm>
#include <limits>
#include <vector>

#include "kernel/conv/int8_channels_last/conv_int8_channels_last.h"
#include "ops/pool/pool.h"

namespace sdx::ops {
namespace {

// f(window, y) for each position of some rows of the output.
template <class F>
void rows(const Window& window, const Args& args, size_t begin, size_t end, F f) {
  const View &x = args.in(0), &y = args.out();
  const WindowAxes w = resolve(window, x.dims.subspan(2), y.dims.subspan(2), {});
  const WindowAxis &down = w.axis[0], &across = w.axis[1];
  const auto channels = size_t(x.dims[4]);
  for (size_t row = begin; row < end; ++row) {
    const auto n = int64_t(row) / down.out, oy = int64_t(row) % down.out;
    const int64_t ky = down.first(oy), iy = oy * down.stride - down.begin + ky * down.dilation;
    for (int64_t ox = 0; ox < across.out; ++ox) {
      const int64_t kx = across.first(ox),
                    ix = ox * across.stride - across.begin + kx * across.dilation;
      MaxChannelsLastWindow taps{};
      taps.rows = size_t(std::max<int64_t>(0, down.last(oy) - ky));
      taps.columns = size_t(std::max<int64_t>(0, across.last(ox) - kx));
      if (taps.rows != 0 && taps.columns != 0)
        taps.x = x.data<uint8_t>() + size_t((n * down.in + iy) * across.in + ix) * channels;
      taps.row_step = size_t(down.dilation * across.in) * channels;
      taps.column_step = size_t(across.dilation) * channels;
      taps.channels = channels;
      taps.is_signed = x.type == DType::i8;
      f(taps, y.data<uint8_t>() + (row * size_t(across.out) + size_t(ox)) * channels);
    }
  }
}

// So many at a time that the loops vectorise.
constexpr size_t kTogether = 32;
template <class From, class To, class Convert>
void convert_each(const From* from, To* to, size_t n, Convert convert) {
  size_t i = 0;
  for (; i + kTogether <= n; i += kTogether) {
    for (size_t j = 0; j < kTogether; ++j) to[i + j] = convert(from[i + j]);
  }
  for (; i < n; ++i) to[i] = convert(from[i]);
}

template <class T>
void pool_planes(const Window& window, Args& args) {
  const View &x = args.in(0), &y = args.out();
  const WindowAxes w = resolve(window, x.dims.subspan(2), y.dims.subspan(2), {});
  const auto pool = SDX_PICK(max_pool_planes, args.isa);
  share_planes(plane_shape(w), size_t(x.dims[0] * x.dims[1]), *args.pool, args.scratch.data(),
               [&](const PoolWork& work, size_t first, size_t count, float* staged) {
                 std::vector<float> wide(count * w.in), pooled(count * w.out);
                 convert_each(x.data<T>() + first * w.in, wide.data(), wide.size(),
                              [](T value) { return float(value); });
                 pool(work, wide.data(), pooled.data(), count, staged);
                 // A window of no element gives the least value.
                 convert_each(
                     pooled.data(), y.data<T>() + first * w.out, pooled.size(), [](float most) {
                       return T(int32_t(std::max(most, float(std::numeric_limits<T>::min()))));
                     });
               });
}

}  // namespace

bool fits_max_pool_byte_planes(const Window& window, const Call& call) {
  const DType type = call.in[0].type;
  return (type == DType::u8 || type == DType::i8) && plane_fits(window, call, type) &&
         (call.out.size() < 2 || !call.out[1].present());
}

Status run_max_pool_byte_planes(const Window& window, Args& args) {
  args.in(0).type == DType::u8 ? pool_planes<uint8_t>(window, args)
                               : pool_planes<int8_t>(window, args);
  return ok();
}

bool fits_max_pool_bytes(const Window& window, const Call& call) {
  const DType type = call.in[0].type;
  return (type == DType::u8 || type == DType::i8) && window.spatial == 3 && window.kernel[2] == 1 &&
         window.strides[2] == 1 && window.begin[2] == 0 && window.end[2] == 0 &&
         (call.out.size() < 2 || !call.out[1].present());
}

Status run_max_pool_bytes(const Window& window, Args& args) {
  const View& y = args.out();
  const auto most = SDX_PICK(max_channels_last, args.isa);
  args.pool->parallel(
      size_t(y.dims[0] * y.dims[1] * y.dims[2]), 1, [&](size_t begin, size_t end, int) {
        rows(window, args, begin, end,
             [&](const MaxChannelsLastWindow& taps, uint8_t* to) { most(taps, to); });
      });
  return ok();
}

}  // namespace sdx::ops
