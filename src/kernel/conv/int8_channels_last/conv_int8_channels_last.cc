#include "kernel/conv/int8_channels_last/conv_int8_channels_last.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/aligned.h"

namespace sdx {
namespace {

size_t panels_of(const Int8ChannelsLastShape& s) {
  return (s.out_channels + kChannelsLastPanel - 1) / kChannelsLastPanel;
}
size_t width_of(size_t channels) { return std::min(kChannelsLastPanel, (channels + 15) / 16 * 16); }

// Taps along a row are one run of bytes where nothing lies between them. A run is read in quads;
// what the last one reads beyond the run has weights of 0.
bool joins_columns(const Int8ChannelsLastShape& s) { return s.dilation[1] == 1; }
size_t runs_x(const Int8ChannelsLastShape& s) { return joins_columns(s) ? 1 : s.kernel[1]; }
size_t run_quads(const Int8ChannelsLastShape& s) {
  return (s.channels * (joins_columns(s) ? s.kernel[1] : 1) + 3) / 4;
}
size_t reduction_bytes(const Int8ChannelsLastShape& s) {
  return 4 * run_quads(s) * runs_x(s) * s.kernel[0];
}

size_t reach(const Int8ChannelsLastShape& s, size_t axis) {
  return (s.out[axis] - 1) * s.stride[axis] + (s.kernel[axis] - 1) * s.dilation[axis] + 1;
}
// The image is copied if it has padding, or runs whose last quad may reach beyond its end.
bool is_staged(const Int8ChannelsLastShape& s) {
  if (s.channels % 4 != 0) return true;
  for (int i = 0; i < 2; ++i) {
    if (s.pad[i] != 0 || reach(s, i) > s.in[i]) return true;
  }
  return false;
}
size_t staged_bytes(const Int8ChannelsLastShape& s) {
  return is_staged(s) ? aligned_bytes(reach(s, 0) * reach(s, 1) * s.channels + 3) : 0;
}

void stage_row(const Int8ChannelsLastArgs& c, const uint8_t* image, size_t row, uint8_t* out) {
  const Int8ChannelsLastShape& s = c.shape;
  const size_t pixel = s.channels, columns = reach(s, 1);
  const auto at = int64_t(row) - int64_t(s.pad[0]);
  if (at < 0 || at >= int64_t(s.in[0])) {
    std::memset(out, c.x_zero, columns * pixel);
    return;
  }
  const size_t before = std::min(s.pad[1], columns);
  const size_t inside = std::min(columns - before, s.in[1]);
  std::memset(out, c.x_zero, before * pixel);
  std::memcpy(out + before * pixel, image + size_t(at) * s.in[1] * pixel, inside * pixel);
  std::memset(out + (before + inside) * pixel, c.x_zero, (columns - before - inside) * pixel);
}

// A ratio of at most a half leaves no sum beyond what rounding to an int32 can give.
bool is_tame(const Int8ChannelsLastArgs& c) {
  return std::all_of(c.ratio, c.ratio + c.shape.out_channels,
                     [](float r) { return r <= 0.5f && r >= -0.5f; });
}

// In units of the result's step: y's and the other's share, and the sum of all roundings, those of
// the steps (of y's share, the other's, their sum and quotient) and those of doing without them.
ChannelsLastSum sum_of(const Int8ChannelsLastArgs& c) {
  ChannelsLastSum s{};
  if (c.sum == nullptr) return s;
  s.steps = c.sum;
  const double step = c.sum->scale[2];
  s.a = float(c.sum->scale[0] / step);
  s.b = float(c.sum->scale[1] / step);
  const double most = 255 * (std::fabs(double(s.a)) + std::fabs(double(s.b))) + 1;
  const double off = 8 * 0x1p-24 * most;
  s.unsure = float(2 * off);
  s.c = float(0.5 + off - double(c.sum->zero[1]) * double(s.b));
  s.least = c.sum->relu ? 0 : INT16_MIN;
  s.zero = int16_t(c.sum->zero[2]);
  s.near = step > 0 && !c.y_signed && c.zero == c.sum->zero[0] && off < 0x1p-8;
  return s;
}

// Packed weights: for each output channel the sum of its weights, Int8Most of each panel, then the
// panels.
size_t most_at(const Int8ChannelsLastShape& s) {
  return panels_of(s) * kChannelsLastPanel * sizeof(int32_t);
}
size_t sums_bytes(const Int8ChannelsLastShape& s) {
  return aligned_bytes(most_at(s) + panels_of(s) * sizeof(Int8Most));
}

}  // namespace

size_t conv_int8_channels_last_packed_bytes(const Int8ChannelsLastShape& s) {
  return sums_bytes(s) + panels_of(s) * kChannelsLastPanel * reduction_bytes(s);
}

void conv_int8_channels_last_pack(const Int8ChannelsLastShape& s, const void* w, bool w_signed,
                                  void* packed, Pool& pool, Isa isa) {
  auto* sums = static_cast<int32_t*>(packed);
  auto* panels = static_cast<int8_t*>(packed) + sums_bytes(s);
  const auto* bytes = static_cast<const uint8_t*>(w);
  const auto pack = SDX_PICK(conv_int8_channels_last_pack_panel, isa);
  pool.parallel(panels_of(s), 1, [&](size_t begin, size_t end, int) {
    for (size_t panel = begin; panel < end; ++panel) {
      const size_t first = panel * kChannelsLastPanel;
      Int8ChannelsLastPack p{};
      p.count = std::min(kChannelsLastPanel, s.out_channels - first);
      p.channels = s.channels;
      p.taps = s.kernel[0] * s.kernel[1];
      p.w = bytes + first * p.channels * p.taps;
      p.flip = w_signed ? 0 : 0x80;
      p.runs = s.kernel[0] * runs_x(s);
      p.joined = s.kernel[1] / runs_x(s);
      p.quads = run_quads(s);
      p.width = width_of(p.count);
      p.to = panels + first * reduction_bytes(s);
      p.sum = sums + first;
      p.most = reinterpret_cast<Int8Most*>(static_cast<char*>(packed) + most_at(s)) + panel;
      std::memset(p.sum, 0, kChannelsLastPanel * sizeof(int32_t));
      const size_t used = p.width * reduction_bytes(s);
      std::memset(p.to + used, 0, kChannelsLastPanel * reduction_bytes(s) - used);
      pack(p);
    }
  });
}

size_t conv_int8_channels_last_scratch_bytes(const Int8ChannelsLastShape& s) {
  const size_t channels = panels_of(s) * kChannelsLastPanel;
  return aligned_bytes(channels * (sizeof(int32_t) + sizeof(float))) + staged_bytes(s);
}

void conv_int8_channels_last(const Int8ChannelsLastArgs& c, Pool& pool, Isa isa) {
  const Int8ChannelsLastShape& s = c.shape;
  const size_t panels = panels_of(s), channels = panels * kChannelsLastPanel;
  auto* add = static_cast<int32_t*>(c.scratch);
  auto* ratio = reinterpret_cast<float*>(add + channels);
  uint8_t* staged = static_cast<uint8_t*>(c.scratch) +
                    aligned_bytes(channels * (sizeof(int32_t) + sizeof(float)));
  const auto* sums = static_cast<const int32_t*>(c.weights);
  for (size_t o = 0; o < channels; ++o) {
    const bool real = o < s.out_channels;
    const uint32_t bias = real && c.bias != nullptr ? uint32_t(c.bias[o]) : 0;
    add[o] = int32_t(bias - uint32_t(c.x_zero) * uint32_t(sums[o]));
    ratio[o] = real ? c.ratio[o] : 0;
  }

  const size_t pixels = s.out[0] * s.out[1];
  Int8ChannelsLastBlock block{};
  const size_t columns = is_staged(s) ? reach(s, 1) : s.in[1];
  block.column_step = s.stride[1] * s.channels;
  block.row_step = s.stride[0] * columns * s.channels;
  block.runs_y = s.kernel[0];
  block.step_y = s.dilation[0] * columns * s.channels;
  block.runs_x = runs_x(s);
  block.step_x = s.dilation[1] * s.channels;
  block.quads = run_quads(s);
  block.out_columns = s.out[1];
  block.zero = c.zero;
  block.y_signed = c.y_signed;
  block.unit = int8_unit(isa);
  block.tame = is_tame(c);
  block.sum = sum_of(c);
  block.ldy = s.out_channels;
  block.w = static_cast<const int8_t*>(c.weights) + sums_bytes(s);
  block.w_sum = sums;
  block.most = reinterpret_cast<const Int8Most*>(static_cast<const char*>(c.weights) + most_at(s));
  block.add = add;
  block.ratio = ratio;
  const auto run = SDX_PICK(conv_int8_channels_last_block, isa);

  // Each thread takes some pixels against some panels: a few parts per thread, of at least 24
  // pixels.
  const size_t most = SDX_PICK(conv_int8_channels_last_panels, isa)(
      block.unit, kChannelsLastPanel * reduction_bytes(s));
  const size_t groups = (panels + most - 1) / most;
  size_t parts = 1;
  if (pool.threads() > 1)
    parts = std::clamp<size_t>(4 * size_t(pool.threads()) / groups, 1, (pixels + 23) / 24);
  for (size_t n = 0; n < s.batch; ++n) {
    const uint8_t* image = c.x + n * s.in[0] * s.in[1] * s.channels;
    block.x = image;
    if (is_staged(s)) {
      const size_t row_bytes = reach(s, 1) * s.channels;
      pool.parallel(reach(s, 0), 1 + 32768 / row_bytes, [&](size_t begin, size_t end, int) {
        for (size_t row = begin; row < end; ++row)
          stage_row(c, image, row, staged + row * row_bytes);
      });
      block.x = staged;
    }
    const size_t y_at = n * pixels * s.out_channels;
    block.all_channels = s.out_channels;
    block.y = c.y + y_at;
    if (c.other != nullptr) block.other = c.other + y_at;
    pool.parallel(groups * parts, 1, [&](size_t begin, size_t end, int) {
      for (size_t i = begin; i < end; ++i) {
        const size_t group = i / parts, part = i % parts;
        const size_t first = panels * group / groups * kChannelsLastPanel,
                     last = panels * (group + 1) / groups * kChannelsLastPanel;
        Int8ChannelsLastBlock b = block.at(first);
        b.all_channels = std::min(last, s.out_channels) - first;
        b.first = pixels * part / parts;
        b.last = pixels * (part + 1) / parts;
        run(b);
      }
    });
  }
}

}  // namespace sdx
