#include "kernel/conv/blocked/work.h"
#include "kernel/conv/depthwise/tiles.h"
#include "kernel/simd/registers.h"

namespace sdx::SDX_ISA {

void conv_blocked_depthwise(const BlockedDepthwise& g) {
  const ConvShape& s = *g.shape;
  const size_t width = s.out[2];
  const DepthwiseTiles& tiles = depthwise_tiles(s);
  // Rows that run before a program passes over them.
  const size_t together = width >= 64 ? 1 : (64 + width - 1) / width;
  for (size_t begin = g.row_begin; begin < g.row_end; begin += together) {
    const size_t end = begin + together < g.row_end ? begin + together : g.row_end;
    DepthwiseTile t{};
    t.shape = &s;
    t.step = kBlockLanes;
    t.x_begin = g.x_begin;
    t.clamp = g.clamp;
    for (t.row = begin; t.row < end; ++t.row) {
      for (t.column = 0; t.column < width;) {
        int size = 0;
        while (size_t(kDepthwisePositions[size]) > width - t.column) ++size;
        for (size_t lane = 0; lane < kBlockLanes; lane += kLanes) {
          t.x = g.x + lane;
          t.weights = g.weights + lane;
          t.bias = g.bias == nullptr ? nullptr : g.bias + lane;
          t.y = g.y + lane;
          if (g.clamp.other != nullptr) t.clamp.other = g.clamp.other + lane;
          tiles.run[size](t);
        }
        t.column += size_t(kDepthwisePositions[size]);
      }
    }
    if (g.epilogue.fn != nullptr) {
      const size_t at = begin * width * kBlockLanes, count = (end - begin) * width * kBlockLanes;
      g.epilogue.fn(g.epilogue.ctx, g.y + at, count, g.row, at, 1, count);
    }
  }
}

}  // namespace sdx::SDX_ISA
