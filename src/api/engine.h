// Engine: the whole road in one call, from a file to something that runs.
#pragma once

#include <memory>
#include <string>

#include "infer/typing.h"
#include "model/io.h"
#include "run/session.h"

namespace sdx {

struct CompileOptions {
  int threads = 0;         // 0: the CPUs this process may use
  Isa isa = best_isa();    // of the whole process from then on; no bit depends on it
  bool optimize = true;    // rewrites; they keep every bit
  bool strict = false;     // --numerics strict: no rewrite that changes bits
  bool reference = false;  // run every operator's reference body
  Bindings set;            // sizes for symbolic dimensions
};

// The typed graph of a model, before optimisation. `wires` is filled with the names of its main
// graph.
Result<typed::Graph> type(std::shared_ptr<const model::Model> model, const CompileOptions& = {},
                          std::map<std::string, typed::Outlet>* wires = nullptr);
Result<std::shared_ptr<const run::Compiled>> compile(std::shared_ptr<const model::Model> model,
                                                     const CompileOptions& = {});
Result<std::shared_ptr<const run::Compiled>> compile(const typed::Graph& graph,
                                                     const CompileOptions& = {});

}  // namespace sdx
