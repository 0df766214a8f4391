// Engine: the whole road in one call, from a file to something that runs (road.cc drives it).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "infer/inferred.h"
#include "model/io.h"
#include "run/session.h"

namespace sdx {

// Bytes of this machine's memory.
size_t physical_memory();

struct CompileOptions {
  int threads = 0;                               // 0: the CPUs this process may use
  Isa isa = native_isa();                        // no bit depends on it
  bool optimize = true;                          // rewrites; they keep every bit
  bool strict = false;                           // --numerics strict: no rewrite that changes bits
  check::Accept accept = check::Accept::common;  // what deviates from ONNX's rules and is clear
  bool reference = false;                        // run every operator's reference body
  Bindings set = {};                             // sizes for symbolic dimensions
  std::vector<std::string> assertions = {};      // of the symbols: "N<=512", "H%32==0"
  // Inputs that have an initializer of their name and shall be given at each run all the same.
  std::set<std::string> overridden = {};
  std::optional<uint64_t> order = {};  // steps in an order drawn with this seed
  size_t most_plans = 8;               // for different shapes, kept at a time
  size_t most_arena_bytes = physical_memory();
  size_t most_nodes = size_t{1} << 22;  // after inlining: nested functions can grow exponentially
  bool journal = false;  // keep where each planned operation comes from (api/journal.h)
  // A folder in which packed weights are kept from one load to the next, or "beside": the model's
  // own. "": nowhere.
  std::string pack_cache = {};
  // Told, whenever a plan is made, how many of its steps are ready, of how many.
  std::function<void(size_t done, size_t total)> progress = {};
};

// The whole road: the outputs of a model's file for these inputs.
Result<std::vector<Value>> answer(const std::string& file, std::span<const Value> inputs,
                                  const CompileOptions& = {});
// A model with what is known of every wire. With `thorough`, all that can be learnt is, the reasons
// are kept, and declared types are compared: what people want to see, and a run does not need.
Result<infer::Inferred> inferred(std::shared_ptr<const model::Model> model,
                                 const CompileOptions& = {}, bool thorough = false);
// The typed graph of a model, before optimisation.
Result<typed::Graph> type(std::shared_ptr<const model::Model> model, const CompileOptions& = {});
Result<std::shared_ptr<const plan::Compiled>> compile(std::shared_ptr<const model::Model> model,
                                                      const CompileOptions& = {});
Result<std::shared_ptr<const plan::Compiled>> compile(const typed::Graph& graph,
                                                      const CompileOptions& = {});

}  // namespace sdx
