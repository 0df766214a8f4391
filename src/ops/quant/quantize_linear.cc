// QuantizeLinear.
#include "ops/quant/quantize_linear.h"

#include <cmath>

#include "kernel/quant/quant.h"
#include "ops/noise.h"
#include "ops/quant/grain.h"
#include "ops/quant/saturate.h"

namespace sdx::ops {
namespace {

constexpr Version kHistory[] = {
    {10, "(x: T1, y_scale: f32, y_zero_point?: T2) -> (y: T2) T1 in f32 i32 T2 in i8 u8"},
    {13, "{axis: int = 1}"},
    {19, "(x: T1, y_scale: T1, y_zero_point?: T2) {saturate: int = 1} T1 += bf16 f16 T2 += f8"},
    {21, "{block_size: int = 0, output_dtype: int = 0} T2 += i16 i4 u16 u4"},
    {23,
     "(x: T1, y_scale: T2, y_zero_point?: T3) -> (y: T3) {precision: int = 0} T2 in bf16 f16 f32 "
     "i32 "
     "T3 in f8 f4e2m1 i16 i4 i8 u16 u4 u8"},
    {24, "T2 += f8e8m0"},
    {25, "T3 += i2 u2"},
    {28, "T3 += f6e2m3 f6e3m2"},
};

bool quantised(DType type) {
  return bits(type) != 0 && bits(type) <= 16 && type != DType::boolean && type != DType::f16 &&
         type != DType::bf16 && type != DType::f8e8m0;
}

Result<Quantize> read(const Node& node, const Facts& in) {
  Quantize a{DType::u8, DType::f32, node.i_or("axis", 1), node.i_or("block_size", 0),
             node.i_or("saturate", 1) != 0};
  const int64_t output = node.i_or("output_dtype", 0);
  const bool has_zero = in.size() > 2 && in[2].present();
  if (output != 0) {
    if (!valid(output) || !quantised(DType(output))) {
      return fail("SDX-T0305", "output_dtype {} is not a quantised type", output);
    }
    a.output = DType(output);
    if (has_zero && in[2].type != a.output) {
      return fail("SDX-T0306", "output_dtype is {} and y_zero_point has type {}",
                  short_name(a.output), short_name(in[2].type));
    }
  } else if (has_zero) {
    a.output = in[2].type;
  }
  // The scale's type says how the quotient is rounded; the quotient of two integers is taken in
  // double, where its nearest integer is exact, and a power of two (f8e8m0) divides floats.
  const int64_t precision = node.i_or("precision", 0);
  if (precision != 0) {
    a.precision = valid(precision) ? DType(precision) : DType::undefined;
  } else {
    a.precision = in[1].type == DType::i32      ? DType::f64
                  : in[1].type == DType::f8e8m0 ? DType::f32
                                                : in[1].type;
  }
  if (!visit_floats(a.precision, []<class T>() {})) {
    return fail("SDX-T0307", "precision {} is not float, double, float16 or bfloat16", precision);
  }
  return a;
}

Result<Facts> infer(const Quantize& a, const Facts& in) {
  SDX_TRY(check_grain(in, a.axis, a.block));
  return Facts{like(in[0], a.output)};
}

// q = P(x) / P(scale), rounded in the precision P; y = round half to even(q) + zero point in
// integers, saturated; NaN counts as 0. For a floating output y = q + zero point (left out where it
// is zero), rounded to the nearest encoding.
template <class P>
void quantize(const Quantize& a, const Grain& g, const Args& args) {
  const View &x = args.in(0), &scale = args.in(1), &y = args.out();
  const bool has_zero = args.has(2);
  const bool integer = is_integer(a.output);
  const auto rounded = [](const View& v, size_t i) {
    return load(store<P>(Compute<P>(get_f64(v.type, v.raw, i))));
  };
  for (size_t o = 0; o < g.outer; ++o) {
    for (size_t k = 0; k < g.size; ++k) {
      for (size_t i = 0; i < g.inner; ++i) {
        const size_t at = (o * g.size + k) * g.inner + i, s = g.at(o, k, i);
        const auto q = load(store<P>(rounded(x, at) / rounded(scale, s)));
        if (integer) {
          const int64_t zero = has_zero ? get_i64(a.output, args.in(2).raw, s) : 0;
          set_i64(a.output, y.raw, at, saturate_to(a.output, to_nearest(q) + zero));
        } else {
          const double zero = has_zero ? get_f64(a.output, args.in(2).raw, s) : 0;
          const auto sum = zero != 0 ? Compute<P>(q + Compute<P>(zero)) : q;
          set_bits(a.output, y.raw, at, encode_float(a.output, sum, a.saturate));
        }
      }
    }
  }
}

Status reference(const Quantize& a, Args& args) {
  SDX_ASSIGN(const Grain grain, grain_of(args.in(0).dims, args.in(1).dims, a.axis, a.block));
  visit_floats(a.precision, [&]<class P>() { quantize<P>(a, grain, args); });
  return ok();
}

// f32 to 8 bits, over runs that share a scale or walk along the scales.
bool fits_8_bits(const Quantize& a, const Call& call) {
  return call.in[0].type == DType::f32 && call.in[1].type == DType::f32 &&
         a.precision == DType::f32 && (a.output == DType::u8 || a.output == DType::i8);
}

Status run_8_bits(const Quantize& a, Args& args) {
  SDX_ASSIGN(const Grain grain, grain_of(args.in(0).dims, args.in(1).dims, a.axis, a.block));
  const auto quantize = SDX_PICK(quantize_f32_8, args.isa);
  const float* x = args.in(0).data<float>();
  const float* scale = args.in(1).data<float>();
  const uint8_t* zero = args.has(2) ? args.in(2).data<uint8_t>() : nullptr;
  uint8_t* y = args.out().data<uint8_t>();
  const bool is_signed = a.output == DType::i8;
  args.pool->parallel(args.in(0).count, 16384, [&](size_t begin, size_t end, int) {
    each_run(grain, begin, end, [&](size_t at, size_t n, size_t s, size_t step) {
      quantize(x + at, y + at, n, scale + s, zero ? zero + s : nullptr, step, is_signed);
    });
  });
  return ok();
}

constexpr Kernel<Quantize> kKernels[] = {
    {.name = "quantize_f32_8", .fits = fits_8_bits, .run = run_8_bits}};

std::vector<Case> cases() {
  const Tensor x = Tensor::of<float>({2, 4}, {-3, -0.5f, 0.5f, 1.5f, 300, -300, NAN, 2.5f});
  return {
      {.name = "halves_go_to_even_and_ends_saturate",
       .opset = 10,
       .attrs = {},
       .inputs = {x, Tensor::scalar<float>(1), Tensor::scalar<uint8_t>(10)},
       .expected = {Tensor::of<uint8_t>({2, 4}, {7, 10, 10, 12, 255, 0, 10, 12})}},
      {.name = "each_index_of_the_axis_has_a_scale",
       .opset = 13,
       .attrs = {{"axis", int64_t{0}}},
       .inputs = {x, Tensor::of<float>({2}, {1, 100}), Tensor::of<int8_t>({2}, {0, -1})},
       .expected = {Tensor::of<int8_t>({2, 4}, {-3, 0, 0, 2, 2, -4, -1, -1})}},
      {.name = "blocks_along_the_last_axis",
       .opset = 21,
       .attrs = {{"axis", int64_t{-1}},
                 {"block_size", int64_t{2}},
                 {"output_dtype", int64_t(DType::i8)}},
       .inputs = {x, Tensor::of<float>({2, 2}, {1, .5f, 3, .25f})},
       .expected = {Tensor::of<int8_t>({2, 4}, {-3, 0, 1, 3, 100, -100, 0, 10})}},
      {.name = "a_scale_per_column_of_many",
       .opset = 21,
       .attrs = {},
       .inputs = {noise(DType::f32, {5, 37}, 1, -300, 300), noise(DType::f32, {37}, 2, .1, 4),
                  noise(DType::u8, {37}, 3, 0, 256)}},
      {.name = "blocks_along_the_first_axis",
       .opset = 21,
       .attrs = {{"axis", int64_t{0}}, {"block_size", int64_t{3}}},
       .inputs = {noise(DType::f32, {7, 37}, 1, -300, 300), noise(DType::f32, {3, 37}, 2, .1, 4),
                  noise(DType::i8, {3, 37}, 3, -128, 128)}}};
}

constexpr OpOf<Quantize> kQuantizeLinear{
    .name = "QuantizeLinear",
    .doc =
        "Elements divided by a scale, rounded to integers (or narrow floats) around a zero point.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .kernels = kKernels,
    .cases = cases,
    .layout = [](const Quantize& a,
                 const Relay& asked) { return grain_layout(a.axis, a.block, asked); },
};

}  // namespace

extern const Op quantize_linear = erase<kQuantizeLinear>();

}  // namespace sdx::ops
