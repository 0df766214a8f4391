// Whether an output is the one that a backend test expects.
#pragma once

#include <string>

#include "base/tensor.h"
#include "model/model.h"

namespace sdx::cli {

// |found - expected| <= absolute + relative * |expected|.
struct Tolerance {
  double relative = 1e-3, absolute = 1e-7;
};

// The official rule, stricter where it is lax: integers, booleans and strings must be equal,
// sequences as long as expected. Empty: they agree.
std::string difference(const Value& found, const Value& expected, const Tolerance& tolerance);

// For outputs that are drawn: equal type and shape; means, and shares of zeros, within six standard
// errors of what was expected; nothing but 0 and 1 where nothing else was expected.
std::string difference_of_draws(const Value& found, const Value& expected);

// Whether the model draws random numbers: a generator, or Dropout in training.
bool draws(const model::Model& model);

}  // namespace sdx::cli
