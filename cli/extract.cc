// sardonyx extract: the part of a model between some of its wires, as a model.
#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

#include "check/accept/mends.h"
#include "model/fields.h"
#include "model/names.h"
#include "tools.h"
#include "typed_values.h"
#include "words.h"
#include "write_model.h"

namespace sdx::cli {
namespace {

struct ExtractFlags {
  std::string in;
  Writing writing;
  std::vector<std::string> from, to;
  LimitFlags limits;
};

using Names = std::set<std::string, std::less<>>;

// Every value of the main graph that somebody can ask for.
std::vector<std::string> wires_of(const model::Graph& graph) {
  std::vector<std::string> names;
  for (const model::ValueInfo& input : graph.input) names.push_back(input.name);
  for (const model::Node& node : graph.node) {
    for (const std::string& output : node.output) {
      if (!output.empty()) names.push_back(output);
    }
  }
  return names;
}

Status all_known(const std::vector<std::string>& asked, const std::vector<std::string>& wires) {
  for (const std::string& name : asked) {
    if (std::find(wires.begin(), wires.end(), name) == wires.end())
      return not_among("SDX-C0063", "the graph has no value", name, wires);
  }
  return ok();
}

// The nodes that `to` needs, walking back no further than `from`; `live` collects what is read.
std::vector<bool> nodes_between(const model::Graph& graph, const Names& from, Names& live) {
  std::vector<bool> kept(graph.node.size(), false);
  for (size_t i = graph.node.size(); i-- > 0;) {
    const model::Node& node = graph.node[i];
    kept[i] = std::any_of(node.output.begin(), node.output.end(), [&](const std::string& name) {
      return live.contains(name) && !from.contains(name);
    });
    if (!kept[i]) continue;
    for (const std::string_view name : model::names_used(node)) live.emplace(name);
  }
  return kept;
}

// Inputs of the model that are reached although --from does not stop before them.
std::vector<std::string> still_needed(const model::Graph& graph, const Names& from,
                                      const Names& live) {
  std::vector<std::string> names;
  for (const model::ValueInfo& input : graph.input) {
    if (!live.contains(input.name) || from.contains(input.name)) continue;
    const bool given =
        std::any_of(graph.initializer.begin(), graph.initializer.end(),
                    [&](const model::TensorData& init) { return init.name == input.name; });
    if (!given) names.push_back(input.name);
  }
  return names;
}

Result<model::Model> part_of(const std::shared_ptr<const model::Model>& whole,
                             const ExtractFlags& flags) {
  if (!whole->graph) return no_graph();
  model::Graph old = *whole->graph;
  check::accept::sort_nodes(old.node);
  const std::vector<std::string> wires = wires_of(old);
  SDX_TRY(all_known(flags.from, wires));
  SDX_TRY(all_known(flags.to, wires));
  SDX_ASSIGN(const TypedValues types, typed_values(whole, flags.limits));

  const Names from(flags.from.begin(), flags.from.end());
  std::vector<std::string> to = flags.to;
  if (to.empty()) {
    for (const model::ValueInfo& output : old.output) to.push_back(output.name);
  }
  Names live(to.begin(), to.end());
  const std::vector<bool> kept = nodes_between(old, from, live);

  model::Model made = *whole;
  model::Graph& graph = *made.graph;
  graph.node.clear();
  for (size_t i = 0; i < kept.size(); ++i) {
    if (kept[i]) graph.node.push_back(old.node[i]);
  }
  std::vector<std::string> inputs = flags.from;
  if (const auto needed = still_needed(old, from, live); !flags.from.empty() && !needed.empty()) {
    Error error = fail("SDX-C0065", "the part also needs the model's input{} {}",
                       needed.size() == 1 ? "" : "s", listed(needed));
    error.help = fmt::format("add {} to --from, or a wire that lies between", listed(needed));
    return error;
  } else {
    inputs.insert(inputs.end(), needed.begin(), needed.end());
  }
  graph.input.clear();
  for (const std::string& name : inputs) {
    if (live.contains(name)) graph.input.push_back(types.info(name));
  }
  graph.output.clear();
  for (const std::string& name : to) graph.output.push_back(types.info(name));
  std::erase_if(graph.initializer, [&](const model::TensorData& init) {
    return !live.contains(init.name) || from.contains(init.name);
  });
  std::erase_if(graph.sparse_initializer, [&](const model::SparseTensorData& init) {
    return !init.values || !live.contains(init.values->name) || from.contains(init.values->name);
  });
  Names inside = live;
  for (const model::Node& node : graph.node) inside.insert(node.output.begin(), node.output.end());
  const Names ends(to.begin(), to.end());
  std::erase_if(graph.value_info, [&](const model::ValueInfo& info) {
    return !inside.contains(info.name) || ends.contains(info.name) || from.contains(info.name);
  });
  std::erase_if(graph.quantization_annotation,
                [&](const model::TensorAnnotation& a) { return !inside.contains(a.tensor_name); });
  made.training_info.clear();  // it speaks of the whole
  return made;
}

Status extract(const ExtractFlags& flags) {
  SDX_TRY(can_be_written(flags.writing.out));
  SDX_ASSIGN(const auto whole, flags.limits.read(flags.in));
  Result<model::Model> part = part_of(whole, flags);
  if (!part) return std::move(part).error().in(flags.in);
  const size_t nodes = part->graph->node.size();
  const std::string inputs = std::to_string(part->graph->input.size());
  const std::string outputs = std::to_string(part->graph->output.size());
  Writing writing = flags.writing;
  writing.in = flags.in;
  SDX_TRY(write_model(*std::move(part), writing));
  std::fprintf(writing.out == "-" ? stderr : stdout,
               "%s: %zu of %zu nodes, %s inputs, %s outputs\n", writing.out.c_str(), nodes,
               whole->graph->node.size(), inputs.c_str(), outputs.c_str());
  return ok();
}

}  // namespace

Command extract_command(CommandLine program) {
  CommandLine app = program.command("extract", "the part of a model between wires, as a model");
  auto flags = std::make_shared<ExtractFlags>();
  app.option("in", flags->in, "an .onnx file, or its text (.txt)").required();
  app.option("out", flags->writing.out, "the file to write, in the form that its name says")
      .required();
  app.option("--from", flags->from, "the part's inputs: NAME,NAME; unless told, the model's")
      .separated_by(',');
  app.option("--to", flags->to, "its outputs: NAME,NAME; unless told, the model's")
      .separated_by(',');
  app.flag("--embed", flags->writing.embed, "put external data into the file");
  flags->limits.add_to(app);
  return {app, [flags] {
            const Status status = extract(*flags);
            return status ? kOk : report(status.error());
          }};
}

}  // namespace sdx::cli
