#include "kernel/conv/channels_last/conv_channels_last.h"

#include <algorithm>
#include <cstring>

#include "base/aligned.h"
#include "kernel/conv/depthwise/tiles.h"
#include "kernel/conv/interleave.h"
#include "kernel/gemm/block.h"
#include "kernel/gemm/gemm.h"

namespace sdx {
namespace {

constexpr size_t kBlock = 16;  // channels that the order of the reduction keeps together

bool is_depthwise(const ConvShape& s) { return s.groups > 1; }

// Every output reads the pixel at its own place: images are left operands of products as they are.
bool is_pointwise(const ConvShape& s) {
  bool same = true;
  for (int i : {1, 2}) same &= s.kernel[i] == 1 && s.stride[i] == 1 && s.in[i] == s.out[i];
  return same && s.pad[1] == 0 && s.pad[2] == 0;
}

GemmArgs product(const ConvShape& s) {
  GemmArgs g;
  g.m = s.batch * conv_positions(s);
  g.n = s.out_channels;
  g.k = g.lda = conv_depth(s);
  g.ldc = s.out_channels;
  constexpr float kSome = 0;
  g.b_packed = &kSome;
  return g;
}

// How the outputs are cut where they are not made by one product.
//
// The inputs of a block of them are gathered in the order of the reduction, and multiplied while
// they are in the second-level cache; or a block takes the products with one part of the image
// after the other, while its sums are in that cache.
struct Cut {
  size_t rows, blocks;  // outputs to a block
  size_t ld;            // floats from one output's gathered inputs to the next's
  size_t gemm;          // floats that the product wants
  size_t floats() const { return aligned_floats(rows * ld) + gemm; }
};

Cut cut_of(const ConvShape& s, int threads) {
  constexpr size_t kBlockFloats = 1 << 17;
  const size_t outputs = s.batch * conv_positions(s), depth = conv_depth(s);
  const bool gathers = !is_pointwise(s);
  const size_t width = std::max<size_t>(1, gathers ? depth : s.out_channels);
  const size_t most = std::clamp<size_t>(kBlockFloats / width / kRowBlock, 2, 64) * kRowBlock;
  const auto together = size_t(threads);
  size_t blocks = (outputs + most - 1) / most;
  blocks = (blocks + together - 1) / together * together;
  Cut cut{};
  cut.rows = ((outputs + blocks - 1) / blocks + kRowBlock - 1) / kRowBlock * kRowBlock;
  cut.blocks = (outputs + cut.rows - 1) / cut.rows;
  cut.ld = gathers ? depth + 16 : 0;  // rows do not lie whole pages apart
  cut.gemm = aligned_floats(gemm_scratch_bytes(product(s), 1) / sizeof(float));
  return cut;
}

// One tap's channels to their places in the order of the reduction; `from` is null in the padding.
[[gnu::always_inline]] inline void gather_tap(const float* from, size_t channels, size_t taps,
                                              size_t tap, float* to) {
  size_t c = 0;
  for (; c + kBlock <= channels; c += kBlock, to += kBlock * taps) {
    if (from != nullptr) {
      std::memcpy(to + tap * kBlock, from + c, kBlock * sizeof(float));
    } else {
      std::memset(to + tap * kBlock, 0, kBlock * sizeof(float));
    }
  }
  const size_t rest = channels - c;
  for (size_t i = 0; i < rest; ++i) to[tap * rest + i] = from != nullptr ? from[c + i] : 0.f;
}

// The inputs of outputs [first, first + count), each in the order (channel / 16, row, column,
// channel % 16).
void gather(const ChannelsLastConvArgs& g, size_t first, size_t count, float* to, size_t ld) {
  const ConvShape& s = g.shape;
  const size_t taps = conv_taps(s), positions = conv_positions(s);
  size_t image = first / positions, y = first % positions / s.out[2], x = first % s.out[2];
  for (size_t r = 0; r < count; ++r, to += ld) {
    size_t tap = 0;
    for (size_t ky = 0; ky < s.kernel[1]; ++ky) {
      // A row or column before the input wraps to a very large number.
      const size_t row = y * s.stride[1] + ky * s.dilation[1] - s.pad[1];
      for (size_t kx = 0; kx < s.kernel[2]; ++kx, ++tap) {
        const size_t column = x * s.stride[2] + kx * s.dilation[2] - s.pad[2];
        const bool inside = row < s.in[1] && column < s.in[2];
        const size_t pixel = (image * s.in[1] + row) * s.in[2] + column;
        float* out = to;
        for (const ChannelsLastPart& part : g.x) {
          gather_tap(inside ? part.x + pixel * part.channels : nullptr, part.channels, taps, tap,
                     out);
          out += part.channels * taps;
        }
      }
    }
    if (++x < s.out[2]) continue;
    x = 0;
    if (++y < s.out[1]) continue;
    y = 0;
    ++image;
  }
}

// Whether the inputs of a short signal are read where they lie, by one thread.
bool has_few_rows(const ChannelsLastConvArgs& g, int threads) {
  constexpr size_t kMostRows = 64, kMostInRow = 512;  // rows then differ in where a cache has them
  constexpr size_t kWorthSharing = 1 << 18;
  const ConvShape& s = g.shape;
  const size_t blocks = (s.in_channels + kBlock - 1) / kBlock;
  return s.in[1] == 1 && s.out[1] == 1 && s.kernel[1] == 1 && s.out[2] <= kMostRows &&
         g.x.size() == 1 && s.pad[1] == 0 && s.pad[2] == 0 && conv_reach(s, 2) <= s.in[2] &&
         s.stride[2] * s.in_channels <= kMostInRow &&
         blocks * s.kernel[2] <= FewRows::kMostStretches &&
         (threads == 1 || s.batch * s.out[2] * s.out_channels * conv_depth(s) < kWorthSharing);
}

void run_few_rows(const ChannelsLastConvArgs& g, Isa isa) {
  const ConvShape& s = g.shape;
  FewRows f;
  f.rows = s.out[2];
  f.columns = s.out_channels;
  f.depth = conv_depth(s);
  f.x_row = s.stride[2] * s.in_channels;
  f.weights = g.weights;
  f.bias = g.bias;
  f.stretches = 0;
  for (size_t c = 0; c < s.in_channels; c += kBlock) {
    const size_t length = std::min(kBlock, s.in_channels - c);
    for (size_t tap = 0; tap < s.kernel[2]; ++tap) {
      const auto begin = ptrdiff_t(tap * s.dilation[2] * s.in_channels + c);
      if (f.stretches > 0 &&
          f.begin[f.stretches - 1] + ptrdiff_t(f.length[f.stretches - 1]) == begin) {
        f.length[f.stretches - 1] += length;
        continue;
      }
      f.begin[f.stretches] = begin;
      f.length[f.stretches++] = length;
    }
  }
  f.begin[f.stretches] = 0;
  for (size_t image = 0; image < s.batch; ++image) {
    f.x = g.x[0].x + image * s.in[2] * s.in_channels;
    f.y = g.y + image * f.rows * f.columns;
    SDX_PICK(conv_channels_last_few_rows, isa)(f);
  }
  if (g.epilogue.fn == nullptr) return;
  g.epilogue.fn(g.epilogue.ctx, g.y, f.columns, 0, 0, s.batch * f.rows, f.columns);
}

// An epilogue on blocks whose rows are counted from a later one on.
struct Later {
  BlockEpilogue inner;
  size_t row;

  static void run(void* self, float* c, size_t ldc, size_t row, size_t col, size_t rows,
                  size_t cols) {
    const Later& later = *static_cast<const Later*>(self);
    later.inner.fn(later.inner.ctx, c, ldc, later.row + row, col, rows, cols);
  }
};

// The sums of one part after the other: each goes on where the one before ended.
void add_parts(const ChannelsLastConvArgs& g, const GemmArgs& block, size_t first, Isa isa) {
  GemmArgs p = block;
  p.b_packed = g.weights;
  p.resume = false;
  for (size_t i = 0; i < g.x.size(); ++i) {
    const ChannelsLastPart& part = g.x[i];
    const bool last = i + 1 == g.x.size();
    p.a = part.x + first * part.channels;
    p.k = p.lda = part.channels;
    p.raw = !last;
    p.affine = last ? block.affine : AffineEpilogue{};
    p.epilogue = last ? block.epilogue : BlockEpilogue{};
    gemm_here(p, isa);
    p.b_packed += gemm_packed_b_size(part.channels, p.n);
    p.resume = true;
  }
}

void run_dense(const ChannelsLastConvArgs& g, Pool& pool, Isa isa) {
  const ConvShape& s = g.shape;
  if (has_few_rows(g, pool.threads())) return run_few_rows(g, isa);
  GemmArgs p = product(s);
  p.b_packed = g.weights;
  p.affine.bias = g.bias;
  p.affine.bias_col = 1;
  if (is_pointwise(s) && g.x.size() == 1) {
    p.a = g.x[0].x;
    p.c = g.y;
    p.epilogue = g.epilogue;
    p.scratch = g.scratch;
    return gemm(p, pool, isa);
  }
  const Cut cut = cut_of(s, pool.threads());
  const size_t outputs = p.m;
  pool.parallel(cut.blocks, 1, [&](size_t begin, size_t end, int thread) {
    float* inputs = static_cast<float*>(g.scratch) + size_t(thread) * cut.floats();
    GemmArgs block = p;
    Later later{g.epilogue, 0};
    block.a = inputs;
    block.lda = cut.ld;
    block.scratch = inputs + aligned_floats(cut.rows * cut.ld);
    if (g.epilogue.fn != nullptr) block.epilogue = {&Later::run, &later};
    for (size_t i = begin; i < end; ++i) {
      later.row = i * cut.rows;
      block.m = std::min(cut.rows, outputs - later.row);
      block.c = g.y + later.row * s.out_channels;
      if (is_pointwise(s)) {
        add_parts(g, block, later.row, isa);
        continue;
      }
      gather(g, later.row, block.m, inputs, cut.ld);
      gemm_here(block, isa);
    }
  });
}

void run_depthwise(const ChannelsLastConvArgs& g, Pool& pool, Isa isa) {
  const ConvShape& s = g.shape;
  const auto run = SDX_PICK(conv_channels_last_depthwise, isa);
  const size_t row = s.out[2] * s.out_channels;
  // Rows that an epilogue passes over while they are in the first cache.
  const size_t together = std::max<size_t>(1, 4096 / row);
  pool.parallel(s.batch * s.out[1], together, [&](size_t begin, size_t end, int) {
    while (begin < end) {
      const size_t image = begin / s.out[1], first = begin % s.out[1];
      const size_t rows = std::min({together, s.out[1] - first, end - begin});
      ChannelsLastDepthwise d{};
      d.shape = &s;
      d.x = g.x[0].x + image * s.in[1] * s.in[2] * s.in_channels;
      d.weights = g.weights;
      d.bias = g.bias;
      d.y = g.y + image * s.out[1] * row;
      d.row_begin = first;
      d.row_end = first + rows;
      run(d);
      if (g.epilogue.fn != nullptr) {
        g.epilogue.fn(g.epilogue.ctx, g.y + begin * row, s.out_channels, begin * s.out[2], 0,
                      rows * s.out[2], s.out_channels);
      }
      begin += rows;
    }
  });
}

}  // namespace

bool conv_channels_last_fits(const ConvShape& s) {
  if (s.in[0] != 1 || s.out[0] != 1 || s.kernel[0] != 1) return false;
  if (s.groups == 1) return true;
  return s.groups % kBlock == 0 && depthwise_tiles_fit(s);
}

size_t conv_channels_last_scratch_bytes(const ConvShape& s, std::span<const size_t> parts,
                                        int threads) {
  if (is_depthwise(s)) return 0;
  if (is_pointwise(s) && parts.size() == 1) return gemm_scratch_bytes(product(s), threads);
  return size_t(threads) * cut_of(s, threads).floats() * sizeof(float);
}

size_t conv_channels_last_packed_size(const ConvShape& s) {
  return is_depthwise(s) ? s.out_channels * conv_taps(s)
                         : gemm_packed_b_size(conv_depth(s), s.out_channels);
}

// The weights of channels [from, to): panels of output channels, each with the reduction's steps in
// their order.
static void pack_panels(const ConvShape& s, const float* w, size_t from, size_t to, float* packed,
                        Pool& pool) {
  const size_t taps = conv_taps(s), row = conv_depth(s), depth = (to - from) * taps;
  pool.parallel((s.out_channels + kPanel - 1) / kPanel, 1, [&](size_t begin, size_t end, int) {
    for (size_t p = begin; p < end; ++p) {
      const size_t first = p * kPanel, count = std::min(kPanel, s.out_channels - first);
      const size_t width = panel_width(count);
      interleave({w + first * row + from * taps, row, taps, to - from, taps}, count, width,
                 packed + first * depth);
    }
  });
}

void conv_channels_last_pack(const ConvShape& s, std::span<const size_t> parts, const float* w,
                             float* packed, Pool& pool) {
  const size_t taps = conv_taps(s);
  if (is_depthwise(s)) {
    for (size_t tap = 0; tap < taps; ++tap) {
      for (size_t c = 0; c < s.out_channels; ++c)
        packed[tap * s.out_channels + c] = w[c * taps + tap];
    }
    return;
  }
  if (!is_pointwise(s)) return pack_panels(s, w, 0, s.in_channels, packed, pool);
  size_t from = 0;
  for (const size_t channels : parts) {
    pack_panels(s, w, from, from + channels, packed, pool);
    packed += gemm_packed_b_size(channels, s.out_channels);
    from += channels;
  }
}

void conv_channels_last(const ChannelsLastConvArgs& g, Pool& pool, Isa isa) {
  if (g.shape.batch * conv_positions(g.shape) * g.shape.out_channels == 0) return;
  is_depthwise(g.shape) ? run_depthwise(g, pool, isa) : run_dense(g, pool, isa);
}

}  // namespace sdx
