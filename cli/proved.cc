#include "proved.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "api/journal.h"
#include "base/sha256.h"
#include "picture.h"

namespace sdx::cli {
namespace {

constexpr std::string_view kPlan =
    "<p>The certificate is what <code>sardonyx show MODEL --at plan --format json</code> prints of "
    "this plan, and its SHA-256 is that of this text. <code>sardonyx-check-plan</code>, a program "
    "extracted from a proof, says whether the plan is right: then every output has the value that "
    "SONNX's execution of the planned graph gives, in whatever order, no address is out of bounds, "
    "and inputs and constants are not touched. Assumed of kernels, and tested by "
    "<code>--guard</code>: they change nothing but their outputs and scratch memory, which depend "
    "on their inputs alone.";
constexpr std::string_view kRules =
    "The planned graph came from the model by these rules; the same program, given <code>sardonyx "
    "show MODEL --at plan --journal --format json</code>, says which of their uses are proved to "
    "keep every bit and names the others.";

// How often each rule was applied.
std::map<std::string, size_t> rules_of(const Journal& journal) {
  std::set<std::tuple<std::string, std::vector<std::string>, std::vector<std::string>>> seen;
  std::map<std::string, size_t> rules;
  for (const TracedStep& step : journal.steps) {
    for (const Replacement& r : step.by) {
      if (seen.emplace(r.pass + r.rule, r.gone, r.came).second) ++rules[r.rule];
    }
  }
  return rules;
}

size_t count(std::string_view text, std::string_view word) {
  size_t found = 0;
  for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1))
    ++found;
  return found;
}

}  // namespace

std::string proved(const model::Model& model, const plan::Plan& plan,
                   const std::string& certificate) {
  if (certificate.empty()) return "<p>There is no certificate of this plan.</p>\n";
  std::string html = fmt::format(
      "<table><tr><th>certificate, SHA-256</th><td><span class=\"mono\">{}</span></td></tr>\n"
      "<tr><th>steps, views and joins in it</th><td>{}, {} and {}</td></tr>\n",
      sha256_of(std::as_bytes(std::span(certificate))), count(certificate, "{\"kind\":\"run\""),
      count(certificate, "{\"kind\":\"view\""), count(certificate, "{\"kind\":\"join\""));
  std::string rules;
  if (const auto journal = journal_of(model, plan)) {
    for (const auto& [rule, times] : rules_of(*journal))
      rules += fmt::format("{}{} {}", rules.empty() ? "" : ", ", escaped(rule), times);
  }
  html +=
      fmt::format("<tr><th>rules of the optimiser, and how often</th><td>{}</td></tr></table>\n",
                  rules.empty() ? "none" : rules);
  html += kPlan;
  if (const size_t open = count(certificate, "\"plan\":null"); open > 0) {
    html += fmt::format(
        " {} subgraphs are planned when their sizes are known; <code>sardonyx test "
        "--certificates</code> writes those plans.",
        open);
  }
  html += "</p>\n<p>";
  html += kRules;
  return html + " docs/proofs.md lists all that is proved and all that is trusted.</p>\n";
}

}  // namespace sdx::cli
