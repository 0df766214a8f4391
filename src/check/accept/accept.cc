#include "check/accept/accept.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "check/accept/mends.h"

namespace sdx::check::accept {
namespace {

constexpr Reading kReadings[] = {
    {&rule::ir_version, "a model without one is of the least version that has what it uses",
     raise_ir_version},
    {&rule::opset_missing, "a model that imports is of version 3 or later", raise_ir_version},
    {&rule::newer_feature, "the model is of the version that has what it uses", raise_ir_version},
    {&rule::initializer_not_input, "the model is of IR version 4, where it need not be one",
     raise_ir_version},
    {&rule::opset_conflict,
     "of imports of one domain, those of version 0 are none, and the last counts if it is the "
     "newest",
     keep_last_import},
    {&rule::opset_version, "an import of version 0 is none beside another one of its domain",
     drop_void_imports},
    {&rule::metadata_repeated, "the first entry under a key counts", keep_first_metadata},
    {&rule::domain_not_imported,
     "the domain is imported in its newest version, if all operators used have but one version or "
     "are functions of the model",
     add_imports},
    {&rule::graph_name, "a name is made up", name_graphs},
    {&rule::single_assignment, "of Constants that write one name the last counts",
     keep_last_constants},
    {&rule::output_repeated,
     "the value is given as often as it is named, the next times under a name that is made up, and "
     "the first declaration counts",
     give_outputs_twice},
    {&rule::shadowing,
     "inside, the name means the inner value, unless it is used before it is made", rename_shadows},
    {&rule::order, "each node runs after those it uses", sort_all},
    {&rule::value_info_repeated, "what the nodes give counts", drop_claims},
    {&rule::value_info_conflict, "what the inputs, initializers and outputs say counts",
     drop_claims},
    {&rule::output_type, "what the node gives counts, if only value_info contradicts it",
     drop_claims},
    {&rule::body_scalars, "the body is given a vector of one element", take_vectors_of_one},
    {&rule::no_outputs, "the node does nothing", drop_idle_nodes},
    {&rule::attribute_unknown,
     "LayerNormalization before version 17, SimplifiedLayerNormalization and BiasDropout, which "
     "onnxruntime brought in, ignore what they do not know",
     drop_unknown_attributes},
    {&rule::dim_negative, "the size is not known", open_dimensions},
    {&rule::annotation, "annotations of the graph are left out", drop_annotations},
    {&rule::binding_key, "training information is left out", drop_training},
    {&rule::binding_value, "training information is left out", drop_training},
    {&rule::initialization_inputs, "training information is left out", drop_training},
    {&rule::device_configuration, "devices are left out", drop_devices},
    {&rule::node_configuration, "devices are left out", drop_devices},
    {&rule::sharding, "devices are left out", drop_devices},
};

const Reading* find_reading(std::string_view code) {
  const auto at = std::find_if(std::begin(kReadings), std::end(kReadings),
                               [&](const Reading& r) { return r.rule->code == code; });
  return at == std::end(kReadings) ? nullptr : at;
}

}  // namespace

std::span<const Reading> readings() { return kReadings; }

const Reading* reading_of(const Diagnostic& finding) {
  if (finding.severity != Severity::error) return nullptr;
  return find_reading(finding.place.starts_with("training_info") ? rule::binding_key.code
                                                                 : finding.code);
}

void mend(model::Model& model, const Report& found, Journal& journal) {
  using Mend = decltype(Reading::mend);
  std::set<Mend> wanted, done;
  for (const Diagnostic& d : found.diagnostics) {
    if (const Reading* reading = reading_of(d)) wanted.insert(reading->mend);
  }
  // In the order of the list: imports before names, names before order.
  for (const Reading& reading : kReadings) {
    if (wanted.contains(reading.mend) && done.insert(reading.mend).second) {
      reading.mend(model, found, journal);
    }
  }
}

std::string clause(const std::vector<const Diagnostic*>& findings) {
  const std::string times =
      findings.size() == 1 ? "" : fmt::format(" and {} more", findings.size() - 1);
  return fmt::format("{} [{}]{}", findings[0]->message, findings[0]->code, times);
}

std::string note(const std::vector<Diagnostic>& deviations) {
  if (deviations.empty()) return {};
  std::vector<std::string_view> order;
  std::map<std::string_view, std::vector<const Diagnostic*>> by_rule;
  for (const Diagnostic& d : deviations) {
    auto& same = by_rule[d.code];
    if (same.empty()) order.push_back(d.code);
    same.push_back(&d);
  }
  std::string text = fmt::format("accepted with {} deviation{}: ", deviations.size(),
                                 deviations.size() == 1 ? "" : "s");
  for (const std::string_view code : order) text += clause(by_rule[code]) + "; ";
  return text + "see sardonyx check";
}

Error all_at_once(const std::vector<Diagnostic>& errors,
                  const std::vector<Diagnostic>& deviations) {
  constexpr size_t kMostListed = 20;
  Error error{errors[0].code, errors[0].message, {errors[0].place}, errors[0].help};
  const auto line = [&](std::string_view kind, const Diagnostic& d) {
    error.where.push_back(fmt::format("{}[{}]: {}, at {}", kind, d.code, d.message, d.place));
  };
  for (size_t i = 1; i < std::min(errors.size(), kMostListed); ++i) line("also error", errors[i]);
  if (errors.size() > kMostListed) {
    error.where.push_back(fmt::format("and {} more errors", errors.size() - kMostListed));
  }
  for (size_t i = 0; i < std::min(deviations.size(), kMostListed); ++i) {
    line("deviation", deviations[i]);
  }
  if (deviations.size() > kMostListed) {
    error.where.push_back(fmt::format("and {} more deviations", deviations.size() - kMostListed));
  }
  return error;
}

}  // namespace sdx::check::accept
