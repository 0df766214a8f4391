// QLinearMatMul.
#include <algorithm>

#include "base/aligned.h"
#include "base/slab.h"
#include "kernel/conv/int8_channels_last/conv_int8_channels_last.h"
#include "kernel/quant/quant.h"
#include "kernel/turn/turn.h"
#include "ops/noise.h"
#include "ops/quant/integer_sums.h"
#include "ops/quant/saturate.h"

namespace sdx::ops {
namespace {

struct QLinearMatMul {};

constexpr Version kHistory[] = {
    {10,
     "(a: T1, a_scale: f32, a_zero_point: T1, b: T2, b_scale: f32, b_zero_point: T2, y_scale: f32, "
     "y_zero_point: T3) -> (y: T3) T1 in i8 u8 T2 in i8 u8 T3 in i8 u8"},
    {21,
     "(a: T1, a_scale: TS, a_zero_point: T1, b: T2, b_scale: TS, b_zero_point: T2, y_scale: TS, "
     "y_zero_point: T3) TS in bf16 f16 f32 T1 += f8 T2 += f8 T3 += f8"},
};

Result<QLinearMatMul> read(const Node&, const Facts&) { return QLinearMatMul{}; }

Result<Facts> infer(const QLinearMatMul&, const Facts& in) {
  return infer_product(in[0], in[3], in[7].type);
}

// c[i][j] = sum over k of (a - a_zero)(b - b_zero): exact in 32-bit integers (modulo 2^32) or, if
// an operand is a float8, a chain of fma in float, k ascending. Then y = saturate(round half to
// even(float(c) * r) + y_zero) with r = (a_scale * b_scale) / y_scale in float; a float8 y is c * r
// + y_zero (left out where it is zero).
Status reference(const QLinearMatMul&, Args& args) {
  const View &a = args.in(0), &b = args.in(3), &y = args.out();
  SDX_ASSIGN(const ProductSizes p, product_sizes(a.dims, b.dims));
  SDX_ASSIGN(const PerLine a_scale, per_line(args.in(1), p.m, p.a, "a_scale"));
  SDX_ASSIGN(const PerLine a_zero, per_line(args.in(2), p.m, p.a, "a_zero_point"));
  SDX_ASSIGN(const PerLine b_scale, per_line(args.in(4), p.n, p.b, "b_scale"));
  SDX_ASSIGN(const PerLine b_zero, per_line(args.in(5), p.n, p.b, "b_zero_point"));
  SDX_ASSIGN(const PerLine y_scale, per_line(args.in(6), p.m, p.a, "y_scale"));
  SDX_ASSIGN(const PerLine y_zero, per_line(args.in(7), p.m, p.a, "y_zero_point"));
  const bool integers = is_integer(a.type) && is_integer(b.type);
  const auto number = [](const View& v, size_t i) { return float(get_f64(v.type, v.raw, i)); };
  for (size_t batch = 0, at = 0; batch < p.batches; ++batch) {
    const size_t in_a = p.batch_of(p.a, batch), in_b = p.batch_of(p.b, batch);
    for (size_t i = 0; i < p.m; ++i) {
      for (size_t j = 0; j < p.n; ++j, ++at) {
        const size_t row = in_a * p.m + i;
        float c;
        if (integers) {
          const int32_t za = int_at(args.in(2), a_zero.at(in_a, i));
          const int32_t zb = int_at(args.in(5), b_zero.at(in_b, j));
          uint32_t sum = 0;
          for (size_t k = 0; k < p.k; ++k) {
            sum += uint32_t((int_at(a, row * p.k + k) - za) *
                            (int_at(b, (in_b * p.k + k) * p.n + j) - zb));
          }
          c = float(int32_t(sum));
        } else {
          const float za = number(args.in(2), a_zero.at(in_a, i));
          const float zb = number(args.in(5), b_zero.at(in_b, j));
          c = 0;
          for (size_t k = 0; k < p.k; ++k) {
            c = std::fma(number(a, row * p.k + k) - za, number(b, (in_b * p.k + k) * p.n + j) - zb,
                         c);
          }
        }
        const float ratio = number(args.in(1), a_scale.at(in_a, i)) *
                            number(args.in(4), b_scale.at(in_b, j)) /
                            number(args.in(6), y_scale.at(in_a, i));
        const size_t z = y_zero.at(in_a, i);
        if (is_integer(y.type)) {
          const int64_t zero = get_i64(y.type, args.in(7).raw, z);
          set_i64(y.type, y.raw, at, saturate_to(y.type, to_nearest(c * ratio) + zero));
        } else {
          const float zero = number(args.in(7), z);
          const float x = c * ratio;
          set_bits(y.type, y.raw, at, encode_float(y.type, zero != 0 ? x + zero : x, true));
        }
      }
    }
  }
  return ok();
}

// [columns][rows] of [rows][columns], square by square, so that both stay in cache.
void turn_bytes(const uint8_t* from, size_t rows, size_t columns, uint8_t* to, Pool& pool,
                Isa isa) {
  const TurnBlock part = turn_block(1, columns, rows);
  const size_t across = (columns + part.rows - 1) / part.rows;
  const size_t down = (rows + part.columns - 1) / part.columns;
  pool.parallel(across * down, 1, [&](size_t begin, size_t end, int) {
    for (size_t i = begin; i < end; ++i) {
      const size_t column = i / down * part.rows, row = i % down * part.columns;
      Turn tile;
      tile.from = reinterpret_cast<const char*>(from) + row * columns + column;
      tile.from_column = int64_t(columns);
      tile.to = reinterpret_cast<char*>(to) + column * rows + row;
      tile.to_row = int64_t(rows);
      tile.rows = std::min(part.rows, columns - column);
      tile.columns = std::min(part.columns, rows - row);
      SDX_PICK(turn, isa)(1, tile);
    }
  });
}

// Integers with one ratio for all, or one per column.
template <bool kPacked>
bool fits(const QLinearMatMul&, const Call& call) {
  const Facts& in = call.in;
  for (const size_t i : {0, 3, 7}) {
    if (in[i].type != DType::i8 && in[i].type != DType::u8) return false;
  }
  for (const size_t i : {1, 4, 6}) {
    if (in[i].type != DType::f32) return false;
  }
  for (const size_t i : {1, 4, 6, 7}) {
    if (!in[i].is_concrete()) return false;
    const auto count = element_count(in[i].dims());
    const bool per_column =
        i == 4 && in[3].rank() >= 2 && in[3].dim(in[3].rank() - 1) == Dim(int64_t(*count));
    if (*count != 1 && !per_column) return false;
  }
  return !kPacked || can_pack(in[3]);
}

// Scratch memory: the ratios, and where columns differ the sums; then what these need.
struct Room {
  bool columns_differ;
  size_t ratios, sums;  // bytes
};
size_t output_bytes(size_t count) { return aligned_bytes(count * 4); }
Room room_of(size_t scales, size_t zeros, size_t rows, size_t outputs) {
  const bool differ = scales > 1 || zeros > 1;
  return {differ, output_bytes(differ ? scales : rows), differ ? output_bytes(outputs) : 0};
}

size_t count_of(const Fact& fact) {
  const auto count = element_count(fact.dims());
  return count ? *count : 0;
}

template <bool kPacked>
size_t scratch(const QLinearMatMul&, const Call& call) {
  const Dims a = call.in[0].dims(), b = call.in[3].dims();
  const auto p = product_sizes(a, b);
  if (!p) return 0;
  const Room room =
      room_of(count_of(call.in[4]), count_of(call.in[5]), p->m * p->batches, count_of(call.out[0]));
  return room.ratios + room.sums + sums_scratch(call.in[0], call.in[3], kPacked, call.threads);
}

std::shared_ptr<const void> pack(const QLinearMatMul&, const Call& call, Pool& pool) {
  return pack_right(call.in[3], pool, call.isa);
}

float ratio_of(const Args& args, size_t column) {
  const View& b_scale = args.in(4);
  return *args.in(1).data<float>() * b_scale.data<float>()[b_scale.count > 1 ? column : 0] /
         *args.in(6).data<float>();
}

// As sums, which a pass of their own makes bytes.
void by_columns(const Args& args, const ProductSizes& p, float* ratio, const IntegerSums& sums) {
  const View& y = args.out();
  const size_t ratios = args.in(4).count;
  for (size_t i = 0; i < ratios; ++i) ratio[i] = ratio_of(args, i);
  integer_sums(sums, p, *args.pool, args.isa);
  const auto requantize = SDX_PICK(requantize_32_8, args.isa);
  const int32_t zero = int_at(args.in(7), 0);
  args.pool->parallel(p.batches * p.m, 16384 / (p.n + 1) + 1, [&](size_t begin, size_t end, int) {
    for (size_t row = begin; row < end; ++row) {
      requantize(sums.sums + row * p.n, y.data<uint8_t>() + row * p.n, p.n, ratio,
                 ratios > 1 ? 1 : 0, zero, y.type == DType::i8);
    }
  });
}

Status run(const QLinearMatMul&, Args& args) {
  SDX_ASSIGN(const ProductSizes p, product_sizes(args.in(0).dims, args.in(3).dims));
  SDX_TRY(per_line(args.in(2), p.m, p.a, "a_zero_point"));
  SDX_TRY(per_line(args.in(5), p.n, p.b, "b_zero_point"));
  const View& y = args.out();
  const size_t rows = p.m * p.batches;
  const Room room = room_of(args.in(4).count, args.in(5).count, rows, y.count);
  std::byte* memory = args.scratch.data();
  auto* ratio = reinterpret_cast<float*>(memory);
  IntegerSums sums{args.in(0), args.in(3), args.in(2), args.in(5), args.packed};
  sums.scratch = memory + room.ratios + room.sums;
  if (room.columns_differ) {
    sums.sums = reinterpret_cast<int32_t*>(memory + room.ratios);
    by_columns(args, p, ratio, sums);
    return ok();
  }
  std::fill_n(ratio, rows, ratio_of(args, 0));
  sums.bytes = {ratio, nullptr, int_at(args.in(7), 0), y.type == DType::i8, y.data<uint8_t>()};
  integer_sums(sums, p, *args.pool, args.isa);
  return ok();
}

// A constant matrix on the right without zero points of its own: rows are the pixels of an image
// whose channels come last, and the product a convolution of 1 x 1.
Int8ChannelsLastShape as_image(std::span<const int64_t> a, std::span<const int64_t> b) {
  Int8ChannelsLastShape s;
  s.channels = size_t(a.back());
  s.out_channels = size_t(b.back());
  for (size_t i = 0; i + 1 < a.size(); ++i) s.in[1] *= size_t(a[i]);
  s.out[1] = s.in[1];
  return s;
}

bool fits_image(const QLinearMatMul& a, const Call& call) {
  const Facts& in = call.in;
  if (!fits<true>(a, call) || in[0].type != DType::u8 || in[5].value == nullptr) return false;
  if (count_of(in[2]) != 1 || in[3].value->count() == 0 || count_of(call.out[0]) == 0) return false;
  // The packed form knows signed bytes of zero point 0, and unsigned ones of 128 as the same.
  const Tensor& zeros = *in[5].value;
  if (zeros.count() != 1 && zeros.count() != size_t(in[3].value->dims().back())) return false;
  const uint8_t wanted = zeros.type() == DType::i8 ? 0 : 128;
  const auto* bytes = static_cast<const uint8_t*>(zeros.raw());
  return std::all_of(bytes, bytes + zeros.count(), [&](uint8_t zero) { return zero == wanted; });
}

size_t scratch_of_image(const QLinearMatMul&, const Call& call) {
  const Dims a = call.in[0].dims(), b = call.in[3].dims();
  const Int8ChannelsLastShape s = as_image(a, b);
  return output_bytes(s.out_channels) + conv_int8_channels_last_scratch_bytes(s);
}

std::shared_ptr<const void> pack_image(const QLinearMatMul&, const Call& call, Pool& pool) {
  const Dims a = call.in[0].dims(), b = call.in[3].dims();
  const Int8ChannelsLastShape s = as_image(a, b);
  const Tensor& w = *call.in[3].value;
  std::vector<uint8_t> columns(s.channels * s.out_channels);
  turn_bytes(static_cast<const uint8_t*>(w.raw()), s.channels, s.out_channels, columns.data(), pool,
             call.isa);
  std::shared_ptr<void> packed = allocate_lasting(conv_int8_channels_last_packed_bytes(s));
  conv_int8_channels_last_pack(s, columns.data(), w.type() == DType::i8, packed.get(), pool,
                               call.isa);
  return packed;
}

Status run_image(const QLinearMatMul&, Args& args) {
  Int8ChannelsLastArgs c;
  c.shape = as_image(args.in(0).dims, args.in(3).dims);
  c.x = args.in(0).data<uint8_t>();
  c.x_zero = *args.in(2).data<uint8_t>();
  c.weights = args.packed;
  auto* ratio = reinterpret_cast<float*>(args.scratch.data());
  for (size_t o = 0; o < c.shape.out_channels; ++o) ratio[o] = ratio_of(args, o);
  c.ratio = ratio;
  c.zero = int_at(args.in(7), 0);
  c.y_signed = args.out().type == DType::i8;
  c.y = args.out().data<uint8_t>();
  c.scratch = args.scratch.data() + output_bytes(c.shape.out_channels);
  conv_int8_channels_last(c, *args.pool, args.isa);
  return ok();
}

constexpr Kernel<QLinearMatMul> kKernels[] = {
    {.name = "qlinear_rows_int8",
     .fits = fits_image,
     .run = run_image,
     .scratch = scratch_of_image,
     .pack = pack_image,
     .packs = 1 << 3},
    {.name = "qlinear_gemm_int8_packed",
     .fits = fits<true>,
     .run = run,
     .scratch = scratch<true>,
     .pack = pack,
     .packs = 1 << 3},
    {.name = "qlinear_gemm_int8", .fits = fits<false>, .run = run, .scratch = scratch<false>},
};

std::vector<Case> cases() {
  return {{.name = "rounds_half_to_even_then_adds_the_zero_point",
           .opset = 10,
           .attrs = {},
           .inputs = {Tensor::of<uint8_t>({1, 2}, {3, 5}), Tensor::scalar<float>(.5f),
                      Tensor::scalar<uint8_t>(2), Tensor::of<int8_t>({2, 2}, {1, 2, 3, -100}),
                      Tensor::scalar<float>(1), Tensor::scalar<int8_t>(1), Tensor::scalar<float>(2),
                      Tensor::scalar<int8_t>(1)},
           .expected = {Tensor::of<int8_t>({1, 2}, {3, -75})}},
          {.name = "a_scale_per_column",
           .opset = 10,
           .attrs = {},
           .inputs = {noise(DType::u8, {2, 7, 37}, 1, 0, 256), Tensor::scalar<float>(.01f),
                      Tensor::scalar<uint8_t>(120), noise(DType::i8, {37, 33}, 2, -128, 128),
                      noise(DType::f32, {33}, 3, .001, .1), noise(DType::i8, {33}, 4, -10, 10),
                      Tensor::scalar<float>(.3f), Tensor::scalar<uint8_t>(99)}},
          {.name = "columns_without_zero_points",
           .opset = 10,
           .attrs = {},
           .inputs = {noise(DType::u8, {2, 7, 37}, 1, 0, 256), Tensor::scalar<float>(.01f),
                      Tensor::scalar<uint8_t>(120), noise(DType::i8, {37, 70}, 2, -128, 128),
                      noise(DType::f32, {70}, 3, .001, .1), Tensor::make(DType::i8, {70}),
                      Tensor::scalar<float>(.3f), Tensor::scalar<uint8_t>(99)}},
          {.name = "unsigned_columns_around_their_middle",
           .opset = 10,
           .attrs = {},
           .inputs = {noise(DType::u8, {5, 64}, 1, 0, 256), Tensor::scalar<float>(.01f),
                      Tensor::scalar<uint8_t>(120), noise(DType::u8, {64, 33}, 2, 0, 256),
                      Tensor::scalar<float>(.02f), Tensor::scalar<uint8_t>(128),
                      Tensor::scalar<float>(.3f), Tensor::scalar<int8_t>(-9)}},
          {.name = "zero_points_per_column_under_one_scale",
           .opset = 10,
           .attrs = {},
           .inputs = {noise(DType::u8, {7, 37}, 1, 0, 256), Tensor::scalar<float>(.01f),
                      noise(DType::u8, {7}, 5, 0, 256), noise(DType::i8, {37, 33}, 2, -128, 128),
                      Tensor::scalar<float>(.02f), noise(DType::i8, {33}, 4, -10, 10),
                      Tensor::scalar<float>(.3f), Tensor::scalar<uint8_t>(99)}},
          {.name = "heads",
           .opset = 10,
           .attrs = {},
           .inputs = {noise(DType::u8, {2, 3, 21, 64}, 1, 0, 256), Tensor::scalar<float>(.01f),
                      Tensor::scalar<uint8_t>(120), noise(DType::u8, {2, 3, 64, 35}, 2, 0, 256),
                      Tensor::scalar<float>(.02f), Tensor::scalar<uint8_t>(101),
                      Tensor::scalar<float>(.3f), Tensor::scalar<uint8_t>(99)}},
          {.name = "heads_that_share_their_keys",
           .opset = 10,
           .attrs = {},
           .inputs = {noise(DType::i8, {2, 3, 21, 30}, 1, -128, 128), Tensor::scalar<float>(.01f),
                      Tensor::scalar<int8_t>(12), noise(DType::i8, {2, 1, 30, 35}, 2, -128, 128),
                      Tensor::scalar<float>(.02f), Tensor::scalar<int8_t>(3),
                      Tensor::scalar<float>(.3f), Tensor::scalar<int8_t>(-9)}}};
}

constexpr OpOf<QLinearMatMul> kQLinearMatMul{
    .name = "QLinearMatMul",
    .doc = "The product of quantised matrices, quantised again.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .kernels = kKernels,
    .cases = cases,
};

}  // namespace

extern const Op qlinear_matmul = erase<kQLinearMatMul>();

}  // namespace sdx::ops
