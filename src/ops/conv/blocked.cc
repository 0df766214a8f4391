// ToBlocked and FromBlocked: between [N, C, H, W] and channels in blocks of 16, [N, ceil(C / 16),
// H, W, 16]; made by the rewrite that chooses layouts. Lanes behind the last channel are +0.
#include <algorithm>

#include "kernel/conv/blocked/conv_blocked.h"
#include "ops/common.h"
#include "ops/noise.h"

namespace sdx::ops {
namespace {

struct ToBlocked {};
struct FromBlocked {
  int64_t channels;
};

constexpr Version kToHistory[] = {{1, "(X: T) -> (Y: T) T in f32"}};
constexpr Version kFromHistory[] = {{1, "(X: T) -> (Y: T) {channels!: int} T in f32"}};

Result<ToBlocked> read_to(const Node&, const Facts&) { return ToBlocked{}; }
Result<FromBlocked> read_from(const Node& node, const Facts&) {
  if (node.i("channels") < 1)
    return fail("SDX-T0327", "channels is {}, expected at least 1", node.i("channels"));
  return FromBlocked{node.i("channels")};
}

Result<Facts> infer_to(const ToBlocked&, const Facts& in) {
  const Fact& x = in[0];
  if (!x.has_rank() || x.rank() != 4 || !x.dim(1).is_const()) {
    return fail("SDX-T0327", "expected rank 4 and a known number of channels, found {}", x.text());
  }
  const auto blocks = int64_t(channel_blocks(size_t(x.dim(1).value())));
  return Facts{
      Fact::tensor(x.type, {x.dim(0), Dim(blocks), x.dim(2), x.dim(3), Dim(int64_t(kBlockLanes))})};
}

Result<Facts> infer_from(const FromBlocked& a, const Facts& in) {
  const Fact& x = in[0];
  const auto blocks = int64_t(channel_blocks(size_t(a.channels)));
  if (!x.has_rank() || x.rank() != 5 || !x.dim(1).is_const(blocks) ||
      !x.dim(4).is_const(int64_t(kBlockLanes))) {
    return fail("SDX-T0327", "expected [N,{},H,W,16] for {} channels, found {}", blocks, a.channels,
                x.text());
  }
  return Facts{Fact::tensor(x.type, {x.dim(0), Dim(a.channels), x.dim(2), x.dim(3)})};
}

size_t pixels_of(const View& x) { return size_t(x.dims[2] * x.dims[3]); }

Status reference_to(const ToBlocked&, Args& args) {
  const View &x = args.in(0), &y = args.out();
  const auto channels = size_t(x.dims[1]), blocks = size_t(y.dims[1]), pixels = pixels_of(x);
  float* to = y.data<float>();
  for (size_t i = 0; i < size_t(x.dims[0]) * blocks; ++i) {
    for (size_t p = 0; p < pixels; ++p) {
      for (size_t lane = 0; lane < kBlockLanes; ++lane) {
        const size_t c = i % blocks * kBlockLanes + lane;
        *to++ = c < channels ? x.data<float>()[(i / blocks * channels + c) * pixels + p] : 0.f;
      }
    }
  }
  return ok();
}

Status reference_from(const FromBlocked& a, Args& args) {
  const View &x = args.in(0), &y = args.out();
  const auto channels = size_t(a.channels), blocks = size_t(x.dims[1]), pixels = pixels_of(x);
  float* to = y.data<float>();
  for (size_t i = 0; i < size_t(x.dims[0]) * channels; ++i) {
    const size_t c = i % channels, block = i / channels * blocks + c / kBlockLanes;
    for (size_t p = 0; p < pixels; ++p)
      *to++ = x.data<float>()[(block * pixels + p) * kBlockLanes + c % kBlockLanes];
  }
  return ok();
}

Status run_to(const ToBlocked&, Args& args) {
  const View &x = args.in(0), &y = args.out();
  const auto channels = size_t(x.dims[1]);
  for (size_t n = 0; n < size_t(x.dims[0]); ++n) {
    to_channel_blocks(x.data<float>() + n * channels * pixels_of(x), channels, pixels_of(x),
                      y.data<float>() + n * size_t(y.dims[1]) * pixels_of(x) * kBlockLanes,
                      *args.pool, args.isa);
  }
  return ok();
}

Status run_from(const FromBlocked& a, Args& args) {
  const View &x = args.in(0), &y = args.out();
  const auto channels = size_t(a.channels);
  for (size_t n = 0; n < size_t(x.dims[0]); ++n) {
    from_channel_blocks(x.data<float>() + n * size_t(x.dims[1]) * pixels_of(x) * kBlockLanes,
                        channels, pixels_of(x), y.data<float>() + n * channels * pixels_of(x),
                        *args.pool, args.isa);
  }
  return ok();
}

// A plane of one position lies the same way in both layouts if the blocks are full.
template <class A>
std::optional<size_t> alias(const A&, const Call& call, size_t) {
  const Dims x = call.in[0].dims(), y = call.out[0].dims();
  const auto count = [](const Dims& dims) {
    int64_t n = 1;
    for (const int64_t d : dims) n *= d;
    return n;
  };
  if (x[2] != 1 || x[3] != 1 || count(x) != count(y)) return std::nullopt;
  return 0;
}

std::vector<Case> cases_to() {
  return {{.name = "one_block_is_filled_up",
           .opset = 1,
           .attrs = {},
           .inputs = {Tensor::of<float>({1, 2, 1, 2}, {1, 2, 3, 4})},
           .expected = {Tensor::of<float>({1, 1, 1, 2, 16},
                                          {1, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,  //
                                           2, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})}},
          {.name = "images", .opset = 1, .attrs = {}, .inputs = {noise({2, 35, 5, 7})}},
          {.name = "vectors", .opset = 1, .attrs = {}, .inputs = {noise({3, 32, 1, 1})}}};
}
std::vector<Case> cases_from() {
  return {{.name = "images",
           .opset = 1,
           .attrs = {{"channels", int64_t{35}}},
           .inputs = {noise({2, 3, 5, 7, 16})}},
          {.name = "vectors",
           .opset = 1,
           .attrs = {{"channels", int64_t{32}}},
           .inputs = {noise({3, 2, 1, 1, 16})}}};
}

constexpr Kernel<ToBlocked> kToKernels[] = {
    {.name = "to_blocks",
     .fits = [](const ToBlocked&, const Call&) { return true; },
     .run = run_to}};
constexpr Kernel<FromBlocked> kFromKernels[] = {
    {.name = "from_blocks",
     .fits = [](const FromBlocked&, const Call&) { return true; },
     .run = run_from}};

constexpr OpOf<ToBlocked> kToBlocked{
    .name = "ToBlocked",
    .doc = "Planes of channels put into blocks of 16 channels.",
    .history = kToHistory,
    .read = read_to,
    .infer = infer_to,
    .reference = reference_to,
    .kernels = kToKernels,
    .cases = cases_to,
    .domain = "sardonyx",
    .alias = alias<ToBlocked>,
};
constexpr OpOf<FromBlocked> kFromBlocked{
    .name = "FromBlocked",
    .doc = "Blocks of 16 channels taken apart into planes.",
    .history = kFromHistory,
    .read = read_from,
    .infer = infer_from,
    .reference = reference_from,
    .kernels = kFromKernels,
    .cases = cases_from,
    .domain = "sardonyx",
    .alias = alias<FromBlocked>,
};

}  // namespace

extern const Op to_blocked = erase<kToBlocked>();
extern const Op from_blocked = erase<kFromBlocked>();

}  // namespace sdx::ops
