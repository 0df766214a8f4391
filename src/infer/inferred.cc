#include "infer/inferred.h"

#include <algorithm>

#include "base/budget.h"
#include "base/stack.h"
#include "check/inline.h"
#include "fact/assume.h"
#include "infer/learnt.h"
#include "infer/stale.h"
#include "infer/walk.h"
#include "model/walk.h"

namespace sdx::infer {
namespace {

using typed::Outlet;

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

// What the model's own size allows its typing and folding.
Status grant(const model::Model& model, size_t most_nodes) {
  SDX_ASSIGN(const size_t nodes, check::inlined_nodes(model, most_nodes));
  size_t bytes = 0;
  SDX_TRY(model::each_tensor(model, [&](const model::TensorData& tensor) -> Status {
    const auto count = element_count(tensor.dims);
    const DType type = tensor.dtype();
    if (count && type != DType::undefined) bytes += bytes_for(type, *count);
    return ok();
  }));
  Budget& budget = *Budget::open();
  budget.grant_nodes(nodes);
  budget.grant_bytes(bytes);
  return ok();
}

}  // namespace

Result<Inferred> infer(const check::Checked& checked, const Options& asked) {
  // Functions and subgraphs nest, and so does their typing.
  return on_deep_stack([&]() -> Result<Inferred> {
    const auto& model = checked.shared();
    const auto assumptions = std::make_shared<Assumptions>();
    Options options = asked;
    const Budget::Scope scope;
    SDX_TRY(grant(*model, options.most_nodes));
    options.assumptions = assumptions;
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
      return has_gap(check::declared_fact(input));
    };
    // What the subgraphs are found to be counts when the graph is made from what was learnt.
    Options quick = options;
    quick.thorough = false;
    quick.bodies = nullptr;
    const auto& inputs = model->graph->input;
    bool learn = options.thorough || std::any_of(inputs.begin(), inputs.end(), open_input);
    if (learn) {
      inferred.net_.emplace();
      Result<Wires> wires = walk_model(model, quick, *inferred.net_);
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
      GraphSink sink(inferred.graph_, assumptions.get(), options.journal);
      SDX_ASSIGN(inferred.wires_, walk_model(model, options, sink));
      if (has_gap(inferred.graph_)) {
        inferred.net_.emplace();
        if (Result<Wires> wires = walk_model(model, quick, *inferred.net_)) {
          inferred.net_wires_ = *std::move(wires);
        } else {
          inferred.net_.reset();
        }
      }
    }
    if (inferred.net_) {
      Net& net = *inferred.net_;
      solve(net, stated(*model->graph, inferred.net_wires_), options.thorough);
      inferred.graph_ = fresh();
      LearntSink sink(inferred.graph_, net, assumptions.get(), options.set, options.journal);
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
  });
}

}  // namespace sdx::infer
