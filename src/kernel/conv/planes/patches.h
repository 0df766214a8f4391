// Patches: the inputs that a convolution's outputs meet, as columns of a matrix product, packed in
// panels or where they lie.
#pragma once

#include "kernel/conv/planes/runs.h"
#include "kernel/conv/planes/work.h"
#include "kernel/gemm/block.h"
#include "kernel/gemm/tile.h"
#include "kernel/simd/numbers.h"

namespace sdx::SDX_ISA {

// Outputs in panels of kPanel. A last one of a single vector joins the one before, where tiles may
// be so wide.
struct Panels {
  static constexpr size_t kJoins = kWidestPanel - kPanel;
  explicit Panels(size_t columns)
      : cols(columns),
        count(((columns > kJoins ? columns - kJoins : columns) + kPanel - 1) / kPanel) {}
  size_t cols, count;

  size_t cols_of(size_t j) const { return j + 1 < count ? kPanel : cols - j * kPanel; }
  size_t width_of(size_t j) const { return (cols_of(j) + 15) / 16 * 16; }  // in memory
};

// Whether step i of the reduction reads inside the input, where these rows of the kernel do.
[[gnu::always_inline]] inline bool reads_inside(const ConvBlock& g, size_t i, uint64_t rows) {
  return rows == kAllInside || (rows >> g.tap_row[i] & 1) != 0;
}

// Patches of a panel's outputs: panel[k * width + output].
inline void pack_patches(const ConvBlock& g, size_t pixel, size_t cols, size_t width, size_t k,
                         float* panel) {
  LaneRun runs[kLanes];
  for (size_t j = 0; j < width; j += kLanes) {
    float* out = panel + j;
    const size_t lanes = j < cols ? least(cols - j, kLanes) : 0;
    const size_t count = find_runs(*g.shape, *g.staged, pixel + j, lanes, runs);
    uint64_t inside = kAllInside;
    for (size_t p = 0; p < count; ++p) inside &= runs[p].inside;
    if (count == 1 && lanes == kLanes && inside == kAllInside) {
      for (size_t i = 0; i < k; ++i)
        F32::load(g.x + (g.offset[i] + runs[0].base)).store(out + i * width);
    } else if (count == 2 && inside == kAllInside) {
      for (size_t i = 0; i < k; ++i) {
        const F32 v = load_run(F32(0.0f), g.x + (g.offset[i] + runs[0].base), runs[0]);
        load_run(v, g.x + (g.offset[i] + runs[1].base), runs[1]).store(out + i * width);
      }
    } else {
      for (size_t i = 0; i < k; ++i) {
        F32 v = F32(0.0f);
        for (size_t p = 0; p < count; ++p) {
          if (reads_inside(g, i, runs[p].inside))
            v = load_run(v, g.x + (g.offset[i] + runs[p].base), runs[p]);
        }
        v.store(out + i * width);
      }
    }
  }
}

// Several whole panels at once if each of their vectors reads contiguous inputs, all at the same
// rows of the kernel; false if not. Each step of the reduction is then one visit to its plane,
// instead of one for each vector.
inline bool pack_whole_panels(const ConvBlock& g, size_t pixel, size_t panels, size_t k,
                              float* out) {
  constexpr size_t kVectors = kPanel / kLanes, kMost = 4;
  size_t base[kMost * kVectors];
  uint64_t inside = kAllInside;
  for (size_t v = 0; v < panels * kVectors; ++v) {
    LaneRun runs[kLanes];
    if (find_runs(*g.shape, *g.staged, pixel + v * kLanes, kLanes, runs) != 1) return false;
    if (v != 0 && runs[0].inside != inside) return false;
    base[v] = runs[0].base;
    inside = runs[0].inside;
  }
  for (size_t i = 0; i < k; ++i) {
    const bool reads = reads_inside(g, i, inside);
    const size_t offset = g.offset[i];
    for (size_t p = 0; p < panels; ++p) {
      float* to = out + (p * k + i) * kPanel;
      repeat<int(kVectors)>([&](int v) __attribute__((always_inline)) {
        const F32 x = reads ? F32::load(g.x + (offset + base[p * kVectors + v])) : F32(0.0f);
        x.store(to + v * kLanes);
      });
    }
  }
  return true;
}

// Patches of all columns.
inline void pack_columns(const ConvBlock& g, size_t pixel, const Panels& panels, size_t k) {
  for (size_t j = 0; j < panels.count;) {
    const size_t begin = j * kPanel;
    size_t whole = least(4, panels.count - j);
    while (whole != 0 && panels.cols_of(j + whole - 1) != kPanel) --whole;
    float* to = g.panels + begin * k;
    if (whole != 0 && pack_whole_panels(g, pixel + begin, whole, k, to)) {
      j += whole;
    } else {
      pack_patches(g, pixel + begin, panels.cols_of(j), panels.width_of(j), k, to);
      ++j;
    }
  }
}

// Whether the outputs are one row, and where an output's inputs begin is its column.
inline bool is_one_row(const ConvBlock& g) {
  return g.shape->out[0] * g.shape->out[1] == 1 && !g.staged->rows_left_out;
}

// All panels at once where the outputs are one row, as those of 1 x 1 kernels are: long reads of
// each channel in turn suit the prefetchers and touch each page once.
inline void pack_row(const ConvBlock& g, size_t pixel, const Panels& panels, size_t k) {
  for (size_t i = 0; i < k; ++i) {
    for (size_t j = 0; j < panels.count; ++j) {
      const float* x = g.x + g.offset[i] + pixel + j * kPanel;
      const size_t cols = panels.cols_of(j), width = panels.width_of(j);
      float* out = g.panels + j * kPanel * k + i * width;
      for (size_t v = 0; v < width; v += kLanes) {
        const size_t left = cols > v ? cols - v : 0;
        (left >= size_t(kLanes) ? F32::load(x + v) : load_first(x + v, left)).store(out + v);
      }
    }
  }
}

// Where the steps [begin, begin + length) of the reduction find their inputs, relative to an
// output's base.
inline void find_offsets(const ConvBlock& g, size_t begin, size_t length) {
  const ConvShape& s = *g.shape;
  const Staged& staged = *g.staged;
  const size_t channels = s.in_channels / s.groups;
  const size_t taps = s.kernel[0] * s.kernel[1] * s.kernel[2];
  size_t first = begin / (kChannelBlock * taps) * kChannelBlock;  // of the channel block
  size_t in_block = least(kChannelBlock, channels - first);
  size_t tap = (begin - first * taps) / in_block, c = (begin - first * taps) % in_block;
  for (size_t i = 0; i < length;) {
    const size_t reads = g.backwards ? taps - 1 - tap : tap;
    const size_t at = staged.tap_offset(s, reads / (s.kernel[1] * s.kernel[2]),
                                        reads / s.kernel[2] % s.kernel[1], reads % s.kernel[2]);
    for (; c < in_block && i < length; ++c, ++i) {
      g.offset[i] = (first + c) * staged.plane + at;
      if (g.tap_row != nullptr) g.tap_row[i] = uint8_t(reads / s.kernel[2]);
    }
    c = 0;
    if (++tap == taps && i < length) {
      tap = 0;
      first += kChannelBlock;
      in_block = least(kChannelBlock, channels - first);
    }
  }
}

// Floats of patches that stay in the second-level cache while all row blocks pass over them: it has
// 512 KiB or less on machines without AVX-512.
#if defined(SDX_ISA_avx2)
inline constexpr size_t kPatchFloats = 49152;
#else
inline constexpr size_t kPatchFloats = kPanelFloats;
#endif
static_assert(kPatchFloats <= kPanelFloats && kPatchFloats >= kDepth * kPanel);

// Outputs that would fill little of a vector run beside the tiles of others: so many of `cols` at
// most.
inline constexpr size_t kMostLeftOver = 6;
inline size_t left_over(size_t cols) {
  const size_t rest = cols % kLanes, tiles = Panels(cols - rest).count;
  return rest <= least(kMostLeftOver, tiles * size_t(kMostBeside)) ? rest : 0;
}

// Their patches, close together: out[k * cols + output].
inline void pack_left_over(const ConvBlock& g, size_t pixel, size_t cols, size_t k, float* out) {
  const ConvShape& s = *g.shape;
  size_t base[kMostLeftOver];
  uint64_t inside[kMostLeftOver];
  for (size_t j = 0; j < cols; ++j) {
    const size_t row = (pixel + j) / s.out[2], z = row / s.out[1], y = row % s.out[1];
    base[j] = g.staged->base(s, z, y, (pixel + j) % s.out[2]);
    inside[j] = rows_inside(s, *g.staged, z, y);
  }
  for (size_t i = 0; i < k; ++i) {
    for (size_t j = 0; j < cols; ++j)
      *out++ = reads_inside(g, i, inside[j]) ? g.x[g.offset[i] + base[j]] : 0.0f;
  }
}

inline size_t depth_of(const ConvShape& s) {
  return s.in_channels / s.groups * s.kernel[0] * s.kernel[1] * s.kernel[2];
}

// Whether a cache of 64-byte lines keeps one panel of `rows` rows that lie `step` floats apart:
// lines whose distance is a multiple of many lines share a few of its sets.
inline bool stays_near(size_t rows, size_t step, size_t sets) {
  constexpr size_t kLine = 16, kWays = 8;
  size_t lines = step % kLine == 0 ? step / kLine : 1, shared = 1;
  while (lines % 2 == 0 && shared < sets) lines /= 2, shared *= 2;
  return rows <= kWays * sets / shared;
}

// Whether patches are the rows of the input as they are, and so few row blocks pass over them that
// a packed copy would cost more than it saves.
inline bool reads_in_place(const ConvBlock& g) {
  const ConvShape& s = *g.shape;
  if (!is_one_row(g) || s.kernel[0] * s.kernel[1] * s.kernel[2] != 1 || s.stride[2] != 1 ||
      s.in_channels == 0) {
    return false;
  }
  constexpr size_t kFirst = 64, kSecond = 1024;  // sets of the caches
  constexpr size_t kFew = kLanes >= 16 ? 8 : 4, kSome = kLanes >= 16 ? 16 : 4;
  const size_t rows = least(kDepth, s.in_channels / s.groups), step = g.staged->plane;
  const size_t most = stays_near(rows, step, kFirst)    ? kSome
                      : stays_near(rows, step, kSecond) ? kFew
                                                        : 1;
  return g.block_end - g.block_begin <= most;
}
// Of them so many at once that all row blocks' sums stay in the second cache.
inline size_t outputs_in_place(const ConvBlock& g) {
  constexpr size_t kSums = 65536;
  const size_t panels = kSums / ((g.block_end - g.block_begin) * kRowBlock * kPanel);
  return (panels == 0 ? 1 : panels) * kPanel;
}

// The patches of `cols` outputs from `pixel` on, for `k` steps of the reduction, panel by panel.
class Patches {
 public:
  Patches(const ConvBlock& g, size_t pixel, size_t cols, size_t k, bool in_place)
      : g_(g), pixel_(pixel), left_(left_over(cols)), whole_(cols - left_), k_(k) {
    if (in_place) {
      // A last vector must not read past the input.
      const size_t last = whole_.count - 1;
      in_place_ = whole_.cols % kLanes == 0 ? whole_.count : last;
      if (in_place_ == last) pack_panel(last);
    } else if (is_one_row(g)) {
      pack_row(g, pixel, whole_, k);
    } else {
      pack_columns(g, pixel, whole_, k);
    }
    if (left_ != 0) pack_left_over(g, pixel + whole_.cols, left_, k, g.panels + whole_.cols * k);
  }

  // Tiles of a row block, each a panel wide.
  size_t tiles() const { return whole_.count; }
  bool ends_wide() const { return whole_.cols_of(whole_.count - 1) > kPanel; }  // two tiles, then

  // What tile j reads, and the outputs that run beside it. t.c is where it writes.
  void find(size_t j, TileArgs& t) const {
    const size_t col = j * kPanel;
    t.cols = whole_.cols_of(j);
    const bool in_place = j < in_place_;
    t.b = in_place ? g_.x + g_.offset[0] + pixel_ + col : g_.panels + col * k_;
    t.b_step = in_place ? g_.staged->plane : whole_.width_of(j);
    const size_t first = left_ * j / tiles();
    t.beside_cols = left_ * (j + 1) / tiles() - first;
    t.beside = g_.panels + whole_.cols * k_ + first;
    t.beside_step = left_;
    t.beside_c = t.c + (whole_.cols - col) + first;
  }

 private:
  void pack_panel(size_t j) const {
    pack_patches(g_, pixel_ + j * kPanel, whole_.cols_of(j), whole_.width_of(j), k_,
                 g_.panels + j * kPanel * k_);
  }

  const ConvBlock& g_;
  size_t pixel_, left_;
  Panels whole_;
  size_t k_;
  size_t in_place_ = 0;  // panels before this one
};

}  // namespace sdx::SDX_ISA
