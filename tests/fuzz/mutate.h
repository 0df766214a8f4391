// Mutator: changes the structure of a model, so that what comes out is still a model.
#pragma once

#include "fuzz.h"
#include "model/model.h"

namespace sdx::fuzz {

class Mutator {
 public:
  explicit Mutator(uint64_t seed) : random_(seed) {}

  // One small change somewhere.
  void mutate(model::Model& model);
  // Nodes of another model, with the weights they read, into a graph of this one.
  void splice(model::Model& model, const model::Model& other);

 private:
  void change_attribute(model::Node& node);
  void change_tensor(model::TensorData& tensor);
  void change_type(model::Type& type);
  void change_operator(model::Node& node);
  void change_inputs(model::Graph& graph, model::Node& node);
  void change_nodes(model::Graph& graph);
  void change_interface(model::Graph& graph);
  void change_versions(model::Model& model);
  void change_functions(model::Model& model);
  int64_t number(int64_t old);
  int64_t size(int64_t old);
  float real(float old);
  int32_t element_type();

  Random random_;
};

}  // namespace sdx::fuzz
