// Convolutions of planes that run as blocks of channels (kernel/conv/blocked): the input is turned
// into blocks, convolved there, and turned back.
//
// Of one channel to a group, sixteen planes at a time, all of it in the first caches: a row of a
// small image fills few lanes of a vector, sixteen channels fill them all. Of others, where each
// output takes so many products that what planes need more for them outweighs the turns.
#include <algorithm>

#include "base/aligned.h"
#include "kernel/conv/blocked/work.h"
#include "kernel/conv/planes/conv_planes.h"
#include "kernel/conv/planes/work.h"

namespace sdx {
namespace {

bool is_one_to_one(const ConvShape& s) {
  return s.groups > 1 && s.groups == s.in_channels && s.groups == s.out_channels;
}

// Fewer channels than a block are read where they lie.
bool reads_planes(const ConvShape& s) { return s.groups == 1 && s.in_channels < kBlockLanes; }

size_t block_floats(size_t channels, size_t positions) {
  return channel_blocks(channels) * kBlockLanes * positions;
}

// Floats: of a block before and after, and a bias, per thread; or of whole images.
struct Room {
  size_t out, bias, rest;  // where each begins, behind the input
  size_t floats;
};
Room room_for(const ConvShape& s) {
  const bool depthwise = is_one_to_one(s);
  Room r{};
  r.out = depthwise         ? conv_input_positions(s) * kBlockLanes
          : reads_planes(s) ? 0
                            : block_floats(s.in_channels, conv_input_positions(s));
  r.bias = r.out + (depthwise ? conv_positions(s) * kBlockLanes
                              : block_floats(s.out_channels, conv_positions(s)));
  r.rest = r.bias + (depthwise ? kBlockLanes : block_floats(s.out_channels, 1));
  const size_t own = depthwise ? 0 : conv_blocked_scratch_bytes(s, reads_planes(s)) / sizeof(float);
  r.floats = aligned_floats(r.rest + own);
  return r;
}

// Long rows of a small kernel fill vectors as well, and need not be turned.
bool is_small(const ConvShape& s) {
  constexpr size_t kMostFloats = 131072;  // half of a second-level cache
  const size_t widest = s.kernel[2] <= 3 && s.dilation[2] == 1 ? 32 : 64;
  return s.groups >= kBlockLanes && s.out[2] <= widest && room_for(s).floats <= kMostFloats;
}

// More than pass while a byte is turned, as far as planes need longer for them: patches of several
// taps have to be gathered. Groups fill the tiles of planes worst, wide strides gather one by one.
bool has_many_products(const ConvShape& s) {
  const size_t lanes = block_floats(s.out_channels, 1);
  if (conv_taps(s) == 1 || conv_positions(s) < 8 || s.out_channels * 8 < lanes * 7) return false;
  const double bytes =
      4.0 * double(lanes * conv_positions(s) +
                   (reads_planes(s) ? 0 : s.in_channels * conv_input_positions(s)));
  const double products =
      double(s.out_channels) * double(conv_positions(s)) * double(conv_depth(s));
  return products > bytes * (s.groups > 1 ? 6 : s.stride[2] > 2 ? 16 : 40);
}

void run_depthwise(const ConvArgs& g, Pool& pool, Isa isa) {
  const ConvShape& s = g.shape;
  const Room room = room_for(s);
  const size_t blocks = channel_blocks(s.in_channels), taps = conv_taps(s);
  const size_t in_pixels = conv_input_positions(s), pixels = conv_positions(s);
  const auto turn = SDX_PICK(to_blocks, isa);
  const auto turn_back = SDX_PICK(from_blocks, isa);
  const auto run = SDX_PICK(conv_blocked_depthwise, isa);
  pool.parallel(s.batch * blocks, 1, [&](size_t begin, size_t end, int thread) {
    float* memory = static_cast<float*>(g.scratch) + size_t(thread) * room.floats;
    for (size_t i = begin; i < end; ++i) {
      const size_t first = i % blocks * kBlockLanes;
      const size_t channels = std::min(kBlockLanes, s.in_channels - first);
      const size_t row = i / blocks * s.in_channels + first;
      BlockedDepthwise d{};
      d.shape = &s;
      d.x = memory;
      d.weights = g.weights + first * taps;
      d.y = memory + room.out;
      d.row_end = s.out[1];
      if (g.bias != nullptr) {
        float* bias = memory + room.bias;
        std::fill_n(std::copy_n(g.bias + first, channels, bias), kBlockLanes - channels, 0.0f);
        d.bias = bias;
      }
      turn(g.x + row * in_pixels, channels, in_pixels, memory);
      run(d);
      float* y = g.y + row * pixels;
      turn_back(d.y, channels, pixels, y);
      if (g.epilogue.fn != nullptr)
        g.epilogue.fn(g.epilogue.ctx, y, pixels, row, 0, channels, pixels);
    }
  });
}

void run_dense(const ConvArgs& g, Pool& pool, Isa isa) {
  const ConvShape& s = g.shape;
  const Room room = room_for(s);
  float* memory = static_cast<float*>(g.scratch);
  const size_t pixels = conv_positions(s);
  BlockedConvArgs b;
  b.shape = s;
  b.shape.batch = 1;
  b.plain = reads_planes(s);
  b.weights = g.weights;
  b.y = memory + room.out;
  b.scratch = memory + room.rest;
  if (g.bias != nullptr) {
    float* bias = memory + room.bias;
    float* end = std::copy_n(g.bias, s.out_channels, bias);
    std::fill(end, bias + block_floats(s.out_channels, 1), 0.0f);
    b.bias_apart = bias;
  }
  const auto turn_back = SDX_PICK(from_blocks, isa);
  for (size_t n = 0; n < s.batch; ++n) {
    b.x = g.x + n * s.in_channels * conv_input_positions(s);
    if (!b.plain) {
      to_channel_blocks(b.x, s.in_channels, conv_input_positions(s), memory, pool, isa);
      b.x = memory;
    }
    conv_blocked(b, pool, isa);
    pool.parallel(channel_blocks(s.out_channels), 1, [&](size_t begin, size_t end, int) {
      for (size_t i = begin; i < end; ++i) {
        const size_t first = i * kBlockLanes, row = n * s.out_channels + first;
        const size_t channels = std::min(kBlockLanes, s.out_channels - first);
        float* y = g.y + row * pixels;
        turn_back(b.y + first * pixels, channels, pixels, y);
        if (g.epilogue.fn != nullptr)
          g.epilogue.fn(g.epilogue.ctx, y, pixels, row, 0, channels, pixels);
      }
    });
  }
}

}  // namespace

bool runs_in_blocks(const ConvShape& s) {
  if (!conv_blocked_fits(s, reads_planes(s)) || s.in[1] == 1 || conv_positions(s) == 0 ||
      s.in_channels == 0 || leaves_padding_out(s) || conv_planes_reads_as_given(s)) {
    return false;
  }
  return is_one_to_one(s) ? conv_taps(s) > 1 && is_small(s) : has_many_products(s);
}

size_t blocks_packed_floats(const ConvShape& s) { return conv_blocked_packed_size(s); }

void pack_blocks(const ConvShape& s, const float* w, float* packed, Pool& pool) {
  conv_blocked_pack(s, w, nullptr, packed, pool);
}

size_t blocks_scratch_floats(const ConvShape& s, int threads) {
  return room_for(s).floats * (is_one_to_one(s) ? size_t(threads) : 1);
}

void run_in_blocks(const ConvArgs& g, Pool& pool, Isa isa) {
  is_one_to_one(g.shape) ? run_depthwise(g, pool, isa) : run_dense(g, pool, isa);
}

}  // namespace sdx
