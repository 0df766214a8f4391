#include "kernel/conv/transposed/conv_transposed.h"

#include <algorithm>

#include "kernel/conv/interleave.h"
#include "kernel/conv/planes/work.h"
#include "kernel/conv/transposed/work.h"
#include "kernel/isa.h"

namespace sdx {
namespace {

size_t channel_blocks(const ConvShape& s) {
  const size_t rows = transpose_rows(s);
  return (s.out_channels / s.groups + rows - 1) / rows;
}

}  // namespace

size_t conv_transposed_packed_size(const ConvShape& s) {
  if (runs_as_products(s)) return products_packed_floats(s);
  return s.groups * channel_blocks(s) * transpose_rows(s) * conv_depth(s);
}

// [group][block of output channels][step of the reduction][output channel in block]
void conv_transposed_pack(const ConvShape& s, const float* w, float* packed, Pool& pool) {
  if (runs_as_products(s)) return pack_products(s, w, packed, pool);
  const size_t in_group = s.in_channels / s.groups, out_group = s.out_channels / s.groups;
  const size_t taps = conv_taps(s), blocks = channel_blocks(s);
  const size_t rows = transpose_rows(s);
  pool.parallel(s.groups * blocks, 1, [&](size_t begin, size_t end, int) {
    for (size_t i = begin; i < end; ++i) {
      const size_t group = i / blocks, first = i % blocks * rows;
      const float* from = w + (group * in_group * out_group + first) * taps;
      interleave({from, taps, out_group * taps, in_group, taps}, std::min(rows, out_group - first),
                 rows, packed + i * rows * conv_depth(s));
    }
  });
}

size_t conv_transposed_scratch_bytes(const ConvShape& s, int threads) {
  return runs_as_products(s) ? products_scratch_floats(s, threads) * sizeof(float) : 0;
}

void conv_transposed(const ConvArgs& g, Pool& pool, Isa isa) {
  const ConvShape& s = g.shape;
  if (runs_as_products(s)) return run_products(g, pool, isa);
  const size_t out_group = s.out_channels / s.groups, blocks = channel_blocks(s);
  const size_t in_pixels = conv_input_positions(s), pixels = conv_positions(s);
  const size_t rows = s.out[0] * s.out[1], together = transpose_rows(s);
  if (pixels == 0) return;
  const auto run = SDX_PICK(conv_transposed_row, isa);
  pool.parallel(s.batch * s.groups * blocks * rows, 1, [&](size_t begin, size_t end, int) {
    for (size_t i = begin; i < end; ++i) {
      const size_t row = i % rows, block = i / rows % blocks, group = i / rows / blocks % s.groups;
      const size_t n = i / rows / blocks / s.groups;
      const size_t channel = group * out_group + block * together;
      TransposeRow t;
      t.x = g.x + (n * s.in_channels + group * (s.in_channels / s.groups)) * in_pixels;
      t.w = g.weights + (group * blocks + block) * together * conv_depth(s);
      t.bias = g.bias == nullptr ? nullptr : g.bias + channel;
      t.rows = std::min(together, out_group - block * together);
      t.z = row / s.out[1];
      t.y = row % s.out[1];
      t.out = g.y + (n * s.out_channels + channel) * pixels + row * s.out[2];
      run(s, t);
      if (g.epilogue.fn != nullptr) {
        g.epilogue.fn(g.epilogue.ctx, t.out, pixels, n * s.out_channels + channel, row * s.out[2],
                      t.rows, s.out[2]);
      }
    }
  });
}

}  // namespace sdx
