// Outputs for people and for files.
#pragma once

#include <string>
#include <vector>

#include "command.h"

namespace sdx::cli {

// "probabilities f32[10,10] = 0.01 0.98 ...".
std::string summary(const std::string& name, const Value& value);

enum class Format { pb, npy, npz };

// What write_values() writes: a name, what the model declares of it, and the value.
struct Written {
  model::ValueInfo info;
  Value value;
};

// How the files are called: output_0.pb, output_1.pb ... (.npy), or outputs.npz.
struct FileNames {
  std::string one = "output", all = "outputs";
};

// Writes one file per value, or one for all of them, into `folder`: all or none. A folder that
// exists keeps its other files, but not such files of an earlier run with more values. With
// `chosen`, one entry per value, only those that are true are written, under their numbers. numpy's
// files hold tensors only.
Status write_values(const std::vector<Written>& values, const std::string& folder, Format format,
                    const FileNames& names = {}, const std::vector<bool>& chosen = {});
Status write_outputs(const model::Model& model, const std::vector<Value>& values,
                     const std::string& folder, Format format = Format::pb,
                     const std::vector<bool>& chosen = {});

// "pb", "npy" or "npz".
Format format_named(const std::string& name);

}  // namespace sdx::cli
