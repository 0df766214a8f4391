// Convolutions of channels in blocks most of whose taps lie in the padding, in the parts of
// kernel/conv/stretches.h.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "base/aligned.h"
#include "kernel/conv/blocked/conv_blocked.h"
#include "kernel/conv/blocked/work.h"
#include "kernel/conv/reference.h"
#include "kernel/conv/stretches.h"
#include "kernel/isa.h"

namespace sdx {
namespace {

constexpr uint32_t kNegativeZero = 0x80000000u;

// What a step of the chain costs, in multiply-adds of a position: a tile of few positions waits for
// its results, and every tile reads its weights.
double cost(size_t rows, size_t width, const BlockedTiles& tiles) {
  const auto count = double(BlockedCut(rows, width, tiles).tiles());
  return count * (std::max(double(rows * width) / count, 5.0) + 1.5);
}

struct Part {
  const Stretch &y, &x;
  size_t taps() const { return y.taps * x.taps; }
};

// One output by the rule, from packed weights.
float by_the_rule(const BlockedConvArgs& g, const float* image, size_t o, size_t oy, size_t ox) {
  const ConvShape& s = g.shape;
  const size_t out = channel_blocks(s.out_channels) * kBlockLanes, depth = conv_depth(s);
  const float* w = g.weights + o / kBlockLanes * kBlockLanes * depth + o % kBlockLanes;
  float acc = 0;
  reference::for_each_tap(s.in_channels, s.kernel, [&](size_t c, size_t, size_t kh, size_t kw) {
    const size_t iy = oy * s.stride[1] + kh * s.dilation[1] - s.pad[1];
    const size_t ix = ox * s.stride[2] + kw * s.dilation[2] - s.pad[2];
    const bool inside = iy < s.in[1] && ix < s.in[2];
    const size_t at =
        ((c / kBlockLanes * s.in[1] + iy) * s.in[2] + ix) * kBlockLanes + c % kBlockLanes;
    acc = std::fma(*w, inside ? image[at] : 0.0f, acc);
    w += kBlockLanes;
  });
  const float* bias = g.bias ? g.weights + out * depth : g.bias_apart;
  if (bias != nullptr) acc = acc + bias[o];
  return reference::canonical(acc);
}

// What follows the sums of one block of channels.
void finish(const BlockedConvArgs& g, size_t n, size_t block, Isa isa) {
  const ConvShape& s = g.shape;
  const size_t blocks = channel_blocks(s.out_channels), plane = s.out[1] * s.out[2] * kBlockLanes;
  const float* image = g.x + n * channel_blocks(s.in_channels) * s.in[1] * s.in[2] * kBlockLanes;
  const size_t row = n * blocks + block;
  float* y = g.y + row * plane;
  uint32_t found = 0;
  for (size_t i = 0; i < plane; ++i) found |= std::bit_cast<uint32_t>(y[i]) == kNegativeZero;
  for (size_t i = 0; found != 0 && i < plane; ++i) {
    if (std::bit_cast<uint32_t>(y[i]) != kNegativeZero) continue;
    const size_t at = i / kBlockLanes;
    y[i] =
        by_the_rule(g, image, block * kBlockLanes + i % kBlockLanes, at / s.out[2], at % s.out[2]);
  }
  if (g.epilogue.fn != nullptr) {
    g.epilogue.fn(g.epilogue.ctx, y, plane, row, 0, 1, plane);
  } else if (g.clamp.bounded || g.clamp.other != nullptr) {
    ClampEpilogue clamp = g.clamp;
    if (clamp.other != nullptr) clamp.other += row * plane;
    SDX_PICK(conv_blocked_clamp, isa)(clamp, y, plane);
  }
}

// Outputs that meet no tap.
void fill(const BlockedConvArgs& g, size_t n, const Part& p) {
  const ConvShape& s = g.shape;
  const size_t blocks = channel_blocks(s.out_channels);
  const float* bias = g.bias ? g.weights + blocks * kBlockLanes * conv_depth(s) : g.bias_apart;
  for (size_t o = 0; o < blocks * kBlockLanes; ++o) {
    const float value = reference::canonical(bias == nullptr ? 0.0f : 0.0f + bias[o]);
    for (size_t i = 0; i < p.y.size * p.x.size; ++i) {
      const size_t oy = p.y.begin + i / p.x.size, ox = p.x.begin + i % p.x.size;
      g.y[(((n * blocks + o / kBlockLanes) * s.out[1] + oy) * s.out[2] + ox) * kBlockLanes +
          o % kBlockLanes] = value;
    }
  }
}

// All parts of a convolution, and for each its taps in scratch memory: how far they are from the
// first, and which they are.
struct Parts {
  const ConvShape& s;
  const Stretches rows, columns;

  explicit Parts(const ConvShape& shape) : s(shape), rows(shape, 1), columns(shape, 2) {}
  size_t count() const { return rows.count * columns.count; }
  Part operator[](size_t i) const { return {rows[i / columns.count], columns[i % columns.count]}; }
  size_t taps_size() const { return 2 * conv_taps(s); }

  void list_taps(size_t* scratch) const {
    for (size_t part = 0; part < count(); ++part) {
      const Part p = (*this)[part];
      size_t *tap = scratch + part * taps_size(), *tap_at = tap + conv_taps(s);
      for (size_t i = 0; i < p.taps(); ++i) {
        const size_t ky = i / p.x.taps, kx = i % p.x.taps;
        tap[i] = (ky * s.dilation[1] * s.in[2] + kx * s.dilation[2]) * kBlockLanes;
        tap_at[i] = (p.y.tap + ky) * s.kernel[2] + p.x.tap + kx;
      }
    }
  }
};

BlockedWork work_of(const BlockedConvArgs& g, size_t n, const Part& p, const size_t* taps,
                    const BlockedTiles& tiles) {
  const ConvShape& s = g.shape;
  const size_t blocks = channel_blocks(s.out_channels), depth = conv_depth(s);
  const size_t in_plane = s.in[1] * s.in[2] * kBlockLanes;
  const size_t iy = p.y.begin * s.stride[1] + p.y.tap * s.dilation[1] - s.pad[1];
  const size_t ix = p.x.begin * s.stride[2] + p.x.tap * s.dilation[2] - s.pad[2];
  BlockedWork w{};
  w.cut = BlockedCut(p.y.size, p.x.size, tiles);
  w.channels = s.in_channels;
  w.block_step = in_plane;
  w.x_row = s.stride[1] * s.in[2] * kBlockLanes;
  w.x_pixel = s.stride[2] * kBlockLanes;
  w.tap = taps;
  w.tap_at = taps + conv_taps(s);
  w.taps = p.taps();
  w.all_taps = conv_taps(s);
  w.x = g.x + n * channel_blocks(s.in_channels) * in_plane + (iy * s.in[2] + ix) * kBlockLanes;
  w.weights = g.weights;
  w.bias = g.bias ? g.weights + blocks * kBlockLanes * depth : g.bias_apart;
  w.y_plane = s.out[1] * s.out[2] * kBlockLanes;
  w.y_row = s.out[2];
  w.y = g.y + n * blocks * w.y_plane + (p.y.begin * s.out[2] + p.x.begin) * kBlockLanes;
  w.width = p.x.size;
  w.tile_end = w.tiles_together = w.cut.tiles();
  w.channels_together = w.channels;
  return w;
}

}  // namespace

bool conv_blocked_inside_fits(const ConvShape& s, Isa isa) {
  if (!conv_blocked_fits(s, false) || s.groups != 1 || s.in_channels == 0 ||
      s.dilation[1] * s.dilation[2] == 1 || s.kernel[1] > Stretches::kMostTaps ||
      s.kernel[2] > Stretches::kMostTaps) {
    return false;
  }
  const BlockedTiles tiles = SDX_PICK(blocked_tiles, isa)();
  const Parts parts(s);
  double inside = 0;
  for (size_t i = 0; i < parts.count(); ++i) {
    const Part p = parts[i];
    inside += double(p.taps()) * cost(p.y.size, p.x.size, tiles);
  }
  const double whole = double(conv_taps(s)) * cost(s.out[1], s.out[2], tiles);
  return inside < 0.9 * whole;
}

size_t conv_blocked_inside_scratch_bytes(const ConvShape& s) {
  const Parts parts(s);
  return aligned_bytes(parts.count() * parts.taps_size() * sizeof(size_t));
}

void conv_blocked_inside(const BlockedConvArgs& g, Pool& pool, Isa isa) {
  const ConvShape& s = g.shape;
  const Parts parts(s);
  auto* taps = static_cast<size_t*>(g.scratch);
  parts.list_taps(taps);
  const BlockedTiles tiles = SDX_PICK(blocked_tiles, isa)();
  const size_t blocks = channel_blocks(s.out_channels),
               together = (blocks + tiles.blocks - 1) / tiles.blocks;
  // A tile's weights stay in the second-level cache for all parts; several threads share them.
  const size_t want = pool.threads() == 1 ? 1 : 4 * size_t(pool.threads());
  const size_t shares = (want + together - 1) / together;
  for (size_t n = 0; n < s.batch; ++n) {
    for (size_t i = 0; i < parts.count(); ++i) {
      if (parts[i].taps() == 0) fill(g, n, parts[i]);
    }
    pool.parallel(together * shares, 1, [&](size_t begin, size_t end, int) {
      for (size_t item = begin; item < end; ++item) {
        const size_t share = item % shares;
        for (size_t i = 0; i < parts.count(); ++i) {
          if (parts[i].taps() == 0) continue;
          BlockedWork w = work_of(g, n, parts[i], taps + i * parts.taps_size(), tiles);
          w.block_begin = item / shares * tiles.blocks;
          w.block_end = std::min(blocks, w.block_begin + tiles.blocks);
          w.tile_begin = w.tile_end * share / shares;
          w.tile_end = w.tile_end * (share + 1) / shares;
          SDX_PICK(conv_blocked_tiles, isa)(w);
        }
      }
    });
    pool.parallel(blocks, 1, [&](size_t begin, size_t end, int) {
      for (size_t block = begin; block < end; ++block) finish(g, n, block, isa);
    });
  }
}

}  // namespace sdx
