// Job: a model made ready to run on small shapes, with inputs drawn from a seed.
#pragma once

#include "api/engine.h"
#include "fuzz.h"

namespace sdx::fuzz {

struct Job {
  CompileOptions options;  // small sizes for the model's symbols, and low limits
  typed::Graph graph;
  std::vector<Value> inputs;
  run::RunOptions::Clock::time_point end;  // of all its runs: what it asks for has no bound
  bool claims = true;  // types that the model declares inside and of outputs were believed
};

Result<Job> make_job(std::shared_ptr<const model::Model> model, uint64_t seed);

// The outputs of a run, and of a second one of the same session, which must give the same.
Result<std::vector<Value>> outputs_of(const Job& job, const CompileOptions& options);

// Whether a limit on memory, time or iterations ended the run: how much of them a run needs depends
// on how it is done.
bool is_limit(const Error& error);

}  // namespace sdx::fuzz
