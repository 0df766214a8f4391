// sardonyx check: what is wrong with a model, as text, JSON or SARIF. Exit code 0: nothing; 1:
// something; 2: it cannot be read.
#include "check/check.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/sha256.h"
#include "bytes/file.h"
#include "check/typable.h"
#include "inputs.h"
#include "page.h"
#include "tools.h"

namespace sdx::cli {
namespace {

using Json = nlohmann::ordered_json;
using check::Diagnostic;
using check::Report;
using check::Severity;

struct CheckFlags {
  std::string model, format = "text", profile = "onnx", capture = "report", page, date;
  InputFlags inputs;  // sizes and assertions
  LimitFlags limits;
  bool runnable = false;
};

check::Options options_of(const CheckFlags& flags) {
  check::Options options;
  if (flags.profile == "sonnx") options.profile = check::Profile::sonnx;
  if (flags.profile == "sonnx-full") options.profile = check::Profile::sonnx_full;
  options.capture_forbid = flags.capture == "forbid";
  return options;
}

Diagnostic diagnostic_of(const Error& error) {
  Diagnostic diagnostic;
  diagnostic.code = error.code;
  diagnostic.message = error.what;
  diagnostic.help = error.help;
  for (auto place = error.where.rbegin(); place != error.where.rend(); ++place) {
    diagnostic.place += (diagnostic.place.empty() ? "" : ", ") + *place;
  }
  return diagnostic;
}

// The rules first; types only where the rules hold, since typing takes them for granted.
Report report_on(const std::shared_ptr<const model::Model>& model, const CheckFlags& flags) {
  Report found = check::check(*model, options_of(flags));
  if (flags.runnable) check::require_runnable(found);
  if (!check::can_be_typed(found)) return found;
  CompileOptions sizes;
  sizes.most_nodes = flags.limits.most_nodes();
  if (const Status status = flags.inputs.complete(*model, sizes); !status) {
    found.diagnostics.push_back(diagnostic_of(status.error()));
  } else if (const Result<infer::Inferred> known = inferred(model, sizes, true)) {
    found.diagnostics.insert(found.diagnostics.end(), known->stale().begin(), known->stale().end());
  } else {
    found.diagnostics.push_back(diagnostic_of(known.error()));
  }
  return found;
}

void print(const Json& json) {
  std::printf("%s\n", json.dump(1, ' ', false, Json::error_handler_t::replace).c_str());
}

Json diagnostic_json(const Diagnostic& d) {
  return {{"code", d.code},   {"severity", name_of(d.severity)},
          {"sonnx", d.sonnx}, {"message", d.message},
          {"place", d.place}, {"inputs", d.inputs},
          {"notes", d.notes}, {"help", d.help}};
}

void print_report_json(const CheckFlags& flags, const Report& report, bool readable) {
  Json list = Json::array();
  for (const Diagnostic& d : report.diagnostics) list.push_back(diagnostic_json(d));
  print({{"model", flags.model},
         {"profile", flags.profile},
         {"readable", readable},
         {"valid", readable && report.valid()},
         {"errors", report.count(Severity::error)},
         {"warnings", report.count(Severity::warning)},
         {"notes", report.count(Severity::note)},
         {"left_out", report.left_out},
         {"diagnostics", std::move(list)}});
}

// The path as a URI reference: what is not plain is %-encoded.
std::string uri_of(const std::string& path) {
  std::string uri;
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("-._~/").find(c) != std::string_view::npos;
    uri += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return uri;
}

// SARIF 2.1.0: the rules that were broken, then one result each. Places in a model are logical
// locations; the file is the physical one.
void print_sarif(const CheckFlags& flags, const Report& report) {
  Json rules = Json::array(), results = Json::array();
  std::map<std::string, size_t> index;
  for (const Diagnostic& d : report.diagnostics) {
    const auto [at, fresh] = index.emplace(d.code, index.size());
    if (fresh) {
      const check::Rule* rule = check::find_rule(d.code);
      Json entry = {{"id", d.code}};
      if (rule != nullptr) {
        entry["shortDescription"] = {{"text", rule->text}};
        entry["fullDescription"] = {{"text", rationale(*rule)}};
      }
      rules.push_back(std::move(entry));
    }
    std::string message = d.message;
    for (const std::string& line : d.inputs) message += "\n" + line;
    for (const std::string& note : d.notes) message += "\nnote: " + note;
    if (!d.help.empty()) message += "\nhelp: " + d.help;
    Json location = {{"physicalLocation", {{"artifactLocation", {{"uri", uri_of(flags.model)}}}}},
                     {"logicalLocations", Json::array({{{"fullyQualifiedName", d.place}}})}};
    Json result = {{"ruleId", d.code},
                   {"ruleIndex", at->second},
                   {"level", name_of(d.severity)},
                   {"message", {{"text", message}}},
                   {"locations", Json::array({std::move(location)})}};
    if (!d.sonnx.empty()) result["properties"] = {{"sonnx", d.sonnx}};
    results.push_back(std::move(result));
  }
  const Json driver = {{"name", "sardonyx"}, {"version", release()}, {"rules", std::move(rules)}};
  print({{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
         {"version", "2.1.0"},
         {"runs", Json::array({{{"tool", {{"driver", driver}}}, {"results", results}}})}});
}

void print_text(const CheckFlags& flags, const Report& report, bool readable) {
  for (const Diagnostic& d : report.diagnostics) {
    std::fprintf(stderr, "%s\n", d.text(flags.model).c_str());
  }
  if (report.left_out > 0) std::fprintf(stderr, "and %zu more\n", report.left_out);
  if (!readable) return;
  std::string counts;
  for (const Severity severity : {Severity::error, Severity::warning, Severity::note}) {
    const size_t count = report.count(severity);
    if (count == 0) continue;
    counts += fmt::format("{}{} {}{}", counts.empty() ? "" : ", ", count, name_of(severity),
                          count == 1 ? "" : "s");
  }
  std::printf("%s: %s%s%s%s\n", flags.model.c_str(), report.valid() ? "valid" : "not valid",
              counts.empty() ? "" : " (", counts.c_str(), counts.empty() ? "" : ")");
}

std::string options_text(const CheckFlags& flags) {
  std::string text =
      fmt::format("check --profile {} --sonnx-capture {}", flags.profile, flags.capture);
  if (flags.runnable) text += " --runnable";
  for (const std::string& size : flags.inputs.sizes) text += " --set " + size;
  for (const std::string& claim : flags.inputs.assertions)
    text += fmt::format(" --assert \"{}\"", claim);
  return text;
}

Status write_file(const std::string& path, const std::string& text) {
  SDX_ASSIGN(const auto file, FileWriter::create(path));
  SDX_TRY(file->write(std::as_bytes(std::span(text))));
  return file->commit();
}

// The page, and beside it its hash in the form that sha256sum --check reads.
Status file_report(const std::string& path, const std::string& html) {
  SDX_TRY(write_file(path, html));
  Sha256 hash;
  hash.add(html.data(), html.size());
  const std::string name = std::filesystem::path(path).filename().string();
  return write_file(path + ".sha256", hash.hex() + "  " + name + "\n");
}

int check_model(const CheckFlags& flags) {
  const auto model = flags.limits.read(flags.model);
  Report report;
  if (model) {
    report = report_on(*model, flags);
  } else {
    report.diagnostics.push_back(diagnostic_of(model.error()));
  }
  if (model && !flags.page.empty()) {
    const PageRequest asked{*model,       flags.profile,       report,
                            flags.inputs, options_text(flags), flags.date};
    const auto page = flags.page.ends_with(".json") ? report_json(asked) : page_of(asked);
    if (!page) return cli::report(page.error());
    if (const Status written = file_report(flags.page, *page); !written)
      return cli::report(written.error());
  }
  if (flags.format == "json") {
    print_report_json(flags, report, model.ok());
  } else if (flags.format == "sarif") {
    print_sarif(flags, report);
  } else {
    print_text(flags, report, model.ok());
  }
  return !model ? kUnreadable : report.valid() ? kOk : kWrong;
}

}  // namespace

Command check_command(CommandLine program) {
  CommandLine app =
      program.command("check", "what is wrong with a model; 0 valid, 1 violations, 2 unreadable");
  auto flags = std::make_shared<CheckFlags>();
  app.option("model", flags->model, "an .onnx file, or its text (.txt)").required();
  app.option("--profile", flags->profile, "the rules to check")
      .one_of({"onnx", "sonnx", "sonnx-full"})
      .show_default();
  app.option("--format", flags->format, "how to say it")
      .one_of({"text", "json", "sarif"})
      .show_default();
  app.option("--sonnx-capture", flags->capture, "outer values in subgraphs, under the profile")
      .one_of({"report", "forbid"})
      .show_default();
  app.option("--report", flags->page,
             "write a page about the model, or JSON if it is named so: identity, rules, graph, "
             "plan, trace, weights; and beside it its SHA-256")
      .called("FILE.html|FILE.json");
  app.option("--date", flags->date, "of the report, as it shall stand there");
  app.flag("--runnable", flags->runnable, "an operator that this build cannot run is an error");
  flags->inputs.add_sizes_to(app);
  flags->limits.add_to(app);
  return {app, [flags] { return check_model(*flags); }};
}

}  // namespace sdx::cli
