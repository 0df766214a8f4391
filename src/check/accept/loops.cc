// Bodies of Loop that declare the iteration or the condition as a vector of one element, which some
// exporters write and onnxruntime then gives: the body takes a scalar and makes the vector of it.
#include <fmt/format.h>

#include "check/accept/mends.h"
#include "check/checker.h"
#include "model/names.h"
#include "model/tensor.h"

namespace sdx::check::accept {
namespace {

using model::Graph;
using model::Node;

// The dimensions of a tensor, if it is declared as a vector of one element.
model::Shape* one_element(model::ValueInfo& info) {
  if (!info.type) return nullptr;
  auto* tensor = std::get_if<model::TensorType>(&info.type->value);
  if (tensor == nullptr || !tensor->shape || tensor->shape->dim.size() != 1) return nullptr;
  const int64_t* number = tensor->shape->dim[0].number();
  return number != nullptr && *number == 1 ? &*tensor->shape : nullptr;
}

void take_scalar(Graph& body, size_t input, FreshNames& fresh, Journal& journal) {
  model::ValueInfo& info = body.input[input];
  model::Shape* shape = one_element(info);
  if (shape == nullptr) return;
  shape->dim.clear();
  const std::string vector = info.name, dims = fresh.name("one");
  info.name = fresh.name(vector);
  Node made;
  set(made, &Node::op_type, "Reshape");
  made.input = {info.name, dims};
  made.output = {vector};
  body.initializer.push_back(model::from_tensor(Tensor::of<int64_t>({1}, {1}), dims));
  body.node.insert(body.node.begin(), std::move(made));
  journal.push_back(fmt::format("{} of graph {} is made of the scalar {}", in_quotes(vector),
                                in_quotes(body.name), in_quotes(info.name)));
}

void visit(std::vector<Node>& nodes, FreshNames& fresh, Journal& journal) {
  for (Node& node : nodes) {
    model::each_subgraph(node, [&](Graph& inner) { visit(inner.node, fresh, journal); });
    if (node.op_type != "Loop" || !canonical(node.domain).empty()) continue;
    model::each_subgraph(node, [&](Graph& body) {
      for (size_t i = 0; i < std::min<size_t>(2, body.input.size()); ++i)
        take_scalar(body, i, fresh, journal);
    });
  }
}

}  // namespace

void take_vectors_of_one(model::Model& model, const Report&, Journal& journal) {
  // Before version 5, Reshape took the shape as an attribute; nobody wrote such loops.
  constexpr int64_t kReshapeByInput = 5;
  const auto at_least = [](const std::vector<model::OpsetId>& imports) {
    const model::Opsets opsets = model::opsets_of(imports);
    const auto at = opsets.find("");
    return at != opsets.end() && at->second >= kReshapeByInput;
  };
  FreshNames fresh(model);
  if (model.graph && at_least(model.opset_import)) visit(model.graph->node, fresh, journal);
  for (model::Function& function : model.functions) {
    if (at_least(function.opset_import)) visit(function.node, fresh, journal);
  }
}

}  // namespace sdx::check::accept
