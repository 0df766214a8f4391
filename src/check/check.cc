#include "check/check.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/printable.h"
#include "check/checker.h"
#include "check/supported.h"
#include "model/library.h"
#include "ops/added.h"

namespace sdx::check {

const KnownDomain* known_domain(std::string_view domain) {
  for (const KnownDomain& known : kKnownDomains) {
    if (known.domain == canonical(domain)) return &known;
  }
  return nullptr;
}

Checker::Checker(const model::Model& model, const Options& options, Report& report)
    : model_(model), options_(options), report_(report) {
  for (const model::Function& function : model.functions) {
    functions_.emplace(id_of(function), &function);
    function_domains_.insert(canonical(function.domain));
  }
}

Diagnostic& Checker::add(const Rule& rule, Severity severity, const Place& place,
                         std::string message) {
  size_t& kept = kept_[severity == Severity::error ? 1 : 0];  // warnings leave room for errors
  if (kept >= options_.most) {
    ++report_.left_out;
    if (severity == Severity::error) ++report_.errors_left_out;
    return forgotten_ = {};
  }
  ++kept;
  Diagnostic& diagnostic = report_.diagnostics.emplace_back();
  diagnostic.code = rule.code;
  if (sonnx()) diagnostic.sonnx = rule.sonnx;
  diagnostic.severity = severity;
  diagnostic.message = printable(message, true);
  diagnostic.place = printable(place.text());
  return diagnostic;
}

void Checker::run() {
  constexpr int64_t kNewestIr = 14;
  const Place top{.kind = "model"};
  if (!has(model_, &model::Model::ir_version)) {
    report(rule::ir_version, top, "the model states no ir_version; expected 1 to {}", kNewestIr);
  } else if (model_.ir_version < 1 || model_.ir_version > kNewestIr) {
    report(rule::ir_version, top, "ir_version is {}; expected 1 to {}", model_.ir_version,
           kNewestIr);
  }
  const bool has_imports = !model_.opset_import.empty();
  if (model_.ir_version >= 3 && !has_imports) {
    report(rule::opset_missing, top, "the model imports no operator set").help =
        "opset_import names the versions of the operator sets that the model uses";
  } else if (model_.ir_version > 0 && model_.ir_version < 3 && has_imports) {
    report(rule::opset_missing, top, "a model of IR version {} imports operator sets",
           model_.ir_version);
  }
  imports(model_.opset_import, top, opsets_);
  if (!has_imports) opsets_[""] = 1;
  metadata(model_.metadata_props, rule::metadata_repeated, top);
  features();
  configurations();
  functions();
  if (!model_.graph) {
    report(rule::graph_missing, top, "the model has no graph");
    return;
  }
  const Place place{.kind = "graph", .name = model_.graph->name};
  graph(*model_.graph, nullptr, place, opsets_, nullptr, Role::main);
  training();
}

void Checker::imports(const std::vector<model::OpsetId>& list, const Place& place, Opsets& into) {
  for (const model::OpsetId& import : list) {
    const std::string domain(canonical(import.domain));
    const auto [at, fresh] = into.emplace(domain, import.version);
    if (!fresh && at->second != import.version) {
      report(rule::opset_conflict, place, "operator set {} is imported as version {} and as {}",
             in_quotes(shown(domain)), at->second, import.version);
    } else if (!fresh) {
      report(rule::opset_repeated, place, "operator set {} is imported twice",
             in_quotes(shown(domain)));
    }
    const KnownDomain* known = known_domain(domain);
    if (import.version < 1 || (known != nullptr && import.version > known->newest)) {
      report(rule::opset_version, place, "operator set {} is imported as version {}; expected {}",
             in_quotes(shown(domain)), import.version,
             known != nullptr ? fmt::format("1 to {}", known->newest) : "1 or more");
    }
    const bool local = function_domains_.contains(domain);
    const bool added = added_domain(domain) > 0 || model::has_added_functions(domain);
    if (known == nullptr && !local && !added && domain != "sardonyx") {
      Diagnostic& d = report(rule::opset_unknown, place,
                             "operator set {} is not known here; nodes that use it are refused",
                             in_quotes(domain));
      if (domain == "ai.onnx.contrib") {
        d.help =
            "it is onnxruntime-extensions': tokenisers and other work on text, pictures and sound, "
            "in a library of its own; do that work before the model";
      }
    }
  }
}

void Checker::metadata(const model::StringEntries& entries, const Rule& rule, const Place& place) {
  std::set<std::string_view> keys;
  for (const model::StringEntry& entry : entries) {
    if (!keys.insert(entry.key).second) {
      report(rule, place, "metadata key {} stands twice", in_quotes(entry.key));
    }
  }
}

std::string version_text(int64_t version) {
  const auto bits = static_cast<uint64_t>(version);
  if (bits >> 32 == 0) return fmt::to_string(version);  // neither major nor minor: a simple number
  return fmt::format("{}.{}.{}", bits >> 48, bits >> 32 & 0xffff, bits & 0xffffffff);
}

Report check(const model::Model& model, const Options& options) {
  Report report;
  Checker(model, options, report).run();
  return report;
}

namespace {

std::vector<Diagnostic> errors_of(const Report& report) {
  std::vector<Diagnostic> errors;
  for (const Diagnostic& d : report.diagnostics) {
    if (d.severity == Severity::error) errors.push_back(d);
  }
  return errors;
}

// Takes what the mended model no longer has from `errors`, and gives it.
std::vector<Diagnostic> taken_out(std::vector<Diagnostic>& errors, const Report& mended) {
  std::vector<Diagnostic> deviations;
  for (Diagnostic& d : errors) {
    if (accept::reading_of(d) != nullptr && mended.find(d.code) == nullptr) {
      deviations.push_back(std::move(d));
    }
  }
  errors = errors_of(mended);
  return deviations;
}

}  // namespace

std::vector<std::string> Checked::notes() const {
  if (deviations_.empty()) return {};
  return {accept::note(deviations_)};
}

Result<Checked> checked(std::shared_ptr<const model::Model> model, const Options& options) {
  if (!model->graph) return fail("SDX-G0008", "the model has no graph");
  std::vector<Diagnostic> errors = errors_of(check(*model, options)), deviations;
  if (!errors.empty() && options.accept == Accept::common && options.profile == Profile::onnx) {
    auto mended = std::make_shared<model::Model>(*model);
    accept::Journal journal;
    accept::mend(*mended, {.diagnostics = errors}, journal);
    if (!journal.empty()) {
      deviations = taken_out(errors, check(*mended, options));
      model = std::move(mended);
    }
  }
  if (Status supported = all_supported(*model); !supported) {
    // It names every operator that is missing, which the rules' errors would say again.
    std::erase_if(errors, [](const Diagnostic& d) {
      return d.code == rule::operator_unknown.code || d.code == rule::operator_too_new.code;
    });
    Error error = std::move(supported).error();
    if (errors.empty() && deviations.empty()) return error;
    Diagnostic first;
    first.code = error.code;
    first.message = error.what;
    errors.insert(errors.begin(), first);
    const Error rest = accept::all_at_once(errors, deviations);
    error.where.insert(error.where.end(), rest.where.begin() + 1, rest.where.end());
    return error;
  }
  if (!errors.empty()) return accept::all_at_once(errors, deviations);
  return Checked(std::move(model), std::move(deviations));
}

}  // namespace sdx::check
