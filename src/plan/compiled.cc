#include "plan/compiled.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/stack.h"
#include "fact/assume.h"
#include "plan/grow/grow.h"
#include "plan/warranted.h"
#include "typed/folding.h"

namespace sdx::plan {
namespace {

// Outputs get memory of their own, and a small file may ask for much.
Status outputs_fit(const Plan& plan, size_t most) {
  const auto& outputs = plan.graph.outputs();
  size_t total = plan.arena_bytes;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Fact& fact = plan.graph.fact(outputs[i].outlet);
    if (plan.copied_outputs[i].kind != Place::Kind::none || !fact.is_concrete()) continue;
    const auto count = element_count(fact.dims());
    const size_t bytes = count ? bytes_for(fact.type, *count) : SIZE_MAX;
    if (bytes > most - total) {
      return fail("SDX-R0022", "output \"{}\" is {}: with the arena more than {} bytes, the limit",
                  outputs[i].name, fact.text(), most);
    }
    total += bytes;
  }
  return ok();
}

size_t hash_of(const Bindings& bindings) {
  uint64_t hash = bindings.size();
  for (const auto& [symbol, size] : bindings)
    hash = (hash ^ uint64_t(size)) * 0x9e3779b97f4a7c15 + (hash >> 32);
  return size_t(hash);
}

Result<typed::Graph> specialized(const rewrite::Rewritten& rewritten, const Bindings& bindings,
                                 Trace& trace, Lasting& lasting) {
  return on_deep_stack([&] {
    const typed::FoldingAccount account(rewritten.graph());
    return specialize(rewritten, bindings, trace, lasting);
  });
}

// Whether a plan whose wires fit keeps to the limit.
Status fits_memory(const Plan& plan, size_t most) {
  const size_t few = std::min(most, kFewBytes);
  if (plan.arena_bytes <= few && outputs_fit(plan, few)) return ok();
  const size_t limit = memory_limit(plan.graph, most);
  if (plan.arena_bytes > limit) {
    return explained(fail("SDX-R0020", "the arena would take {} bytes, the limit is {}",
                          plan.arena_bytes, limit),
                     most);
  }
  if (Status status = outputs_fit(plan, limit); !status)
    return explained(std::move(status).error(), most);
  return ok();
}

}  // namespace

Result<std::shared_ptr<const Compiled>> BodyPlans::get(const typed::GraphBody& body,
                                                       const Compiled& outer) const {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<const Compiled>& compiled = compiled_[&body];
  if (!compiled) {
    SDX_ASSIGN(rewrite::Rewritten inside, outer.rewritten_.inside(body.graph()));
    SDX_ASSIGN(compiled,
               Compiled::make(std::move(inside), outer.settings_, outer.pool_, outer.packs_));
  }
  return compiled;
}

Compiled::Compiled(rewrite::Rewritten rewritten, const Settings& settings,
                   std::shared_ptr<Pool> pool, std::shared_ptr<Packs> packs)
    : rewritten_(std::move(rewritten)),
      settings_(settings),
      pool_(std::move(pool)),
      packs_(std::move(packs)),
      binder_(rewritten_.graph()),
      lasting_(std::make_unique<Lasting>()) {}

Compiled::~Compiled() = default;

Result<std::shared_ptr<const Compiled>> Compiled::make(rewrite::Rewritten rewritten,
                                                       const Settings& settings,
                                                       std::shared_ptr<Pool> pool,
                                                       std::shared_ptr<Packs> packs) {
  std::shared_ptr<Compiled> compiled(
      new Compiled(std::move(rewritten), settings, std::move(pool), std::move(packs)));
  SDX_TRY(compiled->prepare());
  return std::shared_ptr<const Compiled>(std::move(compiled));
}

Status Compiled::prepare() {
  const typed::Graph& graph = rewritten_.graph();
  const auto& inputs = graph.inputs();
  const bool fixed = std::all_of(inputs.begin(), inputs.end(), [&](const typed::Outlet input) {
    const Fact& fact = graph.fact(input);
    return fact.is_concrete() && fact.type != DType::undefined;
  });
  if (!fixed) {
    if (!packs_) packs_ = std::make_shared<Packs>(settings_.plan.cache);
    return ok();
  }
  const std::lock_guard lock(mutex_);
  const auto nodes = graph.nodes();
  const bool branches = std::any_of(nodes.begin(), nodes.end(), [](const typed::Node& node) {
    return node.kind == typed::Node::Kind::op && node.op().taken != nullptr;
  });
  typed::Graph ready;
  if (branches) {
    Trace trace;
    SDX_ASSIGN(ready, specialized(rewritten_, {}, trace, *lasting_));
  } else {
    ready = rewritten_.take_graph();
  }
  SDX_TRY(wires_fit(ready, settings_.most_arena_bytes));
  SDX_ASSIGN(Plan made, choose_steps(std::move(ready), settings_.plan, *pool_, packs_.get()));
  place_wires(made, lay_out(made));
  forget_packed(made);
  SDX_ASSIGN(only_, keep({}, std::move(made)));
  rewritten_.take_graph();
  return ok();
}

Result<std::shared_ptr<const Planned>> Compiled::planned_for(std::span<const Value> inputs) const {
  SDX_ASSIGN(const Bindings bindings, binder_.bind(graph(), inputs));
  return planned_bound(bindings);
}

Result<std::shared_ptr<const Planned>> Compiled::planned_for(const Binder::Sizes& sizes) const {
  return planned_bound(binder_.named(sizes));
}

// Under bindings that a caller's inputs gave.
Result<std::shared_ptr<const Planned>> Compiled::planned_bound(const Bindings& bindings) const {
  const typed::Graph& graph = this->graph();
  if (graph.assumptions) SDX_TRY(graph.assumptions->check(bindings));
  return planned_under(bindings);
}

Result<std::shared_ptr<const Plan>> Compiled::plan_for(std::span<const Value> inputs) const {
  SDX_ASSIGN(const auto planned, planned_for(inputs));
  return std::shared_ptr<const Plan>(planned, &planned->plan);
}

Result<std::shared_ptr<const Plan>> Compiled::plan_under(const Bindings& bindings) const {
  SDX_ASSIGN(const auto planned, planned_under(bindings));
  return std::shared_ptr<const Plan>(planned, &planned->plan);
}

Result<std::shared_ptr<const Planned>> Compiled::planned_under(const Bindings& bindings) const {
  if (only_) return only_;
  const std::lock_guard lock(mutex_);
  const size_t hash = hash_of(bindings);
  for (auto at = plans_.begin(); at != plans_.end(); ++at) {
    if (at->hash == hash && at->bindings == bindings) {
      plans_.splice(plans_.begin(), plans_, at);
      return std::shared_ptr<const Planned>(plans_.front().planned);
    }
  }
  if (base_) {
    const auto inputs = [&] { return binder_.open_inputs(rewritten_.graph(), bindings); };
    SDX_ASSIGN(std::optional<Plan> plan,
               grown(*base_, inputs, bindings, *pool_, settings_.most_arena_bytes, spare_plan()));
    if (plan) return keep(bindings, *std::move(plan));
  }
  SDX_ASSIGN(Plan made, plan_anew(bindings));
  return keep(bindings, std::move(made));
}

Result<Plan> Compiled::plan_anew(const Bindings& bindings) const {
  ++made_anew_;
  Trace trace;
  SDX_ASSIGN(typed::Graph graph, specialized(rewritten_, bindings, trace, *lasting_));
  SDX_TRY(wires_fit(graph, settings_.most_arena_bytes));
  SDX_ASSIGN(Plan made, choose_steps(std::move(graph), settings_.plan, *pool_, packs_.get()));
  Layout layout = lay_out(made);
  if (trace.whole) {
    base_ = std::make_unique<Base>(rewritten_.graph(), bindings, std::move(trace), made, layout,
                                   settings_.most_arena_bytes);
    made.layout = base_->layout;
  }
  place_wires(made, layout);
  forget_packed(made);
  return made;
}

// The plan that has to go now, if nobody runs it and it was made from the base.
std::optional<Plan> Compiled::spare_plan() const {
  if (plans_.empty() || plans_.size() < settings_.most_plans) return std::nullopt;
  const std::shared_ptr<Planned> last = plans_.back().planned;
  constexpr long kHere = 2;  // it and the list
  if (last.use_count() != kHere || last->plan.layout != base_->layout) return std::nullopt;
  std::atomic_thread_fence(std::memory_order_acquire);  // behind whoever let go of it before
  plans_.pop_back();
  return std::move(last->plan);
}

Result<std::shared_ptr<const Planned>> Compiled::keep(const Bindings& bindings, Plan made) const {
  SDX_TRY(fits_memory(made, settings_.most_arena_bytes));
  ++plans_made_;
  plans_.push_front({hash_of(bindings), bindings, std::make_shared<Planned>(std::move(made))});
  std::shared_ptr<const Planned> newest = plans_.front().planned;
  if (plans_.size() > settings_.most_plans) {
    while (plans_.size() > settings_.most_plans) plans_.pop_back();
    if (packs_) packs_->drop_unused();
  }
  return newest;
}

std::vector<std::string> Compiled::notes() const {
  std::vector<std::string> notes = settings_.notes;
  if (settings_.plan.cache) {
    const auto of_cache = settings_.plan.cache->report().notes;
    notes.insert(notes.end(), of_cache.begin(), of_cache.end());
  }
  return notes;
}

size_t Compiled::plans() const {
  const std::lock_guard lock(mutex_);
  return plans_.size();
}

size_t Compiled::plans_made() const {
  const std::lock_guard lock(mutex_);
  return plans_made_;
}

size_t Compiled::plans_made_anew() const {
  const std::lock_guard lock(mutex_);
  return made_anew_;
}

}  // namespace sdx::plan
