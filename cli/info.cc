// sardonyx info: what a model is, without running it.
#include <algorithm>
#include <cstdio>

#include "base/printable.h"
#include "check/check.h"
#include "inputs.h"
#include "listing.h"
#include "opset.h"
#include "work.h"

namespace sdx::cli {
namespace {

struct Flags {
  std::string model;
  InputFlags inputs;
  LimitFlags limits;
};

void line(const char* label, const std::string& text) {
  if (!text.empty()) std::printf("%-14s%s\n", label, printable(text).c_str());
}

struct Parameters {
  uint64_t count = 0, bytes = 0, tensors = 0;
};

Parameters parameters_of(const model::Model& model) {
  Parameters all;
  if (!model.graph) return all;
  for (const model::TensorData& tensor : model.graph->initializer) {
    const auto count = element_count(tensor.dims);
    if (!count) continue;
    all.count += *count;
    all.bytes += bytes_for(tensor.dtype(), *count);
    ++all.tensors;
  }
  return all;
}

std::string multiply_adds_of(const typed::Graph& graph) {
  size_t open = 0;
  std::string text = grouped(multiply_adds(graph, open));
  if (open > 0)
    text += fmt::format(" and those of {} nodes whose shapes are open (--set DIM=V)", open);
  return text;
}

Status info(const Flags& flags) {
  if (is_operator_set(flags.model)) return print_operator_set(flags.model);
  SDX_ASSIGN(const auto model, flags.limits.read(flags.model));
  CompileOptions options;
  options.most_nodes = flags.limits.most_nodes();
  SDX_TRY(flags.inputs.complete(*model, options));
  line("model", flags.model);
  line("graph", model->graph ? model->graph->name : "none");
  line("IR version", check::version_text(model->ir_version));
  for (const model::OpsetId& opset : model->opset_import) {
    line("opset",
         fmt::format("{} {}", opset.domain.empty() ? "ai.onnx" : opset.domain, opset.version));
  }
  line("producer", model->producer_name +
                       (model->producer_version.empty() ? "" : " " + model->producer_version));
  line("domain", model->domain);
  line("version", model->model_version != 0 ? check::version_text(model->model_version) : "");
  line("doc", model->doc_string.substr(0, model->doc_string.find('\n')));
  for (const model::StringEntry& entry : model->metadata_props) {
    line("metadata", fmt::format("{} = {}", entry.key, entry.value.substr(0, 100)));
  }

  Result<typed::Graph> typed = type(model, options);
  if (typed) {
    for (const typed::Outlet input : typed->inputs()) {
      line("input",
           fmt::format("{} {}", typed->node(input.node).use.name, typed->fact(input).text()));
    }
    for (const typed::Output& output : typed->outputs()) {
      line("output", fmt::format("{} {}", output.name, typed->fact(output.outlet).text()));
    }
  } else if (model->graph) {
    for (const auto& [label, list] :
         {std::pair{"input", &model->graph->input}, {"output", &model->graph->output}}) {
      for (const model::ValueInfo& value : *list) {
        line(label, value.name + " " + (value.type ? check::declared_fact(value).text() : "?"));
      }
    }
  }

  std::map<std::string, size_t> histogram;
  size_t nodes = 0;
  each_node(*model, [&](const model::Node& node) {
    ++histogram[node.domain.empty() || node.domain == "ai.onnx" ? node.op_type
                                                                : node.domain + "." + node.op_type];
    ++nodes;
  });
  std::vector<std::pair<std::string, size_t>> sorted(histogram.begin(), histogram.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string operators;
  for (const auto& [name, count] : sorted) {
    operators += fmt::format("{}{}{}", operators.empty() ? "" : ", ", name,
                             count > 1 ? fmt::format(" {}", count) : "");
  }
  line("nodes", std::to_string(nodes));
  line("operators", operators);
  if (!model->functions.empty()) line("functions", std::to_string(model->functions.size()));
  const Parameters parameters = parameters_of(*model);
  line("parameters", fmt::format("{} in {} tensors, {} bytes", grouped(parameters.count),
                                 parameters.tensors, grouped(parameters.bytes)));
  if (!typed) return std::move(typed).error();
  line("multiply-adds", multiply_adds_of(*typed));
  return ok();
}

}  // namespace

Command info_command(CommandLine program) {
  CommandLine app =
      program.command("info", "metadata, signature, operators, parameters, multiply-adds");
  auto flags = std::make_shared<Flags>();
  app.option("model", flags->model, "an .onnx file, or its text (.txt)").required();
  flags->inputs.add_sizes_to(app);
  flags->limits.add_to(app);
  return {app, [flags] {
            const Status status = info(*flags);
            return status ? kOk : report(status.error());
          }};
}

}  // namespace sdx::cli
