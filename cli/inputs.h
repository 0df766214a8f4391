// Inputs for a model from the command line: from files, or drawn by a generator that is the same
// everywhere.
//
// --random SEED: input by input, element by element, from splitmix64 started with SEED xor the
// 64-bit FNV-1a hash of the input's position in decimal: "0" is the first of the graph's inputs
// that have no initializer. Names do not matter. One draw x per element:
//   floats      (x >> 40) / 2^23 - 1, rounded to the type: uniform in [-1, 1)
//   integers    ((x >> 32) * n) >> 32: uniform in [0, n), n = 100 or as many as a narrower type
//   holds bool        x >> 63 strings     the integer in decimal
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "command.h"

namespace sdx::cli {

struct InputFlags {
  std::vector<std::string> files;  // NAME=FILE, FILE.npz
  std::optional<uint64_t> seed;
  std::vector<std::string> sizes;   // DIM=V
  std::vector<std::string> states;  // inputs that later steps give; the model's default comes first
  std::vector<std::string> assertions;

  void add_to(CommandLine app);
  void add_sizes_to(CommandLine app);  // --set and --assert alone
  // --set, with names that the model's inputs use.
  Result<Bindings> bindings(const model::Model& model) const;
  // The sizes, the assertions, and the inputs that are given in place of the model's default.
  Status complete(const model::Model& model, CompileOptions& options) const;
  // One value per input of `graph`, in its order. Sizes still open when drawing become 1; `assumed`
  // lists them. Of several files for one input, step i takes the i-th, later steps the last.
  Result<std::vector<Value>> values(const model::Model& model, const typed::Graph& graph,
                                    std::vector<std::string>* assumed = nullptr,
                                    size_t step = 0) const;
};

// `name` is for messages alone.
Result<Value> random_value(const std::string& name, size_t position, const Fact& fact,
                           uint64_t seed);

}  // namespace sdx::cli
