#include "ops/quant/quantised_conv.h"

#include <cstring>

#include "kernel/gemm_int8/gemm_int8.h"
#include "kernel/quant/quant.h"

namespace sdx::ops {
namespace {

size_t aligned(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

int32_t int_value(const View& v, size_t i) {
  return v.type == DType::i8 ? int32_t(v.data<int8_t>()[i]) : int32_t(v.data<uint8_t>()[i]);
}

struct Sizes {
  size_t batch, channels, out_channels, groups, in_group, out_group, taps, positions;
  size_t k() const { return in_group * taps; }
  // With few outputs per group a product of matrices is mostly padding: planes are summed tap by
  // tap instead.
  bool by_planes() const { return out_group < 4; }
};
Sizes sizes_of(const QuantisedConv& a, std::span<const int64_t> x, std::span<const int64_t> w,
               std::span<const int64_t> y) {
  Sizes s{size_t(x[0]),
          size_t(x[1]),
          size_t(w[0]),
          size_t(a.group),
          size_t(w[1]),
          size_t(w[0] / a.group),
          1,
          1};
  for (size_t i = 2; i < w.size(); ++i) s.taps *= size_t(w[i]);
  for (size_t i = 2; i < y.size(); ++i) s.positions *= size_t(y[i]);
  return s;
}

// Patches are the input's own planes where each window is one element of its own.
bool is_pointwise(const WindowAxes& axes) {
  for (size_t i = 0; i < axes.spatial; ++i) {
    const WindowAxis& axis = axes.axis[i];
    if (axis.kernel != 1 || axis.stride != 1 || axis.begin != 0 || axis.out != axis.in)
      return false;
  }
  return true;
}

// The outputs [first, last) along an axis whose tap k lies inside the input.
struct Inside {
  int64_t first, last;
};
Inside inside(const WindowAxis& axis, int64_t k) {
  const int64_t start = k * axis.dilation - axis.begin;
  const int64_t first = start >= 0 ? 0 : (-start + axis.stride - 1) / axis.stride;
  const int64_t room = axis.in - 1 - start;
  const int64_t last = room < 0 ? 0 : std::min(axis.out, room / axis.stride + 1);
  return {std::min(first, last), last};
}

// For tap `tap`, f(output row, first input index or -1) for every row along the last axis; the
// index is that of the tap of the row's first output, which may itself lie outside along the last
// axis.
template <class F>
void each_row(const WindowAxes& axes, size_t tap, F&& f) {
  const Position k = position_of(tap, axes.spatial, [&](size_t i) { return axes.axis[i].kernel; });
  const size_t outer = axes.spatial - 1;
  const WindowAxis& last = axes.axis[outer];
  const size_t rows = axes.out / size_t(last.out);
  for (size_t row = 0; row < rows; ++row) {
    const Position o = position_of(row, outer, [&](size_t i) { return axes.axis[i].out; });
    int64_t index = 0;
    bool within = true;
    for (size_t i = 0; i < outer; ++i) {
      const WindowAxis& axis = axes.axis[i];
      const int64_t at = o[i] * axis.stride - axis.begin + k[i] * axis.dilation;
      within = within && at >= 0 && at < axis.in;
      index = index * axis.in + at;
    }
    f(row, within, index * last.in + k[outer] * last.dilation - last.begin, k[outer]);
  }
}

// patches[c * taps + tap][position]; `fill` stands for the padding.
void make_patches(const WindowAxes& axes, const uint8_t* planes, size_t channels, uint8_t fill,
                  uint8_t* patches, Pool& pool) {
  const WindowAxis& last = axes.axis[axes.spatial - 1];
  pool.parallel(channels * axes.taps, 4, [&](size_t begin, size_t end, int) {
    for (size_t k = begin; k < end; ++k) {
      const uint8_t* plane = planes + k / axes.taps * axes.in;
      uint8_t* to = patches + k * axes.out;
      each_row(axes, k % axes.taps, [&](size_t row, bool within, int64_t index, int64_t tap) {
        uint8_t* out = to + row * size_t(last.out);
        const Inside in = within ? inside(last, tap) : Inside{0, 0};
        std::memset(out, fill, size_t(in.first));
        if (last.stride == 1) {
          if (in.last > in.first)
            std::memcpy(out + in.first, plane + index + in.first, size_t(in.last - in.first));
        } else {
          for (int64_t i = in.first; i < in.last; ++i) out[i] = plane[index + i * last.stride];
        }
        std::memset(out + in.last, fill, size_t(last.out - in.last));
      });
    }
  });
}

struct Parts {
  size_t patches, sums, zeros, gemm;  // where each part of the scratch memory starts
  size_t total;
};
GemmInt8Args gemm_args(const Sizes& s) {
  GemmInt8Args g;
  g.m = s.positions;
  g.n = s.out_group;
  g.k = s.k();
  g.lda = s.positions;
  g.trans_a = true;
  g.ldb = s.k();
  g.trans_b = true;
  g.ldc = s.out_group;
  return g;
}
Parts parts_of(const Sizes& s, bool packed, int threads) {
  Parts p{};
  GemmInt8Args g = gemm_args(s);
  const int32_t none = 0;
  if (packed) g.b_packed = &none;
  p.sums = p.patches + aligned(s.k() * s.positions);
  p.zeros = p.sums + aligned(s.positions * s.out_group * 4);
  p.gemm = p.zeros + aligned(s.out_channels * 4);
  p.total = p.gemm + gemm_int8_scratch_bytes(g, threads);
  return p;
}

struct GemmContext {
  const ConvSums* run;
  size_t n, channel;
};
void take_gemm(void* context, int32_t* c, size_t ldc, size_t row, size_t col, size_t rows,
               size_t cols) {
  const auto& at = *static_cast<GemmContext*>(context);
  at.run->take(at.run->context, {c, ldc, 1, at.n, at.channel + col, row, cols, rows});
}

void by_products(const ConvSums& r, const Sizes& s, const WindowAxes& axes, Pool& pool) {
  const View &x = r.args.in(r.in.x), &w = r.args.in(r.in.w);
  const Parts parts = parts_of(s, r.args.packed != nullptr, pool.threads());
  auto* patches = reinterpret_cast<uint8_t*>(r.scratch + parts.patches);
  auto* zeros = reinterpret_cast<int32_t*>(r.scratch + parts.zeros);
  const int32_t x_zero = r.args.has(r.in.x_zero) ? int_value(r.args.in(r.in.x_zero), 0) : 0;
  const bool w_zero = r.args.has(r.in.w_zero);
  for (size_t o = 0; w_zero && o < s.out_channels; ++o) {
    zeros[o] = int_value(r.args.in(r.in.w_zero), r.args.in(r.in.w_zero).count > 1 ? o : 0);
  }
  GemmInt8Args g = gemm_args(s);
  g.a_signed = x.type == DType::i8;
  g.b_signed = w.type == DType::i8;
  g.a_zero = &x_zero;
  g.b_zero_step = 1;
  g.c = reinterpret_cast<int32_t*>(r.scratch + parts.sums);
  g.scratch = r.scratch + parts.gemm;
  const bool pointwise = is_pointwise(axes);
  for (size_t n = 0; n < s.batch; ++n) {
    for (size_t group = 0; group < s.groups; ++group) {
      const uint8_t* planes = x.data<uint8_t>() + (n * s.channels + group * s.in_group) * axes.in;
      if (!pointwise) make_patches(axes, planes, s.in_group, uint8_t(x_zero), patches, pool);
      g.a = pointwise ? planes : patches;
      const size_t channel = group * s.out_group;
      if (r.args.packed != nullptr) {
        g.b_packed =
            static_cast<const int32_t*>(r.args.packed) + group * gemm_int8_packed_b_size(g.k, g.n);
      } else {
        g.b = w.data<uint8_t>() + channel * s.k();
      }
      if (w_zero) g.b_zero = zeros + channel;
      GemmContext context{&r, n, channel};
      g.epilogue = {take_gemm, &context};
      gemm_int8(g, pool);
    }
  }
}

void by_planes(const ConvSums& r, const Sizes& s, const WindowAxes& axes, Pool& pool) {
  const View &x = r.args.in(r.in.x), &w = r.args.in(r.in.w);
  const bool is_signed = x.type == DType::i8;
  const int32_t x_zero = r.args.has(r.in.x_zero) ? int_value(r.args.in(r.in.x_zero), 0) : 0;
  const auto add_row = SDX_PICK(add_row_8, r.args.isa);
  const WindowAxis& last = axes.axis[axes.spatial - 1];
  pool.parallel(s.batch * s.out_channels, 1, [&](size_t begin, size_t end, int thread) {
    auto* sums = reinterpret_cast<int32_t*>(r.scratch + size_t(thread) * aligned(s.positions * 4));
    for (size_t plane = begin; plane < end; ++plane) {
      const size_t n = plane / s.out_channels, o = plane % s.out_channels;
      const int32_t w_zero =
          r.args.has(r.in.w_zero)
              ? int_value(r.args.in(r.in.w_zero), r.args.in(r.in.w_zero).count > 1 ? o : 0)
              : 0;
      std::memset(sums, 0, s.positions * 4);
      for (size_t c = 0; c < s.in_group; ++c) {
        const uint8_t* from =
            x.data<uint8_t>() + (n * s.channels + o / s.out_group * s.in_group + c) * axes.in;
        for (size_t tap = 0; tap < s.taps; ++tap) {
          const int32_t weight = int_value(w, (o * s.in_group + c) * s.taps + tap) - w_zero;
          each_row(axes, tap, [&](size_t row, bool within, int64_t index, int64_t k) {
            const Inside in = inside(last, k);
            if (!within || in.first == in.last) return;
            add_row(from + index + in.first * last.stride, is_signed, size_t(last.stride), x_zero,
                    weight, sums + row * size_t(last.out) + in.first, size_t(in.last - in.first));
          });
        }
      }
      r.take(r.context, {sums, 1, 0, n, o, 0, 1, s.positions});
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

std::shared_ptr<const void> pack_conv_weights(const QuantisedConv& a, const Fact& w, Pool& pool) {
  const Tensor& t = *w.value;
  const size_t k = t.count() / size_t(t.dims()[0]), n = size_t(t.dims()[0] / a.group);
  const size_t each = gemm_int8_packed_b_size(k, n);
  auto packed = allocate_aligned(each * size_t(a.group) * sizeof(int32_t));
  for (size_t group = 0; group < size_t(a.group); ++group) {
    gemm_int8_pack_b(t.data<uint8_t>() + group * n * k, t.type() == DType::i8, k, true, k, n,
                     static_cast<int32_t*>(packed.get()) + group * each, pool);
  }
  return packed;
}

size_t conv_sums_scratch(const QuantisedConv& a, const Fact& x, const Fact& w, const Fact& y,
                         bool packed, int threads) {
  const Dims x_dims = x.dims(), w_dims = w.dims(), y_dims = y.dims();
  const Sizes s = sizes_of(a, x_dims, w_dims, y_dims);
  return s.by_planes() ? size_t(threads) * aligned(s.positions * 4)
                       : parts_of(s, packed, threads).total;
}

void conv_sums(const ConvSums& r, Pool& pool) {
  const View &x = r.args.in(r.in.x), &w = r.args.in(r.in.w), &y = r.args.out();
  const WindowAxes axes =
      resolve(r.a.window, x.dims.subspan(2), y.dims.subspan(2), w.dims.subspan(2));
  const Sizes s = sizes_of(r.a, x.dims, w.dims, y.dims);
  if (s.by_planes()) {
    by_planes(r, s, axes, pool);
  } else {
    by_products(r, s, axes, pool);
  }
}

}  // namespace sdx::ops
