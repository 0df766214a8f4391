// Recorded requests: the inputs, the model's file and digest, and the outputs' digests of one
// inference in one JSON file, which `sardonyx verify` runs again and compares.
#pragma once

#include "serve/model/scheduler.h"

namespace sardonyx::serve {

// Writes FOLDER/MODEL-TIME-N.json, as a whole or not at all.
void record(const std::string& folder, const Job& job, const InferResult& result);

// What a record says, run again with `model` in the place of the recorded file unless empty. Prints
// one line per output; answers whether all agree, or what could not be read.
Outcome<bool> verify_record(const std::string& file, const std::string& model);

}  // namespace sardonyx::serve
