// What conv_planes.cc asks of the code compiled per instruction-set level.
//
// Input planes are first copied to a staged form: zeros where the padding is, and for a stride s
// along the width the columns 0, s, 2s ..., then 1, s + 1 ..., as planes of their own, so that a
// row of outputs always reads a row of contiguous inputs. An unpadded input with stride 1 along the
// width is its own staged form; of a dense convolution so is one that is padded in other dimensions
// alone, and its patches have zeros for the rows that are not there.
#pragma once

#include <cstddef>

#include "kernel/conv/shape.h"
#include "kernel/epilogue/epilogue.h"
#include "kernel/isa.h"
#include "kernel/window/phases.h"

namespace sdx {

// Rows [begin, end) of a staged plane, whichever of its dims[0] planes they are in, or columns of
// the only one.
struct StagedBand {
  size_t begin, end;
  bool of_columns;
};

struct Staged {
  bool copied;
  size_t phases;               // planes of interleaved columns
  size_t dims[3];              // of each phase
  size_t phase_size;           // dims[0] * dims[1] * dims[2]
  size_t plane;                // elements of one channel
  bool rows_left_out = false;  // those of the padding are not there

  [[gnu::always_inline]] StagedBand all() const { return {0, dims[0] * dims[1], false}; }
  // Of the input that output (z, y, x) meets at the kernel's first tap; the other taps are at
  // tap_offset from it. In rows that are left out it wraps around: the sum of both counts.
  [[gnu::always_inline]] size_t base(const ConvShape& s, size_t z, size_t y, size_t x) const {
    size_t in_z = z * s.stride[0], in_y = y * s.stride[1];
    if (rows_left_out) in_z -= s.pad[0], in_y -= s.pad[1];
    return (in_z * dims[1] + in_y) * dims[2] + x;
  }
  [[gnu::always_inline]] size_t tap_offset(const ConvShape& s, size_t kz, size_t ky,
                                           size_t kx) const {
    const size_t column = kx * s.dilation[2];
    return column % s.stride[2] * phase_size +
           (kz * s.dilation[0] * dims[1] + ky * s.dilation[1]) * dims[2] + column / s.stride[2];
  }
};

// A kernel of one tap that visits every input once sees one long row.
ConvShape flattened(const ConvShape&);

// `may_alias`: the input may be its own staged form.
Staged staged_form(const ConvShape&, bool may_alias);
// That of a dense convolution of floats.
Staged dense_form(const ConvShape&);
// Rows of a kernel that a dense convolution may find left out: so many bits has a mask of them.
inline constexpr size_t kMostTapRows = 64;

// How the outputs of one group are cut for the threads: by panels of positions first, then by row
// blocks.
struct ConvCut {
  size_t pixels = 1, rows = 1;
};
ConvCut cut_for_threads(const ConvShape&, int threads);

inline constexpr size_t kChannelBlock = 16;  // of the order of the reduction
// Steps of a whole block of channels.
[[gnu::always_inline]] inline size_t steps_of_channels(const ConvShape& s) {
  return kChannelBlock * s.kernel[0] * s.kernel[1] * s.kernel[2];
}
inline constexpr size_t kSlack = 64;  // floats that may be read behind staged planes

struct ConvBlock {
  const ConvShape* shape;
  const Staged* staged;
  const float* x;                 // the staged planes of the group
  const float* weights;           // packed, of the group
  size_t block_begin, block_end;  // row blocks of the group's output channels
  size_t pixel_begin, pixel_end;
  float* y;           // the group's first output plane
  const float* bias;  // of the group's first channel, or null
  BlockEpilogue epilogue;
  size_t row;      // of the group's first channel, for the epilogue
  float* panels;   // kPanelFloats
  size_t* offset;  // kDepth
  // kDepth: which row of the kernel each step's tap is in; null where no row is left out.
  uint8_t* tap_row;
  bool backwards;  // inputs go back as taps go on: x is where the last tap reads
  // The group's weights as the model has them, or null: then each row block's are packed right
  // before they are used, here.
  const float* as_given;
  float* room;    // kRowBlock * kDepth
  size_t* order;  // kDepth
};

// Packs the weights of rows [row, row + rows) at the steps [begin, begin + length), which are whole
// blocks of channels, into b.room.
void pack_stretch(const ConvBlock& b, size_t row, size_t rows, size_t begin, size_t length);

// One output plane of a convolution with one input channel per group, of a plane staged in phases.
struct PhasesPlane {
  const float* staged;
  const size_t* tap;  // find_taps
  const float* w;
  const float* bias;  // of this plane, or null
  float* y;
  float* sums;  // phase_size() + kPhaseSlack
};

// Where most taps of a dilated kernel lie in the padding, runs without them (parts.cc).
bool leaves_padding_out(const ConvShape&);
// Floats per thread, and for all: the sums of a part.
size_t parts_scratch(const ConvShape&);
struct ConvArgs;
class Pool;
void run_in_parts(const ConvArgs&, float* sums, float* panels, size_t per_thread, Pool&, Isa);

// Some run as blocks of channels (blocks.cc), with weights and scratch of their own.
bool runs_in_blocks(const ConvShape&);
size_t blocks_packed_floats(const ConvShape&);
void pack_blocks(const ConvShape&, const float* w, float* packed, Pool&);
size_t blocks_scratch_floats(const ConvShape&, int threads);
void run_in_blocks(const ConvArgs&, Pool&, Isa);

// Packed patches that stay in the second-level cache while all row blocks pass over them.
inline constexpr size_t kPanelFloats = 131072;

// A convolution of some neighbouring outputs by some neighbouring taps alone: `shape` and `staged`
// of the block are those of the part, its weights are the whole kernel's.
struct ConvPart {
  const ConvShape* whole;
  size_t tap[3];  // the first one
};

SDX_DECLARE_ISAS(void conv_planes_part(const ConvBlock&, const ConvPart&);
                 void conv_planes_stage(const ConvShape&, const Staged&, const StagedBand&,
                                        const float* plane, float* out);
                 void conv_planes_block(const ConvBlock&);
                 // One output plane of a convolution with one input channel per group; offset[tap]
                 // as Staged says.
                 void conv_planes_depthwise(const ConvShape&, const Staged&, const size_t* offset,
                                            const float* x, const float* w, const float* bias,
                                            float* y);
                 // The same in phases (kernel/window/phases.h). Staging keeps what the borders are.
                 void conv_phases_stage(const ConvShape&, const PhaseRows*, const float* plane,
                                        float* staged);
                 void conv_phases_depthwise(const ConvShape&, const PhasesPlane&);)

}  // namespace sdx
