// Pulsed: a streamed model as one ordinary graph. Each run takes the next rows and the state, and
// gives rows and the state for the next run; any ONNX engine can run it.
//
// Every wire brings the same number of rows in each pulse. A wire with a delay d brings rows -d ...
// in the first one: such rows are nothing, and the model's outputs have as many of them to drop.
// Where a padded operator or a state would see them, they are replaced by what the padding holds,
// by their index, which a counter in the state tells.
#pragma once

#include <map>

#include "model/model.h"
#include "stream/report.h"

namespace sdx::stream {

struct Pulsed {
  struct State {
    std::string input, output;
    Tensor initial;
    std::string words;  // of the initial value: "zeros"
  };
  typed::Graph graph;
  int opset = 0;
  int64_t pulse = 0;  // 0: any number of rows
  std::vector<State> states;
  std::map<std::string, int64_t> delays;  // by output: rows to drop at the beginning
  std::vector<std::string> left_out;      // outputs that only the stream's end tells

  size_t state_bytes() const;
};

// `pulse` 0: the number of rows is left open, which a graph of one rate allows.
Result<Pulsed> make_pulsed(const Flows& flows, int64_t pulse);
// The oldest version of ai.onnx, of those that pulsed models may have, in which every node of the
// graph means what it means there: most engines run it.
int oldest_opset(const typed::Graph& graph);
// As an ONNX model. Initial values are initializers of the state inputs' names, so that the first
// run need not give them.
Result<model::Model> to_model(const Pulsed& pulsed);

}  // namespace sdx::stream
