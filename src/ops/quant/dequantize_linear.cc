// DequantizeLinear.
#include "ops/quant/dequantize_linear.h"

#include "kernel/quant/quant.h"
#include "ops/noise.h"
#include "ops/quant/grain.h"

namespace sdx::ops {
namespace {

constexpr Version kHistory[] = {
    {10, "(x: T, x_scale: f32, x_zero_point?: T) -> (y: f32) T in i32 i8 u8"},
    {13, "{axis: int = 1}"},
    {19,
     "(x: T1, x_scale: T2, x_zero_point?: T1) -> (y: T2) T1 in f8 i32 i8 u8 T2 in bf16 f16 f32 -T"},
    {21, "{block_size: int = 0} T1 += i16 i4 u16 u4"},
    {23, "-> (y: T3) {output_dtype: int = 0} T1 += f4e2m1 T3 in bf16 f16 f32"},
    {24, "T2 += f8e8m0"},
    {25, "T1 += i2 u2"},
    {28, "T1 += f6e2m3 f6e3m2"},
};

Result<Dequantize> read(const Node& node, const Facts& in) {
  Dequantize a{in[1].type, node.i_or("axis", 1), node.i_or("block_size", 0)};
  // A scale that is a power of two alone (f8e8m0) is no type for an output.
  if (a.output == DType::f8e8m0) a.output = DType::f32;
  if (const int64_t output = node.i_or("output_dtype", 0); output != 0) {
    a.output = valid(output) ? DType(output) : DType::undefined;
    if (a.output != DType::f32 && a.output != DType::f16 && a.output != DType::bf16) {
      return fail("SDX-T0308", "output_dtype {} is not float, float16 or bfloat16", output);
    }
  }
  return a;
}

Result<Facts> infer(const Dequantize& a, const Facts& in) {
  SDX_TRY(check_grain(in, a.axis, a.block));
  return Facts{like(in[0], a.output)};
}

// y = float(x - zero point) * float(scale), rounded to the output type. The difference is exact in
// integers; of narrow floats it is a float subtraction.
template <class T>
void dequantize(const Grain& g, const Args& args) {
  const View &x = args.in(0), &scale = args.in(1), &y = args.out();
  const bool has_zero = args.has(2);
  const bool integer = is_integer(x.type);
  for (size_t o = 0; o < g.outer; ++o) {
    for (size_t k = 0; k < g.size; ++k) {
      for (size_t i = 0; i < g.inner; ++i) {
        const size_t at = (o * g.size + k) * g.inner + i, s = g.at(o, k, i);
        float difference;
        if (integer) {
          const int64_t zero = has_zero ? get_i64(x.type, args.in(2).raw, s) : 0;
          difference = float(get_i64(x.type, x.raw, at) - zero);
        } else {
          const float zero = has_zero ? float(get_f64(x.type, args.in(2).raw, s)) : 0.0f;
          difference = float(get_f64(x.type, x.raw, at)) - zero;
        }
        y.data<T>()[at] = store<T>(difference * float(get_f64(scale.type, scale.raw, s)));
      }
    }
  }
}

Status reference(const Dequantize& a, Args& args) {
  SDX_ASSIGN(const Grain grain, grain_of(args.in(0).dims, args.in(1).dims, a.axis, a.block));
  visit_floats(a.output, [&]<class T>() { dequantize<T>(grain, args); });
  return ok();
}

bool fits_8_bits(const Dequantize& a, const Call& call) {
  const DType x = call.in[0].type;
  return (x == DType::u8 || x == DType::i8) && call.in[1].type == DType::f32 &&
         a.output == DType::f32;
}

Status run_8_bits(const Dequantize& a, Args& args) {
  SDX_ASSIGN(const Grain grain, grain_of(args.in(0).dims, args.in(1).dims, a.axis, a.block));
  const auto dequantize = SDX_PICK(dequantize_8_f32, args.isa);
  const uint8_t* x = args.in(0).data<uint8_t>();
  const float* scale = args.in(1).data<float>();
  const uint8_t* zero = args.has(2) ? args.in(2).data<uint8_t>() : nullptr;
  float* y = args.out().data<float>();
  const bool is_signed = args.in(0).type == DType::i8;
  args.pool->parallel(args.in(0).count, 16384, [&](size_t begin, size_t end, int) {
    each_run(grain, begin, end, [&](size_t at, size_t n, size_t s, size_t step) {
      dequantize(x + at, y + at, n, scale + s, zero ? zero + s : nullptr, step, is_signed);
    });
  });
  return ok();
}

bool fits_32_bits(const Dequantize& a, const Call& call) {
  return call.in[0].type == DType::i32 && call.in[1].type == DType::f32 && a.output == DType::f32;
}

Status run_32_bits(const Dequantize& a, Args& args) {
  SDX_ASSIGN(const Grain grain, grain_of(args.in(0).dims, args.in(1).dims, a.axis, a.block));
  const auto dequantize = SDX_PICK(dequantize_32_f32, args.isa);
  const int32_t* x = args.in(0).data<int32_t>();
  const float* scale = args.in(1).data<float>();
  const int32_t* zero = args.has(2) ? args.in(2).data<int32_t>() : nullptr;
  float* y = args.out().data<float>();
  args.pool->parallel(args.in(0).count, 16384, [&](size_t begin, size_t end, int) {
    each_run(grain, begin, end, [&](size_t at, size_t n, size_t s, size_t step) {
      dequantize(x + at, y + at, n, scale + s, zero ? zero + s : nullptr, step);
    });
  });
  return ok();
}

// Two elements a byte: runs must start on a whole byte, so blocks along the last axis are of even
// length.
bool fits_4_bits(const Dequantize& a, const Call& call) {
  const DType x = call.in[0].type;
  if ((x != DType::u4 && x != DType::i4) || a.output != call.in[1].type ||
      (a.output != DType::f32 && a.output != DType::f16) || !call.in[0].is_concrete() ||
      !call.in[1].is_concrete()) {
    return false;
  }
  const auto grain = grain_of(call.in[0].dims(), call.in[1].dims(), a.axis, a.block);
  if (!grain) return false;
  if (grain->per_tensor()) return true;
  if (grain->inner != 1) return grain->inner % 2 == 0;
  return grain->size % 2 == 0 && grain->block % 2 == 0;
}

Status run_4_bits(const Dequantize& a, Args& args) {
  SDX_ASSIGN(const Grain grain, grain_of(args.in(0).dims, args.in(1).dims, a.axis, a.block));
  const bool is_signed = args.in(0).type == DType::i4;
  const bool half = a.output == DType::f16;
  const auto to_f32 = SDX_PICK(dequantize_4_f32, args.isa);
  const auto to_f16 = SDX_PICK(dequantize_4_f16, args.isa);
  const View &x = args.in(0), &scale = args.in(1), &y = args.out();
  const void* zero = args.has(2) ? args.in(2).raw : nullptr;
  const size_t pairs = (x.count + 1) / 2;
  args.pool->parallel(pairs, 8192, [&](size_t begin, size_t end, int) {
    each_run(grain, begin * 2, std::min(end * 2, x.count),
             [&](size_t at, size_t n, size_t s, size_t step) {
               const uint8_t* from = x.data<uint8_t>() + at / 2;
               if (half) {
                 to_f16(from, y.data<uint16_t>() + at, n, scale.data<uint16_t>() + s,
                        static_cast<const uint8_t*>(zero), s, step, is_signed);
               } else {
                 to_f32(from, y.data<float>() + at, n, scale.data<float>() + s,
                        static_cast<const uint8_t*>(zero), s, step, is_signed);
               }
             });
  });
  return ok();
}

constexpr Kernel<Dequantize> kKernels[] = {
    {.name = "dequantize_8_f32", .fits = fits_8_bits, .run = run_8_bits},
    {.name = "dequantize_32_f32", .fits = fits_32_bits, .run = run_32_bits},
    {.name = "dequantize_4", .fits = fits_4_bits, .run = run_4_bits},
};

std::vector<Case> cases() {
  Tensor nibbles = Tensor::make(DType::i4, {2, 4});
  for (size_t i = 0; i < 8; ++i) set_i64(DType::i4, nibbles.raw(), i, int64_t(i) - 4);
  return {{.name = "one_scale_for_all",
           .opset = 10,
           .attrs = {},
           .inputs = {Tensor::of<uint8_t>({4}, {0, 3, 128, 255}), Tensor::scalar<float>(2),
                      Tensor::scalar<uint8_t>(128)},
           .expected = {Tensor::of<float>({4}, {-256, -250, 0, 254})}},
          {.name = "int32_has_no_zero_point",
           .opset = 10,
           .attrs = {},
           .inputs = {Tensor::of<int32_t>({2}, {-7, 1 << 30}), Tensor::scalar<float>(.5f)},
           .expected = {Tensor::of<float>({2}, {-3.5f, float(1 << 29)})}},
          {.name = "int32_of_any_size",
           .opset = 13,
           .attrs = {},
           .inputs = {Tensor::of<int32_t>({5}, {INT32_MIN, INT32_MAX, -1, 16777217, 0}),
                      Tensor::scalar<float>(.3f), Tensor::scalar<int32_t>(INT32_MAX)}},
          {.name = "int32_with_a_scale_per_column",
           .opset = 13,
           .attrs = {},
           .inputs = {noise(DType::i32, {3, 37}, 1, -1e9, 1e9), noise(DType::f32, {37}, 2),
                      noise(DType::i32, {37}, 3, -1e9, 1e9)}},
          {.name = "blocks_of_4_bits",
           .opset = 21,
           .attrs = {{"axis", int64_t{1}}, {"block_size", int64_t{2}}},
           .inputs = {nibbles, Tensor::of<float>({2, 2}, {1, 10, 100, 1000})},
           .expected = {Tensor::of<float>({2, 4}, {-4, -3, -20, -10, 0, 100, 2000, 3000})}},
          {.name = "a_scale_per_plane",
           .opset = 13,
           .attrs = {},
           .inputs = {noise(DType::i8, {2, 3, 21}, 1, -128, 128), noise(DType::f32, {3}, 2),
                      noise(DType::i8, {3}, 3, -9, 9)}},
          {.name = "long_blocks_of_4_bits",
           .opset = 21,
           .attrs = {{"axis", int64_t{1}}, {"block_size", int64_t{32}}},
           .inputs = {noise(DType::u4, {3, 70}, 1, 0, 16), noise(DType::f32, {3, 3}, 2),
                      noise(DType::u4, {3, 3}, 3, 0, 16)}},
          {.name = "float16_from_4_bits_by_columns",
           .opset = 21,
           .attrs = {{"axis", int64_t{0}}, {"block_size", int64_t{2}}},
           .inputs = {noise(DType::i4, {4, 22}, 1, -8, 8), noise(DType::f16, {2, 22}, 2),
                      noise(DType::i4, {2, 22}, 3, -8, 8)}},
          {.name = "float16_from_one_scale",
           .opset = 21,
           .attrs = {},
           .inputs = {noise(DType::i4, {33}, 1, -8, 8), noise(DType::f16, {}, 2)}}};
}

constexpr OpOf<Dequantize> kDequantizeLinear{
    .name = "DequantizeLinear",
    .doc = "Integers (or narrow floats) less a zero point, times a scale.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .kernels = kKernels,
    .cases = cases,
    .layout = [](const Dequantize& a,
                 const Relay& asked) { return grain_layout(a.axis, a.block, asked); },
};

}  // namespace

extern const Op dequantize_linear = erase<kDequantizeLinear>();

}  // namespace sdx::ops
