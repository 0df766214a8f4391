// Products of quantised matrices with numpy's broadcasting: shapes, batches and zero points, shared
// by MatMulInteger and QLinearMatMul.
#pragma once

#include <array>
#include <cmath>

#include "ops/common.h"

namespace sdx::ops {

// numpy.matmul: a vector on the left is a row, on the right a column, and its axis of size 1 is
// dropped again.
inline Result<Shape> product_shape(const Shape& a, const Shape& b) {
  if (a.empty() || b.empty()) return fail("SDX-T0310", "a matrix product has no scalar operands");
  const Dim& k_a = a.back();
  const Dim& k_b = b.size() == 1 ? b[0] : b[b.size() - 2];
  if (k_a.is_const() && k_b.is_const() && !(k_a == k_b)) {
    return fail("SDX-T0311", "shapes {} and {} do not multiply: {} columns against {} rows",
                to_string(a), to_string(b), k_a.text(), k_b.text());
  }
  const Shape a_batch(a.begin(), a.end() - std::min<ptrdiff_t>(2, ptrdiff_t(a.size())));
  const Shape b_batch(b.begin(), b.end() - std::min<ptrdiff_t>(2, ptrdiff_t(b.size())));
  SDX_ASSIGN(Shape out, broadcast(a_batch, b_batch));
  if (a.size() > 1) out.push_back(a[a.size() - 2]);
  if (b.size() > 1) out.push_back(b.back());
  return out;
}

inline Result<Facts> infer_product(const Fact& a, const Fact& b, DType type) {
  if (!a.has_rank() || !b.has_rank()) return Facts{Fact::tensor(type)};
  SDX_ASSIGN(Shape shape, product_shape(*a.shape, *b.shape));
  return Facts{Fact::tensor(type, std::move(shape))};
}

struct ProductSizes {
  size_t m = 1, n = 1, k = 1, batches = 1;
  std::span<const int64_t> a, b;  // batch dimensions
  size_t rank = 0;                // of the broadcast batch

  // The batch of an operand that batch i of the output uses.
  size_t batch_of(std::span<const int64_t> operand, size_t i) const {
    size_t index = 0, step = 1;
    for (size_t d = 0; d < rank; ++d) {  // from the last dimension
      const size_t size_a = d < a.size() ? size_t(a[a.size() - 1 - d]) : 1;
      const size_t size_b = d < b.size() ? size_t(b[b.size() - 1 - d]) : 1;
      const size_t size = size_a == 1 ? size_b : size_a;
      const size_t at = i % size;
      i /= size;
      if (d >= operand.size()) continue;
      const size_t own = size_t(operand[operand.size() - 1 - d]);
      if (own != 1) index += at * step;
      step *= own;
    }
    return index;
  }
};

// Of operands that product_shape accepts. Runs call it, so it makes no Shape: that would allocate.
inline Result<ProductSizes> product_sizes(std::span<const int64_t> a, std::span<const int64_t> b) {
  const bool fits =
      !a.empty() && !b.empty() && a.back() == (b.size() == 1 ? b[0] : b[b.size() - 2]);
  if (!fits) return product_shape(shape_of(a), shape_of(b)).error();
  ProductSizes p;
  p.k = size_t(a.back());
  if (a.size() > 1) p.m = size_t(a[a.size() - 2]);
  if (b.size() > 1) p.n = size_t(b.back());
  p.a = a.first(a.size() - std::min<size_t>(2, a.size()));
  p.b = b.first(b.size() - std::min<size_t>(2, b.size()));
  p.rank = std::max(p.a.size(), p.b.size());
  for (size_t i = 0; i < p.rank; ++i) {  // from the last dimension
    const int64_t size_a = i < p.a.size() ? p.a[p.a.size() - 1 - i] : 1;
    const int64_t size_b = i < p.b.size() ? p.b[p.b.size() - 1 - i] : 1;
    if (size_a != size_b && size_a != 1 && size_b != 1) {
      return product_shape(shape_of(a), shape_of(b)).error();
    }
    p.batches *= size_t(size_a == 1 ? size_b : size_a);
  }
  return p;
}

// Scales and zero points: one for all, or one per row of A (column of B), perhaps different in each
// batch.
struct PerLine {
  size_t count = 1, lines = 1;
  size_t at(size_t batch, size_t line) const { return (batch * lines + line) % count; }
};
inline Result<PerLine> per_line(const View& v, size_t lines, std::span<const int64_t> batch,
                                std::string_view what) {
  SDX_ASSIGN(const size_t batches, element_count(batch));
  if (v.count != 1 && v.count != lines && v.count != lines * batches) {
    return fail("SDX-T0312", "{} has shape {}: it must have 1 element, or {}, or {} with batches",
                what, to_string(v.dims), lines, lines * batches);
  }
  return PerLine{v.count, lines};
}

inline int32_t int_at(const View& v, size_t i) {
  return v.type == DType::i8 ? int32_t(v.data<int8_t>()[i]) : int32_t(v.data<uint8_t>()[i]);
}

}  // namespace sdx::ops
