#include "ops/quant/quantised_conv.h"

#include <cstring>

#include "kernel/conv/conv_int8.h"
#include "kernel/quant/quant.h"

namespace sdx::ops {
namespace {

size_t aligned(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

int32_t int_value(const View& v, size_t i) {
  return v.type == DType::i8 ? int32_t(v.data<int8_t>()[i]) : int32_t(v.data<uint8_t>()[i]);
}

ConvShape conv_shape(const QuantisedConv& a, const WindowAxes& axes, std::span<const int64_t> x,
                     std::span<const int64_t> w) {
  ConvShape s;
  s.batch = size_t(x[0]);
  s.groups = size_t(a.group);
  s.in_channels = size_t(x[1]);
  s.out_channels = size_t(w[0]);
  for (size_t i = 0; i < axes.spatial; ++i) {
    const WindowAxis& axis = axes.axis[i];
    const size_t to = 3 - axes.spatial + i;
    s.in[to] = size_t(axis.in);
    s.out[to] = size_t(axis.out);
    s.kernel[to] = size_t(axis.kernel);
    s.stride[to] = size_t(axis.stride);
    s.dilation[to] = size_t(axis.dilation);
    s.pad[to] = size_t(axis.begin);
  }
  return s;
}

ConvShape conv_shape(const QuantisedConv& a, const Fact& x, const Fact& w, const Fact& y) {
  const Dims x_dims = x.dims(), w_dims = w.dims(), y_dims = y.dims();
  const auto spatial = [](const Dims& dims) { return std::span(dims).subspan(2); };
  return conv_shape(a, resolve(a.window, spatial(x_dims), spatial(y_dims), spatial(w_dims)), x_dims,
                    w_dims);
}

// With few outputs per group a product of matrices is mostly padding: planes are summed tap by tap
// instead.
bool by_planes(const ConvShape& s) { return s.out_channels / s.groups < 4; }

size_t plane_bytes(const ConvShape& s) {
  return aligned(s.out[0] * s.out[1] * s.out[2] * sizeof(int32_t));
}

// The outputs [first, last) along an axis whose tap k lies inside the input.
struct Inside {
  size_t first, last;
};
Inside inside(const ConvShape& s, size_t axis, size_t k) {
  const size_t reach = k * s.dilation[axis];
  const size_t first =
      reach >= s.pad[axis] ? 0 : (s.pad[axis] - reach + s.stride[axis] - 1) / s.stride[axis];
  if (s.in[axis] + s.pad[axis] <= reach) return {0, 0};
  const size_t last =
      std::min(s.out[axis], (s.in[axis] + s.pad[axis] - reach - 1) / s.stride[axis] + 1);
  return {std::min(first, last), last};
}

// sums[output] += weight * (plane[input] - zero) for all outputs whose tap (kd, kh, kw) lies
// inside.
template <class AddRow>
void add_tap(const ConvShape& s, const size_t (&k)[3], const uint8_t* plane, int32_t* sums,
             AddRow&& add_row) {
  const Inside z = inside(s, 0, k[0]), y = inside(s, 1, k[1]), x = inside(s, 2, k[2]);
  if (x.first == x.last) return;
  const auto input = [&](size_t axis, size_t o) {
    return o * s.stride[axis] + k[axis] * s.dilation[axis] - s.pad[axis];
  };
  for (size_t oz = z.first; oz < z.last; ++oz) {
    for (size_t oy = y.first; oy < y.last; ++oy) {
      const size_t row = (input(0, oz) * s.in[1] + input(1, oy)) * s.in[2];
      add_row(plane + row + input(2, x.first), sums + (oz * s.out[1] + oy) * s.out[2] + x.first,
              x.last - x.first);
    }
  }
}

void sum_planes(const ConvSums& r, const ConvShape& s, int32_t x_zero, const int32_t* w_zero,
                Pool& pool) {
  const View &x = r.args.in(r.in.x), &w = r.args.in(r.in.w);
  const bool is_signed = x.type == DType::i8;
  const auto add = SDX_PICK(add_row_8, r.args.isa);
  const size_t in_group = s.in_channels / s.groups, out_group = s.out_channels / s.groups;
  const size_t in_plane = s.in[0] * s.in[1] * s.in[2], positions = s.out[0] * s.out[1] * s.out[2];
  pool.parallel(s.batch * s.out_channels, 1, [&](size_t begin, size_t end, int thread) {
    auto* sums = reinterpret_cast<int32_t*>(r.scratch + size_t(thread) * plane_bytes(s));
    for (size_t i = begin; i < end; ++i) {
      const size_t n = i / s.out_channels, o = i % s.out_channels;
      std::memset(sums, 0, positions * sizeof(int32_t));
      size_t weight = o * in_group * s.kernel[0] * s.kernel[1] * s.kernel[2];
      for (size_t c = 0; c < in_group; ++c) {
        const uint8_t* plane =
            x.data<uint8_t>() + (n * s.in_channels + o / out_group * in_group + c) * in_plane;
        for (size_t kd = 0; kd < s.kernel[0]; ++kd) {
          for (size_t kh = 0; kh < s.kernel[1]; ++kh) {
            for (size_t kw = 0; kw < s.kernel[2]; ++kw) {
              const int32_t value = int_value(w, weight++) - (w_zero != nullptr ? w_zero[o] : 0);
              add_tap(s, {kd, kh, kw}, plane, sums,
                      [&](const uint8_t* from, int32_t* to, size_t count) {
                        add(from, is_signed, s.stride[2], x_zero, value, to, count);
                      });
            }
          }
        }
      }
      r.take(r.context, {sums, 0, n, o, 0, 1, positions});
    }
  });
}

}  // namespace

Result<QuantisedConv> read_quantised_conv(const Node& node, const Fact& x, const Fact& w) {
  SDX_ASSIGN(Window window, read_conv_window(node, {x, w}));
  if (node.i("group") < 1)
    return fail("SDX-T0320", "group is {}, expected at least 1", node.i("group"));
  return QuantisedConv{std::move(window), node.i("group")};
}

Result<Facts> infer_quantised_conv(const QuantisedConv& a, const Fact& x, const Fact& w,
                                   DType type) {
  SDX_TRY(check_conv_shapes(a.window, {x, w}, Dim(a.group), 1));
  Shape shape(a.window.spatial + 2, Dim::unknown());
  if (x.has_rank()) shape[0] = x.dim(0);
  if (w.has_rank()) {
    shape[1] = w.dim(0);
    if (shape[1].is_const() && shape[1].value() % a.group != 0) {
      return fail("SDX-T0323", "{} output channels do not divide into {} groups", shape[1].text(),
                  a.group);
    }
  }
  for (size_t i = 0; x.has_rank() && i < a.window.spatial; ++i) {
    if (a.window.kernel.empty() && !w.has_rank()) continue;
    const Dim kernel = a.window.kernel.empty() ? w.dim(i + 2) : Dim(a.window.kernel[i]);
    SDX_ASSIGN(shape[i + 2], output_size(a.window, i, x.dim(i + 2), kernel));
  }
  return Facts{Fact::tensor(type, std::move(shape))};
}

Status check_conv_zeros(const Args& args, const ConvInputs& in) {
  if (args.has(in.x_zero) && args.in(in.x_zero).count != 1) {
    return fail("SDX-T0313", "the zero point of x has shape {}; it must be a scalar",
                to_string(args.in(in.x_zero).dims));
  }
  const auto channels = size_t(args.in(in.w).dims[0]);
  if (args.has(in.w_zero) && args.in(in.w_zero).count != 1 &&
      args.in(in.w_zero).count != channels) {
    return fail("SDX-T0314", "the zero point of w has shape {}; there are {} output channels",
                to_string(args.in(in.w_zero).dims), channels);
  }
  return ok();
}

bool fits_conv_sums(const QuantisedConv& a, const Fact& x, const Fact& w, const Fact& y) {
  for (const Fact* fact : {&x, &w, &y}) {
    for (const int64_t d : fact->dims()) {
      if (d == 0) return false;
    }
  }
  if (a.window.spatial > 3) return false;
  // Planes summed tap by tap need no packed weights; others are packed at planning.
  return by_planes(conv_shape(a, x, w, y)) || w.value != nullptr;
}

std::shared_ptr<const void> pack_conv_weights(const QuantisedConv& a, const Fact& x, const Fact& w,
                                              const Fact& y, Pool& pool) {
  const ConvShape s = conv_shape(a, x, w, y);
  if (by_planes(s)) return nullptr;
  auto packed = allocate_aligned(conv_int8_packed_size(s) * sizeof(int32_t));
  conv_int8_pack_weights(s, w.value->raw(), w.type == DType::i8,
                         static_cast<int32_t*>(packed.get()), pool);
  return packed;
}

size_t conv_sums_scratch(const QuantisedConv& a, const Fact& x, const Fact& w, const Fact& y,
                         int threads) {
  const ConvShape s = conv_shape(a, x, w, y);
  const size_t zeros = aligned(s.out_channels * sizeof(int32_t));
  if (by_planes(s)) return zeros + size_t(threads) * plane_bytes(s);
  return zeros + s.batch * s.out_channels * plane_bytes(s) + conv_int8_scratch_bytes(s, threads);
}

void conv_sums(const ConvSums& given, Pool& pool) {
  ConvSums r = given;
  const View &x = r.args.in(r.in.x), &w = r.args.in(r.in.w), &y = r.args.out();
  const WindowAxes axes =
      resolve(r.a.window, x.dims.subspan(2), y.dims.subspan(2), w.dims.subspan(2));
  const ConvShape s = conv_shape(r.a, axes, x.dims, w.dims);
  auto* zeros = reinterpret_cast<int32_t*>(r.scratch);
  r.scratch += aligned(s.out_channels * sizeof(int32_t));
  const bool w_zero = r.args.has(r.in.w_zero);
  for (size_t o = 0; w_zero && o < s.out_channels; ++o) {
    zeros[o] = int_value(r.args.in(r.in.w_zero), r.args.in(r.in.w_zero).count > 1 ? o : 0);
  }
  const int32_t x_zero = r.args.has(r.in.x_zero) ? int_value(r.args.in(r.in.x_zero), 0) : 0;
  if (by_planes(s)) return sum_planes(r, s, x_zero, w_zero ? zeros : nullptr, pool);

  ConvInt8Args c;
  c.shape = s;
  c.x = x.raw;
  c.x_signed = x.type == DType::i8;
  c.x_zero = x_zero;
  c.weights = static_cast<const int32_t*>(r.args.packed);
  c.w_signed = w.type == DType::i8;
  c.w_zero = w_zero ? zeros : nullptr;
  c.w_zero_step = 1;
  c.y = reinterpret_cast<int32_t*>(r.scratch);
  c.scratch = r.scratch + s.batch * s.out_channels * plane_bytes(s);
  struct Context {
    const ConvSums* run;
    size_t channels;
  } context{&r, s.out_channels};
  c.epilogue.ctx = &context;
  c.epilogue.fn = [](void* to, int32_t* sums, size_t ldc, size_t row, size_t col, size_t rows,
                     size_t cols) {
    const auto& at = *static_cast<Context*>(to);
    at.run->take(at.run->context,
                 {sums, ldc, row / at.channels, row % at.channels, col, rows, cols});
  };
  conv_int8(c, pool);
}

}  // namespace sdx::ops
