// DynamicQuantizeLinear.
#include <cmath>

#include "kernel/quant/quant.h"
#include "ops/common.h"
#include "ops/noise.h"
#include "ops/quant/saturate.h"

namespace sdx::ops {
namespace {

struct DynamicQuantize {};

constexpr Version kHistory[] = {
    {11, "(x: T1) -> (y: T2, y_scale: f32, y_zero_point: T2) T1 in f32 T2 in u8"},
};

Result<DynamicQuantize> read(const Node&, const Facts&) { return DynamicQuantize{}; }

Result<Facts> infer(const DynamicQuantize&, const Facts& in) {
  return Facts{like(in[0], DType::u8), Fact::tensor(DType::f32, Shape{}),
               Fact::tensor(DType::u8, Shape{})};
}

struct Parameters {
  float scale;
  uint8_t zero;
};

// scale = (max - min) / 255 of a range that includes 0, or 1 if the range is empty; zero =
// round(saturate(-min / scale)).
Parameters parameters(float least, float most) {
  const float range = most - least;
  const float scale = store<float>(range == 0 ? 1.0f : range / 255.0f);
  return {scale, uint8_t(saturate_to(DType::u8, to_nearest(0.0f - least / scale)))};
}

void give(const Args& args, const Parameters& p) {
  if (args.wants(1)) *args.out(1).data<float>() = p.scale;
  if (args.wants(2)) *args.out(2).data<uint8_t>() = p.zero;
}

// y = saturate(round half to even(x / scale) + zero). A NaN element makes the scale NaN and every
// element the zero point.
Status reference(const DynamicQuantize&, Args& args) {
  float least = 0, most = 0;
  for (const float x : args.in(0).values<float>()) {
    least = x < least || x != x ? x : least;
    most = x > most || x != x ? x : most;
  }
  const Parameters p = parameters(least, most);
  give(args, p);
  if (!args.wants(0)) return ok();
  for (size_t i = 0; i < args.in(0).count; ++i) {
    args.out().data<uint8_t>()[i] =
        uint8_t(saturate_to(DType::u8, to_nearest(args.in(0).data<float>()[i] / p.scale) + p.zero));
  }
  return ok();
}

struct Range {
  float least = 0, most = 0;
  char pad[56];  // threads write neighbours
};

bool fits(const DynamicQuantize&, const Call&) { return true; }

size_t scratch(const DynamicQuantize&, const Call& call) {
  return sizeof(Range) * size_t(call.threads);
}

Status run(const DynamicQuantize&, Args& args) {
  const float* x = args.in(0).data<float>();
  const size_t n = args.in(0).count;
  const size_t threads = args.scratch.size() / sizeof(Range);
  Range* ranges = reinterpret_cast<Range*>(args.scratch.data());
  for (size_t i = 0; i < threads; ++i) ranges[i] = Range{};
  const auto range_of = SDX_PICK(range_f32, args.isa);
  args.pool->parallel(n, 65536, [&](size_t begin, size_t end, int thread) {
    range_of(x + begin, end - begin, &ranges[thread].least, &ranges[thread].most);
  });
  float least = 0, most = 0;
  for (size_t i = 0; i < threads; ++i) {
    least = ranges[i].least < least || ranges[i].least != ranges[i].least ? ranges[i].least : least;
    most = ranges[i].most > most || ranges[i].most != ranges[i].most ? ranges[i].most : most;
  }
  const Parameters p = parameters(least, most);
  give(args, p);
  if (!args.wants(0)) return ok();
  const auto quantize = SDX_PICK(quantize_f32_8, args.isa);
  uint8_t* y = args.out().data<uint8_t>();
  args.pool->parallel(n, 16384, [&](size_t begin, size_t end, int) {
    quantize(x + begin, y + begin, end - begin, &p.scale, &p.zero, 0, false);
  });
  return ok();
}

constexpr Kernel<DynamicQuantize> kKernels[] = {
    {.name = "dynamic_quantize_f32", .fits = fits, .run = run, .scratch = scratch}};

std::vector<Case> cases() {
  return {{.name = "the_range_includes_zero",
           .opset = 11,
           .attrs = {},
           .inputs = {Tensor::of<float>({3}, {51, 25.5f, 12.8f})},
           .expected = {Tensor::of<uint8_t>({3}, {255, 128, 64}), Tensor::scalar<float>(.2f),
                        Tensor::scalar<uint8_t>(0)},
           .outputs = 3},
          {.name = "zeros_have_scale_one",
           .opset = 11,
           .attrs = {},
           .inputs = {Tensor::of<float>({2}, {0, 0})},
           .expected = {Tensor::of<uint8_t>({2}, {0, 0}), Tensor::scalar<float>(1),
                        Tensor::scalar<uint8_t>(0)},
           .outputs = 3},
          {.name = "many_elements",
           .opset = 11,
           .attrs = {},
           .inputs = {noise(DType::f32, {3, 111}, 1, -3, 5)},
           .outputs = 3}};
}

constexpr OpOf<DynamicQuantize> kDynamicQuantizeLinear{
    .name = "DynamicQuantizeLinear",
    .doc = "Quantises to uint8 with a scale and zero point found from the elements' range.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .kernels = kKernels,
    .cases = cases,
};

}  // namespace

extern const Op dynamic_quantize_linear = erase<kDynamicQuantizeLinear>();

}  // namespace sdx::ops
