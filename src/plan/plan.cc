#include "plan/plan.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "plan/packing.h"

namespace sdx::plan {
namespace {

bool concrete(const Fact& fact) {
  return !fact.present() || (fact.is_concrete() && fact.type != DType::undefined);
}

// The first kernel that fits.
Choice choice(const Op& op, const void* resolved, const Call& call, const Options& options) {
  if (options.reference) return {};
  const auto first = std::find_if(op.kernels.begin(), op.kernels.end(),
                                  [&](const auto& kernel) { return kernel.fits(resolved, call); });
  if (first == op.kernels.end()) return {};
  return {&*first, first->scratch(resolved, call)};
}

// A late step chooses when it runs.
void choose_kernel(Step& step, const typed::Graph& graph, const Options& options) {
  const typed::Node& node = graph.node(step.node);
  const auto is_known = [&](const typed::Outlet input) { return concrete(graph.fact(input)); };
  const auto known = [&] {
    return std::all_of(node.inputs.begin(), node.inputs.end(), is_known) &&
           std::all_of(node.outputs.begin(), node.outputs.end(), concrete);
  };
  step.late = node.op().whole_values || !known();
  step.has_bodies = has_bodies(node.use);
  // Strings own heap memory: an arena cannot hold them.
  for (const Fact& fact : node.outputs) step.late |= fact.type == DType::string;
  if (step.late || options.reference || node.op().kernels.empty()) return;
  const Facts in = graph.facts(node.inputs);
  const Call call{in, node.outputs, options.isa, options.threads};
  const Choice made = choice(node.op(), node.resolved.get(), call, options);
  step.kernel = made.kernel;
  step.scratch_bytes = made.scratch_bytes;
}

// Whether the step may run the kernel with the weights that it has.
bool may_run(const Step& step, const Op::AnyKernel* kernel) {
  const auto packs = [](const Op::AnyKernel* one) { return one && one->pack != nullptr; };
  return kernel == step.kernel || (!packs(kernel) && !packs(step.kernel) && !step.epilogue);
}

bool makes_tables(const Op::AnyKernel* kernel) {
  return kernel != nullptr && kernel->pack != nullptr && kernel->packs == 0;
}

// The order of execution: as the graph lists them, but a node that depends on constants alone runs
// right before its first reader. Exporters list all weight dequantisations first; run so, every one
// of them would be alive at once.
std::vector<uint32_t> execution_order(const typed::Graph& graph) {
  std::vector<bool> from_constants(graph.size(), false), done(graph.size(), false);
  for (uint32_t id = 0; id < graph.size(); ++id) {
    const typed::Node& node = graph.node(id);
    from_constants[id] =
        node.kind == typed::Node::Kind::constant ||
        (node.kind == typed::Node::Kind::op &&
         std::all_of(node.inputs.begin(), node.inputs.end(), [&](typed::Outlet input) {
           return !input.present() || from_constants[input.node];
         }));
  }
  std::vector<uint32_t> order;
  std::vector<std::pair<uint32_t, size_t>> pending;  // a node, and its first input not yet seen
  const auto schedule = [&](uint32_t root) {
    pending = {{root, 0}};
    while (!pending.empty()) {
      auto& [id, next] = pending.back();
      const typed::Node& node = graph.node(id);
      const auto missing = std::find_if(
          node.inputs.begin() + std::ptrdiff_t(next), node.inputs.end(), [&](typed::Outlet input) {
            return input.present() && !done[input.node] &&
                   graph.node(input.node).kind == typed::Node::Kind::op;
          });
      next = size_t(missing - node.inputs.begin());
      if (!done[id] && missing != node.inputs.end()) {
        pending.emplace_back(missing->node, 0);
        continue;
      }
      if (!done[id]) order.push_back(id);
      done[id] = true;
      pending.pop_back();
    }
  };
  for (uint32_t id = 0; id < graph.size(); ++id) {
    if (graph.node(id).kind == typed::Node::Kind::op && !from_constants[id]) schedule(id);
  }
  for (const typed::Output& output : graph.outputs()) {
    if (graph.node(output.outlet.node).kind == typed::Node::Kind::op) schedule(output.outlet.node);
  }
  return order;
}

// A valid order drawn with `seed`: again and again one of the nodes whose inputs are there.
std::vector<uint32_t> random_order(const typed::Graph& graph, uint64_t seed) {
  const auto users = graph.successors();
  std::vector<size_t> missing(graph.size(), 0);
  std::vector<uint32_t> ready, order;
  for (uint32_t id = 0; id < graph.size(); ++id) {
    if (graph.node(id).kind != typed::Node::Kind::op) continue;
    for (const typed::Outlet input : graph.node(id).inputs) {
      missing[id] +=
          input.present() && graph.node(input.node).kind == typed::Node::Kind::op ? 1 : 0;
    }
    if (missing[id] == 0) ready.push_back(id);
  }
  while (!ready.empty()) {
    // splitmix64
    uint64_t z = (seed += 0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    std::swap(ready[(z ^ z >> 31) % ready.size()], ready.back());
    const uint32_t id = ready.back();
    ready.pop_back();
    order.push_back(id);
    for (const auto& readers : users[id]) {
      for (const uint32_t reader : readers) {
        if (--missing[reader] == 0) ready.push_back(reader);
      }
    }
  }
  return order;
}

// The program of node `reader` as the product of the step runs it; none if its kernel cannot.
std::shared_ptr<const StepEpilogue> epilogue_of(const typed::Graph& graph, const Options& options,
                                                const Step& step, uint32_t reader) {
  const typed::Node &node = graph.node(reader), &producer = graph.node(step.node);
  const Facts product_in = graph.facts(producer.inputs);
  const Facts& out = producer.outputs;
  const Call call{product_in, out, options.isa, options.threads};
  const size_t rows = step.kernel->epilogue(producer.resolved.get(), call);
  if (rows == 0 || out[0].dims() != node.outputs[0].dims()) return nullptr;
  size_t product = 0;
  std::vector<Dims> dims;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i].node == step.node) product = i;
    dims.push_back(graph.fact(node.inputs[i]).dims());
  }
  auto epilogue = EpilogueProgram::make(*node.op().program(node.resolved.get()), product, dims,
                                        out[0].dims(), rows);
  if (!epilogue) return nullptr;
  return std::make_shared<const StepEpilogue>(StepEpilogue{reader, *std::move(epilogue)});
}

// A product whose one reader is an element-wise program takes that program into its kernel, if the
// program's other inputs are there by then.
void fuse_programs(Plan& plan) {
  const typed::Graph& graph = plan.graph;
  const auto users = graph.successors();
  std::vector<size_t> step_of(graph.size(), SIZE_MAX);
  for (size_t s = 0; s < plan.steps.size(); ++s) step_of[plan.steps[s].node] = s;
  std::vector<bool> is_output(graph.size(), false), gone(plan.steps.size(), false);
  for (const typed::Output& output : graph.outputs()) is_output[output.outlet.node] = true;
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    Step& step = plan.steps[s];
    if (step.kernel == nullptr || step.kernel->epilogue == nullptr || step.late ||
        is_output[step.node])
      continue;
    if (users[step.node][0].size() != 1) continue;
    const uint32_t reader = users[step.node][0][0];
    const typed::Node& node = graph.node(reader);
    if (node.op().program == nullptr || plan.steps[step_of[reader]].late) continue;
    const bool ready =
        std::all_of(node.inputs.begin(), node.inputs.end(), [&](const typed::Outlet input) {
          return input.node == step.node || graph.node(input.node).kind != typed::Node::Kind::op ||
                 step_of[input.node] < s;
        });
    if (!ready) continue;
    step.epilogue = epilogue_of(graph, plan.options, step, reader);
    if (!step.epilogue) continue;
    gone[step_of[reader]] = true;
    step_of[reader] = s;  // its readers now wait for this step
  }
  std::vector<Step> kept;
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    if (!gone[s]) kept.push_back(std::move(plan.steps[s]));
  }
  plan.steps = std::move(kept);
}

}  // namespace

Result<Plan> choose_steps(typed::Graph graph, const Options& options, Pool& pool, Packs* packs) {
  Plan plan;
  plan.graph = std::move(graph);
  plan.options = options;
  const std::vector<uint32_t> order =
      options.order ? random_order(plan.graph, *options.order) : execution_order(plan.graph);
  for (const uint32_t id : order) {
    Step step;
    step.node = id;
    choose_kernel(step, plan.graph, options);
    plan.steps.push_back(std::move(step));
  }
  if (options.fuse && !options.reference) fuse_programs(plan);
  pack_weights(plan, pool, packs);
  return plan;
}

std::optional<Step> chosen_again(const Step& step, const typed::Graph& graph,
                                 const Options& options, Pool& pool, const Step* like) {
  Step now;
  if (like != nullptr) now = *like;
  now.node = step.node;
  if (like == nullptr) choose_kernel(now, graph, options);
  if (now.late != step.late) return std::nullopt;
  const std::shared_ptr<const void> tables = std::exchange(now.packed, step.packed);
  if (!may_run(step, now.kernel)) return std::nullopt;
  if (makes_tables(now.kernel)) {
    const typed::Node& node = graph.node(step.node);
    const Facts in = graph.facts(node.inputs);
    const Call call{in, node.outputs, options.isa, options.threads};
    now.packed = like != nullptr ? tables : now.kernel->pack(node.resolved.get(), call, pool);
  }
  if (!step.epilogue) return now;
  if (like != nullptr) {
    now.epilogue = std::make_shared<const StepEpilogue>(
        StepEpilogue{step.epilogue->node, like->epilogue->program});
    return now;
  }
  now.epilogue = epilogue_of(graph, options, now, step.epilogue->node);
  if (!now.epilogue) return std::nullopt;
  return now;
}

std::optional<Choice> chosen_again(const Step& step, const Op& op, const void* resolved,
                                   const Call& call, const Options& options, Pool& pool) {
  Choice now = choice(op, resolved, call, options);
  if (!may_run(step, now.kernel)) return std::nullopt;
  if (makes_tables(now.kernel)) now.tables = now.kernel->pack(resolved, call, pool);
  return now;
}

static std::string text(const Place& place) {
  switch (place.kind) {
    case Place::Kind::none:
      return "-";
    case Place::Kind::arena:
      return fmt::format("arena+{}", place.offset);
    case Place::Kind::constant:
      return fmt::format("constant {}+{}", place.index, place.offset);
    case Place::Kind::input:
      return fmt::format("input {}+{}", place.index, place.offset);
    case Place::Kind::output:
      return fmt::format("output {}+{}", place.index, place.offset);
    case Place::Kind::late:
      return "late";
  }
  return "";
}

std::string to_text(const Plan& plan) {
  std::string out =
      fmt::format("arena {} bytes, at most {} live at once\n", plan.arena_bytes, plan.live_bytes);
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    const Step& step = plan.steps[s];
    const typed::Node& node = plan.graph.node(step.node);
    out += fmt::format("step {}: {} \"{}\" [{}]", s, node.op().name, node.use.name,
                       step.late     ? "when its inputs are known"
                       : step.kernel ? step.kernel->name
                                     : std::string_view("reference"));
    for (const typed::Outlet input : node.inputs) {
      out += input.present() ? fmt::format(" {}", text(plan.places[input.node][input.slot])) : " -";
    }
    if (step.epilogue)
      out += fmt::format(" then [{}]", fmt::join(step.epilogue->program.program().text(), "; "));
    out += " ->";
    const Facts& results = plan.graph.node(plan.result_of(step)).outputs;
    for (size_t slot = 0; slot < results.size(); ++slot) {
      if (!results[slot].present()) continue;
      out += fmt::format(" {} {}", results[slot].text(),
                         text(plan.places[plan.result_of(step)][slot]));
    }
    if (step.scratch_bytes > 0) out += fmt::format(" (scratch {} bytes)", step.scratch_bytes);
    out += "\n";
  }
  return out;
}

}  // namespace sdx::plan
