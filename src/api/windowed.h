// A model that is made for one window of rows, as a model over all of them: it runs on each window
// in turn, and what it gives for one goes into the next.
//
//   state ─┐                               ┌─► last state
//   x[T] ──┴─► windows of W rows, H apart ─► Scan over them, its body the model ─► row by row
//
// Voice detectors and wake words are published so: for 512 samples or 16 frames, with the state as
// an input and an output. As a model over an axis they stream like any other.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/model.h"

namespace sdx {

// What is said of an axis, a state or a value that the model does not have.
inline Error no_graph() { return fail("SDX-S0071", "the model has no graph"); }
inline Error no_input(const std::string& name) {
  return fail("SDX-S0071", "the model has no input \"{}\"", name);
}
inline Error no_axis(const std::string& input, size_t axis) {
  return fail("SDX-S0071", "input \"{}\" has no axis {}", input, axis);
}

struct Windows {
  std::string input;
  size_t axis = 0;
  int64_t rows = 0, hop = 0;                                // hop divides rows
  std::vector<std::pair<std::string, std::string>> states;  // output, and the input it goes to
};

// The open size of the model that is made is `open`. The whole number of hops is a condition on
// it: as a whole run, the end of a stream with part of a hop is an error.
Result<std::shared_ptr<const model::Model>> windowed(const model::Model& model,
                                                     const Windows& windows,
                                                     const std::string& open);

}  // namespace sdx
