// The planned stage: a rewritten graph and the plans made for the shapes that it has met.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <span>

#include "plan/binder.h"
#include "plan/plan.h"
#include "typed/body.h"

namespace sdx::plan {

// How a graph is compiled; its subgraphs are compiled in the same way.
struct Settings {
  Options plan;
  size_t most_plans = 8;  // kept at a time; the one that was not used for longest goes first
  size_t most_arena_bytes = SIZE_MAX;
  std::vector<std::string> notes = {};  // what was said of the model before it was planned
};

class Compiled;
struct Base;    // plan/grow/grow.h
class Lasting;  // plan/lasting.h

// The subgraphs of one plan, compiled when they first run.
class BodyPlans {
 public:
  Result<std::shared_ptr<const Compiled>> get(const typed::GraphBody& body,
                                              const Compiled& outer) const;

 private:
  mutable std::mutex mutex_;
  mutable std::map<const Body*, std::shared_ptr<const Compiled>> compiled_;
};

// A plan with its subgraphs. Does not change while anybody holds it.
struct Planned {
  explicit Planned(Plan made) : plan(std::move(made)) {}
  Plan plan;
  BodyPlans bodies;
  mutable Packs late_packs;  // of steps whose kernel is chosen when they run
};

class Compiled {
 public:
  ~Compiled();
  // Plans at once if no input's shape is open; weights that were packed are then not kept unpacked.
  // `packs` is shared with the graph around this one.
  static Result<std::shared_ptr<const Compiled>> make(rewrite::Rewritten rewritten,
                                                      const Settings& settings,
                                                      std::shared_ptr<Pool> pool,
                                                      std::shared_ptr<Packs> packs = {});

  const typed::Graph& graph() const { return only_ ? only_->plan.graph : rewritten_.graph(); }
  Pool& pool() const { return *pool_; }
  // Subgraphs that all plans share (LastingBody).
  const BodyPlans& lasting_bodies() const { return lasting_bodies_; }
  const Settings& settings() const { return settings_; }
  const Binder& binder() const { return binder_; }

  // The plan for inputs of these shapes. Errors name the input, what it is and what was expected.
  Result<std::shared_ptr<const Planned>> planned_for(std::span<const Value> inputs) const;
  Result<std::shared_ptr<const Planned>> planned_for(const Binder::Sizes& sizes) const;
  Result<std::shared_ptr<const Plan>> plan_for(std::span<const Value> inputs) const;
  // The plan if no shape is symbolic, or under the given bindings.
  Result<std::shared_ptr<const Planned>> planned_under(const Bindings& bindings) const;
  Result<std::shared_ptr<const Plan>> plan_under(const Bindings& bindings) const;

  // What did not go as asked and is no error.
  std::vector<std::string> notes() const;
  // How many plans are kept, and how many have been made so far.
  size_t plans() const;
  size_t plans_made() const;
  // Those among them that were not made from another one.
  size_t plans_made_anew() const;
  // Packed weights that plans share.
  size_t packs() const { return packs_ ? packs_->size() : 0; }

 private:
  friend class BodyPlans;
  Compiled(rewrite::Rewritten rewritten, const Settings& settings, std::shared_ptr<Pool> pool,
           std::shared_ptr<Packs> packs);

  Status prepare();
  Result<std::shared_ptr<const Planned>> planned_bound(const Bindings& bindings) const;
  // Plans the rewritten graph under the bindings, as the base of others if there will be some.
  Result<Plan> plan_anew(const Bindings& bindings) const;
  std::optional<Plan> spare_plan() const;
  Result<std::shared_ptr<const Planned>> keep(const Bindings& bindings, Plan made) const;

  rewrite::Rewritten rewritten_;  // without its graph if there is but one plan
  std::shared_ptr<const Planned> only_;
  Settings settings_;
  std::shared_ptr<Pool> pool_;
  std::shared_ptr<Packs> packs_;  // none: there will be one plan
  Binder binder_;
  BodyPlans lasting_bodies_;
  mutable std::mutex mutex_;
  std::unique_ptr<Lasting> lasting_;
  mutable std::unique_ptr<Base> base_;  // what other plans are made from
  struct Kept {
    size_t hash;  // of the sizes: bindings of other plans need not be looked at
    Bindings bindings;
    std::shared_ptr<Planned> planned;
  };
  mutable std::list<Kept> plans_;  // newest first
  mutable size_t plans_made_ = 0, made_anew_ = 0;
};

}  // namespace sdx::plan
