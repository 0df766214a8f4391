#include "kernel/conv/blocked/conv_blocked.h"

#include <algorithm>

#include "base/aligned.h"
#include "kernel/conv/blocked/work.h"
#include "kernel/conv/depthwise/tiles.h"
#include "kernel/conv/interleave.h"
#include "kernel/conv/planes/work.h"
#include "kernel/isa.h"

namespace sdx {
namespace {

// Weights of this size stay in the second-level cache while all positions pass over them.
constexpr size_t kResidentFloats = 65536;
// Tiles that then meet all weights before the next ones do: their inputs stay in the first.
constexpr size_t kTilesOfResident = 8;

size_t blocks_of(const ConvShape& s) { return channel_blocks(s.out_channels); }
bool is_depthwise(const ConvShape& s) { return s.groups > 1 && s.groups == s.in_channels; }
// Groups that share a block with others: those of an input block make the output block.
bool is_narrow(const ConvShape& s) {
  const size_t width = s.in_channels / s.groups;
  return s.groups > 1 && s.in_channels == s.out_channels && (width == 4 || width == 8);
}

// Parts of the channels that have nothing to do with each other: groups, or blocks of narrow ones.
size_t parts_of(const ConvShape& s) { return is_narrow(s) ? blocks_of(s) : s.groups; }
// The output channels of one, in whole blocks.
size_t part_channels(const ConvShape& s) { return blocks_of(s) * kBlockLanes / parts_of(s); }

// Threads that are worth waking: none for a few microseconds of work.
size_t threads_for(const ConvShape& s, const Pool& pool) {
  constexpr size_t kFewest = 100000;  // multiply-adds
  const size_t work = s.batch * s.out_channels * conv_depth(s) * s.out[1] * s.out[2];
  return work < kFewest ? 1 : size_t(pool.threads());
}

// A thread has the same band of an image in one convolution after the other, all of its channels,
// so that it mostly reads what it wrote: these many bands, which rows make.
size_t bands_of(size_t batch, size_t rows, size_t threads) {
  const size_t want = threads == 1 ? 1 : 4 * threads;
  return std::min(rows, (want + batch - 1) / batch);
}

// Dense inputs with padding are copied with zeros around them.
struct Padded {
  bool copied;
  size_t rows, width;  // of a plane
  size_t lanes;        // floats of a position
  size_t planes;
  size_t floats() const { return copied ? planes * rows * width * lanes : 0; }
};

Padded padded_form(const ConvShape& s, bool plain) {
  Padded p{false, s.in[1], s.in[2], plain ? 1 : kBlockLanes,
           plain ? s.in_channels : channel_blocks(s.in_channels)};
  size_t reach[3] = {};
  for (int i : {1, 2}) {
    reach[i] = conv_reach(s, i);
    p.copied |= s.pad[i] != 0 || reach[i] > s.in[i];
  }
  if (p.copied) p.rows = reach[1], p.width = reach[2];
  return p;
}

// Rows [begin, end) of a plane.
void pad_rows(const ConvShape& s, const Padded& p, const float* x, float* out, size_t begin,
              size_t end) {
  const size_t row = p.width * p.lanes;
  const size_t left = std::min(s.pad[2], p.width) * p.lanes;
  const size_t inner = std::min(s.in[2] * p.lanes, row - left);
  out += begin * row;
  for (size_t y = begin; y < end; ++y, out += row) {
    const size_t from = y - s.pad[1];  // a row before the input wraps to a very large number
    if (from >= s.in[1]) {
      std::fill_n(out, row, 0.f);
      continue;
    }
    std::fill_n(out, left, 0.f);
    std::copy_n(x + from * s.in[2] * p.lanes, inner, out + left);
    std::fill_n(out + left + inner, row - left - inner, 0.f);
  }
}

// Few channels in planes count as taps: a loop over them would be short.
size_t listed_taps(const ConvShape& s, bool plain) {
  return conv_taps(s) * (plain ? s.in_channels : 1);
}
size_t tap_floats(const ConvShape& s, bool plain) {
  return aligned_floats(2 * listed_taps(s, plain) * sizeof(size_t) / sizeof(float));
}

// Which tiles run together and how much of their chains, so that weights and inputs stay in the
// caches. `of_a_position`: the floats of input that a position adds; `resident`: the second-level
// cache holds all weights.
void set_order(BlockedWork& w, const BlockedTiles& tiles, size_t of_a_position, bool resident) {
  w.channels_together = w.channels;
  w.tiles_together = w.cut.tiles();
  w.weights_stay = resident && !tiles.weights_in_first;
  if (w.weights_stay) {
    w.tiles_together = kTilesOfResident;
  } else if (tiles.near_inputs != 0) {
    const size_t of_a_tile = tiles.positions * of_a_position;
    w.tiles_together = std::max(kTilesOfResident, tiles.near_inputs / (of_a_tile + 1));
  }
  if (tiles.near_weights != 0) {
    const size_t blocks = channel_blocks(w.channels);
    const size_t of_a_block = kBlockLanes * w.taps * tiles.blocks * kBlockLanes;
    const size_t most = std::max<size_t>(1, tiles.near_weights / (of_a_block + 1));
    const size_t parts = std::max<size_t>(1, (blocks + most - 1) / most);
    w.channels_together = std::max<size_t>(1, (blocks + parts - 1) / parts) * kBlockLanes;
  }
}

void run_depthwise(const BlockedConvArgs& g, Pool& pool, Isa isa) {
  const ConvShape& s = g.shape;
  const size_t blocks = blocks_of(s), taps = conv_taps(s), rows = s.out[1];
  const size_t in_plane = s.in[1] * s.in[2] * kBlockLanes;
  const size_t out_plane = rows * s.out[2] * kBlockLanes;
  const float* bias = g.bias ? g.weights + blocks * taps * kBlockLanes : g.bias_apart;
  const size_t threads = threads_for(s, pool);
  const size_t parts = bands_of(s.batch, rows, threads);
  const auto run = SDX_PICK(conv_blocked_depthwise, isa);
  const size_t items = s.batch * parts * blocks;
  pool.parallel(items, threads == 1 ? items : 1, [&](size_t begin, size_t end, int) {
    for (size_t i = begin; i < end; ++i) {
      const size_t block = i % blocks, part = i / blocks % parts;
      const size_t row = i / blocks / parts * blocks + block;
      BlockedDepthwise d{};
      d.shape = &s;
      d.x = g.x + row * in_plane;
      d.weights = g.weights + block * taps * kBlockLanes;
      d.bias = bias == nullptr ? nullptr : bias + block * kBlockLanes;
      d.y = g.y + row * out_plane;
      d.clamp = g.clamp;
      if (d.clamp.other != nullptr) d.clamp.other += row * out_plane;
      d.epilogue = g.epilogue;
      d.row = row;
      d.row_begin = rows * part / parts;
      d.row_end = rows * (part + 1) / parts;
      run(d);
    }
  });
}

}  // namespace

bool conv_blocked_fits(const ConvShape& s, bool plain) {
  if (s.in[0] != 1 || s.out[0] != 1 || s.kernel[0] != 1) return false;
  if (s.groups == 1) return !plain || s.in_channels < kBlockLanes;
  if (plain) return false;
  if (is_depthwise(s)) return depthwise_tiles_fit(s);
  if (is_narrow(s)) return true;
  return s.in_channels % (s.groups * kBlockLanes) == 0 &&
         s.out_channels % (s.groups * kBlockLanes) == 0;
}

size_t conv_blocked_packed_size(const ConvShape& s) {
  const size_t out = blocks_of(s) * kBlockLanes;
  return out * (conv_depth(s) + 1);
}

void conv_blocked_pack(const ConvShape& s, const float* w, const float* bias, float* packed,
                       Pool& pool) {
  const size_t out = blocks_of(s) * kBlockLanes, depth = conv_depth(s), taps = conv_taps(s);
  pool.parallel(blocks_of(s), 1, [&](size_t begin, size_t end, int) {
    for (size_t block = begin; block < end; ++block) {
      const size_t first = block * kBlockLanes;
      const size_t real = std::min(kBlockLanes, s.out_channels - first);
      interleave({w + first * depth, depth, taps, s.in_channels / s.groups, taps}, real,
                 kBlockLanes, packed + first * depth);
    }
  });
  if (bias == nullptr) return;
  float* to = std::copy_n(bias, s.out_channels, packed + out * depth);
  std::fill_n(to, out - s.out_channels, 0.f);
}

size_t conv_blocked_scratch_bytes(const ConvShape& s, bool plain) {
  if (is_depthwise(s)) return 0;
  return (tap_floats(s, plain) + padded_form(s, plain).floats()) * sizeof(float);
}

void conv_blocked(const BlockedConvArgs& g, Pool& pool, Isa isa) {
  const ConvShape& s = g.shape;
  if (is_depthwise(s)) return run_depthwise(g, pool, isa);

  const Padded p = padded_form(s, g.plain);
  const size_t in_plane = s.in[1] * s.in[2] * p.lanes, plane = p.rows * p.width * p.lanes;
  auto* taps = static_cast<size_t*>(g.scratch);
  float* padded = static_cast<float*>(g.scratch) + tap_floats(s, g.plain);
  const size_t listed = listed_taps(s, g.plain), of_each = listed / conv_taps(s);
  auto* tap_at = taps + listed;
  for (size_t i = 0; i < listed; ++i) {
    const size_t ky = i / of_each / s.kernel[2], kx = i / of_each % s.kernel[2];
    taps[i] = (ky * s.dilation[1] * p.width + kx * s.dilation[2]) * p.lanes + i % of_each * plane;
    tap_at[i] = i;
  }

  // A kernel of one tap that visits every input once sees one long row.
  size_t rows = s.out[1], width = s.out[2];
  if (conv_taps(s) == 1 && s.stride[1] == 1 && s.stride[2] == 1 && !p.copied &&
      s.in[1] == s.out[1] && s.in[2] == s.out[2]) {
    width *= rows;
    rows = 1;
  }
  const BlockedTiles tiles = SDX_PICK(blocked_tiles, isa)();
  BlockedWork work{};
  work.cut = BlockedCut(rows, width, tiles);
  work.channels = g.plain ? 1 : s.in_channels / s.groups;
  work.block_step = plane;
  work.x_row = s.stride[1] * p.width * p.lanes;
  work.x_pixel = s.stride[2] * p.lanes;
  work.tap = taps;
  work.tap_at = tap_at;
  work.taps = work.all_taps = listed;
  const size_t groups = parts_of(s), out = part_channels(s), depth = conv_depth(s);
  const float* bias = g.bias ? g.weights + groups * out * depth : g.bias_apart;
  work.width = work.y_row = width;
  work.y_plane = rows * width * kBlockLanes;
  work.clamp = g.clamp;
  work.epilogue = g.epilogue;
  const size_t of_a_position = (rows > 1 ? work.x_row / width : work.x_pixel) * (p.planes / groups);
  const bool resident = out * depth <= kResidentFloats;
  set_order(work, tiles, of_a_position, resident);
  const size_t all_tiles = work.cut.tiles(), blocks = out / kBlockLanes;

  // Threads share the tiles, or the blocks of channels if there is more to read of weights.
  const size_t threads = threads_for(s, pool);
  const size_t want = threads == 1 ? 1 : (4 * threads + groups - 1) / groups;
  const bool few_weights =
      resident || (tiles.near_inputs != 0 && rows * width * of_a_position > out * depth);
  size_t tile_parts = 1, block_parts = 1;
  if (few_weights && all_tiles >= 2 * want) {
    tile_parts = want;
  } else {
    block_parts = std::min((blocks + tiles.blocks - 1) / tiles.blocks, want);
    tile_parts = std::min(all_tiles, (want + block_parts - 1) / block_parts);
  }
  const auto run =
      is_narrow(s) ? SDX_PICK(conv_blocked_narrow_tiles, isa) : SDX_PICK(conv_blocked_tiles, isa);
  const size_t out_plane = s.out[1] * s.out[2] * kBlockLanes;
  for (size_t n = 0; n < s.batch; ++n) {
    const float* x = g.x + n * p.planes * in_plane;
    if (p.copied) {
      const size_t bands = bands_of(1, p.rows, threads), pieces = bands * p.planes;
      pool.parallel(pieces, threads == 1 ? pieces : 1, [&](size_t begin, size_t end, int) {
        for (size_t i = begin; i < end; ++i) {
          const size_t at = i % p.planes, band = i / p.planes;
          pad_rows(s, p, x + at * in_plane, padded + at * plane, p.rows * band / bands,
                   p.rows * (band + 1) / bands);
        }
      });
      x = padded;
    }
    const size_t items = groups * block_parts * tile_parts;
    // Of blocks that a tile makes together none is cut off.
    const auto block_at = [&](size_t part) {
      const size_t together = (blocks + tiles.blocks - 1) / tiles.blocks;
      return std::min(blocks, together * part / block_parts * tiles.blocks);
    };
    pool.parallel(items, threads == 1 ? items : 1, [&](size_t begin, size_t end, int) {
      BlockedWork w = work;
      for (size_t i = begin; i < end; ++i) {
        const size_t group = i / tile_parts / block_parts;
        const size_t part = i / tile_parts % block_parts, tile = i % tile_parts;
        w.x = x + group * (p.planes / groups) * plane;
        w.weights = g.weights + group * out * depth;
        w.bias = bias == nullptr ? nullptr : bias + group * out;
        w.row = (n * groups + group) * blocks;
        w.y = g.y + w.row * out_plane;
        if (g.clamp.other != nullptr) w.clamp.other = g.clamp.other + w.row * out_plane;
        w.block_begin = block_at(part);
        w.block_end = block_at(part + 1);
        w.tile_begin = all_tiles * tile / tile_parts;
        w.tile_end = all_tiles * (tile + 1) / tile_parts;
        run(w);
      }
    });
  }
}

namespace {

// Rows of the wire between the two convolutions that a thread holds: so many that they stay in the
// second-level cache.
constexpr size_t kStripFloats = 65536;
constexpr size_t kPairBlocks = 2;  // of channels that are made together

struct Strip {
  size_t out_rows;  // that it serves
  size_t rows;      // of the wire, at most
  size_t floats;
};
Strip strip_of(const ConvShape& s) {
  const size_t row = s.in[2] * kBlockLanes * kPairBlocks;
  const size_t reach = (s.kernel[1] - 1) * s.dilation[1] + 1;
  const size_t room = std::max(reach, kStripFloats / row);
  const size_t out_rows = std::min(s.out[1], (room - reach) / s.stride[1] + 1);
  const size_t rows = std::min(s.in[1], (out_rows - 1) * s.stride[1] + reach);
  return {out_rows, rows, rows * row};
}

// kPairBlocks blocks of channels, a pair, for the output rows [begin, end) of one image.
struct PairPart {
  const BlockedPairArgs& g;
  Isa isa;
  float* strip;

  void run(size_t image, size_t pair, size_t begin, size_t end) const {
    const ConvShape& s = g.second;
    const Strip size = strip_of(s);
    size_t held_begin = 0, held_end = 0;  // rows of the wire
    for (size_t row = begin; row < end; row += size.out_rows) {
      const size_t stop = std::min(end, row + size.out_rows);
      const size_t top = row * s.stride[1], reach = (s.kernel[1] - 1) * s.dilation[1] + 1;
      const size_t first = top > s.pad[1] ? std::min(s.in[1], top - s.pad[1]) : 0;
      const size_t past = (stop - 1) * s.stride[1] + reach;
      const size_t last = std::max(first, std::min(s.in[1], past > s.pad[1] ? past - s.pad[1] : 0));
      const size_t made = std::clamp(held_end, first, last);
      keep(size, first - held_begin, made - first);
      widen(size, image, pair, made, last, strip + (made - first) * s.in[2] * kBlockLanes);
      held_begin = first, held_end = last;
      narrow(size, image, pair, first, row, stop);
    }
  }

 private:
  size_t row_floats() const { return g.second.in[2] * kBlockLanes; }

  // Rows [from, from + count) move to the beginning.
  void keep(const Strip& size, size_t from, size_t count) const {
    if (from == 0 || count == 0) return;
    for (size_t block = 0; block < kPairBlocks; ++block) {
      float* plane = strip + block * size.rows * row_floats();
      std::copy_n(plane + from * row_floats(), count * row_floats(), plane);
    }
  }

  // Rows [first, last) of the wire.
  void widen(const Strip& size, size_t image, size_t pair, size_t first, size_t last,
             float* y) const {
    if (first == last) return;
    const ConvShape& s = g.first;
    const size_t plane = s.in[1] * s.in[2] * kBlockLanes, depth = s.in_channels;
    const size_t tap = 0, width = (last - first) * s.in[2];
    const BlockedTiles tiles = SDX_PICK(blocked_tiles, isa)();
    BlockedWork w{};
    w.cut = BlockedCut(1, width, tiles);
    w.channels = s.in_channels;
    w.block_step = plane;
    w.x_pixel = kBlockLanes;
    w.tap = w.tap_at = &tap;
    w.taps = w.all_taps = 1;
    w.x = g.x + image * channel_blocks(s.in_channels) * plane + first * row_floats();
    w.weights = g.first_weights;
    w.bias = g.first_bias ? g.first_weights + blocks_of(s) * kBlockLanes * depth : nullptr;
    w.y = y;
    w.width = w.y_row = width;
    w.y_plane = size.rows * row_floats();
    w.y_block = pair * kPairBlocks;
    w.clamp = g.between;
    w.epilogue = g.between_epilogue;
    w.block_begin = w.y_block;
    w.block_end = std::min(blocks_of(s), w.block_begin + kPairBlocks);
    w.tile_end = w.cut.tiles();
    set_order(w, tiles, kBlockLanes * channel_blocks(s.in_channels), true);
    SDX_PICK(conv_blocked_tiles, isa)(w);
  }

  // Rows [row, stop) of the output, from a strip whose first row is `first`.
  void narrow(const Strip& size, size_t image, size_t pair, size_t first, size_t row,
              size_t stop) const {
    const ConvShape& s = g.second;
    const size_t blocks = blocks_of(s), taps = conv_taps(s);
    const size_t out_plane = s.out[1] * s.out[2] * kBlockLanes;
    for (size_t i = 0; i < kPairBlocks && pair * kPairBlocks + i < blocks; ++i) {
      const size_t block = pair * kPairBlocks + i, at = image * blocks + block;
      BlockedDepthwise d{};
      d.shape = &s;
      d.x = strip + i * size.rows * row_floats();
      d.x_begin = first;
      d.weights = g.second_weights + block * taps * kBlockLanes;
      if (g.second_bias) d.bias = g.second_weights + (blocks * taps + block) * kBlockLanes;
      d.y = g.y + at * out_plane;
      d.clamp = g.clamp;
      if (d.clamp.other != nullptr) d.clamp.other += at * out_plane;
      d.epilogue = g.epilogue;
      d.row = at;
      d.row_begin = row;
      d.row_end = stop;
      SDX_PICK(conv_blocked_depthwise, isa)(d);
    }
  }
};

}  // namespace

bool conv_blocked_pair_fits(const ConvShape& first, const ConvShape& second) {
  return conv_blocked_fits(first, false) && conv_blocked_fits(second, false) && first.groups == 1 &&
         conv_taps(first) == 1 && first.stride[1] == 1 && first.stride[2] == 1 &&
         first.in[1] == first.out[1] && first.in[2] == first.out[2] && is_depthwise(second) &&
         first.out_channels == second.in_channels;
}

size_t conv_blocked_pair_scratch_bytes(const ConvShape& second, int threads) {
  return size_t(threads) * strip_of(second).floats * sizeof(float);
}

void conv_blocked_pair(const BlockedPairArgs& g, Pool& pool, Isa isa) {
  const ConvShape& s = g.second;
  const size_t pairs = (blocks_of(s) + kPairBlocks - 1) / kPairBlocks, rows = s.out[1];
  // Parts make some rows of the wire twice, so as few as keep all threads busy alike; a band for
  // each thread where that is little.
  const auto threads = size_t(pool.threads());
  const size_t items = s.batch * pairs;
  const size_t reach = (s.kernel[1] - 1) * s.dilation[1] + 1;
  const size_t twice = reach > s.stride[1] ? reach - s.stride[1] : 0;
  size_t parts = s.batch < threads && s.in[1] / threads >= 8 * twice ? std::min(threads, rows) : 1;
  while (threads > 1 && parts < rows &&
         (items * parts < 4 * threads || (items * parts % threads != 0 && items < 4 * threads))) {
    ++parts;
  }
  const size_t floats = strip_of(s).floats;
  pool.parallel(items * parts, 1, [&](size_t begin, size_t end, int thread) {
    const PairPart part{g, isa, static_cast<float*>(g.scratch) + size_t(thread) * floats};
    for (size_t i = begin; i < end; ++i) {
      const size_t of = i / pairs % parts;
      part.run(i / pairs / parts, i % pairs, rows * of / parts, rows * (of + 1) / parts);
    }
  });
}

void to_channel_blocks(const float* planes, size_t channels, size_t pixels, float* blocks,
                       Pool& pool, Isa isa) {
  const auto run = SDX_PICK(to_blocks, isa);
  pool.parallel(channel_blocks(channels), 1, [&](size_t begin, size_t end, int) {
    for (size_t b = begin; b < end; ++b) {
      const size_t first = b * kBlockLanes;
      run(planes + first * pixels, std::min(kBlockLanes, channels - first), pixels,
          blocks + first * pixels);
    }
  });
}

void from_channel_blocks(const float* blocks, size_t channels, size_t pixels, float* planes,
                         Pool& pool, Isa isa) {
  const auto run = SDX_PICK(from_blocks, isa);
  pool.parallel(channel_blocks(channels), 1, [&](size_t begin, size_t end, int) {
    for (size_t b = begin; b < end; ++b) {
      const size_t first = b * kBlockLanes;
      run(blocks + first * pixels, std::min(kBlockLanes, channels - first), pixels,
          planes + first * pixels);
    }
  });
}

}  // namespace sdx
