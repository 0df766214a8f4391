// DeformConv.
#include <cmath>

#include "base/deadline.h"
#include "ops/conv/conv.h"
#include "ops/conv/groups.h"

namespace sdx::ops {
namespace {

struct DeformConv {
  Window window;
  int64_t group, offset_group;
};

constexpr Version kHistory[] = {
    {19,
     "(X: T, W: T, offset: T, B?: T, mask?: T) -> (Y: T) {dilations: ints, group: int = 1, "
     "kernel_shape: ints, "
     "offset_group: int = 1, pads: ints, strides: ints} T in floats"},
    {22, "T += bf16"},
};

Result<DeformConv> read(const Node& node, const Facts& in) {
  SDX_ASSIGN(Window window, read_conv_window(node, in));
  const int64_t group = node.i("group"), offset_group = node.i("offset_group");
  if (group < 1 || offset_group < 1) {
    return fail("SDX-T0320", "group is {}, offset_group is {}, expected at least 1", group,
                offset_group);
  }
  return DeformConv{std::move(window), group, offset_group};
}

Result<Facts> infer(const DeformConv& a, const Facts& in) {
  SDX_TRY(check_conv_shapes(a.window, in, Dim(a.group), 1));
  Shape shape(a.window.spatial + 2, Dim::unknown());
  if (in[0].has_rank()) shape[0] = in[0].dim(0);
  if (in[0].has_rank()) SDX_TRY(divides("input", in[0].dim(1), a.offset_group, "offset groups"));
  if (in[1].has_rank()) {
    shape[1] = in[1].dim(0);
    SDX_TRY(divides("output", shape[1], a.group));
  }
  SDX_TRY(check_conv_bias(in, 3, shape[1]));
  Dim taps = 1;
  for (size_t i = 0; in[0].has_rank() && i < a.window.spatial; ++i) {
    if (a.window.kernel.empty() && !in[1].has_rank()) continue;
    const Dim kernel = a.window.kernel.empty() ? in[1].dim(i + 2) : Dim(a.window.kernel[i]);
    taps = taps * kernel;
    SDX_ASSIGN(shape[i + 2], output_size(a.window, i, in[0].dim(i + 2), kernel));
  }
  // offset: [N, offset_group * taps * spatial, out...]; mask: [N, offset_group * taps, out...].
  for (const size_t i : {size_t{2}, size_t{4}}) {
    if (i >= in.size() || !in[i].present() || !in[i].has_rank()) continue;
    const Dim expected = taps * Dim(a.offset_group * (i == 2 ? int64_t(a.window.spatial) : 1));
    bool fits = in[i].rank() == shape.size();
    for (size_t d = 0; fits && d < shape.size(); ++d) {
      const Dim &found = in[i].dim(d), &want = d == 1 ? expected : shape[d];
      fits = !found.is_const() || !want.is_const() || found == want;
    }
    if (!fits) {
      return fail("SDX-T0324", "{} has shape {}, expected {} channels and the output's sizes {}",
                  i == 2 ? "offset" : "mask", to_string(*in[i].shape), expected.text(),
                  to_string(shape));
    }
  }
  return Facts{Fact::tensor(in[0].type, std::move(shape))};
}

// The plane at a real position, linear between its elements along every axis; 0 outside. The
// corners are added in row-major order from +0, each as (product of its parts, first axis first) *
// element, every operation rounded on its own.
template <class T, class C>
C sample(const T* plane, const WindowAxes& axes, const std::array<C, kMostSpatial>& at) {
  std::array<C, kMostSpatial> part;
  Position low;
  for (size_t i = 0; i < axes.spatial; ++i) {
    if (!(at[i] > C(-1) && at[i] < C(axes.axis[i].in))) return 0;
    const C floor = std::floor(at[i]);
    low[i] = int64_t(floor);
    part[i] = at[i] - floor;
  }
  C sum = 0;
  for (size_t corner = 0; corner < size_t{1} << axes.spatial; ++corner) {
    C weight = 1;
    int64_t index = 0;
    for (size_t i = 0; i < axes.spatial; ++i) {
      const bool up = corner >> (axes.spatial - 1 - i) & 1;
      const int64_t here = low[i] + (up ? 1 : 0);
      weight = weight * (up ? part[i] : C(1) - part[i]);
      index =
          index < 0 || here < 0 || here >= axes.axis[i].in ? -1 : index * axes.axis[i].in + here;
    }
    if (index >= 0) sum = sum + weight * load(plane[index]);
  }
  return sum;
}

// As Conv, with x taken at tap + offset and multiplied by mask; the same order of the chain.
template <class T>
void convolve(const DeformConv& a, Args& args) {
  using C = Compute<T>;
  const View &x = args.in(0), &w = args.in(1), &offset = args.in(2), &y = args.out();
  const WindowAxes axes =
      resolve(a.window, x.dims.subspan(2), y.dims.subspan(2), w.dims.subspan(2));
  const size_t batch = size_t(x.dims[0]), channels = size_t(x.dims[1]),
               out_channels = size_t(w.dims[0]);
  const size_t in_group = size_t(w.dims[1]), out_group = out_channels / size_t(a.group);
  const size_t shared = channels / size_t(a.offset_group);  // channels with the same offsets
  T* to = y.data<T>();
  for (size_t n = 0; n < batch; ++n) {
    for (size_t o = 0; o < out_channels; ++o) {
      for (size_t at = 0; at < axes.out; ++at) {
        const Position p =
            position_of(at, axes.spatial, [&](size_t i) { return axes.axis[i].out; });
        const auto value = [&](size_t channel, size_t tap) {
          const size_t where = (n * size_t(a.offset_group) + channel / shared) * axes.taps + tap;
          const Position k =
              position_of(tap, axes.spatial, [&](size_t i) { return axes.axis[i].kernel; });
          std::array<C, kMostSpatial> real;
          for (size_t i = 0; i < axes.spatial; ++i) {
            const WindowAxis& axis = axes.axis[i];
            real[i] = C(p[i] * axis.stride - axis.begin + k[i] * axis.dilation) +
                      load(offset.data<T>()[(where * axes.spatial + i) * axes.out + at]);
          }
          const C v = sample<T, C>(x.data<T>() + (n * channels + channel) * axes.in, axes, real);
          return args.has(4) ? v * load(args.in(4).data<T>()[where * axes.out + at]) : v;
        };
        C acc = 0;
        for (size_t block = 0; block < in_group; block += kConvChannels) {
          for (size_t tap = 0; tap < axes.taps; ++tap) {
            Deadline::step();
            for (size_t c = block; c < std::min(in_group, block + kConvChannels); ++c) {
              const T weight = w.data<T>()[(o * in_group + c) * axes.taps + tap];
              acc = std::fma(load(weight), value(o / out_group * in_group + c, tap), acc);
            }
          }
        }
        if (args.has(3)) acc = acc + load(args.in(3).data<T>()[o]);
        *to++ = store<T>(acc);
      }
    }
  }
}

Status reference(const DeformConv& a, Args& args) {
  visit_floats(args.in(0).type, [&]<class T>() { convolve<T>(a, args); });
  return ok();
}

std::vector<Case> cases() {
  return {
      {.name = "offsets_move_between_elements_and_masks_scale",
       .opset = 19,
       .attrs = {},
       .inputs = {Tensor::of<float>({1, 1, 1, 2}, {2, 4}), Tensor::of<float>({1, 1, 1, 1}, {10}),
                  Tensor::of<float>({1, 2, 1, 2}, {0, 0, .5f, 5}), Tensor::of<float>({1}, {1}),
                  Tensor::of<float>({1, 1, 1, 2}, {.5f, 1})},
       .expected = {Tensor::of<float>({1, 1, 1, 2}, {16, 1})}}};
}

constexpr OpOf<DeformConv> kDeformConv{
    .name = "DeformConv",
    .doc = "A convolution whose taps are moved by offsets and scaled by a mask.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .cases = cases,
};

}  // namespace

extern const Op deform_conv = erase<kDeformConv>();

}  // namespace sdx::ops
