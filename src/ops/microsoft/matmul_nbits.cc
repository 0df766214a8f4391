// MatMulNBits: the product with a matrix of 2-, 4- or 8-bit weights in blocks that share a scale.
//
// accuracy_level allows onnxruntime to round A to bytes; here the answer is the float chain's
// whatever it says.
#include <cstring>

#include "kernel/epilogue/program.h"
#include "kernel/gemm_q4/gemm_q4.h"
#include "ops/microsoft/block_weights.h"
#include "ops/noise.h"
#include "ops/widened.h"

namespace sdx::ops::microsoft {
namespace {

struct MatMulNBits {
  size_t depth, columns, bits, block;
  size_t blocks() const { return (depth + block - 1) / block; }
  size_t block_bytes() const { return block * bits / 8; }
  size_t zero_bytes() const { return (blocks() * bits + 7) / 8; }  // of one column
};

constexpr Version kHistory[] = {
    {1,
     "(A: T1, B: T2, scales: T1, zero_points?: T3, g_idx?: T4, bias?: T1) -> (Y: T1) {K!: int, N!: "
     "int, accuracy_level: int = 0, bits: int = 4, block_size!: int, weight_prepacked: int = 0} T1 "
     "in f32 f16 bf16 T2 in u8 T3 in u8 f16 f32 bf16 T4 in i32"}};

Result<MatMulNBits> read(const Node& node, const Facts&) {
  const int64_t k = node.i("K"), n = node.i("N"), bits = node.i("bits"),
                block = node.i("block_size");
  if (k < 1 || n < 1) return fail("SDX-T1062", "K is {} and N {}; they must be positive", k, n);
  if (k > int64_t{1} << 32 || n > int64_t{1} << 32)
    return fail("SDX-T1062", "K is {} and N {}; they must be below 2^32", k, n);
  if (bits != 2 && bits != 4 && bits != 8)
    return fail("SDX-T1063", "bits is {}; it must be 2, 4 or 8", bits);
  SDX_TRY(check_block_size(block));
  if (node.i("weight_prepacked") != 0) {
    return fail("SDX-T1065",
                "weight_prepacked is {}: weights packed for a GPU have no meaning here",
                node.i("weight_prepacked"));
  }
  return MatMulNBits{size_t(k), size_t(n), size_t(bits), size_t(block)};
}

Result<Facts> infer(const MatMulNBits& a, const Facts& in) {
  const auto at = [&](size_t i) { return i < in.size() ? in[i] : Fact{}; };
  SDX_TRY(require_count(in[1], a.columns * a.blocks() * a.block_bytes(), "B"));
  SDX_TRY(require_count(in[2], a.columns * a.blocks(), "scales"));
  const bool packed = at(3).type == DType::u8;
  if (at(3).present() && !packed && at(3).type != in[0].type) {
    return fail("SDX-T1066", "zero_points are {}; they must be u8 or of A's type {}",
                short_name(at(3).type), short_name(in[0].type));
  }
  SDX_TRY(require_count(at(3), a.columns * (packed ? a.zero_bytes() : a.blocks()), "zero_points"));
  if (at(4).present() && at(4).is_concrete()) {
    SDX_ASSIGN(const size_t indices, element_count(at(4).dims()));
    if (indices != a.depth && indices != a.blocks() * a.block)
      return fail("SDX-T0312", "g_idx is {}, expected {} elements", at(4).text(), a.depth);
  }
  SDX_TRY(require_count(at(5), a.columns, "bias"));
  return infer_block_product(in[0], int64_t(a.depth), int64_t(a.columns));
}

// Where the parts of the matrix lie.
struct Source {
  const MatMulNBits* a;
  const uint8_t* q;
  View scales, zeros;
  const int32_t* group;  // g_idx, or null
};

Source source_of(const MatMulNBits& a, const View& q, const View& scales, const View& zeros,
                 const View& group) {
  return {&a, q.data<uint8_t>(), scales, zeros, group.data<int32_t>()};
}

// Number `i` of a run of small unsigned integers, the first in the lowest bits.
unsigned unpacked(const uint8_t* bytes, size_t i, size_t bits) {
  const size_t per_byte = 8 / bits;
  return unsigned(bytes[i / per_byte]) >> (i % per_byte * bits) & ((1u << bits) - 1);
}

// (q - zero point) * scale, both of block k / block_size, or of block g_idx[k]; the zero point is
// half of the range unless given.
float weight(const void* from, size_t j, size_t k) {
  const auto& s = *static_cast<const Source*>(from);
  const MatMulNBits& a = *s.a;
  const size_t stored = k / a.block;
  const size_t block = s.group != nullptr ? size_t(s.group[k]) : stored;
  const auto q =
      float(unpacked(s.q + (j * a.blocks() + stored) * a.block_bytes(), k % a.block, a.bits));
  float zero = float(1u << (a.bits - 1));
  if (s.zeros.type == DType::u8) {
    zero = float(unpacked(s.zeros.data<uint8_t>() + j * a.zero_bytes(), block, a.bits));
  } else if (s.zeros.present()) {
    zero = float(get_f64(s.zeros.type, s.zeros.raw, j * a.blocks() + block));
  }
  const auto scale = float(get_f64(s.scales.type, s.scales.raw, j * a.blocks() + block));
  return store<float>((q - zero) * scale);
}

Status check_groups(const MatMulNBits& a, const Args& args) {
  if (!args.has(4)) return ok();
  for (const int32_t group : args.in(4).values<int32_t>()) {
    if (group < 0 || size_t(group) >= a.blocks())
      return fail("SDX-R0503", "g_idx holds {}; there are {} blocks", group, a.blocks());
  }
  return ok();
}

Status reference(const MatMulNBits& a, Args& args) {
  SDX_TRY(check_groups(a, args));
  const auto at = [&](size_t i) { return args.has(i) ? args.in(i) : View{}; };
  const Source source = source_of(a, args.in(1), args.in(2), at(3), at(4));
  block_product(a.depth, a.columns, weight, &source, args.in(0), at(5), args.out());
  return ok();
}

// Every part of the matrix is known.
bool constant_matrix(const Call& call) {
  for (size_t i = 1; i < std::min<size_t>(call.in.size(), 5); ++i) {
    if (call.in[i].present() && call.in[i].value == nullptr) return false;
  }
  return call.in[0].type == DType::f32;
}

View view_at(const Call& call, size_t i) {
  return i < call.in.size() && call.in[i].present() ? view_of(*call.in[i].value) : View{};
}
Source source_of(const MatMulNBits& a, const Call& call) {
  return source_of(a, view_at(call, 1), view_at(call, 2), view_at(call, 3), view_at(call, 4));
}

const float* bias_of(const Args& args) { return args.has(5) ? args.in(5).data<float>() : nullptr; }

// Four bits: the kernel reads the weights as they are.
bool fits_q4(const MatMulNBits& a, const Call& call) {
  const bool groups = call.in.size() > 4 && call.in[4].present();
  const bool float_zeros =
      call.in.size() > 3 && call.in[3].present() && call.in[3].type != DType::u8;
  return a.bits == 4 && !groups && !float_zeros && constant_matrix(call);
}

size_t scratch_q4(const MatMulNBits& a, const Call& call) {
  return gemm_q4_scratch_bytes(rows_of(call.in[0].dims()), a.depth, a.columns, call.threads);
}

// Rows of the file are columns of the matrix.
std::shared_ptr<const void> pack_q4_of(const MatMulNBits& a, const Call& call, Pool& pool) {
  const Source from = source_of(a, call);
  Q4Source source;
  source.k = a.depth;
  source.n = a.columns;
  source.block = a.block;
  source.by_columns = true;
  source.q = from.q;
  source.q_column = a.blocks() * a.block_bytes();
  source.scale = from.scales.data<float>();
  source.every_zero = 8;
  if (from.zeros.present()) {
    source.zero = from.zeros.data<uint8_t>();
    source.zero_column = a.zero_bytes();
  }
  return pack_q4(source, pool);
}

Status run_q4(const MatMulNBits& a, Args& args) {
  GemmQ4Args g;
  g.b = static_cast<const Q4Packed*>(args.packed);
  g.m = rows_of(args.in(0).dims);
  g.a = args.in(0).data<float>();
  g.c = args.out().data<float>();
  g.scratch = args.scratch.data();
  EpilogueCall after{args.epilogue, args.epilogue_inputs, args.isa};
  g.epilogue = after.block();
  gemm_q4(g, *args.pool, args.isa);
  if (const float* bias = bias_of(args); bias != nullptr) {
    args.pool->parallel(g.m, 1 + 8192 / a.columns, [&](size_t begin, size_t end, int) {
      for (size_t i = begin; i < end; ++i) {
        float* row = g.c + i * a.columns;
        for (size_t j = 0; j < a.columns; ++j) row[j] = store<float>(row[j] + bias[j]);
      }
    });
  }
  return ok();
}

// The bias comes right after the chain, so a program cannot come between.
size_t epilogue_q4(const MatMulNBits&, const Call& call) {
  const bool bias = call.in.size() > 5 && call.in[5].present();
  return bias ? 0 : call.in[0].rank() - 1;
}

bool fits_packed(const MatMulNBits& a, const Call& call) {
  if (!constant_matrix(call)) return false;
  if (call.in.size() <= 4 || !call.in[4].present()) return true;
  const auto groups =
      call.in[4].value->values<int32_t>();  // others are for the reference to refuse
  return std::all_of(groups.begin(), groups.end(),
                     [&](int32_t group) { return group >= 0 && size_t(group) < a.blocks(); });
}
std::shared_ptr<const void> pack_floats(const MatMulNBits& a, const Call& call, Pool& pool) {
  const Source source = source_of(a, call);
  return PackedWeights::pack(a.depth, a.columns, weight, &source, pool, call.isa);
}
size_t scratch_packed(const MatMulNBits& a, const Call& call) {
  return PackedWeights::scratch(rows_of(call.in[0].dims()), a.depth, a.columns, call.threads);
}
Status run_packed(const MatMulNBits& a, Args& args) {
  PackedWeights::run(rows_of(args.in(0).dims), a.depth, a.columns, args.in(0).data<float>(),
                     args.packed, bias_of(args), args.out().data<float>(), args.scratch.data(),
                     *args.pool, args.isa);
  return ok();
}

constexpr uint32_t kMatrix = 1u << 1 | 1u << 2 | 1u << 3 | 1u << 4;
constexpr Kernel<MatMulNBits> kQ4 = {.name = "matmul_q4",
                                     .fits = fits_q4,
                                     .run = run_q4,
                                     .scratch = scratch_q4,
                                     .pack = pack_q4_of,
                                     .packs = kMatrix,
                                     .epilogue = epilogue_q4};
constexpr Kernel<MatMulNBits> kPacked = {.name = "matmul_packed",
                                         .fits = fits_packed,
                                         .run = run_packed,
                                         .scratch = scratch_packed,
                                         .pack = pack_floats,
                                         .packs = kMatrix};
// Not of the 16-bit types: their blocks come as floats that are rounded first.
constexpr auto without_epilogue(Kernel<MatMulNBits> kernel) {
  kernel.epilogue = nullptr;
  return kernel;
}
constexpr Kernel<MatMulNBits> kKernels[] = {kQ4, kPacked,
                                            without_epilogue(widened<kQ4>("matmul_q4_f16")),
                                            widened<kPacked>("matmul_packed_f16")};

uint64_t multiply_adds(const MatMulNBits& a, const Call& call) {
  return uint64_t(rows_of(call.in[0].dims())) * a.depth * a.columns;
}

AttrMap sizes(int64_t k, int64_t n, int64_t bits, int64_t block) {
  return {{"K", k}, {"N", n}, {"bits", bits}, {"block_size", block}};
}

std::vector<Case> cases() {
  const auto bytes = [](Dims dims, uint64_t seed) {
    return noise(DType::u8, std::move(dims), seed, 0, 256);
  };
  // 16 weights of one column: the first is 9 - 8 = 1, the second 10 - 8 = 2, the others 0.
  Tensor few = Tensor::make(DType::u8, {1, 1, 8});
  std::memset(few.raw(), 0x88, 8);
  few.data<uint8_t>()[0] = 0xa9;
  Tensor x = Tensor::make(DType::f32, {1, 16});
  x.data<float>()[0] = 10;
  x.data<float>()[1] = 1;
  const Tensor half = Tensor::of<float>({1}, {.5f});
  Tensor groups = Tensor::make(DType::i32, {64});
  for (size_t i = 0; i < 64; ++i) groups.data<int32_t>()[i] = int32_t(i % 4);
  return {
      {.name = "the_first_weight_is_in_the_low_bits",
       .opset = 1,
       .attrs = sizes(16, 1, 4, 16),
       .inputs = {x, few, half},
       .expected = {Tensor::of<float>({1, 1}, {6})}},
      {.name = "a_zero_point_of_its_own_and_a_bias",
       .opset = 1,
       .attrs = sizes(16, 1, 4, 16),
       .inputs = {x, few, half, Tensor::of<uint8_t>({1}, {9}), Value{},
                  Tensor::of<float>({1}, {100})},
       .expected = {Tensor::of<float>({1, 1}, {100.5f})}},
      {.name = "many_rows_of_a_depth_that_is_no_multiple",
       .opset = 1,
       .attrs = sizes(40, 50, 4, 16),
       .inputs = {noise({2, 9, 40}), bytes({50, 3, 8}, 2), noise({150}, 3), bytes({100}, 4)}},
      {.name = "one_row_with_a_bias",
       .opset = 1,
       .attrs = sizes(96, 83, 4, 32),
       .inputs = {noise({1, 1, 96}), bytes({83, 3, 16}, 2), noise({83, 3}, 3), Value{}, Value{},
                  noise({83}, 4)}},
      {.name = "eight_bits",
       .opset = 1,
       .attrs = sizes(64, 20, 8, 32),
       .inputs = {noise({3, 64}), bytes({20, 2, 32}, 2), noise({40}, 3), bytes({40}, 4)}},
      {.name = "two_bits_in_halves",
       .opset = 1,
       .attrs = sizes(64, 20, 2, 16),
       .inputs = {noise(DType::f16, {3, 64}), bytes({20, 4, 4}, 2), noise(DType::f16, {80}, 3),
                  Value{}, Value{}, noise(DType::f16, {20}, 5)}},
      {.name = "halves",
       .opset = 1,
       .attrs = sizes(64, 20, 4, 32),
       .inputs = {noise(DType::f16, {3, 64}), bytes({20, 2, 16}, 2), noise(DType::f16, {40}, 3)}},
      {.name = "zero_points_that_are_floats",
       .opset = 1,
       .attrs = sizes(64, 20, 4, 32),
       .inputs = {noise({3, 64}), bytes({20, 2, 16}, 2), noise({40}, 3),
                  noise(DType::f32, {40}, 4, 4, 12)}},
      {.name = "groups_in_another_order",
       .opset = 1,
       .attrs = sizes(64, 20, 4, 16),
       .inputs = {noise({3, 64}), bytes({20, 4, 8}, 2), noise({80}, 3), Value{}, groups}}};
}

constexpr OpOf<MatMulNBits> kMatMulNBits{
    .name = "MatMulNBits",
    .doc = "The product with a matrix of 2-, 4- or 8-bit weights in blocks that share a scale.",
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

extern const Op matmul_nbits = erase<kMatMulNBits>();

}  // namespace sdx::ops::microsoft
