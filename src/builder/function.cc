// Calls of user-defined functions: traced on the arguments' facts, kept once in the model.
#include <algorithm>

#include "api/floating.h"
#include "builder/body.h"
#include "builder/state.h"
#include "check/inline.h"
#include "model/fields.h"
#include "model/io.h"

namespace sardonyx::detail {
namespace {

void refuse_recursion(const State& state, const std::string& name) {
  std::string chain = name;
  for (const Scope* scope = state.current; scope != nullptr; scope = scope->outer) {
    if (scope->kind != Scope::Kind::function) continue;
    chain = scope->name + " -> " + chain;
    if (scope->name == name) {
      refuse(sdx::check::calls_itself(chain), {});
    }
  }
}

// The name under which the model holds this body: its own, or one with a number where calls on
// other types made another body.
std::string kept_as(State& state, const std::string& domain, const std::string& name,
                    sdx::model::Function function) {
  const std::string bytes = sdx::model::write(function);
  std::string candidate = name;
  for (int number = 2;; ++number) {
    const auto at =
        std::find_if(state.functions.begin(), state.functions.end(), [&](const auto& record) {
          return record.function.name == candidate && record.function.domain == domain;
        });
    if (at == state.functions.end()) break;
    if (at->bytes == bytes) return candidate;
    candidate = fmt::format("{}_{}", name, number);
  }
  set(function, &sdx::model::Function::name, candidate);
  set(function, &sdx::model::Function::domain, domain);
  state.functions.push_back({std::move(function), bytes});
  return candidate;
}

}  // namespace

Wires call(const std::string& domain, const std::string& name, const Wires& inputs,
           const Body& body) {
  std::shared_ptr<State> state;
  for (const Wire& wire : inputs) {
    if (state == nullptr) state = Access::state(wire);
  }
  if (state == nullptr) return body(inputs);
  const sdx::DefaultFloating floating;
  refuse_recursion(*state, name);

  NodeRecord node;
  node.domain = domain;
  node.name = state->fresh(snake_case(name));
  Scope scope;
  scope.kind = Scope::Kind::function;
  scope.id = state->scopes++;
  scope.outer = state->current;
  scope.name = name;
  scope.graph = state->current->graph;
  BodyRecord record;
  std::vector<sdx::typed::Outlet> arguments;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].present()) {
      refuse(sdx::fail("SDX-W0006", "argument {} of function \"{}\" is no wire", i, name), {});
    }
    node.inputs.push_back(state->use(inputs[i], {}));
    arguments.push_back(state->resolve(node.inputs.back(), {}));
  }
  std::vector<sdx::typed::Outlet> results;
  {
    const Entered entered(*state, scope);
    Wires formal;
    for (const auto outlet : arguments) {
      record.inputs.push_back(state->add_wire(state->fresh("in"), outlet));
      formal.push_back(Access::wire(state, record.inputs.back()));
    }
    try {
      record.outputs = results_of(*state, body(formal), {});
    } catch (const Error& error) {
      std::vector<std::string> where = error.where();
      where.push_back(fmt::format("function \"{}\"", name));
      throw Error(error.code(), error.message(), std::move(where), error.help());
    }
    for (const uint32_t id : record.outputs) results.push_back(state->resolve(id, {}));
  }
  record.constants = scope.constants;
  record.nodes = scope.nodes;
  node.type = kept_as(*state, domain, name, emit_function(*state, record));
  for (const auto outlet : results) {
    const std::string wire = results.size() == 1 ? node.name : state->fresh(node.name + "_out");
    node.outputs.push_back(state->add_wire(wire, outlet));
    state->wires[node.outputs.back()].node = uint32_t(state->nodes.size());
  }
  state->current->nodes.push_back(uint32_t(state->nodes.size()));
  state->nodes.push_back(std::move(node));
  Wires wires;
  for (const uint32_t id : state->nodes.back().outputs) wires.push_back(Access::wire(state, id));
  return wires;
}

}  // namespace sardonyx::detail
