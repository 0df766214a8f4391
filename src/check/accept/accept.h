// Accept: what loading to run takes although it breaks a rule.
//
// Two questions are kept apart. check() judges a model by the specification. Whoever wants to run
// it asks whether it has exactly one meaning, and a file whose nodes are out of order, whose graph
// has no name or whose dimension is -1 has one. Each rule whose breach leaves the meaning clear has
// a Reading here: the sentence that says how the model is then read, and the mend that writes that
// reading down. A mended model must keep all rules, so nothing behind this room learns of
// deviations; fix() mends the same way for good.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "check/report.h"
#include "model/model.h"

namespace sdx::check {

enum class Accept {
  strict,  // every rule holds
  common,  // what deviates from a rule and has one meaning all the same is read by that meaning
};

namespace accept {

using Journal = std::vector<std::string>;

struct Reading {
  const Rule* rule;
  std::string_view meaning;  // how a model that breaks the rule is read
  void (*mend)(model::Model& model, const Report& found, Journal& journal);
};
std::span<const Reading> readings();
// The reading of a finding; null if it leaves the meaning open. Whatever is wrong with training
// information does not touch what the model computes.
const Reading* reading_of(const Diagnostic& finding);

// Mends what `found` says is wrong with the model and has a reading. A sentence for each mend.
void mend(model::Model& model, const Report& found, Journal& journal);

// The findings of one rule as one clause: what the first is, its code, and how many there are.
std::string clause(const std::vector<const Diagnostic*>& findings);
// "accepted with 3 deviations: ...; see sardonyx check". Empty if there are none.
std::string note(const std::vector<Diagnostic>& deviations);
// All errors as one: the first with its place, then the others and the deviations, a line each.
Error all_at_once(const std::vector<Diagnostic>& errors, const std::vector<Diagnostic>& deviations);

}  // namespace accept
}  // namespace sdx::check
