// ConvPairBlocked: a Conv of 1 x 1, an element-wise operation and the depthwise Conv that reads
// them, on channels in blocks of 16; made by the rewrite that joins them. The wire between the two
// convolutions stays in cache.
#include <fmt/ranges.h>

#include <cmath>

#include "base/slab.h"
#include "kernel/conv/blocked/conv_blocked.h"
#include "kernel/elementwise/arrays.h"
#include "kernel/epilogue/program.h"
#include "ops/conv/conv.h"
#include "ops/noise.h"

namespace sdx::ops {
namespace {

struct ConvPairBlocked {
  Window window;                   // of the second
  std::optional<Program> between;  // one operation of one operand
};

constexpr Version kHistory[] = {
    {1,
     "(X: T, W: T, V: T, B?: T, C?: T) -> (Y: T) {between!: strings, auto_pad: string = "
     "\"NOTSET\", dilations: ints, kernel_shape: ints, pads: ints, strides: ints} T in f32"}};

Result<ConvPairBlocked> read(const Node& node, const Facts& in) {
  SDX_ASSIGN(Window window, read_window(node, 2));
  ConvPairBlocked a{std::move(window), {}};
  const auto& code = node.get<std::vector<std::string>>("between");
  if (!code.empty()) {
    SDX_ASSIGN(a.between, Program::parse(1, code));
    if (a.between->as_unary() == nullptr)
      return fail("SDX-O0013", "expected one operation between the convolutions, found {}",
                  fmt::join(code, "; "));
  }
  if (!in[0].has_rank() || in[0].rank() != 5 || !in[1].is_concrete() || in[1].rank() != 4 ||
      !in[2].is_concrete() || in[2].rank() != 4) {
    return fail("SDX-T0321", "expected X of rank 5 and known W and V of rank 4, found {}, {}, {}",
                in[0].text(), in[1].text(), in[2].text());
  }
  return a;
}

Result<Facts> infer(const ConvPairBlocked& a, const Facts& in) {
  const Dims w = in[1].dims(), v = in[2].dims();
  if (!in[0].dim(1).is_const(int64_t(channel_blocks(size_t(w[1])))) ||
      !in[0].dim(4).is_const(int64_t(kBlockLanes)) || w[2] != 1 || w[3] != 1 || v[0] != w[0] ||
      v[1] != 1) {
    return fail("SDX-T0323", "X is {}; W of shape {} and V of shape {} do not follow each other",
                in[0].text(), to_string(w), to_string(v));
  }
  SDX_TRY(check_conv_bias(in, 3, Dim(w[0])));
  SDX_TRY(check_conv_bias(in, 4, Dim(w[0])));
  Shape shape{in[0].dim(0), Dim(int64_t(channel_blocks(size_t(w[0])))), Dim::unknown(),
              Dim::unknown(), Dim(int64_t(kBlockLanes))};
  for (size_t i = 0; i < 2; ++i) {
    SDX_ASSIGN(shape[i + 2], output_size(a.window, i, in[0].dim(i + 2), Dim(v[i + 2])));
  }
  return Facts{Fact::tensor(in[0].type, std::move(shape))};
}

// Each convolution as ConvBlocked: one chain of fma from +0, then the bias.
Status reference(const ConvPairBlocked& a, Args& args) {
  const View &x = args.in(0), &w = args.in(1), &v = args.in(2), &y = args.out();
  const WindowAxes axes =
      resolve(a.window, x.dims.subspan(2, 2), y.dims.subspan(2, 2), v.dims.subspan(2));
  const auto channels = size_t(w.dims[1]), wide = size_t(w.dims[0]);
  const size_t in_blocks = channel_blocks(channels), blocks = channel_blocks(wide);
  const auto bias = [&](size_t input, size_t o, float sum) {
    return args.has(input) ? sum + (o < wide ? args.in(input).data<float>()[o] : 0.f) : sum;
  };
  std::vector<float> wire(axes.in);
  for (size_t i = 0; i < size_t(x.dims[0]) * blocks * kBlockLanes; ++i) {
    const size_t n = i / kBlockLanes / blocks, o = i % (blocks * kBlockLanes);
    for (size_t at = 0; at < axes.in; ++at) {
      float acc = 0;
      for (size_t c = 0; c < channels; ++c) {
        const size_t block = n * in_blocks + c / kBlockLanes;
        const float value = x.data<float>()[(block * axes.in + at) * kBlockLanes + c % kBlockLanes];
        acc = std::fma(o < wide ? w.data<float>()[o * channels + c] : 0.f, value, acc);
      }
      acc = store<float>(bias(3, o, acc));
      wire[at] = a.between ? a.between->run_scalar(&acc) : acc;
    }
    const size_t block = n * blocks + o / kBlockLanes;
    for (size_t at = 0; at < axes.out; ++at) {
      float acc = 0;
      each_tap(axes, position_of(at, 2, [&](size_t d) { return axes.axis[d].out; }),
               [&](size_t tap, int64_t index) {
                 const float weight = o < wide ? v.data<float>()[o * axes.taps + tap] : 0.f;
                 acc = std::fma(weight, index < 0 ? 0.f : wire[size_t(index)], acc);
               });
      y.data<float>()[(block * axes.out + at) * kBlockLanes + o % kBlockLanes] =
          store<float>(bias(4, o, acc));
    }
  }
  return ok();
}

struct Shapes {
  ConvShape first, second;
};
Shapes shapes_of(const ConvPairBlocked& a, std::span<const int64_t> x, std::span<const int64_t> w,
                 std::span<const int64_t> v, std::span<const int64_t> y) {
  Shapes s;
  s.second = kernel_shape(resolve(a.window, x.subspan(2, 2), y.subspan(2, 2), v.subspan(2)));
  s.second.batch = s.first.batch = size_t(x[0]);
  s.second.groups = s.second.in_channels = s.second.out_channels = size_t(w[0]);
  s.first.in_channels = size_t(w[1]);
  s.first.out_channels = size_t(w[0]);
  for (const size_t i : {1, 2}) s.first.in[i] = s.first.out[i] = s.second.in[i];
  return s;
}
Shapes shapes_of(const ConvPairBlocked& a, const Call& call) {
  return shapes_of(a, call.in[0].dims(), call.in[1].dims(), call.in[2].dims(), call.out[0].dims());
}
Shapes shapes_of(const ConvPairBlocked& a, const Args& args) {
  return shapes_of(a, args.in(0).dims, args.in(1).dims, args.in(2).dims, args.out().dims);
}

bool fits(const ConvPairBlocked& a, const Call& call) {
  for (size_t i = 1; i < call.in.size(); ++i) {
    if (call.in[i].present() && call.in[i].value == nullptr) return false;
  }
  const Shapes s = shapes_of(a, call);
  return conv_has_work(call) && conv_blocked_pair_fits(s.first, s.second);
}

size_t scratch(const ConvPairBlocked& a, const Call& call) {
  return conv_blocked_pair_scratch_bytes(shapes_of(a, call).second, call.threads);
}

std::shared_ptr<const void> pack(const ConvPairBlocked& a, const Call& call, Pool& pool) {
  const Shapes s = shapes_of(a, call);
  const size_t first = conv_blocked_packed_size(s.first);
  std::shared_ptr<void> packed =
      allocate_lasting((first + conv_blocked_packed_size(s.second)) * sizeof(float));
  const auto values = [&](size_t i) {
    return i < call.in.size() && call.in[i].present() ? call.in[i].value->data<float>() : nullptr;
  };
  auto* to = static_cast<float*>(packed.get());
  conv_blocked_pack(s.first, values(1), values(3), to, pool);
  conv_blocked_pack(s.second, values(2), values(4), to + first, pool);
  return packed;
}

// What stands between the two, where it is no clamp.
struct Between {
  const Program::Instruction* step;
  Isa isa;
};

Status run(const ConvPairBlocked& a, Args& args) {
  const Shapes s = shapes_of(a, args);
  BlockedPairArgs c;
  c.first = s.first;
  c.second = s.second;
  c.x = args.in(0).data<float>();
  c.first_weights = static_cast<const float*>(args.packed);
  c.second_weights = c.first_weights + conv_blocked_packed_size(s.first);
  c.first_bias = args.has(3);
  c.second_bias = args.has(4);
  const Program::Instruction* between = a.between ? a.between->as_unary() : nullptr;
  Between follows{between, args.isa};
  if (between != nullptr) {
    if (const auto clamp = clamp_of(*between)) {
      c.between = *clamp;
    } else {
      c.between_epilogue.fn = [](void* ctx, float* block, size_t ld, size_t, size_t, size_t rows,
                                 size_t cols) {
        const auto& [step, isa] = *static_cast<const Between*>(ctx);
        SDX_PICK(array_unary_rows, isa)
        (static_cast<UnaryOp>(step->op), block, block, rows, cols, ld, step->p, step->q);
      };
      c.between_epilogue.ctx = &follows;
    }
  }
  c.y = args.out().data<float>();
  c.scratch = args.scratch.data();
  EpilogueCall after{args.epilogue, args.epilogue_inputs, args.isa};
  if (const auto clamp = after.clamp()) {
    c.clamp = *clamp;
  } else {
    c.epilogue = after.block();
  }
  conv_blocked_pair(c, *args.pool, args.isa);
  return ok();
}

constexpr Kernel<ConvPairBlocked> kKernels[] = {
    {.name = "conv_blocked_pair",
     .fits = fits,
     .run = run,
     .scratch = scratch,
     .pack = pack,
     .packs = (1u << 1) | (1u << 2) | (1u << 3) | (1u << 4),
     .epilogue = [](const ConvPairBlocked&, const Call&) -> size_t { return 2; }}};

uint64_t multiply_adds(const ConvPairBlocked&, const Call& call) {
  const Dims x = call.in[0].dims(), w = call.in[1].dims(), v = call.in[2].dims();
  const Dims y = call.out[0].dims();
  return uint64_t(x[0]) * uint64_t(w[0]) * uint64_t(x[2] * x[3] * w[1] + y[2] * y[3] * v[2] * v[3]);
}

std::vector<Case> cases() {
  const std::vector<std::string> none, clip = {"clip 0 0 6"}, swish = {"sigmoid 0", "mul 0 1"};
  const std::vector<int64_t> ones{1, 1, 1, 1}, two{2, 2};
  return {
      {.name = "clipped_between",
       .opset = 1,
       .attrs = {{"between", clip}, {"pads", ones}},
       .inputs = {noise({1, 2, 9, 11, 16}), noise({40, 20, 1, 1}, 2), noise({40, 1, 3, 3}, 3),
                  noise({40}, 4), noise({40}, 5)}},
      {.name = "with_stride_and_swish",
       .opset = 1,
       .attrs = {{"between", swish}, {"pads", std::vector<int64_t>{2, 2, 2, 2}}, {"strides", two}},
       .inputs = {noise({2, 1, 13, 17, 16}), noise({33, 16, 1, 1}, 2), noise({33, 1, 5, 5}, 3),
                  noise({33}, 4)}},
      // More rows than a thread holds at once.
      {.name = "in_several_strips",
       .opset = 1,
       .attrs = {{"between", none},
                 {"pads", std::vector<int64_t>{1, 1, 0, 1}},
                 {"strides", std::vector<int64_t>{2, 1}}},
       .inputs = {noise({1, 1, 41, 260, 16}), noise({18, 3, 1, 1}, 2), noise({18, 1, 3, 3}, 3)}}};
}

constexpr OpOf<ConvPairBlocked> kConvPairBlocked{
    .name = "ConvPairBlocked",
    .doc = "A Conv of 1 x 1 and a depthwise one, on channels in blocks of 16.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .kernels = kKernels,
    .cases = cases,
    .domain = "sardonyx",
    .multiply_adds = multiply_adds,
};

}  // namespace

extern const Op conv_pair_blocked = erase<kConvPairBlocked>();

}  // namespace sdx::ops
