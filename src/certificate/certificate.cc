#include "certificate/certificate.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "certificate/json.h"
#include "certificate/views.h"
#include "ops/control/bodies_of.h"
#include "plan/lasting.h"

namespace sdx::certificate {
namespace {

using plan::Place;
using plan::Plan;
using plan::Step;
using typed::Outlet;

using Bodies = std::function<Status(const typed::Node&)>;

// Writes one plan as the value of "plan".
class PlanWriter {
 public:
  PlanWriter(const Plan& plan, Json& out) : plan_(plan), graph_(plan.graph), out_(out) {
    size_t next = 1;
    for (uint32_t id = 0; id < graph_.size(); ++id) {
      first_wire_.push_back(next);
      next += graph_.node(id).outputs.size();
    }
    has_step_.assign(graph_.size(), false);
    for (const Step& step : plan.steps)
      has_step_[step.node] = has_step_[plan.result_of(step)] = true;
    find_views();
  }

  // `bodies` writes the subgraphs of a step's node.
  Status write(const Bodies& bodies) {
    out_.open('{', "plan").number("alignment", kAlignment);
    memories();
    wires();
    ends();
    out_.line().open('[', "steps");
    for (const Outlet input : graph_.inputs()) defined(input);
    for (uint32_t id = 0; id < graph_.size(); ++id) {
      if (graph_.node(id).kind == typed::Node::Kind::constant) defined({id, 0});
    }
    for (size_t s = 0; s < plan_.steps.size(); ++s) SDX_TRY(step(s, bodies));
    out_.line().close(']');
    outputs();
    out_.close('}');
    return ok();
  }

 private:
  size_t id(Outlet outlet) const { return first_wire_[outlet.node] + outlet.slot; }
  const Place& place(Outlet outlet) const { return plan_.places[outlet.node][outlet.slot]; }

  size_t bytes(Outlet outlet) const {
    const Fact& fact = graph_.fact(outlet);
    if (!fact.is_concrete()) return 0;
    const auto count = element_count(fact.dims());
    return count ? bytes_for(fact.type, *count) : 0;
  }
  // Strings and values that are not tensors own their memory; so does what is made while running.
  bool owned(Outlet outlet) const {
    const Fact& fact = graph_.fact(outlet);
    return place(outlet).kind == Place::Kind::late || !fact.is_concrete() ||
           fact.type == DType::string || fact.type == DType::undefined;
  }
  bool released(uint32_t constant) const { return !graph_.node(constant).outputs[0].value; }
  // Memories are numbered: the arena, inputs, outputs, then constants by their node.
  size_t memory_of(const Place& place) const {
    const size_t inputs = graph_.inputs().size(), outputs = graph_.outputs().size();
    switch (place.kind) {
      case Place::Kind::arena:
        return 1;
      case Place::Kind::input:
        return 2 + place.index;
      case Place::Kind::output:
        return 2 + inputs + place.index;
      case Place::Kind::constant:
        return 2 + inputs + outputs + place.index;
      case Place::Kind::late:
      case Place::Kind::none:
        break;
    }
    return 0;
  }

  void memory(size_t number, std::string_view kind, size_t bytes, std::string_view name) {
    out_.line().open('{').number("memory", number).string("kind", kind).number("bytes", bytes);
    if (!name.empty()) out_.string("name", name);
    out_.close('}');
  }
  void memories() {
    out_.line().open('[', "memories");
    memory(1, "arena", plan_.arena_bytes, "");
    for (size_t i = 0; i < graph_.inputs().size(); ++i) {
      const Outlet input = graph_.inputs()[i];
      memory(memory_of({Place::Kind::input, uint32_t(i), 0}), "input", bytes(input),
             graph_.node(input.node).use.name);
    }
    for (size_t i = 0; i < graph_.outputs().size(); ++i) {
      const typed::Output& output = graph_.outputs()[i];
      memory(memory_of({Place::Kind::output, uint32_t(i), 0}), "output", bytes(output.outlet),
             output.name);
    }
    for (uint32_t node = 0; node < graph_.size(); ++node) {
      if (graph_.node(node).kind != typed::Node::Kind::constant || released(node)) continue;
      memory(memory_of({Place::Kind::constant, node, 0}), "constant", bytes({node, 0}),
             graph_.node(node).use.name);
    }
    out_.line().close(']');
  }

  // Where it lies: a memory and an offset there.
  void at(const Place& place, bool own) {
    if (own) {
      out_.null("memory");
    } else {
      out_.number("memory", memory_of(place)).number("offset", place.offset);
    }
  }
  void wires() {
    out_.line().open('[', "wires");
    for (uint32_t node = 0; node < graph_.size(); ++node) {
      for (uint32_t slot = 0; slot < graph_.node(node).outputs.size(); ++slot) {
        const Outlet outlet{node, slot};
        const Fact& fact = graph_.fact(outlet);
        if (!fact.present()) continue;
        const bool gone = graph_.node(node).kind == typed::Node::Kind::constant && released(node);
        if (place(outlet).kind == Place::Kind::none && !gone) continue;  // inside of a kernel
        out_.line().open('{').number("wire", id(outlet)).string("type", type_text(fact));
        if (fact.is_concrete()) out_.numbers("dims", fact.dims()).number("bytes", bytes(outlet));
        if (gone) {
          out_.truth("released", true);
        } else {
          at(place(outlet), owned(outlet));
        }
        out_.close('}');
      }
    }
    out_.line().close(']');
  }
  static std::string type_text(const Fact& fact) {
    return fact.is_tensor() ? std::string(short_name(fact.type)) : fact.text();
  }

  void ends() {
    out_.line().open('[', "inputs");
    for (const Outlet input : graph_.inputs()) out_.element(id(input));
    out_.close(']').line().open('[', "constants");
    for (uint32_t node = 0; node < graph_.size(); ++node) {
      if (graph_.node(node).kind == typed::Node::Kind::constant) out_.element(id({node, 0}));
    }
    out_.close(']');
  }
  void outputs() {
    out_.line().open('[', "outputs");
    for (size_t i = 0; i < graph_.outputs().size(); ++i) {
      const typed::Output& output = graph_.outputs()[i];
      const Place& copied = plan_.copied_outputs[i];
      const bool own = owned(output.outlet), copy = copied.kind != Place::Kind::none;
      out_.line().open('{').string("name", output.name).number("wire", id(output.outlet));
      out_.number("buffer", memory_of({Place::Kind::output, uint32_t(i), 0}));
      out_.truth("copied", copy);
      at(copy ? copied : place(output.outlet), own);
      out_.close('}');
    }
    out_.line().close(']');
  }

  // A node without a step whose outputs have a place sees its first input's memory.
  void find_views() {
    waits_for_.resize(graph_.size(), 0);
    readers_.resize(graph_.size());
    for (uint32_t node = 0; node < graph_.size(); ++node) {
      if (graph_.node(node).kind != typed::Node::Kind::op || has_step_[node]) continue;
      const auto& places = plan_.places[node];
      if (std::all_of(places.begin(), places.end(),
                      [](const Place& place) { return place.kind == Place::Kind::none; }))
        continue;
      for (const Outlet input : graph_.node(node).inputs) {
        if (!input.present()) continue;
        ++waits_for_[node];
        readers_[input.node].push_back({input.slot, node});
      }
    }
  }
  // Views are there as soon as all their inputs are.
  void defined(Outlet outlet) {
    for (const auto& [slot, node] : readers_[outlet.node]) {
      if (slot == outlet.slot && --waits_for_[node] == 0) view(node);
    }
  }
  void defined_all(uint32_t node) {
    for (uint32_t slot = 0; slot < graph_.node(node).outputs.size(); ++slot) defined({node, slot});
  }

  void node_text(uint32_t id_of_node) {
    const typed::Node& node = graph_.node(id_of_node);
    out_.open('{').string("operator", node.op().name).string("name", node.use.name);
    out_.open('[', "inputs");
    for (const Outlet input : node.inputs) {
      if (input.present()) {
        out_.element(id(input));
      } else {
        out_.null({});
      }
    }
    out_.close(']').open('[', "outputs");
    for (uint32_t slot = 0; slot < node.outputs.size(); ++slot)
      out_.element(id({id_of_node, slot}));
    out_.close(']').close('}');
  }

  void view(uint32_t node_id) {
    const typed::Node& node = graph_.node(node_id);
    Facts in;
    for (const Outlet input : node.inputs) in.push_back(graph_.fact(input));
    const Call call{in, node.outputs, plan_.options.isa, plan_.options.threads};
    out_.line().open('{').string("kind", "view").open('[', "nodes");
    node_text(node_id);
    out_.close(']').number("from", id(node.inputs[0]));
    const ViewRule rule = view_rule(graph_, node);
    out_.string("rule", name_of(rule.kind));
    if (rule.kind != ViewRule::Kind::same) out_.numbers("numbers", rule.numbers);
    out_.open('[', "to");
    for (uint32_t slot = 0; slot < node.outputs.size(); ++slot) {
      if (!node.outputs[slot].present()) continue;
      const auto delta = node.op().alias != nullptr
                             ? node.op().alias(node.resolved.get(), call, slot)
                             : std::nullopt;
      out_.open('{').number("wire", id({node_id, slot}));
      if (delta) out_.number("delta", *delta);
      out_.close('}');
    }
    out_.close(']').close('}');
    defined_all(node_id);
  }

  void wire_list(std::string_view key, const std::vector<Outlet>& list) {
    out_.open('[', key);
    for (const Outlet outlet : list) out_.element(id(outlet));
    out_.close(']');
  }
  // Inputs of which element i of the first output needs only element i.
  std::vector<Outlet> inplace_inputs(const Step& step, const typed::Node& node) const {
    std::vector<Outlet> inputs;
    if (step.late || step.epilogue || !node.op().inplace) return inputs;
    for (const Outlet input : node.inputs) {
      const Fact& fact = graph_.fact(input);
      if (input.present() && fact.is_concrete() && fact.type == node.outputs[0].type &&
          fact.dims() == node.outputs[0].dims())
        inputs.push_back(input);
    }
    return inputs;
  }
  void reads_of(const Step& step, std::vector<Outlet>& reads, std::vector<Outlet>& packed) const {
    const typed::Node& node = graph_.node(step.node);
    const uint32_t packs = step.packed ? step.kernel->packs : 0;
    const auto add = [](std::vector<Outlet>& to, Outlet outlet) {
      if (std::find(to.begin(), to.end(), outlet) == to.end()) to.push_back(outlet);
    };
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!node.inputs[i].present()) continue;
      add(i < 32 && ((packs >> i) & 1u) != 0 ? packed : reads, node.inputs[i]);
    }
    if (!step.epilogue) return;
    for (const Outlet input : graph_.node(step.epilogue->node).inputs) {
      if (input.present() && input.node != step.node) add(reads, input);
    }
  }

  Status step(size_t s, const Bodies& bodies) {
    const Step& step = plan_.steps[s];
    const typed::Node& node = graph_.node(step.node);
    const uint32_t result = plan_.result_of(step);
    const auto axis = step.late || step.epilogue ? std::nullopt : join_axis(graph_, node);
    out_.line().open('{').string("kind", axis ? "join" : "run").number("step", s);
    out_.open('[', "nodes");
    node_text(step.node);
    if (step.epilogue) node_text(step.epilogue->node);
    out_.close(']');
    std::vector<Outlet> reads, packed, writes;
    reads_of(step, reads, packed);
    for (uint32_t slot = 0; slot < graph_.node(result).outputs.size(); ++slot) {
      if (graph_.fact({result, slot}).present()) writes.push_back({result, slot});
    }
    if (axis) {
      wire_list("parts", node.inputs);
      out_.number("to", id({step.node, 0})).number("axis", *axis);
    } else {
      out_.string("kernel", step.late     ? "late"
                            : step.kernel ? step.kernel->name
                                          : std::string_view("reference"));
      wire_list("reads", reads);
      wire_list("packed", packed);
      wire_list("writes", writes);
      wire_list("inplace", inplace_inputs(step, node));
      if (step.scratch_bytes > 0 && !step.late) {
        out_.open('{', "scratch").number("memory", 1).number("offset", step.scratch_offset);
        out_.number("bytes", step.scratch_bytes).close('}');
      }
    }
    if (step.has_bodies && bodies) SDX_TRY(bodies(node));
    out_.close('}');
    if (step.epilogue) defined_all(step.node);
    defined_all(result);
    return ok();
  }

  const Plan& plan_;
  const typed::Graph& graph_;
  Json& out_;
  std::vector<size_t> first_wire_;
  std::vector<bool> has_step_;
  std::vector<size_t> waits_for_;  // by node: inputs that a view still waits for
  std::vector<std::vector<std::pair<uint32_t, uint32_t>>> readers_;  // by node: slot, view
};

bool has_fixed_sizes(const typed::Graph& graph) {
  const auto& inputs = graph.inputs();
  return std::all_of(inputs.begin(), inputs.end(), [&](Outlet input) {
    const Fact& fact = graph.fact(input);
    return fact.is_concrete() && fact.type != DType::undefined;
  });
}

void head(Json& out, std::string_view model) {
  out.open('{').string("format", "sardonyx-plan-certificate").number("version", kVersion);
  out.string("model", model);
}

class TreeWriter {
 public:
  explicit TreeWriter(Json& out) : out_(out) {}

  Status write(const plan::Compiled& compiled, const plan::Planned& planned) {
    return PlanWriter(planned.plan, out_).write([&](const typed::Node& node) {
      return bodies(node, compiled, planned);
    });
  }

 private:
  Status bodies(const typed::Node& node, const plan::Compiled& outer,
                const plan::Planned& planned) {
    out_.open('[', "bodies");
    for (const auto& [attribute, body] : ops::bodies_of(node.use, node.resolved.get())) {
      const auto* lasting = dynamic_cast<const plan::LastingBody*>(body);
      const auto* typed_body =
          lasting != nullptr ? &lasting->shared() : dynamic_cast<const typed::GraphBody*>(body);
      if (typed_body == nullptr) continue;  // a branch that does not fit these sizes
      const plan::BodyPlans& plans = lasting != nullptr ? outer.lasting_bodies() : planned.bodies;
      SDX_ASSIGN(const auto compiled, plans.get(*typed_body, outer));
      out_.line().open('{').string("attribute", attribute);
      if (has_fixed_sizes(compiled->graph())) {
        SDX_ASSIGN(const auto inner, compiled->planned_under({}));
        SDX_TRY(write(*compiled, *inner));
      } else {
        out_.null("plan");  // made when its sizes are known
      }
      out_.close('}');
    }
    out_.close(']');
    return ok();
  }

  Json& out_;
};

}  // namespace

Result<std::string> of(const plan::Compiled& compiled, const Bindings& bindings,
                       std::string_view model) {
  SDX_ASSIGN(const auto planned, compiled.planned_under(bindings));
  return of(compiled, *planned, model);
}

Result<std::string> of(const plan::Compiled& compiled, const plan::Planned& planned,
                       std::string_view model) {
  Json out;
  head(out, model);
  SDX_TRY(TreeWriter(out).write(compiled, planned));
  out.close('}');
  return out.take() + "\n";
}

std::string of(const Plan& plan, std::string_view model) {
  Json out;
  head(out, model);
  (void)PlanWriter(plan, out).write({});  // only subgraphs can fail
  out.close('}');
  return out.take() + "\n";
}

}  // namespace sdx::certificate
