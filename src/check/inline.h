// Inlining: a model becomes one without functions that computes the same.
#pragma once

#include <functional>
#include <optional>

#include "base/result.h"
#include "model/model.h"

namespace sdx::check {

struct InlineOptions {
  size_t most_nodes = size_t{1} << 22;  // nested functions can grow exponentially
  // For a node of an operator, which has this version: a function to put in its place, if any.
  std::function<std::optional<model::Function>(const model::Node&, int64_t version)> body = {};
};

struct Inlined {
  model::Model model;
  size_t calls = 0, bodies = 0;  // of functions, and that InlineOptions::body gave
};

// Each call is replaced by the function's nodes, with names of their own, and attributes that refer
// to the call's replaced by those or their defaults. A chain of calls that returns to its start is
// an error that prints it, and so is a body that means an operator in another version than the
// model imports, unless the two differ in element types at most.
Result<Inlined> inline_functions(const model::Model& model, const InlineOptions& options = {});

// The errors of whoever follows calls: more inputs or outputs than the function has, a chain such
// as "a.f -> a.g -> a.f", and more nodes than allowed.
Status fits_function(const model::Function& function, const model::Node& call);
Error calls_itself(const std::string& chain);
Error too_many_nodes(size_t most);
Error too_deep();

// How many nodes the model has once each call is replaced by the function's nodes; an error where
// they are more than `most`, or more than a file of that many nodes warrants, or where functions
// call each other in a circle. Nothing is made: the count of each function is found once.
Result<size_t> inlined_nodes(const model::Model& model, size_t most);

}  // namespace sdx::check
