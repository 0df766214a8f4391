// Session: runs a compiled model. Owns an arena; the plan and its weights are shared.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <span>

#include "plan/plan.h"

namespace sdx::run {

// A typed graph and the plans made for the shapes it has met.
class Compiled {
 public:
  Compiled(typed::Graph graph, const plan::Options& options, std::shared_ptr<Pool> pool)
      : graph_(std::move(graph)), options_(options), pool_(std::move(pool)) {}
  // Plans at once if no input's shape is open. Weights that were packed are then not kept unpacked.
  Status prepare();

  const typed::Graph& graph() const { return graph_; }
  Pool& pool() const { return *pool_; }
  const plan::Options& options() const { return options_; }

  // The plan for inputs of these shapes. Errors name the input, what it is and what was expected.
  Result<std::shared_ptr<const plan::Plan>> plan_for(std::span<const Value> inputs) const;
  // The plan if no shape is symbolic, or under the given bindings.
  Result<std::shared_ptr<const plan::Plan>> plan_under(const Bindings& bindings) const;

 private:
  static constexpr size_t kMostPlans = 8;

  Result<std::shared_ptr<const plan::Plan>> keep(const Bindings& bindings,
                                                 typed::Graph graph) const;

  typed::Graph graph_;
  plan::Options options_;
  std::shared_ptr<Pool> pool_;
  mutable std::mutex mutex_;
  mutable std::list<std::pair<Bindings, std::shared_ptr<const plan::Plan>>> plans_;  // newest first
};

// Called after each step with the node and its outputs, for tracing, profiling and comparing.
struct Observer {
  virtual ~Observer() = default;
  virtual void before(const typed::Node&) {}
  virtual void after(uint32_t id, const typed::Node& node, std::span<const View> outputs) = 0;
};

class Session {
 public:
  explicit Session(std::shared_ptr<const Compiled> compiled) : compiled_(std::move(compiled)) {}

  // `inputs` in the order of the graph's inputs. Results own their memory.
  Result<std::vector<Value>> run(std::span<const Value> inputs, Observer* observer = nullptr);
  // Results into tensors of the caller, which must have the right types and shapes: nothing is
  // allocated once a plan for the shapes exists and no size depends on data.
  Status run_into(std::span<const Value> inputs, std::span<Tensor> outputs);

  size_t arena_bytes() const { return plan_ ? plan_->arena_bytes : 0; }
  const plan::Plan* plan() const { return plan_.get(); }

 private:
  Status prepare(std::span<const Value> inputs);
  Status execute(std::span<const Value> inputs, std::span<Tensor> outputs, Observer* observer);
  Status run_late(const plan::Step& step, std::span<const Value> inputs,
                  std::span<const Tensor> outputs, Observer* observer);
  Value value_at(typed::Outlet outlet, std::span<const Value> inputs,
                 std::span<const Tensor> outputs) const;

  // A view whose memory changes from run to run.
  struct Patch {
    size_t view;
    plan::Place place;
    typed::Outlet outlet;  // of a late value
  };
  struct Prepared {
    size_t first_view, inputs, fused_inputs, outputs;
    size_t first_patch, patches;
  };

  std::shared_ptr<const Compiled> compiled_;
  std::shared_ptr<const plan::Plan> plan_;
  std::vector<Dims> planned_for_;  // shapes of the inputs
  std::shared_ptr<void> arena_;
  std::vector<View> views_;  // of all steps, inputs then outputs
  std::vector<Dims> dims_;   // that the views point to
  std::vector<Prepared> prepared_;
  std::vector<Patch> patches_;
  std::vector<std::vector<Value>> late_;  // by node, of late steps
  bool has_late_ = false;
};

}  // namespace sdx::run
