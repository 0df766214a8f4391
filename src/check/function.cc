// Functions of the model: signatures, bodies, and that no chain of calls returns to its start.
#include <algorithm>

#include "check/checker.h"
#include "ops/list.h"

namespace sdx::check {
void Checker::functions() {
  const Place top{.kind = "model"};
  std::set<FunctionId> seen;
  for (const model::Function& f : model_.functions) {
    const std::string name = model::name_of(f);
    if (!seen.insert(id_of(f)).second) {
      report(rule::function_repeated, top, "two functions are {}", in_quotes(name));
    }
    function(f, {.kind = "function", .name = name});
  }
  recursion();
}

void Checker::function(const model::Function& f, const Place& place) {
  if (f.name.empty()) report(rule::function_name, place, "the function has no name");
  if (!has(f, &model::Function::domain)) {
    report(rule::function_name, place, "the function states no domain");
  }
  const auto unique = [&](const std::vector<std::string_view>& names, std::string_view what) {
    std::set<std::string_view> seen;
    for (const std::string_view name : names) {
      if (!seen.insert(name).second) {
        report(rule::parameter_repeated, place, "{} stands twice among the function's {}",
               in_quotes(name), what);
      }
    }
  };
  unique({f.input.begin(), f.input.end()}, "inputs");
  unique({f.output.begin(), f.output.end()}, "outputs");
  std::vector<std::string_view> attributes(f.attribute.begin(), f.attribute.end());
  for (const model::Attribute& a : f.attribute_proto) {
    attributes.push_back(a.name);
    attribute(a, nullptr, place.in("attribute", a.name));
  }
  unique(attributes, "attributes");

  Opsets opsets;
  imports(f.opset_import, place, opsets);
  Scope scope{.place = &place, .nodes = &f.node, .opsets = &opsets, .function = &f};
  for (const std::string& input : f.input) {
    scope.defined.emplace(input, Definition{.kind = Definition::Kind::input});
  }
  node_outputs(f.node, scope);
  for (const model::ValueInfo& info : f.value_info) {
    const auto at = scope.defined.find(info.name);
    if (at != scope.defined.end() && info.type) at->second.fact = fact_of(*info.type);
  }
  dependencies(scope);
  nodes(scope);
  value_infos(f.value_info, scope);
  metadata(f.metadata_props, rule::inner_metadata_repeated, place);
  for (const std::string& output : f.output) {
    if (scope.own(output) != nullptr) continue;
    report(rule::output_undefined, place, "nothing in the function defines its output {}",
           in_quotes(output));
  }
  std::set<std::string_view> compared;
  each_node(f.node, [&](const model::Node& node) {
    const int64_t inside = version_of(opsets, node.domain);
    const int64_t outside = version_of(opsets_, node.domain);
    if (inside == outside || inside == 0 || outside == 0) return;
    const Op* op = callee(node, opsets).op;
    if (op == nullptr || std::max(inside, outside) > INT32_MAX) return;
    const Signature* a = op->at(static_cast<int>(inside));
    const Signature* b = op->at(static_cast<int>(outside));
    if ((a != nullptr && b != nullptr && a->since == b->since) ||
        !compared.insert(node.op_type).second) {
      return;
    }
    report(rule::function_versions, place,
           "{} means version {} here and version {} elsewhere in the model", node.op_type, inside,
           outside);
  });
  if (sonnx()) sonnx_graph(nullptr, scope);
}

void Checker::recursion() {
  const size_t count = model_.functions.size();
  std::map<const model::Function*, size_t> numbers;
  for (size_t i = 0; i < count; ++i) numbers[&model_.functions[i]] = i;
  std::vector<std::vector<size_t>> calls(count);
  for (size_t i = 0; i < count; ++i) {
    each_node(model_.functions[i].node, [&](const model::Node& node) {
      const auto at = functions_.find({canonical(node.domain), node.op_type, node.overload});
      if (at != functions_.end()) calls[i].push_back(numbers[at->second]);
    });
  }
  enum class State { fresh, open, done };
  std::vector<State> state(count, State::fresh);
  for (size_t root = 0; root < count; ++root) {
    if (state[root] != State::fresh) continue;
    std::vector<std::pair<size_t, size_t>> path = {{root, 0}};  // function, next call
    state[root] = State::open;
    while (!path.empty()) {
      auto& [at, next] = path.back();
      if (next == calls[at].size()) {
        state[at] = State::done;
        path.pop_back();
        continue;
      }
      const size_t called = calls[at][next++];
      if (state[called] == State::fresh) {
        state[called] = State::open;
        path.emplace_back(called, 0);
      } else if (state[called] == State::open) {
        auto from = std::find_if(path.begin(), path.end(),
                                 [&](const auto& step) { return step.first == called; });
        std::string chain;
        for (; from != path.end(); ++from) {
          chain += model::name_of(model_.functions[from->first]) + " -> ";
        }
        const std::string name = model::name_of(model_.functions[called]);
        report(rule::recursion, {.kind = "function", .name = name},
               "functions call themselves: {}{}", chain, name);
      }
    }
  }
}

}  // namespace sdx::check
