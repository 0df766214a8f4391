// QuantisedElementwise: a program of element-wise operations on dequantised bytes, quantised again,
// in one pass; made by a rewrite.
#include "ops/quant/quantised_elementwise.h"

#include <array>

#include "op/layout.h"
#include "ops/common.h"
#include "ops/noise.h"
#include "ops/quant/saturate.h"

namespace sdx::ops {
namespace {

constexpr Version kHistory[] = {
    {1, "(x...: T) -> (y: T) {code!: strings, scales!: floats, zeros!: ints} T in u8 i8"}};

Result<QuantisedElementwise> read(const Node& node, const Facts& in) {
  QuantisedElementwise a;
  SDX_ASSIGN(a.program, Program::parse(in.size(), node.get<std::vector<std::string>>("code")));
  a.scale = node.get<std::vector<float>>("scales");
  const auto zeros = node.get<std::vector<int64_t>>("zeros");
  for (const int64_t zero : zeros) a.zero.push_back(uint8_t(zero));
  if (a.scale.size() != in.size() + 1 || a.zero.size() != in.size() + 1) {
    return fail("SDX-O0011", "{} scales and {} zero points, expected {} of each", a.scale.size(),
                a.zero.size(), in.size() + 1);
  }
  a.sum = sum_of_bytes(a.program, a.scale, zeros, in[0].type == DType::i8);
  return a;
}

Result<Facts> infer(const QuantisedElementwise&, const Facts& in) { return Facts{like(in[0])}; }

float dequantised(const View& x, size_t i, float scale, uint8_t zero) {
  const int value =
      x.type == DType::i8 ? x.data<int8_t>()[i] - int8_t(zero) : x.data<uint8_t>()[i] - zero;
  return float(value) * scale;
}

Status reference(const QuantisedElementwise& a, Args& args) {
  const View& y = args.out();
  std::array<float, Program::kMostInputs> element;
  const int64_t zero = y.type == DType::i8 ? int64_t(int8_t(a.zero.back())) : a.zero.back();
  for (size_t i = 0; i < y.count; ++i) {
    for (size_t k = 0; k < args.ins.size(); ++k)
      element[k] = dequantised(args.in(k), i, a.scale[k], a.zero[k]);
    const float scaled = a.program.run_scalar(element.data()) / a.scale.back();
    set_i64(y.type, y.raw, i, saturate_to(y.type, to_nearest(scaled) + zero));
  }
  return ok();
}

// Per thread: the program's registers, a tile of floats per input, and one for the result.
size_t scratch_floats(const QuantisedElementwise& a) {
  return a.program.scratch() + (a.program.inputs() + 1) * Program::kChunk;
}
size_t scratch(const QuantisedElementwise& a, const Call& call) {
  return size_t(call.threads) * scratch_floats(a) * sizeof(float);
}

Status run(const QuantisedElementwise& a, Args& args) {
  const View& y = args.out();
  const size_t inputs = args.ins.size(), tiles = (y.count + Program::kChunk - 1) / Program::kChunk;
  const bool is_signed = y.type == DType::i8;
  const auto widen = SDX_PICK(dequantize_8_f32, args.isa);
  const auto narrow = SDX_PICK(quantize_f32_8, args.isa);
  args.pool->parallel(tiles, 64, [&](size_t begin, size_t end, int thread) {
    float* registers =
        reinterpret_cast<float*>(args.scratch.data()) + size_t(thread) * scratch_floats(a);
    float* wide = registers + a.program.scratch();
    std::array<const float*, Program::kMostInputs> in;
    std::array<uint8_t, Program::kMostInputs> stride;
    stride.fill(1);
    for (size_t k = 0; k < inputs; ++k) in[k] = wide + k * Program::kChunk;
    float* result = wide + inputs * Program::kChunk;
    for (size_t tile = begin; tile < end; ++tile) {
      const size_t at = tile * Program::kChunk, n = std::min(Program::kChunk, y.count - at);
      for (size_t k = 0; k < inputs; ++k) {
        widen(args.in(k).data<uint8_t>() + at, wide + k * Program::kChunk, n, &a.scale[k],
              &a.zero[k], 0, is_signed);
      }
      a.program.run(in.data(), stride.data(), result, n, registers, args.isa);
      narrow(result, y.data<uint8_t>() + at, n, &a.scale.back(), &a.zero.back(), 0, is_signed);
    }
  });
  return ok();
}

Status run_sum(const QuantisedElementwise& a, Args& args) {
  const auto add = SDX_PICK(add_bytes, args.isa);
  constexpr size_t kGrain = 1 << 15;
  args.pool->parallel(args.out().count, kGrain, [&](size_t begin, size_t end, int) {
    add(*a.sum, args.in(0).data<uint8_t>() + begin, args.in(1).data<uint8_t>() + begin,
        args.out().data<uint8_t>() + begin, end - begin);
  });
  return ok();
}

constexpr Kernel<QuantisedElementwise> kKernels[] = {
    {.name = "add_bytes",
     .fits = [](const QuantisedElementwise& a, const Call&) { return a.sum.has_value(); },
     .run = run_sum},
    {.name = "program_on_bytes",
     .fits = [](const QuantisedElementwise&, const Call&) { return true; },
     .run = run,
     .scratch = scratch},
};

std::vector<Case> cases() {
  const std::vector<std::string> sum = {"add 0 1", "relu 2 0 0"};
  return {{.name = "a_sum_saturates",
           .opset = 1,
           .attrs = {{"code", sum},
                     {"scales", std::vector<float>{1, .5f, 1}},
                     {"zeros", std::vector<int64_t>{0, 10, 3}}},
           .inputs = {Tensor::of<uint8_t>({4}, {0, 1, 255, 2}),
                      Tensor::of<uint8_t>({4}, {10, 13, 255, 0})},
           .expected = {Tensor::of<uint8_t>({4}, {3, 5, 255, 3})}},
          {.name = "three_terms",
           .opset = 1,
           .attrs = {{"code", std::vector<std::string>{"add 0 1", "add 3 2"}},
                     {"scales", std::vector<float>{.013f, .021f, .02f, .03f}},
                     {"zeros", std::vector<int64_t>{3, 7, 0, 128}}},
           .inputs = {noise(DType::u8, {3, 700}, 1, 0, 256), noise(DType::u8, {3, 700}, 2, 0, 256),
                      noise(DType::u8, {3, 700}, 3, 0, 256)}},
          {.name = "a_scale_out_of_all_proportion",
           .opset = 1,
           .attrs = {{"code", sum},
                     {"scales", std::vector<float>{1e30f, 1, 1e-30f}},
                     {"zeros", std::vector<int64_t>{3, 7, 128}}},
           .inputs = {noise(DType::u8, {100}, 1, 0, 256), noise(DType::u8, {100}, 2, 0, 256)}},
          {.name = "long_signed_tensors",
           .opset = 1,
           .attrs = {{"code", sum},
                     {"scales", std::vector<float>{.013f, .021f, .03f}},
                     {"zeros", std::vector<int64_t>{-3, 7, -128}}},
           .inputs = {noise(DType::i8, {3, 700}, 1, -128, 128),
                      noise(DType::i8, {3, 700}, 2, -128, 128)}}};
}

constexpr OpOf<QuantisedElementwise> kQuantisedElementwise{
    .name = "QuantisedElementwise",
    .doc = "A program of element-wise operations on dequantised bytes, quantised again.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .kernels = kKernels,
    .cases = cases,
    .domain = "sardonyx",
    .layout = each_element<QuantisedElementwise>,
};

}  // namespace

extern const Op quantised_elementwise = erase<kQuantisedElementwise>();

}  // namespace sdx::ops
