// Checker: one run over a model. Each group of rules is a member, in the file of its name.
#pragma once

#include <fmt/core.h>

#include <map>
#include <set>
#include <tuple>

#include "check/check.h"
#include "check/scope.h"
#include "model/fields.h"
#include "op/op.h"

namespace sdx::check {

// The newest version of each domain that this build knows.
struct KnownDomain {
  std::string_view domain;
  int64_t newest;
};
inline constexpr KnownDomain kKnownDomains[] = {{"", 28},
                                                {"ai.onnx.ml", 5},
                                                {"ai.onnx.preview", 1},
                                                {"ai.onnx.preview.training", 1},
                                                {"com.microsoft", 1},
                                                {"com.microsoft.nchwc", 1}};
const KnownDomain* known_domain(std::string_view domain);

// What a node calls.
struct Callee {
  const model::Function* function = nullptr;
  const Op* op = nullptr;
  const Signature* signature = nullptr;  // of the imported version
};

class Checker {
 public:
  Checker(const model::Model& model, const Options& options, Report& report);
  void run();

 private:
  // check.cc: the model
  void imports(const std::vector<model::OpsetId>& list, const Place& place, Opsets& into);
  void metadata(const model::StringEntries& entries, const Rule& rule, const Place& place);

  // features.cc: what later IR versions introduced; the encoding of names
  void features();

  // graph.cc: names and their definitions
  enum class Role { main, subgraph, algorithm, initialization };
  void graph(const model::Graph& graph, const Scope* outer, const Place& place,
             const Opsets& opsets, const model::Function* function, Role role);
  void inputs(const model::Graph& graph, Scope& scope);
  void initializers(const model::Graph& graph, Scope& scope);
  void initializer(const std::string& name, const Fact& fact, const model::TensorData* tensor,
                   std::set<std::string_view>& seen, Scope& scope, const Place& place);
  void node_outputs(const std::vector<model::Node>& nodes, Scope& scope);
  void not_shadowing(std::string_view name, const Scope& scope, const Place& place);
  void declared_facts(const std::vector<model::ValueInfo>& infos, std::string_view kind,
                      Scope& scope);
  void value_infos(const std::vector<model::ValueInfo>& infos, const Scope& scope);
  void outputs(const model::Graph& graph, const Scope& scope);
  void names(const model::Graph& graph, const Scope& scope);

  // order.cc: topological order and cycles
  void dependencies(const Scope& scope);

  // node.cc: operators and signatures
  void nodes(Scope& scope);
  void node(const model::Node& node, Scope& scope, const Place& place);
  Callee callee(const model::Node& node, const Opsets& opsets) const;
  bool is_foreign(std::string_view domain) const;
  void unknown_operator(const model::Node& node, const Callee& callee, const Scope& scope,
                        const Place& place);
  void arity(const model::Node& node, const Signature& signature, const Scope& scope,
             const Place& place);
  void call(const model::Node& node, const model::Function& function, const Scope& scope,
            const Place& place);

  // types.cc: types of inputs and outputs
  void input_types(const model::Node& node, const Signature& signature, const Scope& scope,
                   const Place& place);
  void output_types(const model::Node& node, const Callee& callee, Scope& scope,
                    const Place& place);
  // What the node at hand gives an output: compared with what is declared, or noted.
  void give_output(const std::string& name, const Fact& fact, Scope& scope, const Place& place);

  // bodies.cc: subgraphs of control flow
  void bodies(const model::Node& node, const Callee& callee, Scope& scope, const Place& place);
  bool body_counts(const model::Node& node, const model::Graph& body, size_t inputs,
                   size_t least_outputs, size_t not_given, const Place& place);
  void body_type(std::string_view what, const Fact& found, const Fact& expected,
                 const Place& place);
  void if_branches(const model::Node& node, Scope& scope, const Place& place);
  void loop_body(const model::Node& node, Scope& scope, const Place& place);
  void scan_body(const model::Node& node, size_t first, Scope& scope, const Place& place);

  // attribute.cc
  void attributes(const model::Node& node, const Signature* signature, Scope& scope,
                  const Place& place);
  void attribute(const model::Attribute& attribute, const model::Function* function,
                 const Place& place);
  void attribute_texts(const model::Attribute& attribute, const model::Node& node,
                       const Place& place);
  void attribute_parts(const model::Attribute& attribute, Scope& scope, const Place& place);

  // tensor.cc: types and tensors
  void value_info(const model::ValueInfo& info, bool main, const Place& place);
  void type(const model::Type& type, bool main, const Place& place);
  void shape(const std::optional<model::Shape>& shape, const Place& place);
  void tensor(const model::TensorData& tensor, const Place& place);
  void strings(const model::TensorData& tensor, const Place& place);
  void sparse(const model::SparseTensorData& tensor, const Place& place);

  // function.cc
  void functions();
  void function(const model::Function& function, const Place& place);
  void recursion();

  // extras.cc
  void annotations(const model::Graph& graph, const Scope& scope);
  void training();
  void bindings(const model::StringEntries& bindings, const model::Graph* body,
                const std::map<std::string_view, Fact>& variables, bool update,
                std::set<std::string_view>& bound, const Place& place);
  void configurations();
  void node_configurations(const model::Node& node, const Scope& scope, const Place& place);

  // sonnx.cc: the profile's graph rules; `graph` is null for the body of a function
  void sonnx_graph(const model::Graph* graph, const Scope& scope);
  void sonnx_inputs(const model::Graph* graph, const Scope& scope,
                    const std::set<std::string_view>& used);
  void sonnx_dead_outputs(const Scope& scope, const std::set<std::string_view>& used,
                          const std::set<std::string_view>& given);
  void sonnx_random(const Scope& scope);
  void sonnx_captures(const model::Graph& graph, const Scope& scope);

  // sonnx_full.cc: its restrictions on graphs and nodes
  void sonnx_full_graph(const model::Graph* graph, const Scope& scope,
                        const std::set<std::string_view>& given);
  void sonnx_types(const model::Graph* graph, const Scope& scope);
  void sonnx_sparse(const model::Graph* graph, const Scope& scope);
  void sonnx_paths(const Scope& scope, const std::set<std::string_view>& given);
  void sonnx_node(const model::Node& node, const Scope& scope, const Place& place);

  // sonnx_ops.cc: its restrictions on single operators
  void sonnx_operator(const model::Node& node, const Signature& signature, const Scope& scope,
                      const Place& place);

  // Adds a finding and gives it for notes and help; if the report is full, gives one to forget.
  Diagnostic& add(const Rule& rule, Severity severity, const Place& place, std::string message);
  template <class... Args>
  Diagnostic& report(const Rule& rule, const Place& place, fmt::format_string<Args...> format,
                     Args&&... args) {
    return add(rule, rule.severity, place, fmt::format(format, std::forward<Args>(args)...));
  }
  bool sonnx() const { return options_.profile != Profile::onnx; }
  bool sonnx_full() const { return options_.profile == Profile::sonnx_full; }
  std::vector<std::string> input_lines(const model::Node& node, const Signature* signature,
                                       const Scope& scope) const;

  using FunctionId = std::tuple<std::string_view, std::string_view, std::string_view>;
  static FunctionId id_of(const model::Function& function) {
    return {canonical(function.domain), function.name, function.overload};
  }

  const model::Model& model_;
  const Options& options_;
  Report& report_;
  std::map<FunctionId, const model::Function*> functions_;
  std::set<std::string_view> function_domains_;
  Opsets opsets_;
  size_t kept_[2] = {0, 0};
  Diagnostic forgotten_;
};

}  // namespace sdx::check
