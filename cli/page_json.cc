// The same report as JSON, for tools that file it.
#include <algorithm>
#include <filesystem>
#include <map>

#include "base/sha256.h"
#include "bytes/file.h"
#include "check/scope.h"
#include "json.h"
#include "kernel_tests.h"
#include "model/tensor.h"
#include "page_work.h"
#include "tools.h"

namespace sdx::cli {
namespace {

using check::Diagnostic;
using check::Severity;

Json findings_of(const std::vector<const Diagnostic*>& found) {
  Json list = Json::array();
  for (const Diagnostic* d : found) {
    list.push_back({{"code", d->code},
                    {"severity", name_of(d->severity)},
                    {"place", d->place},
                    {"message", d->message},
                    {"help", d->help}});
  }
  return list;
}

bool fails(const std::vector<const Diagnostic*>& found) {
  return std::any_of(found.begin(), found.end(),
                     [](const Diagnostic* d) { return d->severity == Severity::error; });
}

// What does not hold comes first, what was not asked for last.
Json rules(const PageRequest& request, Json& typing) {
  std::map<std::string_view, std::vector<const Diagnostic*>> by_code;
  for (const Diagnostic& d : request.report.diagnostics) by_code[d.code].push_back(&d);
  Json failed = Json::array(), holding = Json::array(), apart = Json::array();
  for (const check::Rule* rule : check::all_rules()) {
    const std::vector<const Diagnostic*> found = by_code[rule->code];
    by_code.erase(rule->code);
    const bool applies = judged(*rule, request.profile);
    const char* verdict = !applies        ? "does not apply"
                          : fails(found)  ? "fails"
                          : found.empty() ? "holds"
                                          : "holds, with remarks";
    Json entry = {{"rule", rule->code},
                  {"verdict", verdict},
                  {"sonnx", rule->code.starts_with("SONNX-") ? rule->code : rule->sonnx},
                  {"says", rule->text},
                  {"why", check::rationale(*rule)},
                  {"origin", rule->origin},
                  {"findings", findings_of(found)}};
    (!applies ? apart : fails(found) ? failed : holding).push_back(std::move(entry));
  }
  std::vector<const Diagnostic*> rest;
  for (const auto& [code, list] : by_code) rest.insert(rest.end(), list.begin(), list.end());
  typing = findings_of(rest);
  Json all = std::move(failed);
  for (Json* part : {&holding, &apart}) all.insert(all.end(), part->begin(), part->end());
  return all;
}

Json identity(const model::Model& model) {
  Json sets = Json::array();
  for (const model::OpsetId& opset : model.opset_import)
    sets.push_back({{"domain", check::shown(opset.domain)}, {"version", opset.version}});
  Json json = {{"file", std::filesystem::path(model.path).filename().string()},
               {"bytes", nullptr},
               {"sha256", nullptr},
               {"graph", model.graph ? model.graph->name : ""},
               {"ir_version", model.ir_version},
               {"operator_sets", std::move(sets)},
               {"producer", model.producer_name + " " + model.producer_version},
               {"model_version", check::version_text(model.model_version)}};
  if (const auto file = MappedFile::open(model.path, SIZE_MAX)) {
    json["bytes"] = (*file)->bytes().size();
    json["sha256"] = sha256_of((*file)->bytes());
  }
  return json;
}

Json weights_json(const model::Model& model) {
  Json list = Json::array();
  if (!model.graph) return list;
  for (const model::TensorData& tensor : model.graph->initializer) {
    const auto data = model::data_of(tensor);
    list.push_back({{"name", tensor.name},
                    {"type", short_name(tensor.dtype())},
                    {"shape", tensor.dims},
                    {"sha256", data ? Json(sha256_of(data->bytes)) : Json()}});
  }
  return list;
}

Json plan(const Work& work) {
  if (!work.plan) return {{"why_not", work.why_not}};
  const auto certificate = std::as_bytes(std::span(work.certificate));
  return {{"arena_bytes", work.plan->arena_bytes},
          {"live_bytes", work.plan->live_bytes},
          {"steps", work.plan->steps.size()},
          {"assumed_sizes", work.assumed},
          {"certificate_sha256", certificate.empty() ? Json() : Json(sha256_of(certificate))}};
}

// node -> rule -> step -> kernel -> test
Json trace_json(const model::Model& model, const Work& work) {
  Json list = Json::array();
  if (!work.plan) return list;
  const auto journal = journal_of(model, *work.plan);
  if (!journal) return list;
  for (const Traced& row : traced(*journal)) {
    Json steps = Json::array();
    for (const size_t s : row.steps) {
      const TracedStep& step = journal->steps[s];
      const std::string test = test_of(step.operation, step.kernel);
      steps.push_back({{"step", s},
                       {"operation", step.operation},
                       {"kernel", step.kernel},
                       {"test", test.empty() ? Json() : Json(test)}});
    }
    list.push_back({{"node", row.node},
                    {"became", row.became},
                    {"rules", row.rules},
                    {"steps", std::move(steps)}});
  }
  return list;
}

}  // namespace

Result<std::string> report_json(const PageRequest& request) {
  const model::Model& model = *request.model;
  const Work work = work_of(request);
  Json answers = Json::array(), typing;
  for (const DigestLine& line : work.digests) {
    answers.push_back(
        {{"name", line.name}, {"type", line.type}, {"shape", line.shape}, {"sha256", line.sha256}});
  }
  Json all_rules = rules(request, typing);
  const Json json = {
      {"format", "sardonyx-report"},
      {"version", 1},
      {"tool", {{"name", "sardonyx"}, {"version", release()}, {"compiler", compiler()}}},
      {"asked", request.options},
      {"date", request.date},
      {"profile", {{"name", request.profile}, {"edition", edition_of(request.profile)}}},
      {"model", identity(model)},
      {"valid", request.report.valid()},
      {"errors", request.report.count(Severity::error)},
      {"warnings", request.report.count(Severity::warning)},
      {"notes", request.report.count(Severity::note)},
      {"left_out", request.report.left_out},
      {"rules", std::move(all_rules)},
      {"typing", std::move(typing)},
      {"answers", std::move(answers)},
      {"plan", plan(work)},
      {"trace", trace_json(model, work)},
      {"weights", weights_json(model)}};
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace sdx::cli
