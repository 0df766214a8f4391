// The Checked stage: whether a model keeps the rules of ONNX's intermediate representation, of its
// operators' signatures and, on request, of the SONNX profile. All violations come in one report.
#pragma once

#include <memory>

#include "base/result.h"
#include "check/accept/accept.h"
#include "check/report.h"
#include "model/model.h"

namespace sdx::check {

enum class Profile { onnx, sonnx, sonnx_full };

struct Options {
  Profile profile = Profile::onnx;
  bool capture_forbid = false;  // SONNX-F3 is an error
  bool open_types = false;  // inputs and outputs may leave out types and shapes: they are inferred
  // For checked(): what deviates from a rule and still has one meaning. A profile takes nothing but
  // what keeps its rules.
  Accept accept = Accept::strict;
  size_t most = 1000;  // errors, and other findings, kept; more are counted
};

Report check(const model::Model& model, const Options& options = {});

// A version number of the model: "7" if it is a simple one, "1.2.3" if its two most significant
// bytes are a major, the next two a minor and the last four a patch number.
std::string version_text(int64_t version);

// A model that keeps the rules, or was mended so that it does. Only checked() makes one.
class Checked {
 public:
  // What was mended.
  const std::vector<Diagnostic>& deviations() const { return deviations_; }
  // The same in a sentence for whoever runs the model; none if nothing was.
  std::vector<std::string> notes() const;
  const model::Model& model() const { return *model_; }
  const std::shared_ptr<const model::Model>& shared() const { return model_; }

 private:
  friend Result<Checked> checked(std::shared_ptr<const model::Model>, const Options&);
  Checked(std::shared_ptr<const model::Model> model, std::vector<Diagnostic> deviations)
      : model_(std::move(model)), deviations_(std::move(deviations)) {}
  std::shared_ptr<const model::Model> model_;
  std::vector<Diagnostic> deviations_;
};

// The error lists all operators that this build does not have, or is the first of the report; then
// come the other errors, and what would have been accepted without them.
Result<Checked> checked(std::shared_ptr<const model::Model> model, const Options& options = {});

}  // namespace sdx::check
