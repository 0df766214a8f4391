#include "kernel/conv/int8_planes/conv_int8_planes.h"

#include <algorithm>

#include "base/aligned.h"
#include "kernel/conv/planes/work.h"
#include "kernel/gemm/block.h"
#include "kernel/gemm_int8/block.h"
#include "kernel/isa.h"

namespace sdx {

SDX_DECLARE_ISAS(void conv_int8_planes_stage(const ConvShape&, const Staged&, const uint8_t* plane,
                                             uint8_t padding, uint8_t* out);
                 void conv_int8_planes_patches(const ConvShape&, const Staged&, const uint8_t* x,
                                               bool x_signed, size_t pixel, size_t cols,
                                               int32_t* panel);
                 // One output plane of a convolution with one input channel per group; w is [tap].
                 void conv_int8_planes_depthwise(const ConvShape&, const Staged&, const uint8_t* x,
                                                 bool x_signed, int32_t x_zero, const int32_t* w,
                                                 int32_t w_zero, int32_t* y);)

namespace {

bool is_depthwise(const ConvShape& s) { return s.in_channels == s.groups; }

// Panels of patches that are made before the rows of weights pass over them: about half a megabyte.
size_t panels_at_once(const ConvShape& s) {
  const size_t fit = 131072 / int8_panel_size(conv_depth(s), kPanel);
  const size_t there = (conv_positions(s) + kPanel - 1) / kPanel;
  return std::max<size_t>(1, std::min(fit, there));
}

// Scratch in bytes: staged planes of all channels, then each thread's packed panels; if depthwise,
// one staged plane and one plane of sums per thread.
struct Layout {
  size_t staged, per_thread;
};

Layout layout(const ConvShape& s, const Staged& staged) {
  if (is_depthwise(s)) {
    const size_t plane = aligned_bytes(staged.plane + kSlack);
    return {plane, plane + aligned_bytes(conv_positions(s) * sizeof(int32_t))};
  }
  return {
      staged.copied ? aligned_bytes(s.in_channels * staged.plane + kSlack) : 0,
      aligned_bytes(panels_at_once(s) * int8_panel_size(conv_depth(s), kPanel) * sizeof(int32_t))};
}

// Where outputs and inputs are the same positions, the input is its own staged form.
Staged staged_bytes(const ConvShape& s) {
  return staged_form(
      s, conv_depth(s) == s.in_channels / s.groups && s.out[0] * s.out[1] == 1 && !is_depthwise(s));
}

void run_depthwise(const ConvInt8Args& g, Pool& pool, Isa isa) {
  const ConvShape& s = g.shape;
  const Staged staged = staged_form(s, false);
  const Layout l = layout(s, staged);
  const size_t pixels = conv_positions(s), in_pixels = conv_input_positions(s);
  const size_t multiplier = s.out_channels / s.groups;
  pool.parallel(s.batch * s.in_channels, 1, [&](size_t begin, size_t end, int thread) {
    uint8_t* plane = static_cast<uint8_t*>(g.scratch) + size_t(thread) * l.per_thread;
    auto* sums = reinterpret_cast<int32_t*>(plane + l.staged);
    for (size_t i = begin; i < end; ++i) {
      SDX_PICK(conv_int8_planes_stage, isa)
      (s, staged, static_cast<const uint8_t*>(g.x) + i * in_pixels, uint8_t(g.x_zero), plane);
      for (size_t row = i * multiplier; row < (i + 1) * multiplier; ++row) {
        const size_t channel = row % s.out_channels;
        int32_t* y = g.y == nullptr ? sums : g.y + row * pixels;
        SDX_PICK(conv_int8_planes_depthwise, isa)
        (s, staged, plane, g.x_signed, g.x_zero, g.weights + channel * conv_depth(s),
         g.w_zero == nullptr ? 0 : g.w_zero[channel * g.w_zero_step], y);
        if (const Requantize& to = g.requantize; to.y != nullptr) {
          SDX_PICK(int8_requantize, isa)
          (y, pixels, to.bias == nullptr ? 0 : uint32_t(to.bias[channel]), to.ratio[channel],
           to.zero, to.is_signed, to.y + row * pixels);
        }
        if (g.epilogue.fn != nullptr) g.epilogue.fn(g.epilogue.ctx, y, pixels, row, 0, 1, pixels);
      }
    }
  });
}

}  // namespace

size_t conv_int8_planes_packed_size(const ConvShape& s) {
  if (is_depthwise(s)) return s.out_channels * conv_depth(s);

  return int8_rows_size(conv_depth(s), s.out_channels);
}

void conv_int8_planes_pack(const ConvShape& s, const void* w, bool w_signed, int32_t* packed,
                           Pool& pool, Isa isa) {
  if (is_depthwise(s)) {
    for (size_t i = 0; i < conv_int8_planes_packed_size(s); ++i) {
      packed[i] = w_signed ? static_cast<const int8_t*>(w)[i] : static_cast<const uint8_t*>(w)[i];
    }
    return;
  }
  const size_t group_rows = s.out_channels / s.groups, blocks = row_blocks(group_rows),
               depth = conv_depth(s);
  const auto pack = SDX_PICK(int8_pack_rows, isa);
  pool.parallel(s.groups * blocks, 1, [&](size_t begin, size_t end, int) {
    for (size_t i = begin; i < end; ++i) {
      const size_t first = row_block_begin(group_rows, blocks, i % blocks);
      const size_t rows = row_block_begin(group_rows, blocks, i % blocks + 1) - first;
      const size_t row = i / blocks * group_rows + first;
      pack(static_cast<const char*>(w) + row * depth, w_signed, depth, 1, depth, rows,
           packed + int8_rows_size(depth, row));
    }
  });
}

size_t conv_int8_planes_scratch_bytes(const ConvShape& given, int threads) {
  const ConvShape s = flattened(given);
  const Layout l = layout(s, staged_bytes(s));
  return l.staged + size_t(threads) * l.per_thread;
}

void conv_int8_planes(const ConvInt8Args& g, Pool& pool, Isa isa) {
  const ConvShape s = flattened(g.shape);
  const size_t pixels = conv_positions(s), in_pixels = conv_input_positions(s);
  if (s.batch == 0 || s.out_channels == 0 || pixels == 0) return;
  if (is_depthwise(s)) return run_depthwise(g, pool, isa);
  const Staged staged = staged_bytes(s);
  const Layout l = layout(s, staged);
  const size_t group_rows = s.out_channels / s.groups, blocks = row_blocks(group_rows),
               depth = conv_depth(s);
  const size_t panels = (pixels + kPanel - 1) / kPanel, at_once = panels_at_once(s);
  const ConvCut cut = cut_for_threads(s, pool.threads());
  uint8_t* planes = static_cast<uint8_t*>(g.scratch);

  for (size_t n = 0; n < s.batch; ++n) {
    const uint8_t* x = static_cast<const uint8_t*>(g.x) + n * s.in_channels * in_pixels;
    if (staged.copied) {
      pool.parallel(s.in_channels, 1, [&](size_t begin, size_t end, int) {
        for (size_t c = begin; c < end; ++c) {
          SDX_PICK(conv_int8_planes_stage, isa)
          (s, staged, x + c * in_pixels, uint8_t(g.x_zero), planes + c * staged.plane);
        }
      });
      x = planes;
    }
    pool.parallel(s.groups * cut.pixels * cut.rows, 1, [&](size_t begin, size_t end, int thread) {
      auto* packed = reinterpret_cast<int32_t*>(planes + l.staged + size_t(thread) * l.per_thread);
      for (size_t i = begin; i < end; ++i) {
        const size_t group = i / (cut.pixels * cut.rows), part = i / cut.rows % cut.pixels,
                     slice = i % cut.rows;
        const uint8_t* group_x = x + group * (s.in_channels / s.groups) * staged.plane;
        Int8Block b{};
        b.rows = group_rows;
        b.k = depth;
        b.block_begin = blocks * slice / cut.rows;
        b.block_end = blocks * (slice + 1) / cut.rows;
        b.unit = int8_unit(isa);
        b.a_packed = g.weights + int8_rows_size(depth, group * group_rows);
        b.b = packed;
        b.a_zero = g.w_zero == nullptr ? nullptr : g.w_zero + group * group_rows * g.w_zero_step;
        b.a_zero_step = g.w_zero_step;
        b.a_zero_add = g.w_signed ? 128 : 0;
        b.b_zero = &g.x_zero;
        b.b_zero_add = g.x_signed ? 0 : -128;
        b.ldc = pixels;
        b.epilogue = g.epilogue;
        b.row = n * s.out_channels + group * group_rows;
        const size_t last = panels * (part + 1) / cut.pixels;
        for (size_t first = panels * part / cut.pixels; first < last; first += at_once) {
          const size_t stop = std::min(last, first + at_once);
          for (size_t p = first; p < stop; ++p) {
            SDX_PICK(conv_int8_planes_patches, isa)
            (s, staged, group_x, g.x_signed, p * kPanel, std::min(kPanel, pixels - p * kPanel),
             packed + (p - first) * int8_panel_size(depth, kPanel));
          }
          b.col = first * kPanel;
          b.cols = std::min(pixels, stop * kPanel) - b.col;
          const size_t corner = b.row * pixels + b.col;
          if (g.y != nullptr) b.c = g.y + corner;
          b.requantize = g.requantize.at(group * group_rows, corner);
          SDX_PICK(int8_block, isa)(b);
        }
      }
    });
  }
}

}  // namespace sdx
