// What the optimiser did, pass by pass, in a form in which a checker can compare the graph before
// each pass with the one after it (docs/proofs.md, docs/certificate.md).
#pragma once

#include <string>

#include "plan/plan.h"
#include "rewrite/rewritten.h"

namespace sdx::certificate {

// A JSON object with the graph before the first pass and after each that changed it, the
// replacements that were made there, and the programs that `plan` runs inside of products. `graph`
// must have a journal.
Result<std::string> replacements(const typed::Graph& graph, const rewrite::Rewrites& rewrites,
                                 const plan::Plan& plan);

}  // namespace sdx::certificate
