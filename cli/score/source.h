// Source: a file of rows, one tensor for each input of a model that has rows.
//
//   .npy   the rows of the model's only input with rows
//   .npz   an array for each such input, by its name
//   .csv   numbers or texts (csv.h)
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/tensor.h"
#include "score/job.h"

namespace sdx::cli::score {

// An input with rows: its type, and the sizes of a row (-1: open).
struct RowInput {
  std::string name;
  DType type = DType::undefined;
  Dims row;
};

struct Source {
  std::string path;
  Stamp stamp;
  std::vector<Tensor> tensors;  // by input; first axes are all of stamp.rows

  // Checked against the inputs: types, sizes of a row, equal numbers of rows.
  static Result<std::shared_ptr<const Source>> open(const std::string& path,
                                                    const std::vector<RowInput>& inputs);
};

// Files that an --input names: itself, or those of a folder, or of a list in a file @LIST.
Result<std::vector<std::string>> files_of(const std::vector<std::string>& given);

}  // namespace sdx::cli::score
