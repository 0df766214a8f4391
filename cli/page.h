// The report that can be filed: one self-contained HTML page about a model and what was found, or
// the same as JSON.
#pragma once

#include <string>

#include "check/check.h"
#include "inputs.h"

namespace sdx::cli {

struct PageRequest {
  std::shared_ptr<const model::Model> model;
  std::string profile;   // "onnx", "sonnx", "sonnx-full"
  check::Report report;  // of all rules, and of typing
  InputFlags inputs;     // --set
  std::string options;   // how the program was asked
  std::string date;      // as the caller gives it: the page itself knows no clock
};

Result<std::string> page_of(const PageRequest& request);
Result<std::string> report_json(const PageRequest& request);

}  // namespace sdx::cli
