// Transposed convolutions as matrix products.
//
// Outputs whose positions agree modulo the strides meet the same taps: they are a convolution of
// the input by these taps, whose inputs go backwards as the taps go on. Where some of the inputs
// would lie outside, fewer taps take part. So the outputs are cut into parts that meet the same
// taps, all of them inside, and each part is a convolution without padding, by the rule.
#include <algorithm>
#include <numeric>
#include <vector>

#include "base/aligned.h"
#include "kernel/conv/interleave.h"
#include "kernel/conv/planes/conv_planes.h"
#include "kernel/conv/planes/work.h"
#include "kernel/conv/reference.h"
#include "kernel/conv/transposed/work.h"
#include "kernel/gemm/block.h"

namespace sdx {
namespace {

// Outputs first, first + stride ... along a dimension. Tap t of them is tap + t * step of the
// kernel, and output number j meets there input + j - t * back.
struct Phase {
  size_t first = 0, outputs = 0;
  size_t tap = 0, step = 1, taps = 0;
  ptrdiff_t input = 0, back = 0;
};

Phase phase_of(const ConvShape& s, int dim, size_t first) {
  const size_t stride = s.stride[dim], dilation = s.dilation[dim], ahead = first + s.pad[dim];
  const size_t common = std::gcd(stride, dilation);
  Phase p;
  p.first = first;
  p.outputs = first < s.out[dim] ? (s.out[dim] - first + stride - 1) / stride : 0;
  p.step = stride / common;
  p.back = ptrdiff_t(dilation / common);
  while (p.tap < s.kernel[dim] && p.tap * dilation % stride != ahead % stride) ++p.tap;
  if (p.tap >= s.kernel[dim]) return p;
  p.taps = (s.kernel[dim] - 1 - p.tap) / p.step + 1;
  p.input = (ptrdiff_t(ahead) - ptrdiff_t(p.tap * dilation)) / ptrdiff_t(stride);
  return p;
}

// Outputs [begin, begin + size) of a phase, which meet its taps [tap, tap + taps) in the input.
struct Part {
  size_t begin, size, tap, taps;
};

std::vector<Part> parts_of(const Phase& p, size_t in) {
  std::vector<Part> parts;
  const ptrdiff_t reach = (ptrdiff_t(p.taps) - 1) * p.back;
  for (size_t j = 0; j < p.outputs; ++j) {
    Part one{j, 1, 0, 0};
    // Most outputs meet all taps, up to the one whose first tap reads the last input.
    if (const ptrdiff_t at = p.input + ptrdiff_t(j);
        p.taps != 0 && at - reach >= 0 && at < ptrdiff_t(in)) {
      const size_t left = std::min(p.outputs - j, in - size_t(at));
      parts.push_back({j, left, 0, p.taps});
      j += left - 1;
      continue;
    }
    for (size_t t = 0; t < p.taps; ++t) {
      const ptrdiff_t at = p.input + ptrdiff_t(j) - ptrdiff_t(t) * p.back;
      if (at < 0 || at >= ptrdiff_t(in)) continue;
      if (one.taps++ == 0) one.tap = t;
    }
    if (!parts.empty() && parts.back().tap == one.tap && parts.back().taps == one.taps) {
      ++parts.back().size;
    } else {
      parts.push_back(one);
    }
  }
  return parts;
}

size_t taps_of(const Phase* p) { return p[0].taps * p[1].taps * p[2].taps; }

// f(phases of the three dimensions, where their weights begin among the packed ones).
template <class F>
void each_phase(const ConvShape& s, F f) {
  size_t weights = 0;
  for (size_t z = 0; z < s.stride[0]; ++z) {
    for (size_t y = 0; y < s.stride[1]; ++y) {
      for (size_t x = 0; x < s.stride[2]; ++x) {
        const Phase phase[3] = {phase_of(s, 0, z), phase_of(s, 1, y), phase_of(s, 2, x)};
        f(phase, weights);
        weights += s.out_channels * (s.in_channels / s.groups) * taps_of(phase);
      }
    }
  }
}

// The convolution of a phase, as far as its weights go.
ConvShape shape_of(const ConvShape& s, const Phase* phase) {
  ConvShape whole;
  whole.in_channels = s.in_channels / s.groups;
  whole.out_channels = s.out_channels / s.groups;
  for (int i = 0; i < 3; ++i) whole.kernel[i] = phase[i].taps;
  return whole;
}

// Some neighbouring outputs of a phase.
struct Piece {
  const Phase* phase;
  Part along[3];
  size_t outputs() const { return along[0].size * along[1].size * along[2].size; }
  bool has_taps() const { return along[0].taps * along[1].taps * along[2].taps != 0; }
};

template <class F>
void each_piece(const ConvShape& s, const Phase* phase, F f) {
  const std::vector<Part> z = parts_of(phase[0], s.in[0]), y = parts_of(phase[1], s.in[1]),
                          x = parts_of(phase[2], s.in[2]);
  for (const Part& in_z : z) {
    for (const Part& in_y : y) {
      for (const Part& in_x : x) f(Piece{phase, {in_z, in_y, in_x}});
    }
  }
}

// The sums of a piece, [output], go to their places in a plane; without taps all are the bias.
void put(const ConvShape& s, const Piece& p, const float* sums, float bias, float* plane) {
  const auto at = [&](int dim, size_t j) {
    return p.phase[dim].first + (p.along[dim].begin + j) * s.stride[dim];
  };
  for (size_t z = 0; z < p.along[0].size; ++z) {
    for (size_t y = 0; y < p.along[1].size; ++y) {
      float* to = plane + (at(0, z) * s.out[1] + at(1, y)) * s.out[2] + at(2, 0);
      const size_t width = p.along[2].size, stride = s.stride[2];
      for (size_t x = 0; x < width; ++x) to[x * stride] = p.has_taps() ? *sums++ : bias;
    }
  }
}

size_t most_outputs(const ConvShape& s) {
  size_t most = 1;
  for (int i = 0; i < 3; ++i) most *= (s.out[i] + s.stride[i] - 1) / s.stride[i];
  return most;
}

}  // namespace

// Few output channels share too few of what is gathered, and a phase's taps must leave room for
// channels.
bool runs_as_products(const ConvShape& s) {
  constexpr size_t kFewRows = 6, kMostPhases = 1024;
  if (s.out_channels / s.groups < kFewRows || s.in_channels == 0 || conv_positions(s) == 0 ||
      conv_taps(s) > 4096 || s.stride[0] * s.stride[1] * s.stride[2] > kMostPhases) {
    return false;
  }
  bool fits = true;
  each_phase(s, [&](const Phase* phase, size_t) {
    fits = fits && taps_of(phase) <= kDepth / kChannelBlock;
  });
  return fits;
}

size_t products_packed_floats(const ConvShape& s) { return s.out_channels * conv_depth(s); }

// Phase by phase as conv_planes packs the weights of each.
void pack_products(const ConvShape& s, const float* w, float* packed, Pool& pool) {
  const size_t in_group = s.in_channels / s.groups, out_group = s.out_channels / s.groups;
  const size_t taps = conv_taps(s), blocks = row_blocks(out_group);
  each_phase(s, [&](const Phase* phase, size_t weights) {
    const size_t some = taps_of(phase), depth = in_group * some;
    if (some == 0) return;
    pool.parallel(s.groups * blocks, 1, [&](size_t begin, size_t end, int) {
      std::vector<float> rows(kRowBlock * depth);
      for (size_t i = begin; i < end; ++i) {
        const size_t first = row_block_begin(out_group, blocks, i % blocks);
        const size_t count = row_block_begin(out_group, blocks, i % blocks + 1) - first;
        // A channel's weights of these rows lie side by side.
        for (size_t c = 0; c < in_group; ++c) {
          for (size_t r = 0; r < count; ++r) {
            const float* from = w + ((i / blocks * in_group + c) * out_group + first + r) * taps;
            float* to = rows.data() + r * depth + c * some;
            for (size_t z = 0; z < phase[0].taps; ++z) {
              for (size_t y = 0; y < phase[1].taps; ++y) {
                const size_t row = (phase[0].tap + z * phase[0].step) * s.kernel[1] + phase[1].tap +
                                   y * phase[1].step;
                for (size_t x = 0; x < phase[2].taps; ++x)
                  *to++ = from[row * s.kernel[2] + phase[2].tap + x * phase[2].step];
              }
            }
          }
        }
        interleave({rows.data(), depth, some, in_group, some}, count, count,
                   packed + weights + (i / blocks * out_group + first) * depth);
      }
    });
  });
}

size_t products_scratch_floats(const ConvShape& s, int threads) {
  return aligned_floats(s.out_channels / s.groups * most_outputs(s)) +
         size_t(threads) * (kPanelFloats + 2 * kDepth);
}

void run_products(const ConvArgs& g, Pool& pool, Isa isa) {
  const ConvShape& s = g.shape;
  const size_t in_group = s.in_channels / s.groups, out_group = s.out_channels / s.groups;
  const size_t in_pixels = conv_input_positions(s), pixels = conv_positions(s);
  const size_t blocks = row_blocks(out_group), threads = size_t(pool.threads());
  auto* const sums = static_cast<float*>(g.scratch);
  float* const panels = sums + aligned_floats(out_group * most_outputs(s));
  const Staged staged{false, 1, {s.in[0], s.in[1], s.in[2]}, in_pixels, in_pixels};
  const auto run = SDX_PICK(conv_planes_part, isa);
  const auto run_all = SDX_PICK(conv_planes_block, isa);
  for (size_t image = 0; image < s.batch * s.groups; ++image) {
    const size_t group = image % s.groups, channel = image * out_group;
    each_phase(s, [&](const Phase* phase, size_t weights) {
      const ConvShape whole = shape_of(s, phase);
      each_piece(s, phase, [&](const Piece& piece) {
        ConvShape part = whole;
        size_t origin = 0;  // the input of the first output at the last tap
        for (int i = 0; i < 3; ++i) {
          const Part& along = piece.along[i];
          part.in[i] = s.in[i];
          part.out[i] = along.size;
          part.kernel[i] = along.taps;
          part.dilation[i] = size_t(phase[i].back);
          const ptrdiff_t last = ptrdiff_t(along.tap + along.taps) - 1;
          origin = origin * s.in[i] +
                   size_t(phase[i].input + ptrdiff_t(along.begin) - last * phase[i].back);
        }
        const ConvPart of{&whole, {piece.along[0].tap, piece.along[1].tap, piece.along[2].tap}};
        const bool all = conv_taps(part) == conv_taps(whole);
        pool.parallel(blocks, (blocks + threads - 1) / threads,
                      [&](size_t begin, size_t end, int thread) {
                        ConvBlock b{};
                        b.shape = &part;
                        b.staged = &staged;
                        b.weights = g.weights + weights + group * out_group * conv_depth(whole);
                        b.block_begin = begin;
                        b.block_end = end;
                        b.pixel_end = piece.outputs();
                        b.y = sums;
                        b.bias = g.bias == nullptr ? nullptr : g.bias + group * out_group;
                        b.panels = panels + size_t(thread) * (kPanelFloats + 2 * kDepth);
                        b.offset = reinterpret_cast<size_t*>(b.panels + kPanelFloats);
                        b.backwards = true;
                        if (piece.has_taps()) {
                          b.x = g.x + image * in_group * in_pixels + origin;
                          all ? run_all(b) : run(b, of);
                        }
                        for (size_t r = row_block_begin(out_group, blocks, begin);
                             r < row_block_begin(out_group, blocks, end); ++r) {
                          const float bias = b.bias == nullptr ? 0.0f : 0.0f + b.bias[r];
                          put(s, piece, sums + r * piece.outputs(), reference::canonical(bias),
                              g.y + (channel + r) * pixels);
                        }
                      });
      });
    });
  }
  if (g.epilogue.fn == nullptr) return;
  pool.parallel(s.batch * s.out_channels, 1, [&](size_t begin, size_t end, int) {
    for (size_t row = begin; row < end; ++row)
      g.epilogue.fn(g.epilogue.ctx, g.y + row * pixels, pixels, row, 0, 1, pixels);
  });
}

}  // namespace sdx
