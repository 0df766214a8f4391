// Report: everything that a check found, each finding with its code, its place and its reason.
#pragma once

#include <string>
#include <vector>

#include "check/rules.h"

namespace sdx::check {

struct Diagnostic {
  std::string code;   // of the rule, or of the typing error
  std::string sonnx;  // under the SONNX profiles: the rule there that says the same
  Severity severity = Severity::error;
  std::string message;              // what was found and what was expected
  std::string value;                // the name of the value it is about, where it is about one
  std::string place;                // "graph "main", node 7 "residual" (Add, ai.onnx 14)"
  std::vector<std::string> inputs;  // the node's inputs: formal name, value, type, producer
  std::vector<std::string> notes;
  std::string help;

  // As in "error[SDX-K0203]: ...\n  --> model.onnx: graph ...\n   |  A = ...\n   = help: ...".
  std::string text(const std::string& file) const;
};

struct Report {
  std::vector<Diagnostic> diagnostics;
  size_t left_out = 0;         // found after the report was full
  size_t errors_left_out = 0;  // errors among them

  size_t count(Severity severity) const;
  bool valid() const { return count(Severity::error) == 0; }
  // The first finding under the code; null if there is none.
  const Diagnostic* find(std::string_view code) const;
};

// A name from a file, in quotes: without control characters, cut when long.
std::string in_quotes(std::string_view name);

}  // namespace sdx::check
