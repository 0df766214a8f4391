// Session: runs a compiled model. Owns an arena; the plan and its weights are shared.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <unordered_map>

#include "op/body_runner.h"
#include "plan/compiled.h"
#include "run/account.h"
#include "run/guard.h"
#include "run/options.h"
#include "run/output_memory.h"

namespace sdx::run {

class Session final : private BodyRunner {
 public:
  explicit Session(std::shared_ptr<const plan::Compiled> compiled)
      : Session(std::move(compiled), std::make_shared<Account>()) {}
  Session(Session&&) noexcept = default;
  Session& operator=(Session&&) = delete;
  ~Session();

  // `inputs` in the order of the graph's inputs. Results own their memory.
  Result<std::vector<Value>> run(std::span<const Value> inputs, const RunOptions& options = {});
  // Results into tensors of the caller, which must have the right types and shapes: nothing is
  // allocated once a plan for the shapes exists and no size depends on data.
  Status run_into(std::span<const Value> inputs, std::span<Tensor> outputs,
                  const RunOptions& options = {});

  size_t arena_bytes() const { return planned_ ? planned_->plan.arena_bytes : 0; }
  const plan::Plan* plan() const { return planned_ ? &planned_->plan : nullptr; }

 private:
  Session(std::shared_ptr<const plan::Compiled> compiled, std::shared_ptr<Account> account)
      : compiled_(std::move(compiled)), account_(std::move(account)) {}
  Status prepare(std::span<const Value> inputs);
  bool prepared_for(std::span<const Value> inputs) const;
  Status lay_out();
  bool resize(const plan::Plan& before);
  void list_sized();
  void size_again();
  template <class Visit>
  void each_wire(size_t s, Visit&& visit);
  Status make_room(size_t bytes);
  void release_idle();
  void place(size_t view, typed::Outlet outlet);
  void measure(size_t view, typed::Outlet outlet);
  void select(const std::vector<bool>* wanted);
  Status keep_slack();
  std::vector<Guard::Region> guarded(std::span<const Value> inputs, std::span<Tensor> outputs);
  Status execute(std::span<const Value> inputs, std::span<Tensor> outputs,
                 const RunOptions& options);
  Result<std::vector<Value>> eval_within(const typed::Node& node, std::span<const Value> arguments,
                                         typed::EvalOptions& eval);
  struct Arguments;
  Arguments& arguments(const plan::Step& step, std::span<const Value> inputs,
                       std::span<const Tensor> outputs);
  Status run_late(const plan::Step& step, std::span<const Value> inputs,
                  std::span<const Tensor> outputs, const RunOptions& options);
  Value value_at(typed::Outlet outlet, std::span<const Value> inputs,
                 std::span<const Tensor> outputs, bool borrow) const;
  const void* place_of_output(size_t i, std::span<const Value> inputs,
                              std::span<const Tensor> outputs) const;

  // Subgraphs run in sessions of their own, which keep their memory from one iteration to the next.
  Result<std::vector<Value>> run_body(const Body& body, std::span<const Value> inputs) override;
  int64_t most_iterations() const override { return running_->most_iterations; }
  Status hold(size_t bytes) override;

  // A view whose memory changes from run to run.
  struct Patch {
    size_t view;
    plan::Place place;
    typed::Outlet outlet;  // of a late value
  };
  // A view whose sizes are among the numbers of plans of one course.
  struct Sized {
    size_t view;
    std::span<const uint32_t> sizes;
  };
  struct Prepared {
    size_t first_view, inputs, epilogue_inputs, outputs;
    size_t first_patch, patches;
  };

  // What a late step reads. A subgraph captures hundreds of weights, which stay from run to run.
  struct Arguments {
    std::vector<Value> values;
    std::vector<uint32_t> made_by;  // nodes that tell what the constants among them are, in order
    std::vector<uint32_t> open;     // all other values, which no run leaves behind
  };

  std::shared_ptr<const plan::Compiled> compiled_;
  std::shared_ptr<const plan::Planned> planned_;
  std::optional<plan::Binder::Sizes> planned_sizes_;  // that it was planned for
  std::vector<Dims> planned_for_;  // shapes of the inputs, where sizes do not say them
  std::shared_ptr<Account> account_;
  bool at_work_ = false;
  std::shared_ptr<void> arena_;
  size_t arena_size_ = 0;
  size_t slack_ = 0;  // behind the arena, while runs are guarded
  OutputMemory output_memory_;
  std::vector<View> views_;  // of all steps, inputs then outputs
  std::vector<Dims> dims_;   // that the views point to, one for each
  std::vector<Prepared> prepared_;
  std::vector<Patch> patches_;
  std::vector<Patch> constants_;                // views of constants
  std::shared_ptr<const plan::Course> course_;  // that `sized_` is for
  std::vector<Sized> sized_;
  std::vector<std::vector<Value>> late_;   // by node, of late steps
  std::map<size_t, Arguments> arguments_;  // by step, of late ones
  bool has_late_ = false;
  std::vector<bool> selected_;          // the outputs that `skipped_` is for; empty: all
  std::vector<bool> skipped_, unused_;  // steps and output buffers that they do not need
  std::unordered_map<const Body*, std::unique_ptr<Session>> bodies_;          // of this plan
  std::unordered_map<const Body*, std::unique_ptr<Session>> lasting_bodies_;  // of all plans
  const RunOptions* running_ = nullptr;
  const typed::Node* running_node_ = nullptr;
};

}  // namespace sdx::run
