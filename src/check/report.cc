#include "check/report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/printable.h"

namespace sdx::check {

std::string Diagnostic::text(const std::string& file) const {
  std::string text = fmt::format("{}[{}{}{}]: {}\n  --> {}", name_of(severity), code,
                                 sonnx.empty() ? "" : ", ", sonnx, message, file);
  if (!place.empty()) text += ": " + place;
  for (const std::string& input : inputs) text += "\n   |  " + input;
  for (const std::string& note : notes) text += "\n   = note: " + note;
  if (!help.empty()) text += "\n   = help: " + help;
  return printable(text, true);
}

size_t Report::count(Severity severity) const {
  const auto found = std::count_if(diagnostics.begin(), diagnostics.end(),
                                   [&](const Diagnostic& d) { return d.severity == severity; });
  return static_cast<size_t>(found) + (severity == Severity::error ? errors_left_out : 0);
}

const Diagnostic* Report::find(std::string_view code) const {
  for (const Diagnostic& d : diagnostics) {
    if (d.code == code || d.sonnx == code) return &d;
  }
  return nullptr;
}

std::string in_quotes(std::string_view name) {
  constexpr size_t kMost = 200;
  return fmt::format("\"{}{}\"", printable(name.substr(0, kMost)),
                     name.size() > kMost ? "..." : "");
}

}  // namespace sdx::check
