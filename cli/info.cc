// sardonyx info: what a model is, without running it.
#include <algorithm>
#include <cstdio>

#include "base/printable.h"
#include "check/check.h"
#include "inputs.h"
#include "json.h"
#include "listing.h"
#include "model/walk.h"
#include "opset.h"
#include "work.h"

namespace sdx::cli {
namespace {

struct InfoFlags {
  std::string model;
  InputFlags inputs;
  LimitFlags limits;
  bool json = false;
};

void line(const char* label, const std::string& text) {
  if (!text.empty()) std::printf("%-14s%s\n", label, printable(text).c_str());
}

struct Parameters {
  uint64_t count = 0, bytes = 0, tensors = 0;
};

// Tensors of weights: initializers, and those that Constant nodes hold, of subgraphs and functions
// too. A single number or string in an attribute is none.
Parameters parameters_of(const model::Model& model) {
  Parameters all;
  const auto add = [&](const model::TensorData& tensor) {
    const auto count = element_count(tensor.dims);
    if (!count) return;
    all.count += *count;
    all.bytes += bytes_for(tensor.dtype(), *count);
    ++all.tensors;
  };
  const auto add_graph = [&](const model::Graph& graph) {
    for (const model::TensorData& tensor : graph.initializer) add(tensor);
    for (const model::SparseTensorData& sparse : graph.sparse_initializer) {
      if (sparse.values) add(*sparse.values);
    }
  };
  if (model.graph) add_graph(*model.graph);
  each_node(model, [&](const model::Node& node) {
    model::each_subgraph(node, add_graph);
    const model::Attribute* value = node.op_type == "Constant" ? node.find("value") : nullptr;
    if (value != nullptr && value->t) add(*value->t);
  });
  return all;
}

// What a model is, gathered for either way of saying it.
struct Info {
  std::vector<std::pair<std::string, Fact>> inputs, outputs;
  std::vector<std::pair<std::string, size_t>> operators;  // the most frequent first
  size_t nodes = 0;
  Parameters parameters;
  std::optional<uint64_t> multiply_adds;  // not of a model that cannot be typed
  size_t open = 0;                        // nodes whose shapes are not known, left out of them
};

std::vector<std::pair<std::string, size_t>> operators_of(const model::Model& model) {
  std::map<std::string, size_t> histogram;
  each_node(model, [&](const model::Node& node) {
    ++histogram[node.domain.empty() || node.domain == "ai.onnx" ? node.op_type
                                                                : node.domain + "." + node.op_type];
  });
  std::vector<std::pair<std::string, size_t>> sorted(histogram.begin(), histogram.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return sorted;
}

Info gather(const model::Model& model, const Result<typed::Graph>& typed) {
  Info info;
  if (typed) {
    for (const typed::Outlet input : typed->inputs())
      info.inputs.emplace_back(typed->node(input.node).use.name, typed->fact(input));
    for (const typed::Output& output : typed->outputs())
      info.outputs.emplace_back(output.name, typed->fact(output.outlet));
    info.multiply_adds = multiply_adds(*typed, info.open);
  } else if (model.graph) {
    for (const auto& [into, list] :
         {std::pair{&info.inputs, &model.graph->input}, {&info.outputs, &model.graph->output}}) {
      for (const model::ValueInfo& value : *list)
        into->emplace_back(value.name, value.type ? check::declared_fact(value) : Fact());
    }
  }
  info.operators = operators_of(model);
  for (const auto& [name, count] : info.operators) info.nodes += count;
  info.parameters = parameters_of(model);
  return info;
}

std::string opset_text(const model::OpsetId& opset) {
  return fmt::format("{} {}", opset.domain.empty() ? "ai.onnx" : opset.domain, opset.version);
}

void print_text(const InfoFlags& flags, const model::Model& model, const Info& info) {
  line("model", flags.model);
  line("graph", model.graph ? model.graph->name : "none");
  line("IR version", check::version_text(model.ir_version));
  for (const model::OpsetId& opset : model.opset_import) line("opset", opset_text(opset));
  line("producer",
       model.producer_name + (model.producer_version.empty() ? "" : " " + model.producer_version));
  line("domain", model.domain);
  line("version", model.model_version != 0 ? check::version_text(model.model_version) : "");
  line("doc", model.doc_string.substr(0, model.doc_string.find('\n')));
  for (const model::StringEntry& entry : model.metadata_props)
    line("metadata", fmt::format("{} = {}", entry.key, entry.value.substr(0, 100)));
  const auto text = [](const Fact& fact) { return fact.present() ? fact.text() : "?"; };
  for (const auto& [name, fact] : info.inputs) line("input", name + " " + text(fact));
  for (const auto& [name, fact] : info.outputs) line("output", name + " " + text(fact));
  std::string operators;
  for (const auto& [name, count] : info.operators) {
    operators += fmt::format("{}{}{}", operators.empty() ? "" : ", ", name,
                             count > 1 ? fmt::format(" {}", count) : "");
  }
  line("nodes", std::to_string(info.nodes));
  line("operators", operators);
  if (!model.functions.empty()) line("functions", std::to_string(model.functions.size()));
  line("parameters", fmt::format("{} in {} tensors, {} bytes", grouped(info.parameters.count),
                                 info.parameters.tensors, grouped(info.parameters.bytes)));
  if (!info.multiply_adds) return;
  line("multiply-adds",
       grouped(*info.multiply_adds) +
           (info.open == 0
                ? ""
                : fmt::format(" and those of {} nodes whose shapes are open (--set DIM=V)",
                              info.open)));
}

Json values_json(const std::vector<std::pair<std::string, Fact>>& values) {
  Json list = Json::array();
  for (const auto& [name, fact] : values) {
    Json entry = {{"name", name}};
    entry.update(json_of(fact));
    list.push_back(std::move(entry));
  }
  return list;
}

Json info_json(const InfoFlags& flags, const model::Model& model, const Info& info) {
  Json opsets = Json::object(), metadata = Json::object(), operators = Json::object();
  for (const model::OpsetId& opset : model.opset_import)
    opsets[opset.domain.empty() ? "ai.onnx" : opset.domain] = opset.version;
  for (const model::StringEntry& entry : model.metadata_props) metadata[entry.key] = entry.value;
  for (const auto& [name, count] : info.operators) operators[name] = count;
  return {{"model", flags.model},
          {"graph", model.graph ? Json(model.graph->name) : Json(nullptr)},
          {"ir_version", model.ir_version},
          {"opsets", std::move(opsets)},
          {"producer", model.producer_name},
          {"producer_version", model.producer_version},
          {"domain", model.domain},
          {"model_version", model.model_version},
          {"doc", model.doc_string},
          {"metadata", std::move(metadata)},
          {"inputs", values_json(info.inputs)},
          {"outputs", values_json(info.outputs)},
          {"nodes", info.nodes},
          {"operators", std::move(operators)},
          {"functions", model.functions.size()},
          {"parameters", info.parameters.count},
          {"parameter_tensors", info.parameters.tensors},
          {"parameter_bytes", info.parameters.bytes},
          {"multiply_adds", info.multiply_adds ? Json(*info.multiply_adds) : Json(nullptr)},
          {"nodes_of_open_shape", info.open}};
}

Status info(const InfoFlags& flags) {
  if (is_operator_set(flags.model)) return print_operator_set(flags.model);
  SDX_ASSIGN(const auto model, flags.limits.read(flags.model));
  CompileOptions options;
  options.most_nodes = flags.limits.most_nodes();
  SDX_TRY(flags.inputs.complete(*model, options));
  Result<typed::Graph> typed = type(model, options);
  const Info gathered = gather(*model, typed);
  if (flags.json) {
    print_json(info_json(flags, *model, gathered));
  } else {
    print_text(flags, *model, gathered);
  }
  if (!typed) return std::move(typed).error();
  return ok();
}

}  // namespace

Command info_command(CommandLine program) {
  CommandLine app =
      program.command("info", "metadata, signature, operators, parameters, multiply-adds");
  auto flags = std::make_shared<InfoFlags>();
  app.option("model", flags->model, "an .onnx file, or its text (.txt)").required();
  app.flag("--json", flags->json, "as one JSON object");
  flags->inputs.add_sizes_to(app);
  flags->limits.add_to(app);
  return {app, [flags] {
            const Status status = info(*flags);
            return status ? kOk : report(status.error());
          }};
}

}  // namespace sdx::cli
