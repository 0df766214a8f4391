#include "view_data.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "attribute_words.h"
#include "base/printable.h"
#include "bounds.h"
#include "check/check.h"
#include "check/scope.h"
#include "check/typable.h"
#include "listing.h"
#include "model/tensor.h"
#include "model_diff.h"
#include "statistics.h"
#include "view_groups.h"
#include "wires.h"
#include "work.h"

namespace sdx::cli {
namespace {

using check::Diagnostic;
using model::Graph;
using model::Node;

// Lists that stages refer to by number.
struct Shared {
  Json findings = Json::array(), weights = Json::array(), values = Json::array();
  std::vector<Diagnostic> diagnostics;
  std::map<const model::TensorData*, size_t> weight_of;
  std::map<std::string, size_t> value_of;  // of wires of the main graph
};

std::string tensor_words(const model::TensorData& data) {
  const auto tensor = model::to_tensor(data);
  if (!tensor) return "a tensor";
  return fmt::format("{}{} {}", short_name(tensor->type()), to_string(tensor->dims()),
                     statistics(*tensor).value("first", ""));
}

// One graph of the stage "as written".
class WrittenGraph {
 public:
  WrittenGraph(const Graph& graph, const Types& types, Shared& shared)
      : graph_(graph), types_(types), shared_(shared) {
    for (const auto* list : {&graph.value_info, &graph.output, &graph.input}) {
      for (const model::ValueInfo& info : *list) declared_[info.name] = &info;
    }
    std::set<std::string_view> weights;
    for (const model::TensorData& weight : graph.initializer) {
      weights.insert(weight.name);
      add(weight.name, "weight", &weight);
    }
    for (const model::ValueInfo& input : graph.input) {
      if (!weights.contains(input.name)) inputs_.push_back(add(input.name, "input"));
    }
  }

  // The wire of a name; one that this graph does not define comes from the graph around it.
  long wire(const std::string& name, const char* how = "outer") {
    if (name.empty()) return -1;
    const auto at = numbers_.find(name);
    return long(at != numbers_.end() ? at->second : add(name, how));
  }

  Json json(Json nodes) {
    Json outputs = Json::array();
    for (const model::ValueInfo& output : graph_.output) outputs.push_back(wire(output.name));
    return {{"name", graph_.name},
            {"wires", std::move(wires_)},
            {"nodes", std::move(nodes)},
            {"inputs", std::move(inputs_)},
            {"outputs", std::move(outputs)}};
  }

  void make(const Node& node) {
    for (const std::string& name : node.output) {
      if (!name.empty() && !numbers_.contains(name)) add(name, nullptr);
    }
  }

 private:
  size_t add(const std::string& name, const char* how, const model::TensorData* weight = nullptr) {
    const auto known = types_.find(name);
    const auto said = declared_.find(name);
    const bool has_type = said != declared_.end() && said->second->type;
    std::string type, way = how != nullptr ? how : "";
    if (known != types_.end() && known->second.present()) {
      type = known->second.text();
      if (how == nullptr) way = "inferred";
    } else if (weight != nullptr) {
      type = fmt::format("{}{}", short_name(weight->dtype()), to_string(weight->dims));
    } else if (has_type) {
      type = check::declared_fact(*said->second).text();
      if (how == nullptr) way = "declared";
    } else if (how == nullptr) {
      way = "unknown";
    }
    Json entry = Json::array({name, type, way});
    const auto value = shared_.value_of.find(name);
    if (weight != nullptr || value != shared_.value_of.end()) {
      entry.push_back(weight == nullptr ? Json(-1) : Json(weight_number(*weight)));
      entry.push_back(value == shared_.value_of.end() ? Json(-1) : Json(value->second));
    }
    const size_t number = wires_.size();
    numbers_.emplace(name, number);
    wires_.push_back(std::move(entry));
    return number;
  }

  size_t weight_number(const model::TensorData& weight) {
    const auto [at, fresh] = shared_.weight_of.emplace(&weight, shared_.weights.size());
    if (fresh) {
      const auto tensor = model::to_tensor(weight);
      shared_.weights.push_back(tensor ? statistics(*tensor) : Json::object());
    }
    return at->second;
  }

  const Graph& graph_;
  const Types& types_;
  Shared& shared_;
  std::map<std::string, const model::ValueInfo*> declared_;
  std::map<std::string, size_t, std::less<>> numbers_;
  Json wires_ = Json::array(), inputs_ = Json::array();
};

// The stage "as written": the main graph and all graphs within it.
class WrittenStage {
 public:
  WrittenStage(const model::Model& model, const BodyTypes& bodies, Shared& shared)
      : model_(model),
        bodies_(bodies),
        shared_(shared),
        opsets_(model::opsets_of(model.opset_import)) {}

  Json json(const Types& types, const std::string& title) {
    if (model_.graph) {
      const check::Place place{nullptr, "graph", model_.graph->name};
      graph(*model_.graph, types, place);
    }
    return {{"title", title}, {"graphs", std::move(graphs_)}};
  }

 private:
  size_t graph(const Graph& g, const Types& types, const check::Place& place) {
    const size_t number = graphs_.size();
    graphs_.push_back(nullptr);
    WrittenGraph made(g, types, shared_);
    Json nodes = Json::array();
    const std::vector<std::string> groups = groups_of(g.node);
    for (const Node& node : g.node) made.make(node);
    for (size_t i = 0; i < g.node.size(); ++i) {
      const check::Place here{&place, "node", g.node[i].name, i, &g.node[i], &opsets_};
      nodes.push_back(node(g.node[i], groups[i], made, here));
    }
    graphs_[number] = made.json(std::move(nodes));
    return number;
  }

  Json node(const Node& n, const std::string& group, WrittenGraph& made, const check::Place& here) {
    Json json = {
        {"op", n.domain.empty() || n.domain == "ai.onnx" ? n.op_type : n.domain + "." + n.op_type}};
    if (!n.name.empty()) json["name"] = n.name;
    Json in = Json::array(), out = Json::array(), attrs = Json::array(), bodies = Json::array();
    for (const std::string& name : n.input) in.push_back(made.wire(name));
    for (const std::string& name : n.output) out.push_back(made.wire(name));
    for (const model::Attribute& a : n.attribute) {
      attrs.push_back(Json::array({a.name, attribute_words(a, {200, tensor_words})}));
      const check::Place attribute = here.in("attribute", a.name);
      const auto body = [&](const Graph& inner) {
        static const Types kNone;
        const auto types = bodies_.find(&inner);
        bodies.push_back(
            Json::array({a.name, graph(inner, types == bodies_.end() ? kNone : types->second,
                                       attribute.in("graph", inner.name))}));
      };
      if (a.g) body(*a.g);
      for (const Graph& inner : a.graphs) body(inner);
    }
    // What subgraphs take from around them is read here too.
    for (const std::string_view name : model::names_used(n)) {
      const long wire = made.wire(std::string(name));
      if (std::find(in.begin(), in.end(), Json(wire)) == in.end()) in.push_back(wire);
    }
    json["in"] = std::move(in), json["out"] = std::move(out);
    if (!attrs.empty()) json["attrs"] = std::move(attrs);
    if (!bodies.empty()) json["bodies"] = std::move(bodies);
    if (!group.empty()) json["group"] = group;
    if (Json found = findings(here); !found.empty()) json["findings"] = std::move(found);
    return json;
  }

  Json findings(const check::Place& here) const {
    Json found = Json::array();
    if (shared_.diagnostics.empty()) return found;
    const std::string text = here.text();
    for (size_t i = 0; i < shared_.diagnostics.size(); ++i) {
      const std::string& place = shared_.diagnostics[i].place;
      const size_t at = place.find(text), end = at + text.size();
      const bool ends = at != std::string::npos && (end == place.size() || place[end] == ',');
      if (ends) found.push_back(i);
    }
    return found;
  }

  const model::Model& model_;
  const BodyTypes& bodies_;
  Shared& shared_;
  model::Opsets opsets_;
  Json graphs_ = Json::array();
};

// Labels of the main graph's nodes, as typing gives them to what it makes.
std::map<std::string, size_t> labels_of(const model::Model& model) {
  std::map<std::string, size_t> labels;
  for (size_t i = 0; i < model.graph->node.size(); ++i) {
    std::string label = model.graph->node[i].name;
    for (const std::string& name : model.graph->node[i].output) {
      if (label.empty()) label = name;
    }
    labels.emplace(label, i);
  }
  return labels;
}

// The stage "as it runs": the rewritten graph with kernels, linked to the nodes that it stands for.
Json optimized_stage(const Loaded& loaded, const std::vector<double>& times, Json& written) {
  const plan::Plan& plan = *loaded.plan;
  const typed::Graph& graph = plan.graph;
  const auto labels = labels_of(*loaded.model);
  std::vector<const plan::Step*> step_of(graph.size(), nullptr);
  for (const plan::Step& step : plan.steps) step_of[step.node] = &step;
  Json wires = Json::array(), nodes = Json::array(), inputs = Json::array(),
       outputs = Json::array();
  std::vector<std::vector<long>> number(graph.size());
  std::vector<Node> named;  // for the groups
  std::map<size_t, std::vector<size_t>> links;
  for (uint32_t id = 0; id < graph.size(); ++id) {
    const typed::Node& node = graph.node(id);
    for (size_t slot = 0; slot < node.outputs.size(); ++slot) {
      number[id].push_back(long(wires.size()));
      const bool constant = node.kind == typed::Node::Kind::constant;
      const char* how = constant                                 ? "weight"
                        : node.kind == typed::Node::Kind::source ? "input"
                                                                 : "inferred";
      wires.push_back(Json::array({node.use.name.empty() ? fmt::format("%{}", id)
                                   : slot == 0           ? node.use.name
                                               : fmt::format("{}:{}", node.use.name, slot),
                                   node.outputs[slot].text(), how}));
    }
    if (node.kind == typed::Node::Kind::source) inputs.push_back(number[id][0]);
    if (node.kind != typed::Node::Kind::op) continue;
    Json json = {{"op", node.op().name}};
    if (!node.use.name.empty()) json["name"] = node.use.name;
    Json in = Json::array(), out = Json::array(), from = Json::array();
    for (const typed::Outlet input : node.inputs)
      in.push_back(input.present() ? number[input.node][input.slot] : -1L);
    for (const long wire : number[id]) out.push_back(wire);
    std::set<size_t> stands_for;
    for (const std::string& label : node.origin) {
      if (const auto at = labels.find(label); at != labels.end()) stands_for.insert(at->second);
    }
    for (const size_t at : stands_for) from.push_back(at), links[at].push_back(nodes.size());
    json["in"] = std::move(in), json["out"] = std::move(out);
    if (!from.empty()) json["links"] = std::move(from);
    if (const plan::Step* step = step_of[id]) {
      json["kernel"] = step->late                ? "late"
                       : step->kernel == nullptr ? "reference"
                                                 : std::string(step->kernel->name);
      if (step->epilogue) json["kernel"] = json["kernel"].get<std::string>() + " + program";
    }
    if (id < times.size() && times[id] > 0) json["ms"] = times[id];
    nodes.push_back(std::move(json));
    named.emplace_back();
    named.back().name = node.use.name;
    named.back().op_type = std::string(node.op().name);
  }
  const std::vector<std::string> groups = groups_of(named);
  for (size_t i = 0; i < groups.size(); ++i) {
    if (!groups[i].empty()) nodes[i]["group"] = groups[i];
  }
  for (const typed::Output& output : graph.outputs())
    outputs.push_back(number[output.outlet.node][output.outlet.slot]);
  // A node of the model has its share of the steps that it is part of.
  for (const auto& [at, steps] : links) {
    Json& node = written["graphs"][0]["nodes"][at];
    node["links"] = steps;
    double ms = 0;
    for (const size_t step : steps) {
      if (nodes[step].contains("ms"))
        ms += nodes[step]["ms"].get<double>() / double(nodes[step]["links"].size());
    }
    if (ms > 0) node["ms"] = ms;
  }
  Json all = Json::array();
  all.push_back({{"name", loaded.model->graph->name},
                 {"wires", std::move(wires)},
                 {"nodes", std::move(nodes)},
                 {"inputs", std::move(inputs)},
                 {"outputs", std::move(outputs)}});
  return {{"title", "as it runs"}, {"graphs", std::move(all)}};
}

struct Clock : run::Observer {
  std::map<uint32_t, double> least;
  double started = 0;
  void before(uint32_t, const typed::Node&) override { started = now_ms(); }
  void after(uint32_t id, const typed::Node&, std::span<const View>) override {
    const double ms = now_ms() - started;
    const auto [at, fresh] = least.emplace(id, ms);
    if (!fresh) at->second = std::min(at->second, ms);
  }
};

Result<std::vector<double>> times_of(const Loaded& loaded) {
  constexpr int kRuns = 4;
  run::Session session(loaded.compiled);
  Clock clock;
  for (int i = 0; i < kRuns; ++i) {
    run::RunOptions options;
    options.observer = &clock;
    options.deadline = deadline();
    const auto outputs = session.run(loaded.inputs, options);
    if (!outputs) return asking_for_sizes(Error(outputs.error()), loaded.assumed);
  }
  std::vector<double> times(loaded.plan->graph.size(), 0);
  for (const auto& [id, ms] : clock.least) {
    if (id < times.size()) times[id] = ms;
  }
  // A step's time is told of the node whose output it makes; it is shown at its main node.
  for (const plan::Step& step : loaded.plan->steps) {
    if (step.epilogue) std::swap(times[step.node], times[step.epilogue->node]);
  }
  return times;
}

Status add_values(const Loaded& loaded, Shared& shared) {
  SDX_ASSIGN(const auto wires, values_of_wires(loaded.model, loaded.options, loaded.inputs, {}));
  const auto add = [&](const std::string& name, const Value& value) {
    if (!value.is_tensor()) return;
    shared.value_of.emplace(name, shared.values.size());
    shared.values.push_back(statistics(value.tensor()));
  };
  for (size_t i = 0; i < loaded.inputs.size(); ++i) {
    const typed::Graph& graph = loaded.compiled->graph();
    add(graph.node(graph.inputs()[i].node).use.name, loaded.inputs[i]);
  }
  for (const NamedValue& wire : wires) add(wire.name, wire.value);
  return ok();
}

Json facts_of(const model::Model& model, const ViewRequest& request) {
  Json facts = Json::array();
  const auto fact = [&](const char* label, const std::string& text) {
    if (!text.empty()) facts.push_back(Json::array({label, text}));
  };
  fact("file", std::filesystem::path(request.model).filename().string());
  fact("graph", model.graph ? model.graph->name : "");
  fact("IR version", check::version_text(model.ir_version));
  for (const model::OpsetId& set : model.opset_import)
    fact("operators", fmt::format("{} {}", model::shown(set.domain), set.version));
  fact("producer",
       model.producer_name + (model.producer_version.empty() ? "" : " " + model.producer_version));
  fact("about", model.doc_string.substr(0, 300));
  return facts;
}

// Findings of the rules, and of typing where the rules hold.
void find_problems(const std::shared_ptr<const model::Model>& model, Shared& shared,
                   const Result<infer::Inferred>& known) {
  shared.diagnostics = check::check(*model).diagnostics;
  if (known) {
    shared.diagnostics.insert(shared.diagnostics.end(), known->stale().begin(),
                              known->stale().end());
  } else if (std::none_of(
                 shared.diagnostics.begin(), shared.diagnostics.end(),
                 [](const Diagnostic& d) { return d.severity == check::Severity::error; })) {
    Diagnostic& d = shared.diagnostics.emplace_back();
    d.code = known.error().code, d.message = known.error().what;
    for (auto place = known.error().where.rbegin(); place != known.error().where.rend(); ++place)
      d.place += (d.place.empty() ? "" : ", ") + *place;
  }
  for (const Diagnostic& d : shared.diagnostics)
    shared.findings.push_back(Json::array({name_of(d.severity), d.code, d.message, d.place}));
}

// Marks of what differs, in both graphs, and the list of differences.
Json mark_differences(const model::Model& a, const model::Model& b, Json& left, Json& right) {
  Json list = Json::array();
  for (const Difference& d : differences(a, b)) {
    const char* kind = d.kind == Difference::Kind::gone   ? "gone"
                       : d.kind == Difference::Kind::came ? "came"
                                                          : "changed";
    list.push_back({{"part", d.part}, {"kind", kind}, {"name", d.name}, {"details", d.lines}});
    if (d.in_a >= 0) left["graphs"][0]["nodes"][size_t(d.in_a)]["mark"] = kind;
    if (d.in_b >= 0) right["graphs"][0]["nodes"][size_t(d.in_b)]["mark"] = kind;
    if (d.in_a >= 0) list.back()["node"] = d.in_a;
  }
  return list;
}

// What is known within bodies is kept only where it is asked for.
bool has_bodies(const model::Model& model) {
  bool found = false;
  if (!model.graph) return false;
  for (const Node& node : model.graph->node)
    model::each_subgraph(node, [&](const Graph&) { found = true; });
  return found;
}

struct ModelAsWritten {  // NOLINT: of the JSON library, whose moves do not throw
  std::shared_ptr<const model::Model> model;
  Json stage;
};

Result<ModelAsWritten> written_stage(const std::string& path, const ViewRequest& request,
                                     Shared& shared, const std::string& title, bool problems) {
  ModelAsWritten written;
  SDX_ASSIGN(written.model, request.engine.limits.read(path));
  if (!written.model->graph) return fail("SDX-C0071", "{} has no graph to look at", path);
  CompileOptions options;
  SDX_ASSIGN(options, request.engine.options());
  Types types;
  BodyTypes bodies;
  const Status sized = request.inputs.complete(*written.model, options);
  const Result<infer::Inferred> known =
      sized ? inferred(written.model, options, has_bodies(*written.model))
            : Result<infer::Inferred>(sized.error());
  if (known) {
    for (const auto& [name, outlet] : known->wires())
      types.emplace(name, known->graph().fact(outlet));
    if (known->bodies()) bodies = known->bodies()->graphs;
  }
  if (problems) find_problems(written.model, shared, known);
  written.stage = WrittenStage(*written.model, bodies, shared).json(types, title);
  return written;
}

}  // namespace

Result<Json> view_data(const ViewRequest& request) {
  Shared shared;
  Json stages = Json::array(), listed = Json::array();
  std::optional<Loaded> loaded;
  std::vector<double> times;
  std::string why_not;
  if (request.optimized || request.profile || request.run) {
    // A model that does not run can be looked at all the same.
    Result<Loaded> tried = load(request.model, request.engine, request.inputs);
    if (tried) {
      loaded = *std::move(tried);
    } else if (request.profile || request.run) {
      return std::move(tried).error();
    } else {
      why_not = tried.error().what;
    }
  }
  if (request.profile) {
    SDX_ASSIGN(times, times_of(*loaded));
  }
  if (request.run) SDX_TRY(add_values(*loaded, shared));
  SDX_ASSIGN(ModelAsWritten main,
             written_stage(request.model, request, shared, "as written", true));
  Json facts = facts_of(*main.model, request);
  if (!why_not.empty()) facts.push_back(Json::array({"does not run", why_not}));
  std::optional<Json> runs, other;
  if (loaded) runs = optimized_stage(*loaded, times, main.stage);
  if (!request.other.empty()) {
    SDX_ASSIGN(ModelAsWritten second,
               written_stage(request.other, request, shared, "the other model", false));
    listed = mark_differences(*main.model, *second.model, main.stage, second.stage);
    other = std::move(second.stage);
  }
  stages.push_back(std::move(main.stage));
  if (runs) stages.push_back(*std::move(runs));
  if (other) stages.push_back(*std::move(other));
  return Json{{"title", std::filesystem::path(request.model).filename().string()},
              {"facts", std::move(facts)},
              {"findings", std::move(shared.findings)},
              {"weights", std::move(shared.weights)},
              {"values", std::move(shared.values)},
              {"differences", std::move(listed)},
              {"stages", std::move(stages)}};
}

}  // namespace sdx::cli
