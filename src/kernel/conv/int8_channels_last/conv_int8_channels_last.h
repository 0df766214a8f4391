// conv_int8_channels_last: convolutions of bytes whose channels come last, quantised again to
// bytes.
//
// x is [batch][row][column][channel] of uint8, w is int8 with zero point 0. With the channels of a
// pixel side by side the reduction reads x where it lies, four channels at a step, and results are
// written as the next convolution wants them. The sums are exact modulo 2^32, so their order is
// free.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernel/gemm_int8/most.h"
#include "kernel/gemm_int8/unit.h"
#include "kernel/isa.h"
#include "kernel/pool.h"
#include "kernel/quant/quant.h"

namespace sdx {

struct Int8ChannelsLastShape {
  size_t batch = 1, channels = 1, out_channels = 1;
  // Rows, then columns.
  size_t in[2] = {1, 1}, out[2] = {1, 1}, kernel[2] = {1, 1}, stride[2] = {1, 1};
  size_t dilation[2] = {1, 1}, pad[2] = {0, 0};  // padding before
};

struct Int8ChannelsLastArgs {
  Int8ChannelsLastShape shape;
  const uint8_t* x = nullptr;
  uint8_t x_zero = 0;
  const void* weights = nullptr;  // what conv_int8_channels_last_pack wrote
  // y = saturate(nearest(float(sum + bias[channel]) * ratio[channel]) + zero)
  const int32_t* bias = nullptr;  // or null
  const float* ratio = nullptr;   // one per output channel
  int32_t zero = 0;
  bool y_signed = false;
  // Bytes laid out as y, or null: y becomes the sum of itself and them, as add_bytes makes it. They
  // do not overlap y.
  const uint8_t* other = nullptr;
  const AddBytes* sum = nullptr;
  uint8_t* y = nullptr;
  void* scratch = nullptr;  // conv_int8_channels_last_scratch_bytes(), aligned to 64
};

void conv_int8_channels_last(const Int8ChannelsLastArgs&, Pool&, Isa);
size_t conv_int8_channels_last_scratch_bytes(const Int8ChannelsLastShape&);

// w is [out_channels][channels][kernel...]; unsigned weights with zero point 128 count as signed.
size_t conv_int8_channels_last_packed_bytes(const Int8ChannelsLastShape&);
void conv_int8_channels_last_pack(const Int8ChannelsLastShape&, const void* w, bool w_signed,
                                  void* packed, Pool&, Isa);

// Weights lie in panels of this many output channels.
inline constexpr size_t kChannelsLastPanel = 64;

// A panel of weights, and for each channel their sum.
struct Int8ChannelsLastPack {
  const uint8_t* w;  // [count][channels][taps]
  size_t count, channels, taps;
  uint8_t flip;                // makes signed bytes of them
  size_t runs, joined, quads;  // runs of `joined` taps, each filled up to whole quads
  size_t width;                // `count`, up to a multiple of 16
  int8_t* to;                  // [run][quad][channel of width][4]
  int32_t* sum;                // [width]
  Int8Most* most;
};
SDX_DECLARE_ISAS(void conv_int8_channels_last_pack_panel(const Int8ChannelsLastPack&);)

// The sum of y and other bytes, in steps of the result: y is near (y' - zero) * a + other * b + c,
// where y' are the convolution's own bytes, and `unsure` of a step is how much more than that it
// may be. Where another integer is within reach, the sum is made step by step.
struct ChannelsLastSum {
  const AddBytes* steps;
  bool near;  // whether the rest is of use
  float a, b, c, unsure;
  int16_t least, zero;  // of integers before and after the zero point is added
};

// One thread's share: some pixels of one image against one panel, or against panels that follow
// each other where that is what the kernel asks for (conv_int8_channels_last_panels).
struct Int8ChannelsLastBlock {
  const uint8_t* x;  // the staged image
  // A pixel (row, column) of the output begins at x + row * row_step + column * column_step; the
  // reduction reads `quads` groups of four bytes there and at all sums of the steps of two loops.
  size_t row_step, column_step;
  size_t runs_y, step_y, runs_x, step_x, quads;
  size_t out_columns, first, last;  // pixels
  const int8_t* w;                  // [runs_y][runs_x][quad][channel][4]
  size_t channels, width;           // of the panel; width is a multiple of 16
  size_t all_channels;              // of this panel and those after it that are meant
  const int32_t* w_sum;             // [width], of a channel's weights
  const Int8Most* most;             // of each panel
  const int32_t* add;               // [width], bias and zero points
  const float* ratio;               // [width]
  int32_t zero;
  bool y_signed;
  Int8Unit unit;
  bool tame;  // no sum times its ratio leaves what an int32 holds
  ChannelsLastSum sum;
  const uint8_t* other;  // as y; null: no sum
  uint8_t* y;            // of pixel 0, at the panel's first channel
  size_t ldy;

  [[gnu::always_inline]] size_t depth() const { return 4 * quads * runs_x * runs_y; }
  // The same for the panel that begins at channel `first` of all.
  [[gnu::always_inline]] Int8ChannelsLastBlock at(size_t first) const {
    Int8ChannelsLastBlock b = *this;
    const size_t left = all_channels - first;
    b.channels = left < kChannelsLastPanel ? left : kChannelsLastPanel;
    b.width = (b.channels + 15) / 16 * 16;
    b.w += first * depth();
    b.w_sum += first;
    b.most += first / kChannelsLastPanel;
    b.add += first;
    b.ratio += first;
    b.y += first;
    if (other != nullptr) b.other += first;
    return b;
  }
};
SDX_DECLARE_ISAS(void conv_int8_channels_last_block(const Int8ChannelsLastBlock&);
                 // How many panels of so many bytes each a block should have.
                 size_t conv_int8_channels_last_panels(Int8Unit, size_t panel_bytes);
                 // The same by AMX.
                 void conv_int8_channels_last_tiles(const Int8ChannelsLastBlock&);)
// y[i] = the greatest x[i] of rows x columns pixels, the least value of the type where there is
// none.
struct MaxChannelsLastWindow {
  const uint8_t* x;
  size_t rows, row_step, columns, column_step;
  size_t channels;
  bool is_signed;
};
SDX_DECLARE_ISAS(void max_channels_last(const MaxChannelsLastWindow&, uint8_t* y);)

}  // namespace sdx
