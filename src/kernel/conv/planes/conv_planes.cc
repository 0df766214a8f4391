#include "kernel/conv/planes/conv_planes.h"

#include <algorithm>
#include <atomic>

#include "base/aligned.h"
#include "kernel/conv/interleave.h"
#include "kernel/conv/planes/work.h"
#include "kernel/gemm/block.h"
#include "kernel/isa.h"
#include "kernel/window/phases.h"

namespace sdx {
namespace {

// Channels of which each gives outputs of its own. Where many come from each, they share its
// patches as those of a dense convolution do: the first one of a model of sound, say.
bool is_depthwise(const ConvShape& s) {
  constexpr size_t kMany = 16;
  return s.in_channels == s.groups && s.out_channels < kMany * s.groups;
}

// Outputs in rows of their own leave lanes empty unless rows are long; the commonest kernel has
// tiles that read less, which is worth more than a few lanes.
bool runs_in_phases(const ConvShape& s) {
  const bool three = s.kernel[0] == 1 && s.kernel[1] == 3 && s.kernel[2] == 3 &&
                     s.dilation[1] == 1 && s.stride[1] <= 2;
  return s.out[2] <= (three ? 40 : 96);
}

// Scratch: staged planes of all channels, then each thread's own; if depthwise, the taps' offsets,
// then one staged plane per thread.
struct Layout {
  size_t staged, per_thread;
};
constexpr size_t kPhaseRowsFloats = aligned_floats(sizeof(PhaseRows) / sizeof(float));

Layout layout(const ConvShape& s, const Staged& staged, bool packs_now = false) {
  if (is_depthwise(s) && runs_in_phases(s)) {
    return {aligned_floats(2 * conv_taps(s)) + phase_count(s) * kPhaseRowsFloats,
            aligned_floats(phase_size(s) * (phase_count(s) + 1) + 2 * kPhaseSlack)};
  }
  if (is_depthwise(s)) {
    return {aligned_floats(2 * conv_taps(s)), aligned_floats(staged.plane + kSlack)};
  }
  size_t planes = staged.copied ? aligned_floats(s.in_channels * staged.plane + kSlack) : 0;
  if (leaves_padding_out(s)) planes = std::max(planes, parts_scratch(s));
  const size_t packing = packs_now ? kRowBlock * kDepth + 2 * kDepth : 0;
  return {planes, kPanelFloats + 2 * kDepth + kDepth / sizeof(float) + packing};
}

void run_in_phases(const ConvArgs& g, const ConvShape& s, const Layout& l, Pool& pool, Isa isa) {
  const size_t multiplier = s.out_channels / s.groups, taps = conv_taps(s),
               pixels = conv_positions(s), in_pixels = conv_input_positions(s);
  const size_t staged_floats = phase_count(s) * phase_size(s) + kPhaseSlack;
  auto* tap = static_cast<size_t*>(g.scratch);
  find_taps(s, phase_size(s), tap);
  auto* phase =
      reinterpret_cast<PhaseRows*>(static_cast<float*>(g.scratch) + aligned_floats(2 * taps));
  find_phases(s, phase);
  const auto stage = SDX_PICK(conv_phases_stage, isa);
  const auto run = SDX_PICK(conv_phases_depthwise, isa);
  pool.parallel(s.batch * s.in_channels, 1, [&](size_t begin, size_t end, int thread) {
    float* staged = static_cast<float*>(g.scratch) + l.staged + size_t(thread) * l.per_thread;
    std::fill(staged, staged + staged_floats, 0.0f);
    for (size_t i = begin; i < end; ++i) {
      stage(s, phase, g.x + i * in_pixels, staged);
      for (size_t j = 0; j < multiplier; ++j) {
        const size_t out = i % s.in_channels * multiplier + j, row = i * multiplier + j;
        float* y = g.y + row * pixels;
        run(s, {staged, tap, g.weights + out * taps, g.bias == nullptr ? nullptr : g.bias + out, y,
                staged + staged_floats});
        if (g.epilogue.fn != nullptr) g.epilogue.fn(g.epilogue.ctx, y, pixels, row, 0, 1, pixels);
      }
    }
  });
}

void run_depthwise(const ConvArgs& g, const ConvShape& s, const Staged& staged, Pool& pool,
                   Isa isa) {
  const Layout l = layout(s, staged);
  if (runs_in_phases(s)) return run_in_phases(g, s, l, pool, isa);
  const size_t multiplier = s.out_channels / s.groups, taps = conv_taps(s),
               pixels = conv_positions(s);
  const size_t in_pixels = conv_input_positions(s);
  const auto stage = SDX_PICK(conv_planes_stage, isa);
  const auto run = SDX_PICK(conv_planes_depthwise, isa);
  size_t* offset = static_cast<size_t*>(g.scratch);
  float* planes = static_cast<float*>(g.scratch) + l.staged;
  size_t tap = 0;
  for (size_t kz = 0; kz < s.kernel[0]; ++kz) {
    for (size_t ky = 0; ky < s.kernel[1]; ++ky) {
      for (size_t kx = 0; kx < s.kernel[2]; ++kx) offset[tap++] = staged.tap_offset(s, kz, ky, kx);
    }
  }
  pool.parallel(s.batch * s.in_channels, 1, [&](size_t begin, size_t end, int thread) {
    float* plane = planes + size_t(thread) * l.per_thread;
    for (size_t i = begin; i < end; ++i) {
      const size_t channel = i % s.in_channels;
      stage(s, staged, staged.all(), g.x + i * in_pixels, plane);
      for (size_t j = 0; j < multiplier; ++j) {
        const size_t out = channel * multiplier + j, row = i * multiplier + j;
        float* y = g.y + row * pixels;
        run(s, staged, offset, plane, g.weights + out * taps,
            g.bias == nullptr ? nullptr : g.bias + out, y);
        if (g.epilogue.fn != nullptr) g.epilogue.fn(g.epilogue.ctx, y, pixels, row, 0, 1, pixels);
      }
    }
  });
}

}  // namespace

ConvShape flattened(const ConvShape& given) {
  ConvShape s = given;
  for (int i = 0; i < 3; ++i) {
    if (s.kernel[i] != 1 || s.stride[i] != 1 || s.pad[i] != 0 || s.in[i] != s.out[i]) return s;
  }
  s.in[2] = s.out[2] = conv_positions(s);
  s.in[0] = s.in[1] = s.out[0] = s.out[1] = 1;
  return s;
}

Staged staged_form(const ConvShape& s, bool may_alias) {
  Staged t{};
  t.copied = s.stride[2] != 1 || !may_alias;
  size_t reach[3];
  for (int i = 0; i < 3; ++i) {
    reach[i] = conv_reach(s, i);
    t.copied |= s.pad[i] != 0 || reach[i] > s.in[i];
  }
  t.phases = std::min(s.stride[2], (s.kernel[2] - 1) * s.dilation[2] + 1);
  for (int i = 0; i < 3; ++i) t.dims[i] = t.copied ? reach[i] : s.in[i];
  t.dims[2] = (t.dims[2] + s.stride[2] - 1) / s.stride[2];
  t.phase_size = t.dims[0] * t.dims[1] * t.dims[2];
  t.plane = t.phases * t.phase_size;
  return t;
}

Staged dense_form(const ConvShape& s) {
  Staged t = staged_form(s, true);
  if (!t.copied || s.stride[2] != 1 || s.pad[2] != 0 || conv_reach(s, 2) > s.in[2] ||
      s.kernel[0] * s.kernel[1] > kMostTapRows) {
    return t;
  }
  t.copied = false;
  t.rows_left_out = true;
  for (int i = 0; i < 3; ++i) t.dims[i] = s.in[i];
  t.plane = t.phase_size = conv_input_positions(s);
  return t;
}

bool conv_planes_reads_as_given(const ConvShape& given) {
  // So many outputs that a weight's way from memory hides its packing, so few that they pass over
  // it at once; and more weights than the second-level cache holds.
  constexpr size_t kFewest = 32, kMost = 128, kFar = 524288;
  const ConvShape s = flattened(given);
  const size_t pixels = conv_positions(s);
  return s.batch == 1 && pixels >= kFewest && pixels <= kMost && steps_of_channels(s) <= kDepth &&
         s.in_channels / s.groups >= kChannelBlock && s.out_channels / s.groups >= kRowBlock &&
         s.out_channels * conv_depth(s) >= kFar && !leaves_padding_out(given);
}

void pack_stretch(const ConvBlock& b, size_t row, size_t rows, size_t begin, size_t length) {
  const size_t depth = conv_depth(*b.shape), taps = conv_taps(*b.shape);
  const float* w = b.as_given + row * depth + begin;
  interleave({w, depth, taps, length / taps, taps}, rows, rows, b.order, b.room);
}

ConvCut cut_for_threads(const ConvShape& s, int threads) {
  ConvCut cut;
  if (threads == 1) return cut;
  const size_t want = 4 * size_t(threads);
  if (s.groups >= want) return cut;
  const size_t each = (want + s.groups - 1) / s.groups;
  const size_t panels = (conv_positions(s) + kPanel - 1) / kPanel;
  // Weights that the second-level cache holds may pass over a panel at a time; others come from
  // further away for each part.
  constexpr size_t kNear = 131072;
  const size_t most = conv_depth(s) * (s.out_channels / s.groups) <= kNear ? panels : panels / 2;
  cut.pixels = std::min(std::max<size_t>(most, 1), each);
  cut.rows = std::min(row_blocks(s.out_channels / s.groups), (each + cut.pixels - 1) / cut.pixels);
  return cut;
}

namespace {

size_t weights_of(const ConvShape& s) { return s.out_channels * conv_depth(s); }

// A staged plane in bands, one for each thread: what it stages is mostly what it then reads, and
// what it wrote in the convolution before.
struct Bands {
  bool of_columns;
  size_t places, count;

  Bands(const Staged& staged, size_t threads)
      : of_columns(staged.dims[0] * staged.dims[1] == 1 && staged.phases == 1),
        places(of_columns ? staged.dims[2] : staged.dims[0] * staged.dims[1]),
        count(std::min(places, threads)) {}
  StagedBand operator[](size_t i) const {
    return {places * i / count, places * (i + 1) / count, of_columns};
  }
};

}  // namespace

// Behind the weights stands whether all of them are finite, if that matters.
size_t conv_planes_packed_size(const ConvShape& s) {
  if (runs_in_blocks(s)) return blocks_packed_floats(s);
  return weights_of(s) + (leaves_padding_out(s) ? aligned_floats(1) : 0);
}

// Row block by row block, packed[row * depth + k * rows + row in block], k in the order of the
// reduction.
void conv_planes_pack(const ConvShape& s, const float* w, float* packed, Pool& pool) {
  if (runs_in_blocks(s)) return pack_blocks(s, w, packed, pool);
  if (is_depthwise(s)) {
    std::copy(w, w + weights_of(s), packed);
    return;
  }
  std::atomic<bool> finite = true;
  const size_t group_rows = s.out_channels / s.groups, channels = s.in_channels / s.groups;
  const size_t blocks = row_blocks(group_rows), depth = conv_depth(s), taps = conv_taps(s);
  pool.parallel(s.groups * blocks, 1, [&](size_t begin, size_t end, int) {
    for (size_t i = begin; i < end; ++i) {
      const size_t row = row_block_begin(group_rows, blocks, i % blocks);
      const size_t rows = row_block_begin(group_rows, blocks, i % blocks + 1) - row;
      const size_t first = (i / blocks * group_rows + row) * depth;
      interleave({w + first, depth, taps, channels, taps}, rows, rows, packed + first);
      if (leaves_padding_out(s) && !all_finite(packed + first, rows * depth))
        finite.store(false, std::memory_order_relaxed);
    }
  });
  if (leaves_padding_out(s))
    std::fill_n(packed + weights_of(s), aligned_floats(1), finite ? 1.0f : 0.0f);
}

size_t conv_planes_scratch_bytes(const ConvShape& given, int threads) {
  if (runs_in_blocks(given)) return blocks_scratch_floats(given, threads) * sizeof(float);
  const ConvShape s = flattened(given);
  const Layout l = is_depthwise(s) ? layout(s, staged_form(s, false))
                                   : layout(s, dense_form(s), conv_planes_reads_as_given(given));
  return (l.staged + size_t(threads) * l.per_thread) * sizeof(float);
}

void conv_planes(const ConvArgs& g, Pool& pool, Isa isa) {
  const ConvShape s = flattened(g.shape);
  const size_t pixels = conv_positions(s);
  if (s.batch == 0 || s.out_channels == 0 || pixels == 0) return;
  if (runs_in_blocks(g.shape)) return run_in_blocks(g, pool, isa);
  if (is_depthwise(s)) return run_depthwise(g, s, staged_form(s, false), pool, isa);

  const Staged staged = dense_form(s);
  const Layout l = layout(s, staged, g.weights == nullptr);
  if (leaves_padding_out(g.shape) && g.weights[weights_of(s)] != 0) {
    float* sums = static_cast<float*>(g.scratch);
    return run_in_parts(g, sums, sums + l.staged, l.per_thread, pool, isa);
  }
  const size_t in_pixels = conv_input_positions(s);
  const size_t group_rows = s.out_channels / s.groups, blocks = row_blocks(group_rows);
  const size_t panels = (pixels + kPanel - 1) / kPanel;
  ConvCut cut = cut_for_threads(s, pool.threads());
  // What each part packs is its own.
  if (g.weights == nullptr) cut = {1, std::min(blocks, cut.pixels * cut.rows)};
  float* planes = static_cast<float*>(g.scratch);
  for (size_t n = 0; n < s.batch; ++n) {
    const float* x = g.x + n * s.in_channels * in_pixels;
    if (staged.copied) {
      const auto stage = SDX_PICK(conv_planes_stage, isa);
      const Bands bands(staged, size_t(pool.threads()));
      pool.parallel(bands.count * s.in_channels, 1, [&](size_t begin, size_t end, int) {
        for (size_t i = begin; i < end; ++i) {
          const size_t c = i % s.in_channels;
          stage(s, staged, bands[i / s.in_channels], x + c * in_pixels, planes + c * staged.plane);
        }
      });
      x = planes;
    }
    pool.parallel(s.groups * cut.pixels * cut.rows, 1, [&](size_t begin, size_t end, int thread) {
      ConvBlock b{};
      b.shape = &s;
      b.staged = &staged;
      b.panels = planes + l.staged + size_t(thread) * l.per_thread;
      b.offset = reinterpret_cast<size_t*>(b.panels + kPanelFloats);
      if (staged.rows_left_out) b.tap_row = reinterpret_cast<uint8_t*>(b.offset + kDepth);
      b.epilogue = g.epilogue;
      for (size_t i = begin; i < end; ++i) {
        const size_t group = i / (cut.pixels * cut.rows), part = i / cut.rows % cut.pixels,
                     rows = i % cut.rows;
        b.x = x + group * (s.in_channels / s.groups) * staged.plane;
        const size_t first = group * group_rows * conv_depth(s);
        b.weights = g.weights + (g.weights != nullptr ? first : 0);
        if (g.weights == nullptr) {
          b.as_given = g.as_given + first;
          b.order = b.offset + kDepth + kDepth / sizeof(size_t);  // behind the rows of taps
          b.room = reinterpret_cast<float*>(b.order + kDepth);
        }
        b.block_begin = blocks * rows / cut.rows;
        b.block_end = blocks * (rows + 1) / cut.rows;
        b.pixel_begin = panels * part / cut.pixels * kPanel;
        b.pixel_end = std::min(pixels, panels * (part + 1) / cut.pixels * kPanel);
        b.row = n * s.out_channels + group * group_rows;
        b.y = g.y + b.row * pixels;
        b.bias = g.bias == nullptr ? nullptr : g.bias + group * group_rows;
        SDX_PICK(conv_planes_block, isa)(b);
      }
    });
  }
}

}  // namespace sdx
