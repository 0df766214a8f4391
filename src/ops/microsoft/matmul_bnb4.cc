// MatMulBnb4: the product with a matrix of 4-bit floats, as bitsandbytes stores them: sixteen
// numbers between -1 and 1, times the greatest magnitude of their block.
#include "ops/microsoft/block_weights.h"
#include "ops/noise.h"
#include "ops/widened.h"

namespace sdx::ops::microsoft {
namespace {

struct MatMulBnb4 {
  size_t depth, columns, block;
  bool normal;  // NF4: quantiles of the normal distribution; otherwise FP4
};

constexpr Version kHistory[] = {
    {1,
     "(A: T1, B: T2, absmax: T1) -> (Y: T1) {K!: int, N!: int, block_size!: int, quant_type!: int, "
     "training_mode: int = 0, transB: int = 1} T1 in f32 f16 bf16 T2 in u8"}};

Result<MatMulBnb4> read(const Node& node, const Facts&) {
  const int64_t k = node.i("K"), n = node.i("N"), block = node.i("block_size"),
                type = node.i("quant_type");
  if (k < 1 || n < 1 || k > int64_t{1} << 32 || n > int64_t{1} << 32)
    return fail("SDX-T1062", "K is {} and N {}; they must be positive and below 2^32", k, n);
  SDX_TRY(check_block_size(block));
  if (type != 0 && type != 1)
    return fail("SDX-T1085", "quant_type is {}; it must be 0 (FP4) or 1 (NF4)", type);
  if (node.i("training_mode") != 0 || node.i("transB") != 1)
    return fail("SDX-T1085", "training_mode and a B that is not turned belong to training alone");
  return MatMulBnb4{size_t(k), size_t(n), size_t(block), type == 1};
}

Result<Facts> infer(const MatMulBnb4& a, const Facts& in) {
  const size_t elements = a.depth * a.columns;
  const size_t counts[] = {(elements + 1) / 2, (elements + a.block - 1) / a.block};
  SDX_TRY(require_count(in[1], counts[0], "B"));
  SDX_TRY(require_count(in[2], counts[1], "absmax"));
  return infer_block_product(in[0], int64_t(a.depth), int64_t(a.columns));
}

constexpr float kFp4[16] = {
    0,     5.208333333e-03f,  0.66666667f,  1,  0.33333333f,  0.5f,  0.16666667f,  0.25f,
    -0.0f, -5.208333333e-03f, -0.66666667f, -1, -0.33333333f, -0.5f, -0.16666667f, -0.25f};
constexpr float kNf4[16] = {-1,
                            -0.6961928009986877f,
                            -0.5250730514526367f,
                            -0.39491748809814453f,
                            -0.28444138169288635f,
                            -0.18477343022823334f,
                            -0.09105003625154495f,
                            0,
                            0.07958029955625534f,
                            0.16093020141124725f,
                            0.24611230194568634f,
                            0.33791524171829224f,
                            0.44070982933044434f,
                            0.5626170039176941f,
                            0.7229568362236023f,
                            1};

struct Source {
  const MatMulBnb4* a;
  const uint8_t* q;
  View most;
};

// Elements lie column by column; the first of a pair is in the high bits.
float weight(const void* from, size_t j, size_t k) {
  const auto& s = *static_cast<const Source*>(from);
  const size_t at = j * s.a->depth + k;
  const unsigned code = at % 2 == 0 ? s.q[at / 2] >> 4 : s.q[at / 2] & 15;
  const auto most = float(get_f64(s.most.type, s.most.raw, at / s.a->block));
  return store<float>((s.a->normal ? kNf4 : kFp4)[code] * most);
}

Status reference(const MatMulBnb4& a, Args& args) {
  const Source source{&a, args.in(1).data<uint8_t>(), args.in(2)};
  block_product(a.depth, a.columns, weight, &source, args.in(0), View{}, args.out());
  return ok();
}

bool fits(const MatMulBnb4&, const Call& call) {
  return call.in[0].type == DType::f32 && call.in[1].value != nullptr &&
         call.in[2].value != nullptr;
}
std::shared_ptr<const void> pack(const MatMulBnb4& a, const Call& call, Pool& pool) {
  const Source source{&a, call.in[1].value->data<uint8_t>(), view_of(*call.in[2].value)};
  return PackedWeights::pack(a.depth, a.columns, weight, &source, pool, call.isa);
}
size_t scratch(const MatMulBnb4& a, const Call& call) {
  return PackedWeights::scratch(rows_of(call.in[0].dims()), a.depth, a.columns, call.threads);
}
Status run(const MatMulBnb4& a, Args& args) {
  PackedWeights::run(rows_of(args.in(0).dims), a.depth, a.columns, args.in(0).data<float>(),
                     args.packed, nullptr, args.out().data<float>(), args.scratch.data(),
                     *args.pool, args.isa);
  return ok();
}

constexpr Kernel<MatMulBnb4> kPacked = {.name = "matmul_packed",
                                        .fits = fits,
                                        .run = run,
                                        .scratch = scratch,
                                        .pack = pack,
                                        .packs = 1u << 1 | 1u << 2};
constexpr Kernel<MatMulBnb4> kKernels[] = {kPacked, widened<kPacked>("matmul_packed_f16")};

uint64_t multiply_adds(const MatMulBnb4& a, const Call& call) {
  return uint64_t(rows_of(call.in[0].dims())) * a.depth * a.columns;
}

std::vector<Case> cases() {
  const auto sizes = [](int64_t k, int64_t n, int64_t type) {
    return AttrMap{{"K", k}, {"N", n}, {"block_size", int64_t{16}}, {"quant_type", type}};
  };
  Tensor q = Tensor::make(DType::u8, {8}), x = Tensor::make(DType::f32, {1, 16});
  std::memset(q.raw(), 0x77, 8);  // zeros of NF4
  q.data<uint8_t>()[0] = 0xf0;    // 1 and -1
  x.data<float>()[0] = 3;
  x.data<float>()[1] = 10;
  return {{.name = "the_first_weight_is_in_the_high_bits",
           .opset = 1,
           .attrs = sizes(16, 1, 1),
           .inputs = {x, q, Tensor::of<float>({1}, {2})},
           .expected = {Tensor::of<float>({1, 1}, {-14})}},
          {.name = "many_rows_of_fp4",
           .opset = 1,
           .attrs = sizes(36, 21, 0),
           .inputs = {noise({2, 5, 36}), noise(DType::u8, {378}, 2, 0, 256), noise({48}, 3)}},
          {.name = "halves",
           .opset = 1,
           .attrs = sizes(32, 20, 1),
           .inputs = {noise(DType::f16, {5, 32}), noise(DType::u8, {320}, 2, 0, 256),
                      noise(DType::f16, {40}, 3)}}};
}

constexpr OpOf<MatMulBnb4> kMatMulBnb4{
    .name = "MatMulBnb4",
    .doc = "The product with a matrix of 4-bit floats (FP4 or NF4) in blocks that share a scale.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .kernels = kKernels,
    .cases = cases,
    .domain = "com.microsoft",
    .multiply_adds = multiply_adds,
};

}  // namespace

extern const Op matmul_bnb4 = erase<kMatMulBnb4>();

}  // namespace sdx::ops::microsoft
