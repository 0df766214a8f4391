// The subgraphs of a model: typed when the facts of their inputs are known.
#pragma once

#include "infer/walk.h"

namespace sdx::infer {

// `captured`: names of the outer wires it uses, empty for those of other bodies of its node.
// `branch`: of an If, which may fit other sizes than those at hand.
std::shared_ptr<const BodySource> model_body(std::shared_ptr<const model::Model> model,
                                             const model::Graph& body,
                                             std::vector<std::string> captured, const Scope& scope,
                                             const Options& options, std::string place,
                                             bool branch);

}  // namespace sdx::infer
