// What the commands share that know of streams.
#pragma once

#include "command.h"
#include "inputs.h"
#include "stream/flow.h"

namespace sdx::cli {

Command stream_command(CommandLine program);

// How the wires of a model move along an axis; sizes that are not set are 1, which stderr says.
Result<stream::Flows> flows_of(const std::string& path, const std::string& axis,
                               const EngineFlags& engine, const InputFlags& inputs);
// show --at streamed
Result<std::string> text_streamed(const std::string& path, const std::string& axis,
                                  const EngineFlags& engine, const InputFlags& inputs);

// run --stream: rows of an input given as NAME=- come from stdin, and certain rows of the first
// output, or of those wanted, go to stdout as they come: nothing is returned then. With files, all
// outputs are, joined.
struct StreamRun {
  std::string model, axis;
  std::vector<std::string> outputs;
  int64_t chunk = 1;
};
Result<std::vector<Value>> run_stream(const StreamRun& wanted, const EngineFlags& engine,
                                      const InputFlags& inputs);

}  // namespace sdx::cli
