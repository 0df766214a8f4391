// What a person wants to know of a tensor's elements at a glance.
#pragma once

#include "json.h"

namespace sdx::cli {

// {"type", "shape", "count", "bytes", "min", "max", "mean", "std", "zeros", "nans", "first": "1 2 3
// ...", "histogram": [16 counts]}. Of a tensor of more than a million elements, every k-th is
// looked at, which "sampled" then says.
Json statistics(const Tensor& tensor);

}  // namespace sdx::cli
