#include "page_work.h"

#include <algorithm>
#include <filesystem>

#include "bounds.h"
#include "certificate/certificate.h"
#include "kernel_tests.h"
#include "progress.h"

namespace sdx::cli {
namespace {

void add_answers(Work& work, const std::shared_ptr<const plan::Compiled>& compiled,
                 const std::vector<Value>& inputs) {
  run::RunOptions limits;
  limits.deadline = deadline();
  const auto outputs = run::Session(compiled).run(inputs, limits);
  if (!outputs) return;
  const auto add = [&](const std::string& name, const Value& value) {
    for (DigestLine& line : digest(name, value)) work.digests.push_back(std::move(line));
  };
  const typed::Graph& graph = compiled->graph();
  for (size_t i = 0; i < inputs.size(); ++i)
    add(graph.node(graph.inputs()[i].node).use.name, inputs[i]);
  for (size_t i = 0; i < outputs->size(); ++i) add(graph.outputs()[i].name, (*outputs)[i]);
}

}  // namespace

Work work_of(const PageRequest& request) {
  Work work;
  const auto stop = [&](const Error& error) { work.why_not = error.text(); };
  CompileOptions options;
  auto set = request.inputs.bindings(*request.model);
  if (!set) return stop(set.error()), std::move(work);
  options.set = *set;
  options.journal = true;
  const auto progress = std::make_shared<Progress>("planning", "operators");
  options.progress = [progress](size_t done, size_t total) { progress->at(done, total); };
  auto known = inferred(request.model, options);
  if (!known) return stop(known.error()), std::move(work);
  work.wires = known->wires();
  work.graph = (*std::move(known)).typed();
  auto compiled = compile(*work.graph, options);
  if (!compiled) return stop(compiled.error()), std::move(work);
  InputFlags drawn = request.inputs;
  drawn.seed = 1;
  auto inputs = drawn.values(*request.model, (*compiled)->graph(), &work.assumed);
  if (!inputs) return stop(inputs.error()), std::move(work);
  const auto planned = (*compiled)->planned_for(*inputs);
  if (!planned) return stop(planned.error()), std::move(work);
  work.plan = {*planned, &(*planned)->plan};
  const std::string name = std::filesystem::path(request.model->path).filename().string();
  add_answers(work, *compiled, *inputs);
  auto written = certificate::of(**compiled, **planned, name);
  if (written) work.certificate = *std::move(written);
  return work;
}

bool judged(const check::Rule& rule, const std::string& profile) {
  if (!rule.code.starts_with("SONNX-")) return true;
  if (profile == "onnx") return false;
  return profile == "sonnx-full" || rule.origin == "SONNX graph semantics";
}

std::string_view edition_of(std::string_view profile) {
  if (profile == "onnx") return "ONNX IR version 14 and the operator sets of ONNX 1.23";
  if (profile == "sonnx")
    return "the above, and SONNX graph semantics: rules C1 to C6, R1, R2, F1 to F3, P1";
  return "the above, and the restrictions of SONNX's later drafts, each named by its rule";
}

std::vector<Traced> traced(const Journal& journal) {
  std::vector<Traced> rows;
  const auto once = [](std::vector<std::string>& list, std::string text) {
    if (std::find(list.begin(), list.end(), text) == list.end()) list.push_back(std::move(text));
  };
  for (const Fate& fate : journal.nodes) {
    Traced& row = rows.emplace_back();
    row.node = fate.node;
    row.became = fate.text();
    row.steps = fate.steps;
    for (const size_t s : fate.steps) {
      const TracedStep& step = journal.steps[s];
      for (const Replacement& replaced : step.by) once(row.rules, replaced.rule);
      once(row.kernels, step.operation + ": " + step.kernel);
      const std::string test = test_of(step.operation, step.kernel);
      once(row.tests, test.empty() ? step.operation + ": none" : test);
    }
  }
  return rows;
}

}  // namespace sdx::cli
