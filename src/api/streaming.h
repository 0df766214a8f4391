// A model made ready to be streamed along one axis.
#pragma once

#include "api/engine.h"
#include "stream/stream.h"

namespace sdx {

// What the doors say of wrong calls, in the same words.
inline Error no_stream_of(std::string_view input) {
  return fail("SDX-S0070", "input \"{}\" is no tensor; streams take tensors only", input);
}
inline Error wrong_streams(size_t streams, size_t inputs) {
  return fail("SDX-S0073", "{} streams and inputs for {}", streams, inputs);
}

// `axis`: the name of an open size of the inputs; INPUT:AXIS, which opens one that has a number; or
// INPUT:AXIS:WINDOW[:HOP], for a model that is made for one window (api/windowed.h). What follows
// behind commas: OUTPUT=INPUT, a state that goes from window to window, and INPUT=NUMBER, an input
// that has one value for good and is none any more.
Result<std::shared_ptr<const stream::Source>> stream_source(
    std::shared_ptr<const model::Model> model, const std::string& axis,
    const CompileOptions& options = {});

}  // namespace sdx
