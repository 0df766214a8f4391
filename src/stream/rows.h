// Whether an operator works row by row along an axis: it is asked, on a few rows of noise.
#pragma once

#include "stream/flow.h"

namespace sdx::stream {

// Row i of each output comes from row i of each streamed input and nothing else. `to`: the axis of
// each output. The answer is "" or why not.
std::string asked_by_rows(const typed::Graph& graph, uint32_t node,
                          const std::vector<std::optional<size_t>>& axes,
                          const std::vector<std::optional<size_t>>& to);

// Parts of equal type and other sizes, one behind the other along an axis.
Tensor joined(const std::vector<Tensor>& parts, size_t axis);
// Rows [first, last) along an axis, copied.
Tensor rows_of(const Tensor& tensor, size_t axis, int64_t first, int64_t last);

}  // namespace sdx::stream
