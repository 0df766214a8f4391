#include "kernel/window/overlap_add.h"

#include <cstring>

#include "kernel/simd/f32x16.h"
#include "kernel/simd/numbers.h"

namespace sdx::SDX_ISA {
namespace {

// Blocks [begin, end) along an axis have place k on the image; that of block 0 is at pixel `first`.
struct Covered {
  int64_t begin, end, first;
  Covered(const OverlapShape& s, int axis, int64_t k)
      : begin(0), first(k * s.dilation[axis] - s.pad[axis]) {
    const int64_t stride = s.stride[axis], past = s.image[axis] - first;
    if (first < 0) begin = (-first + stride - 1) / stride;
    end = past > 0 ? (past - 1) / stride + 1 : 0;
    if (end > s.blocks[axis]) end = s.blocks[axis];
  }
};

SDX_INLINE void add(const float* in, float* to, int64_t n) {
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) store(to + i, load(to + i) + load(in + i));
  if (i >= n) return;
  const auto rest = size_t(n - i);
  store_n(to + i, load_n(to + i, rest) + load_n(in + i, rest), rest);
}

// All blocks of some planes onto rows that hold zeros; column x of a row is at (x % phases) *
// length + x / phases.
void add_blocks(const OverlapShape& s, const float* from, float* rows, size_t planes,
                int64_t phases, int64_t length) {
  const int64_t step = s.stride[1] / phases;  // 1, or the columns are not in phases
  const int64_t count = s.blocks[0] * s.blocks[1], area = s.block[0] * s.block[1];
  const int64_t width = phases * length;
  for (int64_t k = 0; k < area; ++k) {
    const Covered down(s, 0, k / s.block[1]), along(s, 1, k % s.block[1]);
    const int64_t phase = (along.first % phases + phases) % phases;
    const int64_t first = phase * length + (along.first - phase) / phases;
    for (size_t plane = 0; plane < planes; ++plane) {
      const float* in = from + (int64_t(plane) * area + k) * count + down.begin * s.blocks[1];
      float* to = rows + first + (int64_t(plane) * s.image[0] + down.first) * width +
                  down.begin * s.stride[0] * width;
      for (int64_t row = down.begin; row < down.end; ++row) {
        if (step == 1) {
          add(in + along.begin, to + along.begin, along.end - along.begin);
        } else {
          for (int64_t i = along.begin; i < along.end; ++i) to[i * step] = to[i * step] + in[i];
        }
        in += s.blocks[1];
        to += s.stride[0] * width;
      }
    }
  }
}

// A row in phases, in the image's order.
void put_in_order(const float* row, int64_t phases, int64_t length, float* to, int64_t width) {
  if (phases == 2) {
    const float* odd = row + length;
    for (int64_t i = 0; i < width / 2; ++i) {
      to[2 * i] = canonical(row[i]);
      to[2 * i + 1] = canonical(odd[i]);
    }
    if (width % 2 != 0) to[width - 1] = canonical(row[width / 2]);
    return;
  }
  for (int64_t phase = 0; phase < phases; ++phase, row += length) {
    for (int64_t x = phase, i = 0; x < width; x += phases, ++i) to[x] = canonical(row[i]);
  }
}

}  // namespace

void overlap_add(const OverlapShape& s, const float* from, float* image, size_t planes,
                 float* staged) {
  const int64_t phases = s.phases(), length = s.phase_length(), width = s.image[1];
  const int64_t lines = int64_t(planes) * s.image[0], size = lines * phases * length;
  float* rows = phases == 1 ? image : staged;
  std::memset(rows, 0, size_t(size) * sizeof(float));
  add_blocks(s, from, rows, planes, phases, length);
  if (phases == 1) {
    for (int64_t i = 0; i < size; ++i) rows[i] = canonical(rows[i]);
    return;
  }
  for (int64_t y = 0; y < lines; ++y) {
    put_in_order(rows + y * phases * length, phases, length, image + y * width, width);
  }
}

}  // namespace sdx::SDX_ISA
