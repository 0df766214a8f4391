// What conv_transposed.cc asks of the code compiled per instruction-set level.
#pragma once

#include <cstddef>

#include "kernel/conv/shape.h"
#include "kernel/isa.h"

namespace sdx {

class Pool;

// Output channels that run together are one of these many.
inline constexpr size_t kTransposeRows[] = {1, 2, 3, 4, 6, 8, 10, 12};

// The least that holds an even share of the group's output channels.
[[gnu::always_inline]] inline size_t transpose_rows(const ConvShape& s) {
  constexpr size_t kMost = 12;
  const size_t channels = s.out_channels / s.groups, blocks = (channels + kMost - 1) / kMost;
  for (const size_t rows : kTransposeRows) {
    if (rows * blocks >= channels) return rows;
  }
  return kMost;
}

// Row (z, y) of the output planes of up to transpose_rows() channels.
struct TransposeRow {
  const float* x;     // the group's first input plane
  const float* w;     // [step of the reduction][transpose_rows()]
  const float* bias;  // of the first channel, or null
  size_t rows;
  size_t z, y;
  float* out;  // of the first channel; the others are a plane apart
};

// Where many output channels come from each input, runs as products (products.cc).
bool runs_as_products(const ConvShape&);
size_t products_packed_floats(const ConvShape&);
void pack_products(const ConvShape&, const float* w, float* packed, Pool&);
size_t products_scratch_floats(const ConvShape&, int threads);
struct ConvArgs;
void run_products(const ConvArgs&, Pool&, Isa);

SDX_DECLARE_ISAS(void conv_transposed_row(const ConvShape&, const TransposeRow&);)

}  // namespace sdx
