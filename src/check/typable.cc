#include "check/typable.h"

#include <algorithm>

#include "check/rules.h"

namespace sdx::check {

bool can_be_typed(const Report& report) {
  return std::all_of(report.diagnostics.begin(), report.diagnostics.end(), [](const Diagnostic& d) {
    if (d.code == rule::operator_foreign.code) return false;
    return d.severity != Severity::error || d.code.starts_with("SONNX-") ||
           d.code == rule::identifier.code || d.code == rule::node_name_repeated.code ||
           d.code == rule::shape_missing.code;
  });
}

void require_runnable(Report& report) {
  for (Diagnostic& d : report.diagnostics) {
    if (d.code == rule::operator_foreign.code) d.severity = Severity::error;
  }
}

}  // namespace sdx::check
