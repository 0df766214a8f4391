#include "kernel/conv/planes/stage.h"
#include "kernel/conv/planes/work.h"
#include "kernel/gemm/block.h"
#include "kernel/gemm_int8/block.h"

namespace sdx::SDX_ISA {

void conv_int8_planes_stage(const ConvShape& s, const Staged& staged, const uint8_t* plane,
                            uint8_t padding, uint8_t* out) {
  stage_plane(s, staged, staged.all(), plane, padding, out);
}

// Rows of kPanel bytes, one per step of the reduction, interleaved as a panel of B.
void conv_int8_planes_patches(const ConvShape& s, const Staged& staged, const uint8_t* x,
                              bool x_signed, size_t pixel, size_t cols, int32_t* panel) {
  const size_t channels = s.in_channels / s.groups, width = panel_width(cols);
  int32_t sums[kPanel] = {};
  auto* out = reinterpret_cast<uint8_t*>(panel + width);
  if (!staged.copied && cols == kPanel) {
    int8_pack_steps(x + pixel, staged.plane, x_signed, channels, width, sums, out);
    std::memcpy(panel, sums, width * sizeof(int32_t));
    return int8_end_panel(channels, cols, panel);
  }
  struct Run {
    size_t base, first;
  } runs[kPanel];
  size_t count = 0;
  for (size_t lane = 0; lane < cols;) {
    const size_t column = (pixel + lane) % s.out[2], row = (pixel + lane) / s.out[2];
    runs[count++] = {staged.base(s, row / s.out[1], row % s.out[1], column), lane};
    lane += s.out[2] - column;
  }
  // Each run copies a full panel's width where it may: the next run or row overwrites what was too
  // much.
  constexpr size_t kRows = 64;
  alignas(64) uint8_t rows[(kRows + 1) * kPanel] = {};
  size_t filled = 0;
  const auto pack = [&](size_t k) {
    int8_pack_steps(rows, kPanel, x_signed, k, width, sums, out);
    out += k * width;
    filled = 0;
  };
  for (size_t c = 0; c < channels; ++c) {
    for (size_t kz = 0; kz < s.kernel[0]; ++kz) {
      for (size_t ky = 0; ky < s.kernel[1]; ++ky) {
        for (size_t kx = 0; kx < s.kernel[2]; ++kx) {
          const uint8_t* in = x + c * staged.plane + staged.tap_offset(s, kz, ky, kx);
          uint8_t* row = rows + filled * kPanel;
          if (!staged.copied) {
            std::memcpy(row, in + pixel, cols);
          } else {
            for (size_t i = 0; i < count; ++i)
              std::memcpy(row + runs[i].first, in + runs[i].base, kPanel);
          }
          if (++filled == kRows) pack(kRows);
        }
      }
    }
  }
  if (filled != 0) pack(filled);
  std::memcpy(panel, sums, width * sizeof(int32_t));
  int8_end_panel(conv_depth(s), cols, panel);
}

namespace {

template <class T>
void add_taps(const ConvShape& s, const Staged& staged, const T* x, int32_t x_zero,
              const int32_t* w, int32_t w_zero, int32_t* y) {
  const size_t width = s.out[2];
  std::memset(y, 0, s.out[0] * s.out[1] * width * sizeof(int32_t));
  for (size_t kz = 0; kz < s.kernel[0]; ++kz) {
    for (size_t ky = 0; ky < s.kernel[1]; ++ky) {
      for (size_t kx = 0; kx < s.kernel[2]; ++kx) {
        const T* tap = x + staged.tap_offset(s, kz, ky, kx);
        const int32_t factor = *w++ - w_zero;
        int32_t* out = y;
        for (size_t oz = 0; oz < s.out[0]; ++oz) {
          for (size_t oy = 0; oy < s.out[1]; ++oy, out += width) {
            const T* in = tap + staged.base(s, oz, oy, 0);
            for (size_t j = 0; j < width; ++j) {
              out[j] = int32_t(uint32_t(out[j]) + uint32_t((int32_t(in[j]) - x_zero) * factor));
            }
          }
        }
      }
    }
  }
}

}  // namespace

void conv_int8_planes_depthwise(const ConvShape& s, const Staged& staged, const uint8_t* x,
                                bool x_signed, int32_t x_zero, const int32_t* w, int32_t w_zero,
                                int32_t* y) {
  if (x_signed) {
    add_taps(s, staged, reinterpret_cast<const int8_t*>(x), x_zero, w, w_zero, y);
  } else {
    add_taps(s, staged, x, x_zero, w, w_zero, y);
  }
}

}  // namespace sdx::SDX_ISA
