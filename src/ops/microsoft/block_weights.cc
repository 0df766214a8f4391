#include "ops/microsoft/block_weights.h"

#include <cmath>

#include "kernel/gemm/gemm.h"

namespace sdx::ops::microsoft {
namespace {

GemmArgs gemm_of(size_t rows, size_t depth, size_t columns) {
  GemmArgs g;
  g.m = rows;
  g.n = columns;
  g.k = depth;
  g.lda = depth;
  g.ldb = g.ldc = columns;
  return g;
}

}  // namespace

std::shared_ptr<const void> PackedWeights::pack(size_t depth, size_t columns, WeightAt at,
                                                const void* source, Pool& pool, Isa isa) {
  std::vector<float> weights(depth * columns);
  pool.parallel(columns, 16, [&](size_t begin, size_t end, int) {
    for (size_t j = begin; j < end; ++j) {
      for (size_t k = 0; k < depth; ++k) weights[j * depth + k] = at(source, j, k);
    }
  });
  const size_t size = std::max<size_t>(1, gemm_packed_b_size(depth, columns));
  std::shared_ptr<void> packed = allocate_aligned(size * sizeof(float));
  gemm_pack_b(weights.data(), DType::f32, depth, true, depth, columns,
              static_cast<float*>(packed.get()), pool, isa);
  return packed;
}

size_t PackedWeights::scratch(size_t rows, size_t depth, size_t columns, int threads) {
  constexpr float kSome = 0;
  GemmArgs g = gemm_of(rows, depth, columns);
  g.b_packed = &kSome;
  return gemm_scratch_bytes(g, threads);
}

void PackedWeights::run(size_t rows, size_t depth, size_t columns, const float* x,
                        const void* packed, const float* bias, float* y, void* scratch, Pool& pool,
                        Isa isa) {
  GemmArgs g = gemm_of(rows, depth, columns);
  g.a = x;
  g.b_packed = static_cast<const float*>(packed);
  g.c = y;
  g.affine.bias = bias;
  g.affine.bias_col = bias != nullptr ? 1 : 0;
  g.scratch = scratch;
  sdx::gemm(g, pool, isa);
}

void block_product(size_t depth, size_t columns, WeightAt at, const void* source, const View& x,
                   const View& bias, const View& y) {
  const size_t rows = rows_of(x.dims);
  std::vector<float> column(depth);
  visit_floats(x.type, [&]<class T>() {
    if constexpr (!std::is_same_v<T, double>) {
      for (size_t j = 0; j < columns; ++j) {
        for (size_t k = 0; k < depth; ++k) column[k] = at(source, j, k);
        for (size_t i = 0; i < rows; ++i) {
          float sum = 0;
          for (size_t k = 0; k < depth; ++k)
            sum = std::fma(load(x.data<T>()[i * depth + k]), column[k], sum);
          if (bias.present()) sum = sum + load(bias.data<T>()[j]);
          y.data<T>()[i * columns + j] = store<T>(sum);
        }
      }
    }
  });
}

Status check_block_size(int64_t block) {
  if (block < 16 || block > int64_t{1} << 24 || (block & (block - 1)) != 0)
    return fail("SDX-T1064", "block_size is {}; it must be a power of 2 from 16 on", block);
  return ok();
}

Status require_count(const Fact& fact, size_t count, std::string_view what) {
  if (!fact.present() || !fact.is_concrete()) return ok();
  SDX_ASSIGN(const size_t found, element_count(fact.dims()));
  if (found == count) return ok();
  return fail("SDX-T0312", "{} is {}, expected {} elements", what, fact.text(), count);
}

size_t rows_of(std::span<const int64_t> dims) {
  size_t rows = 1;
  for (size_t i = 0; i + 1 < dims.size(); ++i) rows *= size_t(dims[i]);
  return rows;
}

Result<Facts> infer_block_product(const Fact& x, int64_t depth, int64_t columns) {
  if (!x.has_rank()) return Facts{Fact::tensor(x.type)};
  if (x.rank() == 0 || (x.shape->back().is_const() && !x.shape->back().is_const(depth))) {
    return fail("SDX-T0311", "A is {}, expected {} as its last size", x.text(), depth);
  }
  Shape shape = *x.shape;
  shape.back() = Dim(columns);
  return Facts{Fact::tensor(x.type, std::move(shape))};
}

}  // namespace sdx::ops::microsoft
