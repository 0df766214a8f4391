#include "kernel/conv/channels_last/conv_channels_last.h"
#include "kernel/conv/depthwise/tiles.h"
#include "kernel/simd/registers.h"

namespace sdx::SDX_ISA {
namespace {

// A size that leaves no rest, if it is long enough for the chains to hide each other's latency.
int size_for(size_t width) {
  for (int size = 0; size < kDepthwiseSizes && kDepthwisePositions[size] >= 4; ++size) {
    if (width % size_t(kDepthwisePositions[size]) == 0) return size;
  }
  return 0;
}

}  // namespace

void conv_channels_last_depthwise(const ChannelsLastDepthwise& g) {
  const ConvShape& s = *g.shape;
  const size_t width = s.out[2];
  const DepthwiseTiles& tiles = depthwise_tiles(s);
  const int first = size_for(width);
  DepthwiseTile t{};
  t.shape = &s;
  t.step = s.in_channels;
  for (t.row = g.row_begin; t.row < g.row_end; ++t.row) {
    for (size_t channel = 0; channel < s.in_channels; channel += kLanes) {
      t.x = g.x + channel;
      t.weights = g.weights + channel;
      t.bias = g.bias == nullptr ? nullptr : g.bias + channel;
      t.y = g.y + channel;
      for (t.column = 0; t.column < width;) {
        int size = first;
        while (size_t(kDepthwisePositions[size]) > width - t.column) ++size;
        tiles.run[size](t);
        t.column += size_t(kDepthwisePositions[size]);
      }
    }
  }
}

}  // namespace sdx::SDX_ISA
