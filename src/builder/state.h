// State: a graph being built. Beside the nodes as the user made them stands the typed graph that
// gives each wire its fact; a node that does not type is never recorded.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "model/model.h"
#include "sardonyx/graph.h"
#include "typed/graph.h"

namespace sardonyx::detail {

inline constexpr uint32_t kNone = UINT32_MAX;

struct WireRecord {
  std::string name;
  sdx::Fact fact;
  uint32_t scope = 0;
  uint32_t node = kNone;                     // that makes it
  std::shared_ptr<const sdx::Tensor> value;  // of a constant that no node makes
};

// A subgraph: what its last tracing made.
struct BodyRecord {
  std::string name;
  std::vector<uint32_t> inputs, outputs, constants, nodes;
};

struct NodeRecord {
  const sdx::Op* op = nullptr;  // null: a call of a function
  std::string domain, type, name;
  std::vector<uint32_t> inputs, outputs;  // kNone: left out
  std::vector<uint32_t> captured;         // outer wires that its subgraphs use
  sdx::AttrMap attributes;                // those given, without subgraphs
  std::map<std::string, std::shared_ptr<BodyRecord>> bodies;
  Place place;
};

struct FunctionRecord {
  sdx::model::Function function;
  std::string bytes;  // of its body: equal traces are one function
};

// Where nodes are being made: the graph itself, a subgraph, or a function that is being traced.
struct Scope {
  enum class Kind : uint8_t { main, body, function };
  Kind kind = Kind::main;
  uint32_t id = 0;
  Scope* outer = nullptr;
  std::string name;                                // of a function
  sdx::typed::Graph own;                           // of main and body
  sdx::typed::Graph* graph = nullptr;              // a function types in the graph of its caller
  std::map<uint32_t, sdx::typed::Outlet> outlets;  // wires that are visible here
  std::vector<uint32_t>* captured =
      nullptr;  // of a body: outer wires, in the order of their sources
  std::vector<uint32_t> constants, nodes;
};

class State : public std::enable_shared_from_this<State> {
 public:
  explicit State(std::string name);

  // A wire that stands for `outlet` in the current scope.
  uint32_t add_wire(std::string name, sdx::typed::Outlet outlet);
  uint32_t add_constant(std::string name, sdx::Tensor value);
  // The wire as the current scope sees it: captured where it comes from outside.
  sdx::typed::Outlet resolve(uint32_t wire, Place place) { return resolve(*current, wire, place); }
  // The id of a wire of this graph; literals become constants, an absent wire is kNone.
  uint32_t use(const Wire& wire, Place place);
  // Makes one node, with its subgraphs traced; throws with the user's line.
  std::vector<uint32_t> add(NodeRecord node, const std::map<std::string, Body>& bodies,
                            size_t outputs, Place place);

  std::string fresh(const std::string& stem);
  void claim(const std::string& name, Place place);  // throws if the name is taken

  std::string name;
  Scope main;
  Scope* current = &main;
  std::vector<WireRecord> wires;
  std::vector<NodeRecord> nodes;
  std::vector<uint32_t> parameters;
  std::vector<std::pair<std::string, uint32_t>> results;
  std::vector<FunctionRecord> functions;
  std::set<std::string> names;
  std::vector<std::string> claims;      // names that the user gave, in order
  std::map<std::string, int> counters;  // of generated names
  uint32_t scopes = 1;

 private:
  sdx::typed::Outlet resolve(Scope& scope, uint32_t wire, Place place);
};

// Enters a scope; the one before comes back at the end, also when the user's function throws.
class Entered {
 public:
  Entered(State& state, Scope& scope) : state_(state), before_(state.current) {
    state.current = &scope;
  }
  ~Entered() { state_.current = before_; }
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;

 private:
  State& state_;
  Scope* before_;
};

struct Access {
  static Wire wire(std::shared_ptr<State> state, uint32_t id) {
    Wire wire;
    wire.state_ = std::move(state);
    wire.id_ = id;
    return wire;
  }
  static Wire literal(Value value) {
    Wire wire;
    wire.literal_ = std::make_shared<const Value>(std::move(value));
    return wire;
  }
  static Node node(std::shared_ptr<State> state, uint32_t id) {
    Node node;
    node.state_ = std::move(state);
    node.id_ = id;
    return node;
  }
  static const std::shared_ptr<State>& state(const Wire& wire) { return wire.state_; }
  static const std::shared_ptr<State>& state(const Graph& graph) { return graph.state_; }
  static uint32_t id(const Wire& wire) { return wire.id_; }
  static const std::shared_ptr<const Value>& literal(const Wire& wire) { return wire.literal_; }
};

// "conv_transpose" of "ConvTranspose".
std::string snake_case(std::string_view name);

sdx::Fact in(const Fact& fact, const std::string& scope);
Fact out(const sdx::Fact& fact);
sdx::AttrValue in(const Attribute& attribute);

std::string text(Place place);
// Throws the error as one of the user's line.
[[noreturn]] void refuse(sdx::Error error, Place place);

// "ai.onnx.ml::Scaler": its domain and name.
std::pair<std::string, std::string> split_name(std::string_view op);
const sdx::Op& operator_named(std::string_view domain, std::string_view name, Place place);

// The model that a saved file holds.
std::shared_ptr<const sdx::model::Model> emit(const State& state);
// The nodes of a traced function, under names that depend on nothing outside of it.
sdx::model::Function emit_function(const State& state, const BodyRecord& body);

}  // namespace sardonyx::detail
