// Rows from comma-separated values.
//
// The first line names the columns if one of its fields is not a number. With one input, all
// columns in order are the elements of its row. With several, an input's elements are the columns
// called as it is, or NAME.0, NAME.1 ..., in their order. A field is the nearest f64, rounded to
// the input's type; for integers, a whole number of its range; for bool 0, 1, true or false; for
// strings the text. Fields may be quoted, "" is a quote within quotes.
#pragma once

#include "score/source.h"

namespace sdx::cli::score {

Result<std::vector<Tensor>> read_csv(const std::string& path, const std::vector<RowInput>& inputs);

}  // namespace sdx::cli::score
