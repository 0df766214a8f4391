#include "kernel/conv/int8_depthwise/conv_int8_depthwise.h"

#include <algorithm>
#include <cstring>

#include "base/aligned.h"

namespace sdx {
namespace {

constexpr size_t kFour = 4;

size_t taps_of(const Int8ChannelsLastShape& s) { return s.kernel[0] * s.kernel[1]; }
size_t steps_of(const Int8ChannelsLastShape& s) { return (taps_of(s) + kFour - 1) / kFour; }
// Channels, up to whole chunks.
size_t padded(const Int8ChannelsLastShape& s) {
  return (s.channels + kDepthwiseChunk - 1) / kDepthwiseChunk * kDepthwiseChunk;
}

// Packed weights: the sum of each channel's, the rows, the quads, then the pairs.
struct Packed {
  int32_t* sums;
  int8_t *rows, *quads;
  int16_t* pairs;
  Packed(const Int8ChannelsLastShape& s, void* memory)
      : sums(static_cast<int32_t*>(memory)),
        rows(reinterpret_cast<int8_t*>(sums + padded(s))),
        quads(rows + padded(s) * taps_of(s)),
        pairs(reinterpret_cast<int16_t*>(quads + padded(s) * kFour * steps_of(s))) {}
};

// What a run works out first: bias and ratio in both orders, and a row of x's zero point.
struct Prepared {
  int32_t *add, *add_turned;
  float *ratio, *ratio_turned;
  uint8_t* nothing;
  Prepared(const Int8ChannelsLastShape& s, void* memory)
      : add(static_cast<int32_t*>(memory)),
        add_turned(add + padded(s)),
        ratio(reinterpret_cast<float*>(add_turned + padded(s))),
        ratio_turned(ratio + padded(s)),
        nothing(reinterpret_cast<uint8_t*>(ratio_turned + padded(s))) {}
  static size_t bytes(const Int8ChannelsLastShape& s) {
    return padded(s) * (4 * sizeof(float) + 1);
  }
};

// A ratio of at most a half leaves no sum beyond what rounding to an int32 can give.
bool is_tame(const Int8ChannelsLastArgs& c) {
  return std::all_of(c.ratio, c.ratio + c.shape.channels,
                     [](float r) { return r <= 0.5f && r >= -0.5f; });
}

void prepare(const Int8ChannelsLastArgs& c, const Packed& packed, const Prepared& to) {
  const Int8ChannelsLastShape& s = c.shape;
  for (size_t i = 0; i < padded(s); ++i) {
    const bool real = i < s.channels;
    const uint32_t bias = real && c.bias != nullptr ? uint32_t(c.bias[i]) : 0;
    to.add[i] = int32_t(bias - uint32_t(c.x_zero) * uint32_t(packed.sums[i]));
    to.ratio[i] = real ? c.ratio[i] : 0;
    const size_t at = i / kDepthwiseChunk * kDepthwiseChunk + turned(i % kDepthwiseChunk);
    to.add_turned[at] = to.add[i];
    to.ratio_turned[at] = to.ratio[i];
  }
  std::memset(to.nothing, c.x_zero, padded(s));
}

// The taps of pixels of one row of the output, from left to right.
class RowOfTaps {
 public:
  RowOfTaps(const Int8ChannelsLastArgs& c, size_t image, size_t row, const uint8_t* nothing)
      : s_(c.shape), nothing_(nothing), count_(steps_of(s_) * kFour) {
    const size_t pixel = s_.channels, reach = (s_.kernel[1] - 1) * s_.dilation[1];
    for (size_t k = 0; k < s_.kernel[0]; ++k) {
      const size_t y = row * s_.stride[0] + k * s_.dilation[0] - s_.pad[0];  // wraps before 0
      rows_[k] = y < s_.in[0] ? c.x + (image * s_.in[0] + y) * s_.in[1] * pixel : nullptr;
    }
    std::fill(taps_, taps_ + count_, nothing);
    std::fill(step_, step_ + count_, 0);
    for (size_t tap = 0; tap < taps_of(s_); ++tap) {
      if (rows_[tap / s_.kernel[1]] != nullptr) step_[tap] = s_.stride[1] * pixel;
    }
    inside_ = (s_.pad[1] + s_.stride[1] - 1) / s_.stride[1];
    const size_t last = s_.in[1] + s_.pad[1];
    outside_ = last > reach ? (last - reach - 1) / s_.stride[1] + 1 : 0;
  }

  const uint8_t* const* of(size_t column) {
    if (column > inside_ && column < outside_) {
      for (size_t tap = 0; tap < count_; ++tap) taps_[tap] += step_[tap];
      return taps_;
    }
    const uint8_t** tap = taps_;
    for (size_t ky = 0; ky < s_.kernel[0]; ++ky) {
      for (size_t kx = 0; kx < s_.kernel[1]; ++kx, ++tap) {
        const size_t x = column * s_.stride[1] + kx * s_.dilation[1] - s_.pad[1];
        *tap = rows_[ky] != nullptr && x < s_.in[1] ? rows_[ky] + x * s_.channels : nothing_;
      }
    }
    return taps_;
  }

 private:
  const Int8ChannelsLastShape& s_;
  const uint8_t* nothing_;
  size_t count_;
  size_t inside_, outside_;  // columns [inside, outside) read no padding at their sides
  const uint8_t* rows_[kDepthwiseMostTaps];
  const uint8_t* taps_[kDepthwiseMostTaps];
  size_t step_[kDepthwiseMostTaps];
};

}  // namespace

bool conv_int8_depthwise_fits(const Int8ChannelsLastShape& s) {
  return s.channels == s.out_channels && taps_of(s) <= kDepthwiseMostTaps;
}

size_t conv_int8_depthwise_scratch_bytes(const Int8ChannelsLastShape& s) {
  return aligned_bytes(Prepared::bytes(s));
}

size_t conv_int8_depthwise_packed_bytes(const Int8ChannelsLastShape& s) {
  return padded(s) * (sizeof(int32_t) + taps_of(s) + kFour * steps_of(s) * (1 + sizeof(int16_t)));
}

void conv_int8_depthwise_pack(const Int8ChannelsLastShape& s, const void* w, bool w_signed,
                              void* packed) {
  const Packed to(s, packed);
  std::memset(packed, 0, conv_int8_depthwise_packed_bytes(s));
  const auto* bytes = static_cast<const uint8_t*>(w);
  for (size_t c = 0; c < s.channels; ++c) {
    const size_t chunk = c / kDepthwiseChunk, at = c % kDepthwiseChunk;
    for (size_t tap = 0; tap < taps_of(s); ++tap) {
      const auto weight = int8_t(bytes[c * taps_of(s) + tap] ^ (w_signed ? 0 : 0x80));
      to.sums[c] += weight;
      to.rows[(chunk * taps_of(s) + tap) * kDepthwiseChunk + at] = weight;
      const size_t step = chunk * steps_of(s) + tap / kFour;
      to.quads[(step * kDepthwiseChunk + turned(at)) * kFour + tap % kFour] = weight;
      const size_t pair = c / kDepthwiseSixteen * steps_of(s) * 2 + tap / 2;
      to.pairs[(pair * kDepthwiseSixteen + turned_sixteen(c % kDepthwiseSixteen)) * 2 + tap % 2] =
          int16_t{weight};
    }
  }
}

void conv_int8_depthwise(const Int8ChannelsLastArgs& c, Pool& pool, Isa isa) {
  const Int8ChannelsLastShape& s = c.shape;
  const Packed packed(s, const_cast<void*>(c.weights));
  const Prepared ready(s, c.scratch);
  prepare(c, packed, ready);
  const Int8DepthwisePixel all{nullptr,          taps_of(s),     steps_of(s),        s.channels,
                               packed.rows,      packed.quads,   packed.pairs,       ready.add,
                               ready.add_turned, ready.ratio,    ready.ratio_turned, c.zero,
                               c.y_signed,       int8_unit(isa), is_tame(c),         nullptr};
  const auto run = SDX_PICK(conv_int8_depthwise_pixel, isa);
  const auto add_others = SDX_PICK(add_bytes, isa);
  const size_t row_bytes = s.out[1] * s.channels;
  const size_t grain = 1 + 131072 / (row_bytes * taps_of(s));
  pool.parallel(s.batch * s.out[0], grain, [&](size_t begin, size_t end, int) {
    for (size_t row = begin; row < end; ++row) {
      RowOfTaps taps(c, row / s.out[0], row % s.out[0], ready.nothing);
      Int8DepthwisePixel pixel = all;
      uint8_t* y = c.y + row * row_bytes;
      for (size_t column = 0; column < s.out[1]; ++column) {
        pixel.taps = taps.of(column);
        pixel.y = y + column * s.channels;
        run(pixel);
      }
      if (c.other != nullptr) add_others(*c.sum, y, c.other + row * row_bytes, y, row_bytes);
    }
  });
}

}  // namespace sdx
