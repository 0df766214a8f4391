#include "page.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "api/digest.h"
#include "api/journal.h"
#include "base/sha256.h"
#include "bytes/file.h"
#include "check/scope.h"
#include "kernel_tests.h"
#include "model/tensor.h"
#include "page_work.h"
#include "picture.h"
#include "progress.h"
#include "proved.h"
#include "tools.h"
#include "work.h"

namespace sdx::cli {
namespace {

using check::Diagnostic;
using check::Severity;

constexpr std::string_view kStyle = R"(
body { font: 14px/1.45 sans-serif; margin: 2em auto; max-width: 75em; padding: 0 1em; color: #222; }
h1 { font-size: 1.5em; } h2 { font-size: 1.15em; margin-top: 2em; border-bottom: 1px solid #ccc; }
table { border-collapse: collapse; width: 100%; margin: .5em 0; }
th, td { text-align: left; vertical-align: top; padding: .2em .6em; border-bottom: 1px solid #e4e4e4; }
th { background: #f4f4f4; } code, .mono { font-family: monospace; font-size: 12px; overflow-wrap: anywhere; }
.holds { color: #17692b; } .bad { color: #a31515; font-weight: bold; } .meh { color: #8a5a00; }
.verdict { padding: .5em 1em; border-radius: 4px; font-size: 1.1em; display: inline-block; }
.verdict.good { background: #e3f4e6; } .verdict.wrong { background: #fbe3e3; }
.drawing { overflow: auto; max-height: 60em; border: 1px solid #ddd; background: #fff; }
svg text { font: 12px sans-serif; text-anchor: middle; } svg text.small { font-size: 10px; fill: #555; }
svg rect { stroke: #888; fill: #f7f7f7; } svg .edge { fill: none; stroke: #aaa; }
svg .in rect, svg .out rect { fill: #e8f0fb; } svg .error rect { fill: #f6c4c4; stroke: #a31515; stroke-width: 2; }
svg .warning rect { fill: #fbe9c0; stroke: #8a5a00; } svg .note rect { fill: #e6ecf7; stroke: #4a6aa5; }
@page { size: A4 landscape; margin: 12mm; }
@media print {
  body { margin: 0; max-width: none; font-size: 10px; } h2, h3 { break-after: avoid; } tr { break-inside: avoid; }
  .drawing { overflow: visible; max-height: none; border: 0; } .drawing svg { max-width: 100%; height: auto; }
  * { -webkit-print-color-adjust: exact; print-color-adjust: exact; }
}
)";

class Table {
 public:
  explicit Table(std::initializer_list<std::string_view> titles) {
    text_ = "<table><tr>";
    for (const std::string_view title : titles) text_ += fmt::format("<th>{}</th>", title);
    text_ += "</tr>\n";
  }
  // Cells are HTML.
  void row(std::initializer_list<std::string> cells) {
    text_ += "<tr>";
    for (const std::string& cell : cells) text_ += "<td>" + cell + "</td>";
    text_ += "</tr>\n";
  }
  std::string text() const { return text_ + "</table>\n"; }

 private:
  std::string text_;
};

std::string mono(std::string_view text) {
  return fmt::format("<span class=\"mono\">{}</span>", escaped(text));
}

// What the model gives for inputs that anybody can draw again.
std::string answers(const Work& work) {
  if (work.digests.empty()) return "<p>The model was not run.</p>\n";
  Table table({"value", "type and shape", "SHA-256"});
  for (const DigestLine& line : work.digests)
    table.row({mono(line.name), escaped(line.type + " " + line.shape), mono(line.sha256)});
  return "<p>Inputs drawn by <code>--random 1</code>, and the outputs for them, as <code>sardonyx "
         "run "
         "--digest</code> prints them.</p>\n" +
         table.text();
}

std::string identity(const PageRequest& request) {
  const model::Model& model = *request.model;
  Table table({"", ""});
  table.row({"tool", escaped(fmt::format("{}, compiled by {}", version_line(), compiler()))});
  table.row({"asked for", mono(request.options)});
  table.row(
      {"profile", escaped(fmt::format("{}: {}", request.profile, edition_of(request.profile)))});
  table.row({"date", escaped(request.date.empty() ? "not given (--date)" : request.date)});
  table.row({"file", escaped(std::filesystem::path(model.path).filename().string())});
  if (const auto file = MappedFile::open(model.path, SIZE_MAX)) {
    table.row({"bytes", grouped((*file)->bytes().size())});
    table.row({"SHA-256", mono(sha256_of((*file)->bytes()))});
  }
  table.row({"graph", escaped(model.graph ? model.graph->name : "none")});
  table.row({"IR version", fmt::to_string(model.ir_version)});
  for (const model::OpsetId& opset : model.opset_import) {
    table.row(
        {"operator set", escaped(fmt::format("{} {}", check::shown(opset.domain), opset.version))});
  }
  table.row({"producer", escaped(model.producer_name + " " + model.producer_version)});
  table.row({"domain", escaped(model.domain)});
  table.row({"model version", check::version_text(model.model_version)});
  for (const model::StringEntry& entry : model.metadata_props) {
    table.row({"metadata", escaped(fmt::format("{} = {:.300}", entry.key, entry.value))});
  }
  if (!model.functions.empty()) table.row({"functions", fmt::to_string(model.functions.size())});
  return table.text();
}

std::string weights(const model::Model& model) {
  Table table({"weight", "type", "bytes", "SHA-256 of its elements"});
  constexpr size_t kMegabyte = 1'000'000;
  size_t count = 0, all = 0, hashed = 0;
  for (const model::TensorData& tensor : model.graph->initializer) {
    if (const auto data = model::data_of(tensor)) all += data->size();
  }
  Progress progress("hashing weights", "MB");
  for (const model::TensorData& tensor : model.graph->initializer) {
    ++count;
    const auto data = model::data_of(tensor);
    progress.at(hashed / kMegabyte, all / kMegabyte, tensor.name);
    hashed += data ? data->size() : 0;
    table.row({mono(tensor.name),
               escaped(fmt::format("{} {}", onnx_name(tensor.dtype()), to_string(tensor.dims))),
               data ? grouped(data->size()) : "",
               data ? mono(sha256_of(data->bytes)) : escaped(data.error().what)});
  }
  return count == 0 ? "<p>The main graph has no initializers.</p>\n" : table.text();
}

std::string places_of(const std::vector<const Diagnostic*>& found) {
  std::string text;
  for (const Diagnostic* d : found) {
    text += fmt::format("{}<span class=\"mono\">{}</span>: {}", text.empty() ? "" : "<br>",
                        escaped(d->place), escaped(d->message));
  }
  return text;
}

std::string verdict(const std::vector<const Diagnostic*>& found) {
  if (found.empty()) return "<span class=\"holds\">holds</span>";
  Severity worst = Severity::note;
  for (const Diagnostic* d : found) worst = std::max(worst, d->severity);
  return fmt::format("<span class=\"{}\">{} {}{}</span>", worst == Severity::error ? "bad" : "meh",
                     found.size(), name_of(worst), found.size() == 1 ? "" : "s");
}

std::string rules(const PageRequest& request) {
  std::map<std::string_view, std::vector<const Diagnostic*>> by_code;
  for (const Diagnostic& d : request.report.diagnostics) by_code[d.code].push_back(&d);
  Table table({"rule", "verdict", "what it says, and why", "where it does not hold"});
  // What does not hold comes first, what was not asked for last.
  std::vector<const check::Rule*> ordered, apart;
  for (const check::Rule* rule : check::all_rules())
    (judged(*rule, request.profile) ? ordered : apart).push_back(rule);
  std::stable_partition(ordered.begin(), ordered.end(), [&](const check::Rule* rule) {
    const auto found = by_code.find(rule->code);
    return found != by_code.end() &&
           std::any_of(found->second.begin(), found->second.end(),
                       [](const Diagnostic* d) { return d->severity == Severity::error; });
  });
  for (const check::Rule* rule : ordered) {
    const auto found = by_code.find(rule->code);
    const std::vector<const Diagnostic*> none,
        &list = found == by_code.end() ? none : found->second;
    const bool both = !rule->sonnx.empty();
    table.row({mono(fmt::format("{}{}{}", rule->code, both ? " " : "", both ? rule->sonnx : "")),
               verdict(list),
               fmt::format("{} <span class=\"meh\">({})</span><br>{}", escaped(rule->text),
                           escaped(rule->origin), escaped(check::rationale(*rule))),
               places_of(list)});
    if (found != by_code.end()) by_code.erase(found);
  }
  table.row({mono("typing"), by_code.empty() ? verdict({}) : "",
             "types and shapes follow from the inputs without a conflict", ""});
  for (const auto& [code, list] : by_code) {
    table.row({mono(code), verdict(list), "a finding of typing", places_of(list)});
  }
  for (const check::Rule* rule : apart) {
    table.row({mono(rule->code), "<span class=\"meh\">does not apply</span>", escaped(rule->text),
               fmt::format("no rule of the profile {}", escaped(request.profile))});
  }
  return table.text();
}

Box::Look look_of(Severity severity) {
  return severity == Severity::error     ? Box::Look::error
         : severity == Severity::warning ? Box::Look::warning
                                         : Box::Look::note;
}

// The graph, and below it the graphs within its nodes.
void drawings(const model::Graph& graph, const check::Place& place, const check::Opsets& opsets,
              const PageRequest& request, std::string& html) {
  constexpr size_t kMostDrawn = 3000;
  html += fmt::format("<h3>{}</h3>\n", escaped(place.text()));
  std::vector<Box> boxes;
  std::map<std::string_view, size_t> maker;
  std::set<std::string_view> stored;
  for (const model::TensorData& init : graph.initializer) stored.insert(init.name);
  for (const model::ValueInfo& input : graph.input) {
    if (stored.contains(input.name)) continue;
    const std::string type = input.type ? check::type_text(check::fact_of(*input.type)) : "";
    maker[input.name] = boxes.size();
    boxes.push_back({input.name, type, input.name + " " + type, Box::Look::input, {}});
  }
  for (size_t i = 0; i < graph.node.size() && graph.node.size() <= kMostDrawn; ++i) {
    const model::Node& node = graph.node[i];
    const check::Place here{&place, "node", node.name, i, &node, &opsets};
    const std::string text = here.text();
    Box box{node.op_type, node.name, text, Box::Look::node, {}};
    bool marked = false;
    Severity worst = Severity::note;
    for (const Diagnostic& d : request.report.diagnostics) {
      if (d.place.find(text) == std::string::npos) continue;
      box.tip += fmt::format("\n{}[{}]: {}", name_of(d.severity), d.code, d.message);
      worst = marked ? std::max(worst, d.severity) : d.severity;
      marked = true;
    }
    if (marked) box.look = look_of(worst);
    for (const std::string_view name : check::names_used(node)) {
      const auto at = maker.find(name);
      if (at != maker.end()) box.inputs.push_back(at->second);
    }
    for (const std::string& output : node.output) {
      if (!output.empty()) maker.emplace(output, boxes.size());
    }
    boxes.push_back(std::move(box));
  }
  for (const model::ValueInfo& output : graph.output) {
    const std::string type = output.type ? check::type_text(check::fact_of(*output.type)) : "";
    Box box{output.name, type, output.name + " " + type, Box::Look::output, {}};
    if (const auto at = maker.find(output.name); at != maker.end()) box.inputs = {at->second};
    boxes.push_back(std::move(box));
  }
  if (graph.node.size() > kMostDrawn) {
    html += fmt::format("<p>{} nodes: more than are drawn.</p>\n", graph.node.size());
  } else {
    html += "<div class=\"drawing\">" + draw(boxes) + "</div>\n";
  }
  for (size_t i = 0; i < graph.node.size(); ++i) {
    const check::Place here{&place, "node", graph.node[i].name, i, &graph.node[i], &opsets};
    for (const model::Attribute& a : graph.node[i].attribute) {
      const check::Place attribute = here.in("attribute", a.name);
      if (a.g) drawings(*a.g, attribute.in("graph", a.g->name), opsets, request, html);
      for (const model::Graph& inner : a.graphs) {
        drawings(inner, attribute.in("graph", inner.name), opsets, request, html);
      }
    }
  }
}

std::string tensors(const model::Model& model, const Work& work) {
  Table table({"value", "type and shape", "comes from"});
  const auto row = [&](const std::string& name, const std::string& from) {
    const auto at = work.wires.find(name);
    const std::string type =
        work.graph && at != work.wires.end() ? work.graph->fact(at->second).text() : "not typed";
    table.row({mono(name), escaped(type), escaped(from)});
  };
  for (const model::ValueInfo& input : model.graph->input) row(input.name, "graph input");
  for (const model::TensorData& init : model.graph->initializer) row(init.name, "initializer");
  for (size_t i = 0; i < model.graph->node.size(); ++i) {
    for (const std::string& output : model.graph->node[i].output) {
      if (!output.empty()) row(output, check::node_text(model.graph->node, i));
    }
  }
  return table.text();
}

std::string planned(const Work& work) {
  if (!work.plan)
    return fmt::format("<p>There is no plan: <code>{}</code></p>\n", escaped(work.why_not));
  const plan::Plan& plan = *work.plan;
  size_t open = 0;
  const uint64_t products = multiply_adds(plan.graph, open);
  std::string html;
  if (!work.assumed.empty()) {
    html += fmt::format(
        "<p>Sizes that inputs leave open are taken as 1: {}. <code>--set DIM=V</code> "
        "gives others.</p>\n",
        escaped(fmt::format("{}", fmt::join(work.assumed, ", "))));
  }
  Table sums({"", ""});
  sums.row({"arena", grouped(plan.arena_bytes) + " bytes"});
  sums.row({"alive at once, at most", grouped(plan.live_bytes) + " bytes"});
  sums.row(
      {"multiply-adds",
       grouped(products) +
           (open == 0 ? ""
                      : fmt::format(" and those of {} nodes whose sizes depend on data", open))});
  sums.row({"steps", fmt::to_string(plan.steps.size())});
  return html + sums.text();
}

// Both ways: what each planned operation stems from, and what became of each node.
std::string trace(const model::Model& model, const Work& work) {
  if (!work.plan) return "<p>There is no plan, and so no trace.</p>\n";
  const auto journal = journal_of(model, *work.plan);
  if (!journal) return fmt::format("<p>{}</p>\n", escaped(journal.error().text()));
  const auto lines = [](const std::vector<std::string>& list) {
    std::string text;
    for (const std::string& line : list) text += (text.empty() ? "" : "<br>") + mono(line);
    return text;
  };
  Table steps({"step", "operation", "kernel", "the model's nodes it stems from", "rules"});
  for (size_t s = 0; s < journal->steps.size(); ++s) {
    const TracedStep& step = journal->steps[s];
    std::vector<std::string> from = step.nodes, by;
    from.insert(from.end(), step.initializers.begin(), step.initializers.end());
    for (const Replacement& r : step.by) {
      by.push_back(
          fmt::format("{}: {} -> {}", r.rule, fmt::join(r.gone, ", "), fmt::join(r.came, ", ")));
    }
    steps.row({fmt::to_string(s), mono(fmt::format("{} \"{}\"", step.operation, step.name)),
               mono(step.kernel), lines(from), lines(by)});
  }
  Table nodes({"node of the model", "what became of it", "rules", "kernels of its steps",
               "tests that hold them to the reference, bit by bit"});
  for (const Traced& node : traced(*journal)) {
    nodes.row({mono(node.node), escaped(node.became), lines(node.rules), lines(node.kernels),
               lines(node.tests)});
  }
  return steps.text() + nodes.text();
}

constexpr std::string_view kNumerics =
    "<p>The outputs of this model have the same bits on every machine, for every number of threads "
    "and at every optimisation level. Each element of a product or convolution is one chain of "
    "fused multiply-adds in a published order; reductions use a fixed number of lanes and a fixed "
    "tree; exp, log, tanh and the like are the engine's own functions in IEEE 754 operations; "
    "16-bit and 8-bit floats are widened, computed in float and rounded once; a NaN result is the "
    "one quiet NaN; integer division by zero and overflow have one written answer each. Every "
    "rewrite keeps every bit, except those of the published list of the standard "
    "numerics level (docs/numerics.md), which <code>--numerics strict</code> turns off.</p>\n";

}  // namespace

Result<std::string> page_of(const PageRequest& request) {
  const model::Model& model = *request.model;
  const bool valid = request.report.valid();
  const Work work = work_of(request);
  const std::string name = std::filesystem::path(model.path).filename().string();
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{}: {}</title>\n"
      "<style>{}</style></head><body>\n<h1>{}</h1>\n<p class=\"verdict {}\">{} under the profile "
      "<b>{}</b>: {} errors, {} warnings, {} notes</p>\n",
      escaped(name), valid ? "valid" : "not valid", kStyle, escaped(name), valid ? "good" : "wrong",
      valid ? "Valid" : "Not valid", request.profile, request.report.count(Severity::error),
      request.report.count(Severity::warning), request.report.count(Severity::note));
  html += "<h2>Identity</h2>\n" + identity(request);
  html += "<h2>Rules</h2>\n" + rules(request);
  html += "<h2>Answers</h2>\n" + answers(work);
  if (!model.graph) return html + "</body></html>\n";
  check::Opsets opsets;
  for (const model::OpsetId& import : model.opset_import) {
    opsets[std::string(check::canonical(import.domain))] = import.version;
  }
  html += "<h2>Graph</h2>\n";
  drawings(*model.graph, {.kind = "graph", .name = model.graph->name}, opsets, request, html);
  html += "<h2>Plan: memory and work</h2>\n" + planned(work);
  if (work.plan) html += "<h2>Proof</h2>\n" + proved(model, *work.plan, work.certificate);
  html += "<h2>Trace: node, rule, step, kernel, test</h2>\n" + trace(model, work);
  html += "<h2>Values</h2>\n" + tensors(model, work);
  html += "<h2>Weights</h2>\n" + weights(model);
  html += "<h2>Numerics</h2>\n" + std::string(kNumerics);
  return html + "</body></html>\n";
}

}  // namespace sdx::cli
