// Convolutions most of whose taps lie in the padding, in the parts of kernel/conv/stretches.h.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "base/aligned.h"
#include "kernel/conv/planes/conv_planes.h"
#include "kernel/conv/planes/work.h"
#include "kernel/conv/reference.h"
#include "kernel/conv/stretches.h"
#include "kernel/gemm/block.h"

namespace sdx {
namespace {

// The share of taps that lie inside the image.
double share_inside(const ConvShape& s, int dim) {
  size_t inside = 0;
  for (size_t o = 0; o < s.out[dim]; ++o) inside += taps_of(s, dim, o).taps;
  return double(inside) / double(s.out[dim] * s.kernel[dim]);
}

// One output by the rule, from packed weights.
float by_the_rule(const ConvArgs& g, size_t n, size_t o, const size_t at[3]) {
  const ConvShape& s = g.shape;
  const size_t in_group = s.in_channels / s.groups, out_group = s.out_channels / s.groups;
  const size_t blocks = row_blocks(out_group), depth = conv_depth(s), r = o % out_group;
  size_t block = 0;
  while (row_block_begin(out_group, blocks, block + 1) <= r) ++block;
  const size_t row = row_block_begin(out_group, blocks, block);
  const size_t rows = row_block_begin(out_group, blocks, block + 1) - row;
  const float* w = g.weights + (o / out_group * out_group + row) * depth + (r - row);
  const float* x = g.x + (n * s.in_channels + o / out_group * in_group) * conv_input_positions(s);
  float acc = 0;
  reference::for_each_tap(in_group, s.kernel, [&](size_t c, size_t kd, size_t kh, size_t kw) {
    const size_t iz = at[0] * s.stride[0] + kd * s.dilation[0] - s.pad[0];
    const size_t iy = at[1] * s.stride[1] + kh * s.dilation[1] - s.pad[1];
    const size_t ix = at[2] * s.stride[2] + kw * s.dilation[2] - s.pad[2];
    const bool inside = iz < s.in[0] && iy < s.in[1] && ix < s.in[2];
    const size_t from = ((c * s.in[0] + iz) * s.in[1] + iy) * s.in[2] + ix;
    acc = std::fma(*w, inside ? x[from] : 0.0f, acc);
    w += rows;
  });
  if (g.bias != nullptr) acc = acc + g.bias[o];
  return reference::canonical(acc);
}

struct Part {
  Stretch along[3];
  size_t outputs() const { return along[0].size * along[1].size * along[2].size; }
  bool has_taps() const { return along[0].taps * along[1].taps * along[2].taps != 0; }
};

// The sums of a part, [channel][output], go where they belong.
void put_rows(const ConvArgs& g, const Part& p, size_t n, size_t channel, const float* sums) {
  const ConvShape& s = g.shape;
  float* plane = g.y + (n * s.out_channels + channel) * conv_positions(s);
  const float bias = g.bias == nullptr ? 0.0f : 0.0f + g.bias[channel];
  for (size_t z = 0; z < p.along[0].size; ++z) {
    for (size_t y = 0; y < p.along[1].size; ++y) {
      size_t at[3] = {p.along[0].begin + z, p.along[1].begin + y, p.along[2].begin};
      float* to = plane + (at[0] * s.out[1] + at[1]) * s.out[2] + at[2];
      const size_t width = p.along[2].size;
      if (!p.has_taps()) {
        std::fill(to, to + width, reference::canonical(bias));
        continue;
      }
      uint32_t negative_zeros = 0;
      for (size_t i = 0; i < width; ++i) {
        to[i] = sums[i];
        negative_zeros |= std::bit_cast<uint32_t>(sums[i]) == 0x80000000u;
      }
      for (size_t i = 0; negative_zeros != 0 && i < width; ++i, ++at[2]) {
        if (std::bit_cast<uint32_t>(to[i]) == 0x80000000u) to[i] = by_the_rule(g, n, channel, at);
      }
      sums += width;
    }
  }
}

}  // namespace

bool leaves_padding_out(const ConvShape& s) {
  if (s.groups == s.in_channels || s.in_channels == 0 || conv_positions(s) == 0) return false;
  // Enough outputs that parts of them fill vectors, and not so many taps that their patches need
  // more room than there is.
  if (s.stride[2] != 1 || conv_taps(s) > kDepth / kChannelBlock || conv_positions(s) < 32)
    return false;
  if (s.dilation[0] * s.dilation[1] * s.dilation[2] == 1) return false;
  return share_inside(s, 0) * share_inside(s, 1) * share_inside(s, 2) < 0.7;
}

size_t parts_scratch(const ConvShape& s) {
  size_t most = 1;
  for (int i = 0; i < 3; ++i) {
    size_t longest = 0;
    const Stretches along(s, i);
    for (size_t j = 0; j < along.count; ++j) longest = std::max(longest, along[j].size);
    most *= longest;
  }
  return aligned_floats(s.out_channels / s.groups * most);
}

void run_in_parts(const ConvArgs& g, float* sums, float* panels, size_t per_thread, Pool& pool,
                  Isa isa) {
  const ConvShape& s = g.shape;
  const size_t in_group = s.in_channels / s.groups, out_group = s.out_channels / s.groups;
  const size_t in_pixels = conv_input_positions(s), pixels = conv_positions(s);
  const size_t blocks = row_blocks(out_group);
  const Stretches z(s, 0), y(s, 1), x(s, 2);
  for (size_t i = 0; i < s.batch * s.groups * z.count * y.count * x.count; ++i) {
    const Part p{z[i / x.count / y.count % z.count], y[i / x.count % y.count], x[i % x.count]};
    const size_t image = i / x.count / y.count / z.count;
    const size_t n = image / s.groups, group = image % s.groups;
    ConvShape part = s;
    part.in_channels = in_group;
    part.out_channels = out_group;
    part.groups = 1;
    size_t origin = 0;
    for (int dim = 0; dim < 3; ++dim) {
      const Stretch& along = p.along[dim];
      part.out[dim] = along.size;
      part.kernel[dim] = along.taps;
      part.pad[dim] = 0;
      origin = origin * s.in[dim] + along.begin * s.stride[dim] + along.tap * s.dilation[dim] -
               s.pad[dim];
    }
    const Staged staged{false, 1, {s.in[0], s.in[1], s.in[2]}, in_pixels, in_pixels};
    const ConvPart whole{&s, {p.along[0].tap, p.along[1].tap, p.along[2].tap}};
    const size_t share = (blocks + size_t(pool.threads()) - 1) / size_t(pool.threads());
    pool.parallel(blocks, share, [&](size_t begin, size_t end, int thread) {
      ConvBlock b{};
      b.shape = &part;
      b.staged = &staged;
      b.x = g.x + (n * s.in_channels + group * in_group) * in_pixels + origin;
      b.weights = g.weights + group * out_group * conv_depth(s);
      b.block_begin = begin;
      b.block_end = end;
      b.pixel_end = p.outputs();
      b.y = sums;
      b.bias = g.bias == nullptr ? nullptr : g.bias + group * out_group;
      b.panels = panels + size_t(thread) * per_thread;
      b.offset = reinterpret_cast<size_t*>(b.panels + kPanelFloats);
      if (p.has_taps()) SDX_PICK(conv_planes_part, isa)(b, whole);
      for (size_t r = row_block_begin(out_group, blocks, begin);
           r < row_block_begin(out_group, blocks, end); ++r) {
        put_rows(g, p, n, group * out_group + r, sums + r * p.outputs());
      }
    });
  }
  if (g.epilogue.fn == nullptr) return;
  pool.parallel(s.batch * s.out_channels, 1, [&](size_t begin, size_t end, int) {
    for (size_t row = begin; row < end; ++row)
      g.epilogue.fn(g.epilogue.ctx, g.y + row * pixels, pixels, row, 0, 1, pixels);
  });
}

}  // namespace sdx
