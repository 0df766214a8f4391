// A model from a file and inputs from flags, compiled: where run, bench, profile and compare start.
#pragma once

#include "inputs.h"

namespace sdx::cli {

struct Loaded {
  std::shared_ptr<const model::Model> model;
  CompileOptions options;
  std::shared_ptr<const plan::Compiled> compiled;
  std::vector<Value> inputs;
  std::shared_ptr<const plan::Plan> plan;  // for the inputs' shapes
  std::vector<std::string> assumed;        // sizes that nobody gave and that were taken as 1
  double load_ms = 0;  // reading, typing, rewriting, planning and packing; not the inputs
};

// Says on stderr which sizes it assumed.
Result<Loaded> load(const std::string& path, const EngineFlags& engine, const InputFlags& inputs);

// An error of planning or running, with the question for sizes where those were assumed.
Error asking_for_sizes(Error error, const std::vector<std::string>& assumed);

// Milliseconds of a clock that only goes forward.
double now_ms();

}  // namespace sdx::cli
