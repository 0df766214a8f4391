// What a report computes before it is written: types, a plan, one run; and how its parts are named.
#pragma once

#include "api/digest.h"
#include "api/journal.h"
#include "page.h"

namespace sdx::cli {

// Everything the report shows that has to be computed.
struct Work {
  infer::Wires wires;
  std::optional<typed::Graph> graph;
  std::shared_ptr<const plan::Plan> plan;
  std::string certificate;          // of the plan
  std::vector<DigestLine> digests;  // of inputs and outputs of one run
  std::vector<std::string> assumed;
  std::string why_not;  // there is no plan
};
Work work_of(const PageRequest& request);

// Whether the profile has the rule.
bool judged(const check::Rule& rule, const std::string& profile);
// Which texts the rules of a profile are taken from.
std::string_view edition_of(std::string_view profile);

// A row of the trace matrix: a node of the model, what rules made of it, the kernels of the steps
// that compute it, and a test of each.
struct Traced {
  std::string node, became;
  std::vector<size_t> steps;
  std::vector<std::string> rules, kernels, tests;
};
std::vector<Traced> traced(const Journal& journal);

}  // namespace sdx::cli
