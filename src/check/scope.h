// Where a rule is checked: the place, as words, and the names that are visible there.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/keyed.h"
#include "check/declared.h"
#include "model/names.h"

namespace sdx::check {

using model::canonical;
using model::each_node;
using model::free_names;
using model::names_used;
using model::Opsets;
using model::shown;

// The imported version; 0 if there is none.
int64_t version_of(const Opsets& opsets, std::string_view domain);

// A link of the chain that leads from the model to what is being checked. Text is made only for
// what is reported.
struct Place {
  const Place* outer = nullptr;
  std::string_view kind;  // "graph", "initializer", "node"
  std::string_view name = {};
  size_t index = 0;                   // of a node
  const model::Node* node = nullptr;  // and what it is
  const Opsets* opsets = nullptr;

  std::string text() const;  // "graph "main", node 7 "residual" (Add, ai.onnx 14)"
  std::string own() const;   // the last link alone
  Place in(std::string_view inner_kind, std::string_view inner_name) const {
    return {this, inner_kind, inner_name, 0, nullptr, nullptr};
  }
};

// Who gives a name its value in one graph.
struct Definition {
  enum class Kind { input, initializer, node } kind;
  size_t node = 0;  // which one
  Fact fact = {};   // what is declared or follows from element types; absent: nothing
  const model::TensorData* tensor = nullptr;  // of an initializer
};

// The names of one graph or function body, within those of the graphs around it.
struct Scope {
  const Scope* outer = nullptr;
  const Place* place = nullptr;
  const std::vector<model::Node>* nodes = nullptr;
  const Opsets* opsets = nullptr;
  const model::Function* function = nullptr;  // whose attributes may be referred to
  bool main = false;                          // the model's graph
  bool subgraph = false;                      // an attribute of a node
  bool algorithm = false;                     // a training step, which extends the main graph
  size_t position = 0;                        // the node being checked
  KeyedMap<std::string_view, Definition> defined = {};

  const Definition* own(std::string_view name) const;
  // A definition in this graph or around it, whether or not it comes before its use.
  const Definition* find(std::string_view name, const Scope** where = nullptr) const;
  bool visible(const Definition& definition) const {
    return definition.kind != Definition::Kind::node || definition.node < position;
  }
  // "graph input", "initializer", "node 6 "proj" (MatMul)".
  std::string producer(const Definition& definition) const;
  Fact fact(std::string_view name) const;
};

// "node 6 "proj" (MatMul)".
std::string node_text(const std::vector<model::Node>& nodes, size_t index);

// Whether two declarations of one value can both hold: their types, where both state one; and
// their ranks and sizes too.
bool same_type(const Fact& a, const Fact& b);
bool agree(const Fact& a, const Fact& b);
// "float [2,3]", "seq(tensor(int64))", "unknown type".
std::string type_text(const Fact& fact);

}  // namespace sdx::check
