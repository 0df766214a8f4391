#include "kernel/conv/int8_channels_last/to_bytes.h"
#include "kernel/gemm_int8/amx_tiles.h"

namespace sdx::SDX_ISA {

#if defined(SDX_ISA_avx512)

namespace {

constexpr size_t kPixels = 16, kStep = 64;  // rows of a tile, bytes of a row

// Tiles 0 to 3 are the sums of up to 64 channels, 4 is pixels, 5 to 7 are weights in turn.
TileShapes shapes_of(size_t pixels) {
  TileShapes s;
  for (const int tile : {0, 1, 2, 3, 4}) s.set(tile, pixels, 64);
  for (const int tile : {5, 6, 7}) s.set(tile, 16, 64);
  return s;
}

template <class Tiles>
struct TilePixels {
  Tiles& tiles;
  const Int8ChannelsLastBlock& b;
  const int8_t* w;     // what the next step reads
  size_t left;         // quads of it
  size_t vectors = 0;  // of 16 channels

  // 64 bytes of each pixel, zeros where the weights end before.
  [[gnu::always_inline]] void add(const uint8_t* x, size_t step) {
    const size_t w_step = 4 * b.width;
    alignas(64) int8_t last[16 * 4 * kChannelsLastPanel];
    const int8_t* from = w;
    if (left < 16) {
      std::memset(last, 0, sizeof last);
      std::memcpy(last, w, left * w_step);
      from = last;
    }
    tiles.template load<4>(x, step);
    tiles.template load<5>(from, w_step);
    tiles.template add<0, 4, 5>(false);
    if (vectors > 1) {
      tiles.template load<6>(from + 64, w_step);
      tiles.template add<1, 4, 6>(false);
    }
    if (vectors > 2) {
      tiles.template load<7>(from + 128, w_step);
      tiles.template add<2, 4, 7>(false);
    }
    if (vectors > 3) {
      tiles.template load<5>(from + 192, w_step);
      tiles.template add<3, 4, 5>(false);
    }
    const size_t quads = left < 16 ? left : 16;
    w += quads * w_step;
    left -= quads;
  }

  // Pixels at equal distances, in runs of whole steps.
  void add_in_place(const uint8_t* x, size_t distance) {
    for (size_t ry = 0; ry < b.runs_y; ++ry) {
      for (size_t rx = 0; rx < b.runs_x; ++rx) {
        const uint8_t* run = x + ry * b.step_y + rx * b.step_x;
        for (size_t at = 0; at < 4 * b.quads; at += kStep) add(run + at, distance);
      }
    }
  }

  // Any others: their runs come one after another in a copy.
  void add_copied(const uint8_t* const* x, size_t pixels) {
    constexpr size_t kRoom = 8 * kStep;
    alignas(64) uint8_t copy[kPixels * kRoom];
    size_t filled = 0;
    const auto flush = [&] {
      for (; filled % kStep != 0; filled += 4) {
        for (size_t p = 0; p < pixels; ++p) std::memset(copy + p * kRoom + filled, 0, 4);
      }
      for (size_t at = 0; at < filled; at += kStep) add(copy + at, kRoom);
      filled = 0;
    };
    for (size_t ry = 0; ry < b.runs_y; ++ry) {
      for (size_t rx = 0; rx < b.runs_x; ++rx) {
        const size_t run = ry * b.step_y + rx * b.step_x, bytes = 4 * b.quads;
        for (size_t at = 0; at < bytes;) {
          const size_t n = bytes - at < kRoom - filled ? bytes - at : kRoom - filled;
          for (size_t p = 0; p < pixels; ++p)
            std::memcpy(copy + p * kRoom + filled, x[p] + run + at, n);
          at += n;
          filled += n;
          if (filled == kRoom) flush();
        }
      }
    }
    flush();
  }
};

template <class Tiles>
void sum_pixels(Tiles& tiles, const Int8ChannelsLastBlock& b, const uint8_t* const* x,
                size_t pixels, int32_t* sum) {
  tiles.template zero<0>();
  tiles.template zero<1>();
  tiles.template zero<2>();
  tiles.template zero<3>();
  TilePixels<Tiles> t{tiles, b, b.w, b.runs_y * b.runs_x * b.quads, b.width / 16};
  const std::ptrdiff_t distance = pixels > 1 ? x[1] - x[0] : 0;
  bool in_place = 4 * b.quads % kStep == 0;
  for (size_t p = 2; p < pixels; ++p) in_place = in_place && x[p] - x[p - 1] == distance;
  if (in_place) {
    t.add_in_place(x[0], size_t(distance));
  } else {
    t.add_copied(x, pixels);
  }
  constexpr size_t kRow = kChannelsLastPanel * sizeof(int32_t);
  tiles.template store<0>(sum, kRow);
  if (t.vectors > 1) tiles.template store<1>(sum + 16, kRow);
  if (t.vectors > 2) tiles.template store<2>(sum + 32, kRow);
  if (t.vectors > 3) tiles.template store<3>(sum + 48, kRow);
}

template <class Tiles>
void run(Tiles& tiles, const Int8ChannelsLastBlock& b) {
  alignas(64) int32_t sum[kPixels * kChannelsLastPanel];
  LastPixels next(b);
  size_t shaped = 0;
  for (size_t pixel = b.first; pixel < b.last;) {
    const size_t pixels = b.last - pixel < kPixels ? b.last - pixel : kPixels;
    if (pixels != shaped) tiles.shape(shapes_of(pixels));
    shaped = pixels;
    const uint8_t* x[kPixels];
    for (size_t p = 0; p < pixels; ++p) x[p] = next.next();
    sum_pixels(tiles, b, x, pixels, sum);
    end_sums(b, sum, pixel, pixels);
    pixel += pixels;
  }
  tiles.release();
}

}  // namespace

void conv_int8_channels_last_tiles(const Int8ChannelsLastBlock& b) {
  if (b.unit == Int8Unit::amx_in_memory) {
    TilesInMemory tiles;
    return run(tiles, b);
  }
  AmxTiles tiles;
  run(tiles, b);
}

#else

void conv_int8_channels_last_tiles(const Int8ChannelsLastBlock&) {}

#endif

}  // namespace sdx::SDX_ISA
