#include "infer/inferred.h"

#include <algorithm>

#include "fact/assume.h"
#include "infer/stale.h"
#include "infer/walk.h"

namespace sdx::infer {
namespace {

using typed::Outlet;
using Kind = typed::Node::Kind;

// A typed graph from what a net knows. Both number their nodes by the same walk.
class LearntSink final : public GraphSink {
 public:
  LearntSink(typed::Graph& graph, const Net& net, Assumptions& assumptions, const Bindings& set)
      : GraphSink(graph, &assumptions), net_(net), set_(set) {}

  Outlet source(std::string name, Fact) override {
    Fact fact = net_.at({next_++, 0}).fact;
    for (size_t axis = 0; fact.shape && axis < fact.rank(); ++axis)
      (*fact.shape)[axis] = fact.dim(axis).bind(set_);
    return GraphSink::source(std::move(name), std::move(fact));
  }
  Outlet constant(Tensor value, std::string name) override {
    ++next_;
    return GraphSink::constant(std::move(value), std::move(name));
  }
  Result<std::vector<Outlet>> add(sdx::Node use, std::vector<Outlet> inputs,
                                  std::vector<std::string> origin) override {
    const uint32_t id = next_++;
    auto made = GraphSink::add(std::move(use), std::move(inputs), std::move(origin));
    if (!made) {
      failed_ = id;
      return made;
    }
    for (uint32_t slot = 0; slot < made->size(); ++slot) {
      const Fact& learnt = net_.nodes[id].outputs[slot].fact;
      if ((*made)[slot].present() && learnt.is_tensor()) graph_.learn((*made)[slot], learnt);
    }
    return made;
  }
  // The node that was refused.
  std::optional<uint32_t> failed() const { return failed_; }

 private:
  const Net& net_;
  const Bindings& set_;
  uint32_t next_ = 0;
  std::optional<uint32_t> failed_;
};

bool has_gap(const Fact& fact) {
  return fact.is_tensor() && (fact.type == DType::undefined || !fact.shape);
}
bool has_gap(const typed::Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), [](const typed::Node& node) {
    return std::any_of(node.outputs.begin(), node.outputs.end(),
                       [](const Fact& fact) { return has_gap(fact); });
  });
}

// For a node that refuses what was learnt of its inputs: who required it.
Error with_reasons(Error error, const Net& net, uint32_t id) {
  for (const Outlet input : net.nodes[id].inputs) {
    if (!input.present()) continue;
    const Known& known = net.at(input);
    for (size_t axis = 0; known.fact.shape && axis < known.fact.rank(); ++axis) {
      const Reason& reason = known.dim(axis);
      if (reason.by != Reason::By::consumer && reason.by != Reason::By::stated) continue;
      error.where.push_back(fmt::format("| {}: dimension {} is {}, {}", net.place(input.node), axis,
                                        known.fact.dim(axis).text(), net.text(reason)));
    }
  }
  return error;
}

}  // namespace

Result<Inferred> infer(const check::Checked& checked, const Options& options) {
  const auto& model = checked.shared();
  const auto assumptions = std::make_shared<Assumptions>();
  for (const std::string& text : options.assertions) SDX_TRY(assumptions->assert_that(text));
  SDX_TRY(assumptions->check(options.set));
  const auto fresh = [&] {
    typed::Graph graph;
    graph.name = model->graph->name;
    graph.assumptions = assumptions;
    return graph;
  };
  Inferred inferred;
  inferred.bodies_ = options.bodies;
  inferred.graph_ = fresh();

  // Forwards, unless an input is open from the start.
  const auto open_input = [&](const model::ValueInfo& input) {
    return has_gap(input.type ? fact_of(*input.type, input.name) : Fact::tensor(DType::undefined));
  };
  const auto& inputs = model->graph->input;
  bool learn = options.thorough || std::any_of(inputs.begin(), inputs.end(), open_input);
  if (learn) {
    inferred.net_.emplace();
    Result<Wires> wires = walk_model(model, options, *inferred.net_);
    if (wires) {
      inferred.net_wires_ = *std::move(wires);
    } else if (wires.error().code == kForwardsOnly) {
      inferred.net_.reset();
      learn = false;
    } else {
      return std::move(wires).error();
    }
  }
  if (!learn) {
    GraphSink sink(inferred.graph_, assumptions.get());
    SDX_ASSIGN(inferred.wires_, walk_model(model, options, sink));
    if (has_gap(inferred.graph_)) {
      inferred.net_.emplace();
      if (Result<Wires> wires = walk_model(model, options, *inferred.net_)) {
        inferred.net_wires_ = *std::move(wires);
      } else {
        inferred.net_.reset();
      }
    }
  }
  if (inferred.net_) {
    Net& net = *inferred.net_;
    solve(net, stated(*model->graph, inferred.net_wires_));
    inferred.graph_ = fresh();
    LearntSink sink(inferred.graph_, net, *assumptions, options.set);
    Result<Wires> wires = walk_model(model, options, sink);
    if (!wires) {
      return sink.failed() ? with_reasons(std::move(wires).error(), net, *sink.failed())
                           : std::move(wires).error();
    }
    inferred.wires_ = *std::move(wires);
  }
  for (const model::ValueInfo& output : model->graph->output)
    inferred.graph_.output(output.name, inferred.wires_.find(output.name)->second);
  if (options.thorough) {
    inferred.stale_ = stale_types(*model->graph, inferred.graph_, inferred.wires_);
  }
  return inferred;
}

Result<Inferred> infer_model(std::shared_ptr<const model::Model> model, const Options& options) {
  if (!model->graph) return fail("SDX-G0008", "the model has no graph");
  SDX_TRY(all_supported(*model));  // before the rules, which name only the first that is missing
  check::Options open;
  open.open_types = true;
  SDX_ASSIGN(const check::Checked checked, check::checked(std::move(model), open));
  return infer(checked, options);
}

Result<typed::Graph> type_model(std::shared_ptr<const model::Model> model, const Options& options) {
  SDX_ASSIGN(Inferred known, infer_model(std::move(model), options));
  return std::move(known).typed();
}

}  // namespace sdx::infer
