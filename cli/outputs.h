// Outputs for people and for files.
#pragma once

#include <string>
#include <vector>

#include "command.h"

namespace sdx::cli {

// "probabilities f32[10,10] = 0.01 0.98 ...".
std::string summary(const std::string& name, const Value& value);

enum class Format { pb, npy, npz };

// Writes output_0.pb, output_1.pb ... (.npy) or outputs.npz into `folder`, all of them or none. A
// folder that exists keeps its other files, but not output files of an earlier run with more
// outputs. With `chosen`, one entry per output, only those that are true are written, under their
// numbers. numpy's files hold tensors only.
Status write_outputs(const model::Model& model, const std::vector<Value>& values,
                     const std::string& folder, Format format = Format::pb,
                     const std::vector<bool>& chosen = {});

}  // namespace sdx::cli
