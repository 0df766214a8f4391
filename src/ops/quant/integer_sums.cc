#include "ops/quant/integer_sums.h"

#include <algorithm>

#include "base/aligned.h"
#include "base/slab.h"

namespace sdx::ops {
namespace {

// With one matrix on the right, the batch on the left is one tall matrix.
bool tall(const ProductSizes& p) {
  for (const int64_t d : p.b) {
    if (d != 1) return false;
  }
  return true;
}

GemmInt8Args gemm_args(const ProductSizes& p) {
  GemmInt8Args g;
  g.m = tall(p) ? p.m * p.batches : p.m;
  g.n = p.n;
  g.k = p.k;
  g.lda = p.k;
  g.ldb = g.ldc = p.n;
  return g;
}

// Whether each product has its own matrices, one after the other.
bool in_rows(const ProductSizes& p) {
  const auto a = element_count(p.a), b = element_count(p.b);
  return p.batches > 1 && a && b && *a == p.batches && *b == p.batches;
}

void take_all(const ProductSizes& p, GemmInt8Args& g) {
  g.batch = p.batches;
  g.a_batch = p.m * p.k;
  g.b_batch = p.k * p.n;
  g.c_batch = p.m * p.n;
}

// The zero points of `lines` rows or columns of one batch as 32-bit integers; one if all share it.
void spread(const View& zero, size_t lines, size_t batch, int32_t* out) {
  if (!zero.present()) return;
  for (size_t i = 0; i < (zero.count == 1 ? 1 : lines); ++i)
    out[i] = int_at(zero, (batch * lines + i) % zero.count);
}

}  // namespace

bool can_pack(const Fact& b) {
  if (b.value == nullptr || b.value->rank() < 2) return false;
  return b.value->count() == size_t(b.value->dims().back() * b.value->dims()[b.value->rank() - 2]);
}

std::shared_ptr<const void> pack_right(const Fact& b, Pool& pool, Isa isa) {
  const Tensor& t = *b.value;
  const size_t n = size_t(t.dims().back()), k = size_t(t.dims()[t.rank() - 2]);
  auto packed = allocate_lasting(gemm_int8_packed_b_size(k, n) * sizeof(int32_t));
  gemm_int8_pack_b(t.raw(), t.type() == DType::i8, n, false, k, n,
                   static_cast<int32_t*>(packed.get()), pool, isa);
  return packed;
}

size_t sums_scratch(const Fact& a, const Fact& b, bool packed, int threads) {
  const Dims a_dims = a.dims(), b_dims = b.dims();
  const auto p = product_sizes(a_dims, b_dims);
  if (!p) return 0;
  GemmInt8Args g = gemm_args(*p);
  const int32_t none = 0;
  if (packed) g.b_packed = &none;
  size_t most = gemm_int8_scratch_bytes(g, threads);
  if (in_rows(*p)) {
    take_all(*p, g);
    most = std::max(most, gemm_int8_scratch_bytes(g, threads));
  }
  return aligned_bytes(g.m * 4) + aligned_bytes(g.n * 4) + most;
}

void integer_sums(const IntegerSums& s, const ProductSizes& p, Pool& pool, Isa isa) {
  if (p.batches == 0) return;
  GemmInt8Args g = gemm_args(p);
  g.a_signed = s.a.type == DType::i8;
  g.b_signed = s.b.type == DType::i8;
  g.b_packed = static_cast<const int32_t*>(s.packed);
  auto* room = static_cast<std::byte*>(s.scratch);
  auto* a_zero = reinterpret_cast<int32_t*>(room);
  auto* b_zero = reinterpret_cast<int32_t*>(room + aligned_bytes(g.m * 4));
  g.scratch = room + aligned_bytes(g.m * 4) + aligned_bytes(g.n * 4);
  if (s.a_zero.present()) g.a_zero = a_zero;
  if (s.b_zero.present()) g.b_zero = b_zero;
  g.a_zero_step = s.a_zero.count == 1 ? 0 : 1;
  g.b_zero_step = s.b_zero.count == 1 ? 0 : 1;
  const bool together =
      in_rows(p) && s.after == nullptr && s.a_zero.count <= 1 && s.b_zero.count <= 1;
  if (together) take_all(p, g);
  const size_t products = together || tall(p) ? 1 : p.batches;
  for (size_t i = 0; i < products; ++i) {
    const size_t in_a = p.batch_of(p.a, i), in_b = p.batch_of(p.b, i);
    g.a = s.a.data<uint8_t>() + in_a * p.m * p.k;
    g.b = s.b.raw != nullptr ? s.b.data<uint8_t>() + in_b * p.k * p.n : nullptr;
    if (s.sums != nullptr) g.c = s.sums + i * p.m * p.n;
    if (s.floats != nullptr) g.y = s.floats + i * p.m * p.n;
    g.requantize = s.bytes.at(0, i * p.m * p.n);
    if (s.after != nullptr) {
      s.after->first_row = i * p.m;
      g.affine = {};
      s.after->open_in(g.affine);
      g.y_epilogue = s.after->block();
    }
    spread(s.a_zero, g.m, in_a, a_zero);
    spread(s.b_zero, g.n, in_b, b_zero);
    gemm_int8(g, pool, isa);
  }
}

}  // namespace sdx::ops
