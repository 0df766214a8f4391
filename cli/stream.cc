// sardonyx stream: a model along an endless axis: how its wires move, what a pulse costs, and the
// pulsed model as a file.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "api/streaming.h"
#include "command.h"
#include "inputs.h"
#include "model/io.h"
#include "stream/pulsed.h"
#include "stream/report.h"
#include "streaming.h"
#include "work.h"

namespace sdx::cli {
namespace {

using Json = nlohmann::ordered_json;
using stream::Flow;
using stream::Report;

struct StreamFlags {
  std::string model, axis, out;
  int64_t pulse = 0;
  bool explain = false, json = false;
  EngineFlags engine;
  InputFlags inputs;
};

const char* name_of(Flow::Kind kind) {
  switch (kind) {
    case Flow::Kind::fixed:
      return "fixed";
    case Flow::Kind::rows:
      return "rows";
    case Flow::Kind::length:
      return "length";
    case Flow::Kind::late:
      return "end";
    case Flow::Kind::refused:
      return "refused";
  }
  return "";
}

Json wire_json(const Report& report, stream::Outlet outlet) {
  const Flow& flow = report.flows().at(outlet);
  Json json = {{"kind", name_of(flow.kind)}};
  if (!flow.moves()) return json;
  const stream::Movement& move = report.at(outlet);
  json["axis"] = flow.axis;
  json["rows_per_input_row"] = move.rate.text();
  json["delay"] = move.delay;
  json["input_delay"] = report.input_delay(outlet);
  json["history"] = move.history;
  json["grows"] = move.grows;
  return json;
}

Json stream_json(const Report& report, const stream::PulseCost& cost,
                 const stream::Pulsed* pulsed) {
  Json inputs = Json::array(), outputs = Json::array(), wires = Json::array(),
       states = Json::array();
  const typed::Graph& graph = report.flows().graph;
  for (const typed::Outlet input : graph.inputs()) {
    const Fact& fact = graph.fact(input);
    Json json = {{"name", graph.node(input.node).use.name}, {"type", short_name(fact.type)}};
    Json& shape = json["shape"] = Json::array();
    for (const Dim& dim : *fact.shape) shape.push_back(dim.is_const() ? Json(dim.value()) : Json());
    if (report.flows().at(input).moves()) json["axis"] = report.flows().at(input).axis;
    inputs.push_back(std::move(json));
  }
  for (const typed::Output& output : graph.outputs()) {
    Json json = wire_json(report, output.outlet);
    json["name"] = output.name;
    if (pulsed != nullptr) {
      const auto at = pulsed->delays.find(output.name);
      if (at != pulsed->delays.end()) json["model_delay"] = at->second;
    }
    outputs.push_back(std::move(json));
  }
  for (uint32_t id = 0; id < graph.size(); ++id) {
    if (graph.node(id).kind == typed::Node::Kind::constant) continue;
    for (uint32_t slot = 0; slot < graph.node(id).outputs.size(); ++slot) {
      Json json = wire_json(report, {id, slot});
      json["node"] = typed::shown(graph.node(id));
      json["slot"] = slot;
      wires.push_back(std::move(json));
    }
  }
  if (pulsed != nullptr) {
    for (const stream::Pulsed::State& state : pulsed->states)
      states.push_back({{"input", state.input},
                        {"output", state.output},
                        {"type", short_name(state.initial.type())},
                        {"shape", state.initial.dims()},
                        {"initial", state.words}});
  }
  Json all = {{"axis", report.flows().symbol}, {"multiple", report.multiple()},
              {"pulse", cost.pulse},           {"state_bytes", cost.state_bytes},
              {"state_grows", cost.grows},     {"multiply_adds_per_pulse", cost.multiply_adds},
              {"inputs", std::move(inputs)},   {"outputs", std::move(outputs)}};
  if (pulsed != nullptr) {
    all["model_state_bytes"] = pulsed->state_bytes();
    all["states"] = std::move(states);
    all["left_out"] = pulsed->left_out;
  }
  all["wires"] = std::move(wires);
  return all;
}

void print(const Report& report, const stream::PulseCost& cost, const stream::Pulsed* pulsed) {
  const typed::Graph& graph = report.flows().graph;
  std::printf("axis            %s\n", report.flows().symbol.c_str());
  std::printf("pulse           %s rows, any multiple of %s\n",
              grouped(uint64_t(cost.pulse)).c_str(), grouped(uint64_t(report.multiple())).c_str());
  std::printf("state           %s bytes%s\n", grouped(cost.state_bytes).c_str(),
              cost.grows ? ", and grows with the stream" : "");
  std::printf("multiply-adds   %s per pulse\n", grouped(cost.multiply_adds).c_str());
  for (const typed::Output& output : graph.outputs())
    std::printf("output          %s: %s\n", output.name.c_str(),
                report.text(output.outlet).c_str());
  if (pulsed == nullptr) return;
  for (const auto& [name, delay] : pulsed->delays)
    std::printf("in the model    %s: %lld row%s to drop at first\n", name.c_str(),
                static_cast<long long>(delay), delay == 1 ? "" : "s");
  for (const stream::Pulsed::State& state : pulsed->states)
    std::printf("state           %s -> %s: %s%s, at first %s\n", state.input.c_str(),
                state.output.c_str(), std::string(short_name(state.initial.type())).c_str(),
                to_string(state.initial.dims()).c_str(), state.words.c_str());
  for (const std::string& name : pulsed->left_out)
    std::printf("left out        %s: known at the stream's end only\n", name.c_str());
}

Status run(const StreamFlags& flags) {
  SDX_ASSIGN(const stream::Flows flows,
             flows_of(flags.model, flags.axis, flags.engine, flags.inputs));
  const Report report(flows);
  if (flags.explain) {
    std::fputs(report.text().c_str(), stdout);
    if (flows.refused.empty() && flags.out.empty()) return ok();
  }
  SDX_TRY(flows.check());
  const int64_t pulse = flags.pulse > 0 ? flags.pulse : report.multiple();
  SDX_ASSIGN(const stream::PulseCost cost, report.cost(pulse));
  std::optional<stream::Pulsed> pulsed;
  if (!flags.out.empty()) {
    SDX_ASSIGN(pulsed, stream::make_pulsed(flows, flags.pulse));
    SDX_ASSIGN(const model::Model made, stream::to_model(*pulsed));
    SDX_TRY(model::write_file(made, flags.out));
  }
  const stream::Pulsed* with = pulsed ? &*pulsed : nullptr;
  if (flags.json) {
    std::printf("%s\n", stream_json(report, cost, with).dump(1).c_str());
  } else if (!flags.explain) {
    print(report, cost, with);
  }
  return ok();
}

}  // namespace

Result<stream::Flows> flows_of(const std::string& path, const std::string& axis,
                               const EngineFlags& engine, const InputFlags& inputs) {
  SDX_ASSIGN(const auto model, engine.limits.read(path));
  SDX_ASSIGN(CompileOptions options, engine.options());
  SDX_TRY(inputs.complete(*model, options));
  Result<std::shared_ptr<const stream::Source>> source = stream_source(model, axis, options);
  if (!source) return std::move(source).error().in(path);
  Bindings others;
  for (const std::string& name : (*source)->others()) {
    std::fprintf(stderr, "note: %s = 1; --set %s=V gives another size\n", name.c_str(),
                 name.c_str());
    others[name] = 1;
  }
  Result<stream::Flows> flows = (*source)->flows(others);
  if (!flows) return std::move(flows).error().in(path);
  return flows;
}

Result<std::string> text_streamed(const std::string& path, const std::string& axis,
                                  const EngineFlags& engine, const InputFlags& inputs) {
  if (axis.empty()) return fail("SDX-C0080", "--at streamed needs --axis NAME");
  SDX_ASSIGN(const stream::Flows flows, flows_of(path, axis, engine, inputs));
  return Report(flows).text();
}

Command stream_command(CommandLine program) {
  CommandLine app =
      program.command("stream", "a model along an endless axis: delay, state, and a pulsed model");
  auto flags = std::make_shared<StreamFlags>();
  app.option("model", flags->model, "an .onnx file, or its text (.txt)").required();
  app.option("--axis", flags->axis,
             "the open size along which rows come; INPUT:AXIS, which opens one; or "
             "INPUT:AXIS:WINDOW[:HOP] for a model of one window; then ,OUTPUT=INPUT for states and "
             ",INPUT=NUMBER for inputs of one value")
      .required();
  app.option("--pulse", flags->pulse, "rows of each push; without it any multiple is taken");
  app.option("-o", flags->out, "write the pulsed model here, its state as inputs and outputs");
  app.flag("--explain", flags->explain,
           "how every wire moves, its delay and history, and why a node cannot be streamed");
  app.flag("--json", flags->json, "the answer as JSON");
  flags->inputs.add_sizes_to(app);
  flags->engine.add_to(app);
  return {app, [flags] {
            const Status status = run(*flags);
            return status ? kOk : report(status.error(), kWrong);
          }};
}

}  // namespace sdx::cli
