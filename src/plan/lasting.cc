#include "plan/lasting.h"

#include <algorithm>

#include "plan/specialize.h"

namespace sdx::plan {
namespace {

using Shared = std::shared_ptr<const typed::GraphBody>;

// Gives what was typed before.
class LastingSource final : public BodySource {
 public:
  LastingSource(Shared body, const Bindings& bindings) : body_(std::move(body)) {
    Facts outputs;
    outputs.reserve(body_->outputs().size());
    for (const Fact& fact : body_->outputs()) outputs.push_back(bound(fact, bindings));
    outputs_ = std::make_shared<const Facts>(std::move(outputs));
  }
  size_t inputs() const override { return 0; }  // such subgraphs have captured wires alone
  size_t outputs() const override { return outputs_->size(); }
  Result<std::shared_ptr<const Body>> type(const Facts&, const Facts&) const override {
    return std::shared_ptr<const Body>(std::make_shared<LastingBody>(body_, outputs_));
  }
  const Shared& body() const { return body_; }

 private:
  Shared body_;
  std::shared_ptr<const Facts> outputs_;
};

const LastingSource* lasting(const std::shared_ptr<const BodySource>& source) {
  return dynamic_cast<const LastingSource*>(source.get());
}

// Whether every wire of the subgraph has a size once the symbols are bound.
bool settles(const typed::Graph& graph, const Bindings& bindings) {
  const auto nodes = graph.nodes();
  return std::all_of(nodes.begin(), nodes.end(), [&](const typed::Node& node) {
    return std::all_of(node.outputs.begin(), node.outputs.end(), [&](const Fact& fact) {
      return fact.value != nullptr || is_settled(bound(fact, bindings));
    });
  });
}

}  // namespace

Fact bound(Fact fact, const Bindings& bindings) {
  // Expressions that are bound as such are rare, and their names take long to write.
  const auto first = bindings.lower_bound("=");
  const bool expressions = first != bindings.end() && first->first.starts_with('=');
  for (size_t axis = 0; fact.shape && axis < fact.shape->size(); ++axis) {
    Dim& dim = (*fact.shape)[axis];
    if (dim.is_const()) continue;
    const auto whole = expressions ? bindings.find(expression_symbol(dim)) : bindings.end();
    dim = whole != bindings.end() ? Dim(whole->second) : dim.bind(bindings);
  }
  if (fact.symbolic) {
    for (Dim& element : *fact.symbolic) element = element.bind(bindings);
  }
  return fact;
}

bool is_settled(const Fact& fact) {
  return !fact.present() || (fact.is_concrete() && fact.type != DType::undefined);
}

Result<const Lasting::Bodies*> Lasting::bodies(const typed::Graph& graph, const typed::Node& node,
                                               const Bindings& bindings) {
  const auto [at, fresh] = bodies_.emplace(&node, Bodies());
  if (!fresh) return &at->second;
  Facts in = graph.facts(node.inputs);
  in.erase(in.begin(), in.begin() + std::ptrdiff_t(node.use.formal_inputs));
  Bodies typed;
  for (const auto& [name, source] : typed::body_sources(node.use)) {
    SDX_ASSIGN(const std::shared_ptr<const Body> body, source->type({}, in));
    Shared shared = std::dynamic_pointer_cast<const typed::GraphBody>(body);
    if (shared == nullptr || !settles(shared->graph(), bindings)) return &at->second;
    typed.emplace(name, std::move(shared));
  }
  at->second = std::move(typed);
  return &at->second;
}

Result<std::optional<sdx::Node>> Lasting::use(const typed::Graph& graph, const typed::Node& node,
                                              const Bindings& bindings) {
  if (node.op().taken == nullptr) return std::optional<sdx::Node>();
  SDX_ASSIGN(const Bodies* all, bodies(graph, node, bindings));
  if (all->empty()) return std::optional<sdx::Node>();
  typed::BodySources sources;
  for (const auto& [name, body] : *all)
    sources.emplace(name, std::make_shared<LastingSource>(body, bindings));
  return std::optional<sdx::Node>(typed::with_body_sources(node.use, sources));
}

Result<std::shared_ptr<const rewrite::Rewritten>> Lasting::branch(const Body& body,
                                                                  const rewrite::Rewritten& outer,
                                                                  const Bindings& bindings) {
  std::shared_ptr<const rewrite::Rewritten> ready;
  const auto* branch = dynamic_cast<const typed::GraphBody*>(&body);
  if (branch == nullptr) return ready;
  if (const auto at = branches_.find(&body); at != branches_.end()) return at->second;
  if (settles(branch->graph(), bindings)) {
    SDX_ASSIGN(rewrite::Rewritten inside, outer.inside(branch->graph()));
    ready = std::make_shared<const rewrite::Rewritten>(std::move(inside));
  }
  branches_.emplace(&body, ready);
  return ready;
}

std::vector<const Facts*> lasting_outputs(const sdx::Node& use) {
  std::vector<const Facts*> outputs;
  for (const auto& [name, source] : typed::body_sources(use)) {
    const LastingSource* lasts = lasting(source);
    if (lasts == nullptr) return {};
    outputs.push_back(&lasts->body()->outputs());
  }
  return outputs;
}

bool has_lasting_bodies(const sdx::Node& use) {
  if (!has_bodies(use)) return false;
  const typed::BodySources sources = typed::body_sources(use);
  return std::any_of(sources.begin(), sources.end(),
                     [](const auto& source) { return lasting(source.second) != nullptr; });
}

sdx::Node with_sizes(sdx::Node use, const Bindings& bindings) {
  typed::BodySources sources = typed::body_sources(use);
  for (auto& [name, source] : sources) {
    if (const LastingSource* lasts = lasting(source))
      source = std::make_shared<LastingSource>(lasts->body(), bindings);
  }
  return typed::with_body_sources(std::move(use), sources);
}

}  // namespace sdx::plan
