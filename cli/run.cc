// sardonyx run: a model's outputs for given inputs, as files, as digests or as a line each.
#include <algorithm>
#include <cstdio>

#include "api/digest.h"
#include "base/printable.h"
#include "bounds.h"
#include "bytes/file.h"
#include "json.h"
#include "listing.h"
#include "load.h"
#include "order.h"
#include "outputs.h"
#include "run/trace.h"
#include "streaming.h"
#include "typed_values.h"
#include "wires.h"
#include "words.h"

namespace sdx::cli {
namespace {

struct RunFlags {
  std::string model, output_dir, dump, format = "pb", order;
  EngineFlags engine;
  InputFlags inputs;
  std::vector<std::string> outputs, states;
  std::string stream;  // the axis along which inputs come row by row
  int64_t chunk = 1;
  size_t steps = 1;
  int64_t loop_limit = run::kMostIterations;
  bool digest = false, trace = false, guard = false, json = false;
};

// An output that is an input of the next step, by position.
using State = std::pair<size_t, size_t>;

std::vector<std::string> output_names(const typed::Graph& graph) {
  std::vector<std::string> names;
  for (const typed::Output& output : graph.outputs()) names.push_back(output.name);
  return names;
}

Result<size_t> find(const std::vector<std::string>& names, const std::string& name,
                    const char* what) {
  const auto at = std::find(names.begin(), names.end(), name);
  if (at == names.end()) return not_among("SDX-C0036", what, name, names);
  return size_t(at - names.begin());
}

Result<std::vector<State>> states_of(const RunFlags& flags, const typed::Graph& graph) {
  std::vector<std::string> inputs;
  for (const typed::Outlet source : graph.inputs())
    inputs.push_back(graph.node(source.node).use.name);
  std::vector<State> states;
  for (const std::string& text : flags.states) {
    const size_t at = text.rfind('=');
    if (at == std::string::npos) return fail("SDX-C0030", "\"{}\" is not of the form OUT=IN", text);
    SDX_ASSIGN(const size_t output,
               find(output_names(graph), text.substr(0, at), "the model has no output"));
    SDX_ASSIGN(const size_t input, find(inputs, text.substr(at + 1), "the model has no input"));
    states.emplace_back(output, input);
  }
  return states;
}

// Which outputs to compute: those asked for, and the states.
Result<std::vector<bool>> wanted(const RunFlags& flags, const typed::Graph& graph,
                                 const std::vector<State>& states, std::vector<bool>& shown) {
  const auto names = output_names(graph);
  shown.assign(names.size(), flags.outputs.empty());
  for (const std::string& name : flags.outputs) {
    const auto at = std::find(names.begin(), names.end(), name);
    if (at != names.end()) shown[size_t(at - names.begin())] = true;  // else a wire: see run()
  }
  std::vector<bool> all = shown;
  for (const auto& [output, input] : states) all[output] = true;
  return all;
}

// Names of the model's tensors, found by the label that typing gave to each node.
run::Trace::Name tensor_names(const model::Model& model) {
  auto outputs = std::make_shared<std::map<std::string, std::vector<std::string>>>();
  each_node(model, [&](const model::Node& node) {
    std::string label = node.name;
    for (const std::string& name : node.output) {
      if (label.empty()) label = name;
    }
    outputs->emplace(label, node.output);
  });
  return [outputs](const typed::Node& node, size_t slot) -> std::string {
    if (node.origin.empty()) return "";
    const auto at = outputs->find(node.origin.back());
    return at != outputs->end() && slot < at->second.size() ? at->second[slot] : "";
  };
}

// The model's outputs, of which `chosen` are shown, and after them the wires that were asked for.
struct Results {
  std::vector<Written> values;
  std::vector<bool> chosen;
};

Json results_json(const Results& results) {
  Json list = Json::array();
  for (size_t i = 0; i < results.values.size(); ++i) {
    if (!results.chosen[i]) continue;
    const auto& [info, value] = results.values[i];
    Json entry = {{"name", info.name}};
    entry.update(json_of(fact_of(value)));
    Json digests = Json::array();
    for (const DigestLine& line : digest(info.name, value)) digests.push_back(line.sha256);
    entry["digests"] = std::move(digests);
    entry["text"] = summary(info.name, value);
    list.push_back(std::move(entry));
  }
  return list;
}

Status show(const RunFlags& flags, const Results& results, size_t step, Json& steps) {
  if (!flags.output_dir.empty()) {
    const std::string folder =
        flags.steps == 1 ? flags.output_dir : fmt::format("{}/step_{}", flags.output_dir, step);
    SDX_TRY(write_values(results.values, folder, format_named(flags.format), {}, results.chosen));
  }
  if (flags.json) {
    steps.push_back(results_json(results));
    return ok();
  }
  if (flags.steps > 1 && (flags.digest || flags.output_dir.empty()))
    std::printf("step %zu\n", step);
  for (size_t i = 0; i < results.values.size(); ++i) {
    if (!results.chosen[i]) continue;
    const auto& [info, value] = results.values[i];
    if (flags.digest) {
      for (const DigestLine& line : digest(info.name, value))
        std::printf("%s\n", printable(line.text()).c_str());
    } else if (flags.output_dir.empty()) {
      std::printf("%s\n", printable(summary(info.name, value)).c_str());
    }
  }
  return ok();
}

void finish(const RunFlags& flags, Json steps) {
  if (flags.json) print_json({{"model", flags.model}, {"steps", std::move(steps)}});
}

// Joined outputs of a stream are shown as those of a run.
Status run_along(const RunFlags& flags) {
  SDX_ASSIGN(const std::vector<Value> outputs,
             run_stream({flags.model, flags.stream, flags.outputs, flags.chunk}, flags.engine,
                        flags.inputs));
  if (outputs.empty()) return ok();  // they went to stdout
  SDX_ASSIGN(const auto model, flags.engine.limits.read(flags.model));
  Results results;
  for (size_t i = 0; i < outputs.size(); ++i)
    results.values.push_back({model->graph->output[i], outputs[i]});
  results.chosen.assign(outputs.size(), true);
  Json steps = Json::array();
  SDX_TRY(show(flags, results, 0, steps));
  finish(flags, std::move(steps));
  return ok();
}

// Names of --outputs that are no outputs of the model: wires.
std::vector<std::string> wires_asked_for(const RunFlags& flags, const typed::Graph& graph) {
  const auto names = output_names(graph);
  std::vector<std::string> wires;
  for (const std::string& name : flags.outputs) {
    if (std::find(names.begin(), names.end(), name) == names.end()) wires.push_back(name);
  }
  return wires;
}

Result<std::vector<Written>> values_between(const RunFlags& flags, const Loaded& loaded,
                                            const std::vector<Value>& inputs,
                                            const std::vector<std::string>& wires) {
  SDX_ASSIGN(const TypedValues types,
             typed_values(loaded.model, flags.engine.limits, loaded.options.set));
  SDX_ASSIGN(std::vector<NamedValue> values,
             values_of_wires(loaded.model, loaded.options, inputs, wires));
  std::vector<Written> written;
  written.reserve(values.size());
  for (NamedValue& wire : values) written.push_back({types.info(wire.name), std::move(wire.value)});
  return written;
}

// Every wire as a file, and wires.json, which says what each file holds.
Status dump(const RunFlags& flags, const Loaded& loaded, const std::vector<Value>& inputs,
            size_t step) {
  const std::string folder =
      flags.steps == 1 ? flags.dump : fmt::format("{}/step_{}", flags.dump, step);
  SDX_ASSIGN(const std::vector<Written> all, values_between(flags, loaded, inputs, {}));
  SDX_TRY(write_values(all, folder, format_named(flags.format), {"wire", "wires"}));
  Json list = Json::array();
  for (size_t i = 0; i < all.size(); ++i) {
    Json entry = {{"name", all[i].info.name}};
    entry["file"] =
        flags.format == "npz" ? "wires.npz" : fmt::format("wire_{}.{}", i, flags.format);
    entry.update(json_of(fact_of(all[i].value)));
    Json digests = Json::array();
    for (const DigestLine& line : digest("", all[i].value)) digests.push_back(line.sha256);
    entry["digests"] = std::move(digests);
    list.push_back(std::move(entry));
  }
  const std::string text = Json({{"model", flags.model}, {"wires", std::move(list)}})
                               .dump(1, ' ', false, Json::error_handler_t::replace) +
                           "\n";
  SDX_ASSIGN(const auto file, FileWriter::create(folder + "/wires.json"));
  SDX_TRY(file->write(std::as_bytes(std::span(text))));
  return file->commit();
}

Status run(const RunFlags& flags) {
  if (!flags.stream.empty()) return run_along(flags);
  EngineFlags engine = flags.engine;
  if (!flags.order.empty()) {
    SDX_ASSIGN(const RandomOrders orders, read_orders(flags.order));
    engine.order = orders.seed;
  }
  InputFlags given = flags.inputs;
  for (const std::string& text : flags.states)
    given.states.push_back(text.substr(text.rfind('=') + 1));
  SDX_ASSIGN(const Loaded loaded, load(flags.model, engine, given));
  const typed::Graph& graph = loaded.compiled->graph();
  SDX_ASSIGN(const std::vector<State> states, states_of(flags, graph));
  std::vector<bool> shown;
  SDX_ASSIGN(const std::vector<bool> needed, wanted(flags, graph, states, shown));
  run::Trace trace([](const std::string& line) { std::printf("%s\n", printable(line).c_str()); },
                   tensor_names(*loaded.model));
  run::RunOptions options;
  options.most_iterations = flags.loop_limit;
  options.guard = flags.guard;
  if (flags.trace) options.observer = &trace;
  if (!flags.outputs.empty()) options.wanted = &needed;
  options.deadline = deadline();
  run::Session session(loaded.compiled);
  std::vector<Value> inputs = loaded.inputs, outputs;
  const std::vector<std::string> wires = wires_asked_for(flags, graph);
  Json steps = Json::array();
  for (size_t step = 0; step < flags.steps; ++step) {
    if (step > 0) {
      SDX_ASSIGN(inputs, given.values(*loaded.model, graph, nullptr, step));
      for (const auto& [output, input] : states) inputs[input] = outputs[output];
    }
    Result<std::vector<Value>> made = session.run(inputs, options);
    if (!made) return asking_for_sizes(std::move(made).error().in(flags.model), loaded.assumed);
    outputs = *std::move(made);
    Results results;
    for (size_t i = 0; i < outputs.size(); ++i)
      results.values.push_back({loaded.model->graph->output[i], outputs[i]});
    results.chosen = shown;
    if (!wires.empty()) {
      SDX_ASSIGN(const auto more, values_between(flags, loaded, inputs, wires));
      results.values.insert(results.values.end(), more.begin(), more.end());
      results.chosen.resize(results.values.size(), true);
    }
    SDX_TRY(show(flags, results, step, steps));
    if (!flags.dump.empty()) SDX_TRY(dump(flags, loaded, inputs, step));
  }
  finish(flags, std::move(steps));
  return ok();
}

}  // namespace

Command run_command(CommandLine program) {
  CommandLine app = program.command("run", "run a model");
  auto flags = std::make_shared<RunFlags>();
  app.option("model", flags->model, "an .onnx file, or its text (.txt)").required();
  flags->inputs.add_to(app);
  app.option("--output-dir", flags->output_dir,
             "write output_0.pb, output_1.pb ... here, all or none");
  app.option("--format", flags->format,
             "of these files: pb, ONNX's; npy, numpy's; npz, all in outputs.npz by their names")
      .one_of({"pb", "npy", "npz"})
      .show_default();
  app.flag("--digest", flags->digest, "print NAME TYPE SHAPE SHA-256 of every output");
  app.flag("--json", flags->json, "print the outputs as one JSON object");
  app.option("--outputs", flags->outputs,
             "compute only these: NAME,NAME; outputs, or any other values of the main graph")
      .separated_by(',');
  app.option("--dump", flags->dump,
             "write the value of every node of the main graph here as wire_0.pb ..., and "
             "wires.json, which names them");
  app.option("--state", flags->states, "OUT=IN: this output is that input of the next step")
      .take_all();
  app.option("--steps", flags->steps,
             "runs one after another; of several files that --input "
             "gives to one input, each step takes the next")
      .positive();
  app.flag("--trace", flags->trace,
           "print when tensors become defined and nodes become executable and execute");
  app.flag("--guard", flags->guard,
           "hold every kernel to its contract: nothing but its outputs and scratch memory changes, "
           "and they depend on its inputs alone; slow");
  app.option("--order", flags->order,
             "random:SEED executes the nodes in a valid order drawn with the seed");
  app.option("--stream", flags->stream,
             "rows along this axis come one after another: --input NAME=- reads them from stdin, "
             "raw, and rows of the output go to stdout as soon as they are certain");
  app.option("--chunk", flags->chunk, "with --stream: rows to take at a time").show_default();
  app.option("--loop-limit", flags->loop_limit, "iterations after which a Loop is ended");
  flags->engine.add_to(app);
  return {app, [flags] {
            const Status status = run(*flags);
            return status ? kOk : report(status.error());
          }};
}

}  // namespace sdx::cli
