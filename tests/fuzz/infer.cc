// The middle stages: checked, repaired and typed. They must agree on what is valid.
#include "api/engine.h"
#include "check/check.h"
#include "check/fix.h"
#include "fuzz.h"
#include "model/text.h"
#include "typed/text.h"

namespace sdx::fuzz {
namespace {

CompileOptions few_nodes() {
  CompileOptions options;
  options.most_nodes = 1000;
  return options;
}

// A repaired model keeps the rules and its types.
void expect_repairable(const model::Model& model) {
  auto fixed = check::fix(model, {.most_nodes = few_nodes().most_nodes});
  if (!fixed) return;
  const auto repaired = std::make_shared<const model::Model>(std::move(fixed->model));
  const check::Report report = check::check(*repaired, {.open_types = true});
  for (const check::Diagnostic& d : report.diagnostics) {
    if (d.severity == check::Severity::error) {
      broken("a repaired model is not valid: " + d.text("") + "\n" + model::print_text(*repaired));
    }
  }
  if (const auto typed = type(repaired, few_nodes()); !typed) {
    broken("a repaired model has no types: " + typed.error().text() + "\n" +
           model::print_text(*repaired));
  }
}

// The typed graph prints as text that parses to the same graph.
void expect_same_through_text(const typed::Graph& graph) {
  typed::TextTable table;
  const std::string once = typed::print(graph, &table);
  const auto parsed = typed::parse(once, table);
  if (!parsed) broken("a typed graph does not parse: " + parsed.error().text() + "\n" + once);
  typed::TextTable other;
  if (typed::print(*parsed, &other) != once) {
    broken("a typed graph parses to another:\n" + once + "\n" + typed::print(*parsed, &other));
  }
}

}  // namespace

void infer(Bytes input) {
  const auto model = read(input);
  if (model == nullptr) return;
  check::check(*model, {.profile = check::Profile::sonnx_full, .capture_forbid = true});
  const check::Report report = check::check(*model, {.open_types = true});
  for (const check::Diagnostic& d : report.diagnostics) {
    if (d.code.empty() || d.message.empty()) broken("a finding without a code or a reason");
    d.text("model.onnx");
  }
  const auto known = inferred(model, few_nodes(), true);
  const auto typed = type(model, few_nodes());
  if (typed) {
    if (const Status status = typed->verify(); !status) broken(status.error().text());
    expect_same_through_text(*typed);
  }
  if (!report.valid() || !known) return;
  if (!typed) broken("inference accepts what typing refuses: " + typed.error().text());
  known->summary();
  for (const auto& [name, outlet] : known->wires()) (void)known->explain(name);
  expect_repairable(*model);
}

}  // namespace sdx::fuzz
