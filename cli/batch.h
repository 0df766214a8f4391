// convert --batch: a model for so many rows at a time as one for another number of them.
#pragma once

#include <string>

#include "command.h"

namespace sdx::cli {

// `batch`: a number, or the name of a size that stays open. Every input whose first dimension is
// the batch gets it, and every output must have it first. The proof, on drawn inputs: the first
// rows of a run of the new model have the bits that the old one gives for them. Otherwise the error
// names the output.
Result<model::Model> with_batch(const model::Model& model, const std::string& batch,
                                const LimitFlags& limits);

}  // namespace sdx::cli
