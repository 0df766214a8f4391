#include "kernel/conv/planes/conv_planes.h"
#include "kernel/conv/planes/patches.h"
#include "kernel/conv/planes/stage.h"
#include "kernel/conv/planes/work.h"
#include "kernel/gemm/block.h"
#include "kernel/gemm/tile.h"

namespace sdx::SDX_ISA {
namespace {

// Steps [begin, begin + length) of the reduction for some outputs of all row blocks.
struct Stretch {
  const ConvBlock& g;
  const Patches& patches;
  size_t begin, length, depth, pixel, cols;
  static constexpr size_t kLine = 16;

  size_t row(size_t block) const {
    const size_t rows = g.shape->out_channels / g.shape->groups;
    return row_block_begin(rows, row_blocks(rows), block);
  }
  size_t rows(size_t block) const { return row(block + 1) - row(block); }
  size_t pixels() const { return g.shape->out[0] * g.shape->out[1] * g.shape->out[2]; }
  float* y(size_t block) const { return g.y + row(block) * pixels() + pixel; }
  bool is_last() const { return begin + length == depth; }

  // A row block's tiles, but for what one of them reads and writes.
  void place(size_t block, TileArgs& t, AffineEpilogue& affine) const {
    t.k = length;
    t.a = g.weights + row(block) * depth + begin * rows(block);
    t.a_step = rows(block);
    t.ldc = pixels();
    t.resume = begin != 0;
    if (g.bias != nullptr) affine.bias = g.bias + row(block);
    affine.bias_row = 1;
    t.affine = is_last() ? &affine : nullptr;
  }
  void run_tile(size_t block, size_t j, TileArgs& t) const {
    t.c = y(block) + j * kPanel;
    patches.find(j, t);
    tile_block(t, rows(block));
  }
  void finish(size_t block) const {
    if (!is_last() || g.epilogue.fn == nullptr) return;
    g.epilogue.fn(g.epilogue.ctx, y(block), pixels(), g.row + row(block), pixel, rows(block), cols);
  }

  // The weights of a row block, packed now; those of the next come meanwhile.
  void pack_now(size_t block, TileArgs& t) const {
    pack_stretch(g, row(block), rows(block), begin, length);
    t.a = g.room;
    if (block + 1 == g.block_end) return;
    const float* next = g.as_given + row(block + 1) * depth + begin;
    for (size_t r = 0; r < rows(block + 1); ++r, next += depth) {
      for (size_t i = 0; i < length; i += kLine) __builtin_prefetch(next + i, 0, 2);
    }
  }

  // A row block stays in the first cache while patches go by.
  void run_rows_outside() const {
    constexpr size_t kTiles = (kRowBlock / kTileRows) * (kPanel / kTileCols);
    const size_t parts = patches.tiles() * kTiles + patches.ends_wide();
    for (size_t block = g.block_begin; block < g.block_end; ++block) {
      TileArgs t;
      AffineEpilogue affine;
      place(block, t, affine);
      if (g.as_given != nullptr) {
        pack_now(block, t);
      } else if (block + 1 < g.block_end) {
        // The next row block's weights come meanwhile, a part with each tile: they lie far behind.
        t.ahead = g.weights + row(block + 1) * depth + begin * rows(block + 1);
        t.ahead_step = (rows(block) + parts - 1) / parts;
        t.ahead_tile = t.ahead_step * length;
      }
      for (size_t j = 0; j < patches.tiles(); ++j) {
        run_tile(block, j, t);
        t.ahead += kTiles * t.ahead_tile;
      }
      finish(block);
    }
  }

  // Patches that lie far apart stay there, and weights go by, which are packed.
  void run_panels_outside() const {
    for (size_t j = 0; j < patches.tiles(); ++j) {
      for (size_t block = g.block_begin; block < g.block_end; ++block) {
        TileArgs t;
        AffineEpilogue affine;
        place(block, t, affine);
        run_tile(block, j, t);
      }
    }
    for (size_t block = g.block_begin; block < g.block_end; ++block) finish(block);
  }
};

}  // namespace

void conv_planes_stage(const ConvShape& s, const Staged& staged, const StagedBand& band,
                       const float* plane, float* out) {
  stage_plane(s, staged, band, plane, 0.f, out);
}

void conv_planes_part(const ConvBlock& g, const ConvPart& part) {
  const ConvShape &s = *g.shape, &whole = *part.whole;
  const size_t rows_all = s.out_channels, blocks = row_blocks(rows_all), channels = s.in_channels;
  const size_t taps = s.kernel[0] * s.kernel[1] * s.kernel[2];
  const size_t all_taps = whole.kernel[0] * whole.kernel[1] * whole.kernel[2];
  const size_t pixels = s.out[0] * s.out[1] * s.out[2];
  // Whole blocks of channels at a time.
  const size_t together = kDepth / (kChannelBlock * taps) * kChannelBlock;
  const size_t longest = least(channels, together) * taps;
  const size_t group = kPatchFloats / (longest * kPanel) * kPanel;
  for (size_t pixel = g.pixel_begin; pixel < g.pixel_end; pixel += group) {
    const size_t cols = least(group, g.pixel_end - pixel);
    for (size_t first = 0; first < channels; first += together) {
      const size_t end = least(channels, first + together), length = (end - first) * taps;
      find_offsets(g, first * taps, length);
      const Panels panels(cols);
      pack_columns(g, pixel, panels, length);
      for (size_t block = g.block_begin; block < g.block_end; ++block) {
        const size_t row = row_block_begin(rows_all, blocks, block);
        const size_t rows = row_block_begin(rows_all, blocks, block + 1) - row;
        AffineEpilogue affine;
        if (g.bias != nullptr) affine.bias = g.bias + row;
        affine.bias_row = 1;
        TileArgs t;
        t.a_step = rows;
        t.ldc = pixels;
        for (size_t j = 0; j < panels.count; ++j) {
          t.cols = panels.cols_of(j);
          t.b = g.panels + j * kPanel * length;
          t.b_step = panels.width_of(j);
          t.c = g.y + row * pixels + pixel + j * kPanel;
          // A run of taps along the width has its weights side by side.
          for (size_t c = first; c < end; c += kChannelBlock) {
            const size_t count = least(kChannelBlock, channels - c);
            t.k = s.kernel[2] * count;
            for (size_t k = 0; k < s.kernel[0] * s.kernel[1]; ++k) {
              const size_t kz = k / s.kernel[1] + part.tap[0], ky = k % s.kernel[1] + part.tap[1];
              const size_t tap = (kz * whole.kernel[1] + ky) * whole.kernel[2] + part.tap[2];
              t.a = g.weights + row * channels * all_taps + (c * all_taps + tap * count) * rows;
              t.resume = c != 0 || k != 0;
              const bool last = c + count == channels && k + 1 == s.kernel[0] * s.kernel[1];
              t.affine = last ? &affine : nullptr;
              tile_block(t, rows);
              t.b += t.k * t.b_step;
            }
          }
        }
      }
    }
  }
}

void conv_planes_block(const ConvBlock& g) {
  const size_t depth = depth_of(*g.shape);
  // Steps that stay together: of weights that are packed now, blocks of channels.
  const size_t unit = g.as_given != nullptr ? steps_of_channels(*g.shape) : 1;
  const size_t units = (depth + unit - 1) / unit, most = kDepth / unit;
  const size_t stretches = depth == 0 ? 1 : (units + most - 1) / most;
  const size_t longest = depth == 0 ? 1 : least(depth, (units + stretches - 1) / stretches * unit);
  size_t group = kPatchFloats / (longest * kPanel) * kPanel;
  const bool in_place = g.as_given == nullptr && reads_in_place(g);
  if (in_place) group = least(group, outputs_in_place(g));
  for (size_t pixel = g.pixel_begin; pixel < g.pixel_end; pixel += group) {
    const size_t cols = least(group, g.pixel_end - pixel);
    for (size_t i = 0; i < stretches; ++i) {
      const size_t begin = units * i / stretches * unit;
      const size_t length = least(depth, units * (i + 1) / stretches * unit) - begin;
      find_offsets(g, begin, length);
      const Patches patches(g, pixel, cols, length, in_place);
      const Stretch stretch{g, patches, begin, length, depth, pixel, cols};
      in_place ? stretch.run_panels_outside() : stretch.run_rows_outside();
    }
  }
}

}  // namespace sdx::SDX_ISA
