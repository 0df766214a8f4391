#include <fmt/ranges.h>

#include <algorithm>

#include "base/endian.h"
#include "base/sha256.h"
#include "fact/assume.h"
#include "plan/specialize.h"
#include "stream/stream.h"
#include "typed/remake.h"

namespace sdx::stream {
namespace {

constexpr size_t kMostSteps = 64;
constexpr int64_t kLong = 1 << 24;  // rows

}  // namespace

Result<std::shared_ptr<const Streamable>> Streamable::make(Flows flows, const Settings& settings,
                                                           std::shared_ptr<Pool> pool) {
  SDX_TRY(flows.check());
  std::shared_ptr<Streamable> made(new Streamable(std::move(flows), settings, std::move(pool)));
  // The graph has been through the rewrites that change bits; pieces of it must not meet them.
  made->settings_.rewrites.strict = true;
  made->packs_ = std::make_shared<plan::Packs>(settings.plan.cache);
  return std::shared_ptr<const Streamable>(std::move(made));
}

const std::string& Streamable::fingerprint() const {
  const std::lock_guard lock(mutex_);
  if (!fingerprint_.empty()) return fingerprint_;
  Sha256 hash;
  const auto text = [&](std::string_view words) { hash.add(words.data(), words.size()); };
  text(flows_.symbol);
  for (const typed::Node& node : flows_.graph.nodes()) {
    text(node.use.op != nullptr ? node.op().name : node.use.name);
    for (const Outlet input : node.inputs) text(fmt::format(" {}.{}", input.node, input.slot));
    for (const Fact& fact : node.outputs) text(" " + fact.text());
    if (node.kind != typed::Node::Kind::constant || !node.outputs[0].value) continue;
    const Tensor& value = *node.outputs[0].value;
    std::shared_ptr<void> held;
    if (value.type() != DType::string)
      hash.add(elements_for_file(value.type(), value.raw(), value.bytes(), held), value.bytes());
  }
  return fingerprint_ = hash.hex();
}

Result<std::shared_ptr<Streamable::Compiled>> Streamable::step(const std::vector<int64_t>& key,
                                                               const Position& from,
                                                               const Position& to, bool end) const {
  const std::lock_guard lock(mutex_);
  for (auto at = steps_.begin(); at != steps_.end(); ++at) {
    if (at->first != key) continue;
    steps_.splice(steps_.begin(), steps_, at);
    return steps_.front().second;
  }
  auto compiled = std::make_shared<Compiled>();
  SDX_ASSIGN(compiled->step, make_step(flows_, states_, from, to, end));
  if (!compiled->step.outputs.empty()) {
    plan::Settings settings;
    settings.plan = settings_.plan;
    settings.most_arena_bytes = settings_.most_arena_bytes;
    SDX_ASSIGN(rewrite::Rewritten rewritten,
               rewrite::rewritten(compiled->step.graph, settings_.rewrites));
    SDX_ASSIGN(compiled->compiled,
               plan::Compiled::make(std::move(rewritten), settings, pool_, packs_));
  }
  static const typed::Graph kNothing;
  const typed::Graph& graph = compiled->compiled ? compiled->compiled->graph() : kNothing;
  for (const typed::Output& output : graph.outputs()) {
    const Fact& fact = graph.fact(output.outlet);
    if (!fact.is_concrete())
      return fail("SDX-S0026", "output \"{}\" is {}: its size is not known before it runs",
                  output.name, fact.text());
    compiled->outputs.emplace_back(fact.type, fact.dims());
  }
  compiled->step.graph = {};
  ++made_;
  steps_.emplace_front(key, compiled);
  if (steps_.size() > kMostSteps) steps_.pop_back();
  return compiled;
}

std::unique_ptr<Streamable::Runner> Streamable::take(Compiled& compiled) const {
  {
    const std::lock_guard lock(mutex_);
    if (!compiled.idle.empty()) {
      auto runner = std::move(compiled.idle.back());
      compiled.idle.pop_back();
      return runner;
    }
  }
  auto runner = std::make_unique<Runner>(compiled.compiled);
  runner->inputs.assign(compiled.step.inputs.size(), Tensor());
  runner->outputs.resize(compiled.step.outputs.size());
  return runner;
}

void Streamable::give_back(Compiled& compiled, std::unique_ptr<Runner> runner) const {
  const std::lock_guard lock(mutex_);
  compiled.idle.push_back(std::move(runner));
}

Result<std::shared_ptr<const Source>> Source::make(const typed::Graph& graph, std::string axis,
                                                   const Settings& settings,
                                                   std::shared_ptr<Pool> pool) {
  // Bits are changed as they are for a whole run, before the graph is cut into pieces.
  SDX_ASSIGN(rewrite::Rewritten rewritten,
             rewrite::rewritten(graph, {.optimize = false, .strict = settings.rewrites.strict}));
  std::shared_ptr<Source> source(new Source(std::move(rewritten)));
  source->axis_ = std::move(axis);
  source->settings_ = settings;
  source->settings_.plan.threads = pool->threads();  // steps have room for each
  source->pool_ = std::move(pool);
  bool found = false;
  std::vector<std::string> names;
  for (const Outlet input : source->graph().inputs()) {
    const Fact& fact = source->graph().fact(input);
    if (!fact.shape) continue;
    for (const Dim& dim : *fact.shape) dim.symbols(names);
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  for (const std::string& name : names) {
    found |= name == source->axis_;
    if (name != source->axis_) source->others_.push_back(name);
  }
  if (!found) {
    Error error = fail("SDX-S0003", "no input has an axis \"{}\"", source->axis_);
    error.help = names.empty()
                     ? "no size of the model's inputs is open; INPUT:AXIS opens one"
                     : fmt::format("open sizes of the inputs: {}", fmt::join(names, ", "));
    return error;
  }
  return std::shared_ptr<const Source>(std::move(source));
}

Result<Flows> Source::flows(const Bindings& others) const {
  SDX_ASSIGN(typed::Graph graph, plan::specialize(rewritten_, others));
  // Of a long stream, max(0, T - 4) rows are T - 4.
  Assumptions endless;
  if (endless.assert_that(fmt::format("{}>={}", axis_, kLong))) {
    graph.assumptions = std::make_shared<const Assumptions>(std::move(endless));
    SDX_ASSIGN(graph, typed::made_again(graph));
    graph.assumptions.reset();
  }
  return analyse(std::move(graph), axis_);
}

Result<std::shared_ptr<const Streamable>> Source::at(const Bindings& others) const {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<const Streamable>& made = streamable_[others];
  if (!made) {
    SDX_ASSIGN(Flows found, flows(others));
    SDX_ASSIGN(made, Streamable::make(std::move(found), settings_, pool_));
  }
  return made;
}

}  // namespace sdx::stream
