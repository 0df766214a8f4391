#include "ops/quant/quantised_conv.h"

#include "base/aligned.h"
#include "base/slab.h"
#include "kernel/conv/int8_planes/conv_int8_planes.h"
#include "ops/conv/groups.h"

namespace sdx::ops {
namespace {

int32_t int_value(const View& v, size_t i) {
  return v.type == DType::i8 ? int32_t(v.data<int8_t>()[i]) : int32_t(v.data<uint8_t>()[i]);
}

ConvShape conv_shape(const QuantisedConv& a, const WindowAxes& axes, std::span<const int64_t> x,
                     std::span<const int64_t> w) {
  ConvShape s = kernel_shape(axes);
  s.batch = size_t(x[0]);
  s.groups = size_t(a.group);
  s.in_channels = size_t(x[1]);
  s.out_channels = size_t(w[0]);
  return within_memory(s);
}

ConvShape conv_shape(const QuantisedConv& a, const Fact& x, const Fact& w, const Fact& y) {
  const Dims x_dims = x.dims(), w_dims = w.dims(), y_dims = y.dims();
  const auto spatial = [](const Dims& dims) { return std::span(dims).subspan(2); };
  return conv_shape(a, resolve(a.window, spatial(x_dims), spatial(y_dims), spatial(w_dims)), x_dims,
                    w_dims);
}

// Scratch memory: zero points of w, ratios, what conv_int8 needs and, for weights that only the run
// knows, their packed form.
struct Layout {
  size_t ratios, kernel, packed, total;
  Layout(const ConvShape& s, bool constant, int threads) {
    ratios = aligned_bytes(s.out_channels * sizeof(int32_t));
    kernel = ratios + aligned_bytes(s.out_channels * sizeof(float));
    packed = kernel + aligned_bytes(conv_int8_planes_scratch_bytes(s, threads));
    total = packed + (constant ? 0 : conv_int8_planes_packed_size(s) * sizeof(int32_t));
  }
};

}  // namespace

Result<QuantisedConv> read_quantised_conv(const Node& node, const Fact& x, const Fact& w) {
  SDX_ASSIGN(Window window, read_conv_window(node, {x, w}));
  SDX_ASSIGN(const int64_t group, read_group(node));
  return QuantisedConv{std::move(window), group};
}

Result<Facts> infer_quantised_conv(const QuantisedConv& a, const Fact& x, const Fact& w,
                                   DType type) {
  SDX_TRY(check_conv_shapes(a.window, {x, w}, Dim(a.group), 1));
  Shape shape(a.window.spatial + 2, Dim::unknown());
  if (x.has_rank()) shape[0] = x.dim(0);
  if (w.has_rank()) {
    shape[1] = w.dim(0);
    SDX_TRY(divides("output", shape[1], a.group));
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
  return a.window.spatial <= 3;
}

std::shared_ptr<const void> pack_conv_weights(const QuantisedConv& a, const Fact& x, const Fact& w,
                                              const Fact& y, Pool& pool, Isa isa) {
  if (w.value == nullptr) return nullptr;
  const ConvShape s = conv_shape(a, x, w, y);
  auto packed = allocate_lasting(conv_int8_planes_packed_size(s) * sizeof(int32_t));
  conv_int8_planes_pack(s, w.value->raw(), w.type == DType::i8, static_cast<int32_t*>(packed.get()),
                        pool, isa);
  return packed;
}

size_t conv_sums_scratch(const QuantisedConv& a, const Fact& x, const Fact& w, const Fact& y,
                         int threads) {
  return Layout(conv_shape(a, x, w, y), w.value != nullptr, threads).total;
}

void conv_sums(const QuantisedConv& a, const Args& args, const ConvInputs& in,
               const SumsToBytes* to_bytes) {
  Pool& pool = *args.pool;
  const View &x = args.in(in.x), &w = args.in(in.w), &y = args.out();
  const WindowAxes axes =
      resolve(a.window, x.dims.subspan(2), y.dims.subspan(2), w.dims.subspan(2));
  const ConvShape s = conv_shape(a, axes, x.dims, w.dims);
  const Layout layout(s, args.packed != nullptr, pool.threads());
  const std::span<std::byte> room = args.scratch;
  ConvInt8Args c;
  c.shape = s;
  c.x = x.raw;
  c.x_signed = x.type == DType::i8;
  if (args.has(in.x_zero)) c.x_zero = int_value(args.in(in.x_zero), 0);
  c.w_signed = w.type == DType::i8;
  c.weights = static_cast<const int32_t*>(args.packed);
  if (c.weights == nullptr) {
    auto* packed = reinterpret_cast<int32_t*>(room.data() + layout.packed);
    conv_int8_planes_pack(s, w.raw, c.w_signed, packed, pool, args.isa);
    c.weights = packed;
  }
  if (args.has(in.w_zero)) {
    const View& zero = args.in(in.w_zero);
    auto* zeros = reinterpret_cast<int32_t*>(room.data());
    for (size_t o = 0; o < zero.count; ++o) zeros[o] = int_value(zero, o);
    c.w_zero = zeros;
    c.w_zero_step = zero.count > 1 ? 1 : 0;
  }
  if (to_bytes == nullptr) {
    c.y = y.data<int32_t>();
  } else {
    auto* ratio = reinterpret_cast<float*>(room.data() + layout.ratios);
    for (size_t o = 0; o < s.out_channels; ++o) ratio[o] = to_bytes->ratio(args, o);
    c.requantize = {ratio, to_bytes->bias, to_bytes->zero, y.type == DType::i8,
                    static_cast<uint8_t*>(y.raw)};
  }
  c.scratch = room.data() + layout.kernel;
  conv_int8_planes(c, pool, args.isa);
}

}  // namespace sdx::ops
