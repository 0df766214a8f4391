// The fast body of integer matrix products: 32-bit sums by kernel/gemm_int8, the right operand
// packed once if constant.
#pragma once

#include "kernel/epilogue/program.h"
#include "kernel/gemm_int8/gemm_int8.h"
#include "ops/quant/integer_product.h"

namespace sdx::ops {

// Whether the right operand can be packed: a constant matrix that all batches share.
bool can_pack(const Fact& b);
std::shared_ptr<const void> pack_right(const Fact& b, Pool&, Isa);
// Bytes for the sums of these operands, without the sums themselves.
size_t sums_scratch(const Fact& a, const Fact& b, bool packed, int threads);

struct IntegerSums {
  View a, b, a_zero, b_zero;     // zero points may be absent
  const void* packed = nullptr;  // what pack_right made
  int32_t* sums = nullptr;       // [batches][m][n]
  void* scratch = nullptr;
  float* floats = nullptr;        // instead of sums: the floats nearest to them
  EpilogueCall* after = nullptr;  // what follows on floats
  Requantize bytes = {};          // instead of sums: as gemm_int8 has it
};
// The shapes have been checked: `p` is product_sizes of them, and zero points are per_line.
void integer_sums(const IntegerSums&, const ProductSizes& p, Pool&, Isa);

}  // namespace sdx::ops
