// What the region-of-interest poolings share: their output's shape.
#pragma once

#include "ops/common.h"

namespace sdx::ops {

// [regions, channels, height, width]; `columns` is the length of a row of `rois`.
inline Result<Facts> infer_roi(const Facts& in, int64_t height, int64_t width, int64_t columns) {
  const Fact &x = in[0], &rois = in[1];
  if (x.has_rank() && x.rank() != 4)
    return fail("SDX-T0339", "X has rank {}, expected 4", x.rank());
  if (rois.has_rank() &&
      (rois.rank() != 2 || (rois.dim(1).is_const() && !rois.dim(1).is_const(columns)))) {
    return fail("SDX-T0339", "rois has shape {}, expected [regions, {}]", to_string(*rois.shape),
                columns);
  }
  return Facts{
      Fact::tensor(x.type, {rois.has_rank() ? rois.dim(0) : Dim::unknown(),
                            x.has_rank() ? x.dim(1) : Dim::unknown(), Dim(height), Dim(width)})};
}

inline Error bad_region_batch(size_t region, int64_t batch, int64_t batches) {
  return fail("SDX-R0312", "region {} is in sample {}, the input has {}", region, batch, batches);
}

}  // namespace sdx::ops
