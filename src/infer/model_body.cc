#include "infer/model_body.h"

#include "base/stack.h"
#include "check/inline.h"
#include "infer/learnt.h"
#include "ops/control/unfit_branch.h"
#include "typed/body.h"

namespace sdx::infer {
namespace {

using typed::Graph;
using typed::GraphBody;
using typed::Outlet;

// Wires of the same types and ranks whose sizes may be anything. Constants stay what they are.
Facts of_any_size(Facts facts) {
  for (size_t i = 0; i < facts.size(); ++i) {
    Fact& fact = facts[i];
    if (fact.value) continue;
    fact.symbolic.reset();
    for (size_t axis = 0; fact.shape && axis < fact.rank(); ++axis)
      (*fact.shape)[axis] = Dim::symbol(fmt::format("?any{}.{}", i, axis));
  }
  return facts;
}

// A subgraph of the model, waiting for the facts of its inputs. Owns what its typing needs: a plan
// outlives the typer.
class ModelBody final : public PartialBody {
 public:
  ModelBody(std::shared_ptr<const model::Model> model, const model::Graph& graph,
            std::vector<std::string> captured, const Scope& scope, const Options& options,
            std::string place, bool branch)
      : model_(std::move(model)),
        graph_(graph),
        captured_(std::move(captured)),
        opsets_(*scope.opsets),
        options_(options),
        path_(scope.path),
        calls_(scope.calls),
        depth_(scope.depth + 1),
        place_(std::move(place)),
        branch_(branch) {
    if (scope.arguments != nullptr) arguments_ = *scope.arguments;
    graphs_ = scope.graphs;
  }
  size_t inputs() const override { return graph_.input.size(); }
  size_t outputs() const override { return graph_.output.size(); }

  Result<std::shared_ptr<const Body>> type(const Facts& formal,
                                           const Facts& captured) const override {
    if (formal.size() > graph_.input.size()) {
      return fail("SDX-G0006", "subgraph \"{}\" has {} inputs, {} are given", graph_.name,
                  graph_.input.size(), formal.size());
    }
    if (depth_ > kDeepestCalls) return check::too_deep();
    Result<Graph> typed =
        options_.thorough ? learnt(formal, captured) : forwards(formal, captured, options_);
    if (typed) return std::shared_ptr<const Body>(std::make_shared<GraphBody>(*std::move(typed)));
    if (!branch_ || options_.any_sizes) return std::move(typed).error();
    const Result<Graph> any = forwards(formal, of_any_size(captured), hushed(true));
    if (!any) return std::move(typed).error();
    return std::shared_ptr<const Body>(std::make_shared<ops::UnfitBranch>(
        std::move(typed).error(), captured, GraphBody(*any).outputs()));
  }

  Facts required(const Facts& captured) const override {
    if (depth_ > kDeepestCalls) return captured;
    Net net;
    Scope scope = scope_here();
    if (!walk({}, captured, hushed(), net, scope)) return captured;
    solve(net, stated(graph_, scope.wires), false, place_);
    Facts facts;
    for (size_t i = 0; i < captured.size(); ++i)
      facts.push_back(net.at(net.sources[graph_.input.size() + i]).fact);
    return facts;
  }

 private:
  // For tries, which nobody is told of.
  Options hushed(bool any_sizes = false) const {
    Options options = options_;
    options.thorough = false;
    options.bodies = nullptr;
    options.any_sizes = any_sizes;
    return options;
  }

  Result<Graph> forwards(const Facts& formal, const Facts& captured, const Options& options) const {
    Graph typed = empty();
    GraphSink sink(typed, nullptr, options.journal);
    SDX_TRY(fill(typed, formal, captured, options, sink));
    return typed;
  }

  // With what the nodes require of wires whose type or rank they leave open.
  Result<Graph> learnt(const Facts& formal, const Facts& captured) const {
    const Options quick = hushed();
    SDX_ASSIGN(const Graph first, forwards(formal, captured, quick));
    Net net;
    Scope scope = scope_here();
    if (!has_gap(first) || !walk(formal, captured, quick, net, scope))
      return forwards(formal, captured, options_);
    solve(net, stated(graph_, scope.wires), true, place_);
    Graph typed = empty();
    LearntSink sink(typed, net, nullptr, options_.set, options_.journal);
    SDX_TRY(fill(typed, formal, captured, options_, sink));
    return typed;
  }

  Graph empty() const {
    Graph typed;
    typed.name = fmt::format("{}@{}", graph_.name, place_);
    typed.assumptions = options_.assumptions;
    return typed;
  }

  Status fill(Graph& typed, const Facts& formal, const Facts& captured, const Options& options,
              Sink& sink) const {
    Scope scope = scope_here();
    SDX_TRY(walk(formal, captured, options, sink, scope));
    for (const model::ValueInfo& output : graph_.output)
      typed.output(output.name, scope.wires.find(output.name)->second);
    if (options.bodies != nullptr) options.bodies->note(graph_, scope.wires, typed);
    return ok();
  }

  Scope scope_here() const {
    Scope scope;
    scope.opsets = &opsets_;
    scope.arguments = &arguments_;
    scope.graphs = graphs_;
    scope.path = fmt::format("{}, subgraph \"{}\"", path_, graph_.name.substr(0, 256));
    scope.calls = calls_;
    scope.depth = depth_;
    return scope;
  }

  // Its formal inputs, then what it captures, as sources; then its nodes.
  Status walk(const Facts& formal, const Facts& captured, const Options& options, Sink& sink,
              Scope& scope) const {
    for (size_t i = 0; i < graph_.input.size(); ++i) {
      const model::ValueInfo& declared = graph_.input[i];
      Fact fact = i < formal.size() ? formal[i] : Fact{};
      if (!fact.present() && declared.type) fact = check::declared_fact(declared);
      scope.wires[declared.name] = sink.source(declared.name, fact);
    }
    for (size_t i = 0; i < captured_.size(); ++i) {
      // A captured constant is a constant inside too.
      const Outlet source = sink.source(captured_[i], captured[i]);
      if (!captured_[i].empty()) scope.wires[captured_[i]] = source;
    }
    return walk_graph(model_, graph_, place_, options, sink, scope);
  }

  std::shared_ptr<const model::Model> model_;
  const model::Graph& graph_;
  std::vector<std::string> captured_;
  Opsets opsets_;
  Options options_;
  AttrMap arguments_;
  GraphArguments graphs_;
  std::string path_;
  std::vector<const model::Function*> calls_;
  size_t depth_;
  std::string place_;
  bool branch_;  // of an If: it may fit other sizes than those at hand
};

}  // namespace

std::shared_ptr<const BodySource> model_body(std::shared_ptr<const model::Model> model,
                                             const model::Graph& body,
                                             std::vector<std::string> captured, const Scope& scope,
                                             const Options& options, std::string place,
                                             bool branch) {
  return std::make_shared<ModelBody>(std::move(model), body, std::move(captured), scope, options,
                                     std::move(place), branch);
}

}  // namespace sdx::infer
