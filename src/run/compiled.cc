#include "run/session.h"

namespace sdx::run {
namespace {

// Binds the symbols of one declared shape to the sizes that came in.
Status bind(const std::string& name, const Fact& fact, const Tensor& tensor, Bindings& bindings,
            std::map<std::string, std::string>& bound_by) {
  const auto mismatch = [&](std::string_view why) {
    return fail("SDX-R0011", "input \"{}\" is {}{}, expected {}: {}", name,
                short_name(tensor.type()), to_string(tensor.dims()), fact.text(), why);
  };
  if (fact.type != DType::undefined && tensor.type() != fact.type)
    return mismatch("the element type differs");
  if (!fact.shape) return ok();
  if (tensor.rank() != fact.rank()) return mismatch("the rank differs");
  for (size_t axis = 0; axis < fact.rank(); ++axis) {
    const int64_t size = tensor.dims()[axis];
    const Dim dim = fact.dim(axis).bind(bindings);
    if (dim.is_const()) {
      if (dim.value() == size) continue;
      std::vector<std::string> names;
      fact.dim(axis).symbols(names);
      const std::string also = names.empty() ? ""
                                             : fmt::format(" ({} = {} by {})", names[0],
                                                           bindings[names[0]], bound_by[names[0]]);
      return mismatch(fmt::format("dimension {} is {}, not {}{}", axis, size, dim.value(), also));
    }
    const auto solved = dim.solve(size);
    if (!solved) return mismatch(fmt::format("dimension {} cannot be {}", axis, size));
    bindings[solved->first] = solved->second;
    bound_by[solved->first] = fmt::format("input \"{}\" dimension {}", name, axis);
  }
  return ok();
}

}  // namespace

Result<std::shared_ptr<const plan::Plan>> Compiled::plan_for(std::span<const Value> inputs) const {
  const auto& sources = graph_.inputs();
  if (inputs.size() != sources.size()) {
    return fail("SDX-R0010", "{} inputs given, the model takes {}", inputs.size(), sources.size());
  }
  Bindings bindings;
  std::map<std::string, std::string> bound_by;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Fact& fact = graph_.fact(sources[i]);
    const std::string& name = graph_.node(sources[i].node).use.name;
    if (fact.is_tensor() && inputs[i].is_tensor()) {
      SDX_TRY(bind(name, fact, inputs[i].tensor(), bindings, bound_by));
    } else if (!admits(fact, inputs[i])) {
      return fail("SDX-R0011", "input \"{}\" is {}, expected {}", name, fact_of(inputs[i]).text(),
                  fact.text());
    }
  }
  return plan_under(bindings);
}

Result<std::shared_ptr<const plan::Plan>> Compiled::plan_under(const Bindings& bindings) const {
  const std::lock_guard lock(mutex_);
  for (auto at = plans_.begin(); at != plans_.end(); ++at) {
    if (at->first == bindings) {
      plans_.splice(plans_.begin(), plans_, at);
      return plans_.front().second;
    }
  }
  if (bindings.empty()) return keep(bindings, graph_);
  SDX_ASSIGN(typed::Graph graph, plan::specialize(graph_, bindings));
  return keep(bindings, std::move(graph));
}

Result<std::shared_ptr<const plan::Plan>> Compiled::keep(const Bindings& bindings,
                                                         typed::Graph graph) const {
  SDX_ASSIGN(plan::Plan made, plan::make_plan(std::move(graph), options_, *pool_));
  plans_.emplace_front(bindings, std::make_shared<const plan::Plan>(std::move(made)));
  if (plans_.size() > kMostPlans) plans_.pop_back();
  return plans_.front().second;
}

Status Compiled::prepare() {
  for (const typed::Outlet input : graph_.inputs()) {
    if (!graph_.fact(input).is_concrete()) return ok();
  }
  const std::lock_guard lock(mutex_);
  SDX_ASSIGN(const auto plan, keep({}, std::move(graph_)));
  graph_ = plan->graph;
  return ok();
}

}  // namespace sdx::run
