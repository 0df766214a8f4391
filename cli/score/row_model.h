// RowModel: a model that may be given rows in any portions.
//
// Either it is proved to work row by row (src/rowwise), and as many rows as one likes go through a
// run; or all its inputs and outputs have a first size of 1, and each row is a run. Any other model
// is refused, with the node that looks at other rows: its answer would depend on the portions.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "command.h"
#include "score/source.h"

namespace sdx::cli::score {

// The inputs and outputs of such a model.
struct RowPorts {
  std::vector<RowInput> inputs;    // those with rows
  std::vector<size_t> input_at;    // each one's place among the graph's inputs
  std::vector<std::string> same;   // those without, in the graph's order
  std::vector<std::string> names;  // of all inputs, in the graph's order
  std::vector<RowInput> outputs;
  int64_t most_rows = 0;  // of a run; 0: any number
};
Result<RowPorts> row_ports(const std::shared_ptr<const model::Model>& model,
                           const CompileOptions& options);

struct RowModel {
  std::shared_ptr<const plan::Compiled> compiled;
  std::string sha256;
  RowPorts ports;
  std::vector<Value> values;       // by input of the graph: of those that have no rows
  std::vector<size_t> outputs;     // the wanted ones, by their place
  std::vector<std::string> names;  // of them
  std::vector<DType> types;
  std::vector<bool> wanted;  // by output of the graph

  // `same`: NAME=FILE.npy, values of inputs that have no rows; `outputs`: all if empty.
  static Result<RowModel> load(const std::string& path, const EngineFlags& engine,
                               const std::vector<std::string>& same,
                               const std::vector<std::string>& outputs);
};

// The SHA-256 of a model's file; with external data, of the file that `convert --embed` writes.
Result<std::string> identity(const std::string& path, const model::Model& model);

// The bytes of which that is the hash.
Result<std::string> whole_bytes(const std::string& path, const model::Model& model);

}  // namespace sdx::cli::score
