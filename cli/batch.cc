#include "batch.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <set>

#include "bounds.h"
#include "inputs.h"
#include "model/fields.h"
#include "typed_values.h"

namespace sdx::cli {
namespace {

constexpr int64_t kProved = 3;  // rows of the proof where the batch stays open

std::optional<int64_t> number(const std::string& text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

model::Dimension* first_dimension(model::ValueInfo& info) {
  if (!info.type || info.type->tensor() == nullptr) return nullptr;
  auto& tensor = std::get<model::TensorType>(info.type->value);
  return tensor.shape && !tensor.shape->dim.empty() ? &tensor.shape->dim[0] : nullptr;
}

// The inputs that a caller gives, by position in the graph.
std::vector<size_t> given_inputs(const model::Graph& graph) {
  std::set<std::string_view> weights;
  for (const model::TensorData& weight : graph.initializer) weights.insert(weight.name);
  std::vector<size_t> given;
  for (size_t i = 0; i < graph.input.size(); ++i) {
    if (!weights.contains(graph.input[i].name)) given.push_back(i);
  }
  return given;
}

// The batch of the first input: the name or number of its first dimension. Inputs that begin with
// another one are left as they are.
Result<model::Dimension> old_batch(model::Graph& graph, const std::vector<size_t>& given) {
  for (const size_t i : given) {
    if (const model::Dimension* dim = first_dimension(graph.input[i])) return *dim;
  }
  return fail("SDX-C0046", "no input has a first dimension that could be a batch");
}

bool same_size(const model::Dimension& a, const model::Dimension& b) { return a.value == b.value; }

void set_batch(model::Dimension& dim, const std::string& batch) {
  if (const auto n = number(batch)) {
    dim.value = *n;
  } else {
    dim.value = batch;
  }
}

Result<std::vector<Value>> outputs_of(std::shared_ptr<const model::Model> model,
                                      const std::vector<Value>& inputs, const LimitFlags& limits,
                                      const Bindings& sizes) {
  CompileOptions options;
  options.most_nodes = limits.most_nodes();
  options.set = sizes;
  SDX_ASSIGN(const auto compiled, compile(std::move(model), options));
  run::RunOptions how;
  how.deadline = deadline();
  return run::Session(compiled).run(inputs, how);
}

// So many rows of a tensor, from the given one on; after the last comes the first.
Tensor rows_of(const Tensor& whole, size_t first, size_t count) {
  Dims dims = whole.dims();
  const size_t all = size_t(dims[0]), bytes = whole.bytes() / all;
  dims[0] = int64_t(count);
  Tensor some = Tensor::make(whole.type(), dims);
  for (size_t i = 0; i < count; ++i) {
    std::memcpy(some.data<std::byte>() + i * bytes,
                whole.data<std::byte>() + (first + i) % all * bytes, bytes);
  }
  return some;
}

bool has_rows(const Value& value, int64_t rows) {
  return value.is_tensor() && value.tensor().type() != DType::string && value.tensor().rank() > 0 &&
         value.tensor().dims()[0] == rows;
}

// Every row of the new model's outputs is the old model's answer for that row of the inputs.
Status prove(const std::shared_ptr<const model::Model>& old_model,
             const std::shared_ptr<const model::Model>& made, const std::set<std::string>& batched,
             const model::Dimension& old_dim, const std::string& batch, const LimitFlags& limits) {
  const int64_t rows = number(batch).value_or(kProved);
  Bindings sizes, old_sizes;
  if (!number(batch)) sizes[batch] = rows;
  if (old_dim.param() != nullptr) old_sizes[*old_dim.param()] = 1;
  const size_t at_a_time = old_dim.number() != nullptr ? size_t(*old_dim.number()) : 1;
  CompileOptions options;
  options.set = sizes;
  options.most_nodes = limits.most_nodes();
  SDX_ASSIGN(const typed::Graph graph, type(made, options));
  InputFlags drawn;
  drawn.seed = 1;
  SDX_ASSIGN(const std::vector<Value> inputs, drawn.values(*made, graph));
  SDX_ASSIGN(const std::vector<Value> all, outputs_of(made, inputs, limits, sizes));
  for (const Value& input : inputs) {
    if (input.is_tensor() && input.tensor().type() == DType::string)
      return fail("SDX-C0046", "rows of strings cannot be told apart here");
  }
  for (size_t i = 0; i < all.size(); ++i) {
    if (!has_rows(all[i], rows))
      return fail("SDX-C0047", "output \"{}\" is {}: it does not begin with {} rows",
                  made->graph->output[i].name, fact_of(all[i]).text(), rows);
  }
  for (size_t row = 0; row < size_t(std::min(rows, kProved)); row += at_a_time) {
    std::vector<Value> few = inputs;
    for (size_t i = 0; i < few.size(); ++i) {
      const std::string& name = graph.node(graph.inputs()[i].node).use.name;
      if (batched.contains(name)) few[i] = Value(rows_of(few[i].tensor(), row, at_a_time));
    }
    SDX_ASSIGN(const std::vector<Value> alone, outputs_of(old_model, few, limits, old_sizes));
    for (size_t i = 0; i < alone.size(); ++i) {
      if (!equal(alone[i], Value(rows_of(all[i].tensor(), row, at_a_time))))
        return fail("SDX-C0047", "row {} of output \"{}\" is not what the model gave for it before",
                    row, made->graph->output[i].name);
    }
  }
  return ok();
}

}  // namespace

Result<model::Model> with_batch(const model::Model& model, const std::string& batch,
                                const LimitFlags& limits) {
  if (const auto n = number(batch); n && *n < 1)
    return fail("SDX-C0046", "--batch {}: a batch has at least one row", batch);
  if (!model.graph) return no_graph();
  model::Model made = model;
  model::Graph& graph = *made.graph;
  const std::vector<size_t> given = given_inputs(graph);
  SDX_ASSIGN(const model::Dimension old_dim, old_batch(graph, given));
  std::set<std::string> batched;
  for (const size_t i : given) {
    model::Dimension* dim = first_dimension(graph.input[i]);
    if (dim == nullptr || !same_size(*dim, old_dim)) continue;
    set_batch(*dim, batch);
    batched.insert(graph.input[i].name);
  }
  // What was declared of other values spoke of the old batch: it is inferred anew.
  graph.value_info.clear();
  for (model::ValueInfo& output : graph.output) {
    if (model::Dimension* dim = first_dimension(output)) set_batch(*dim, batch);
  }
  SDX_TRY(prove(std::make_shared<const model::Model>(model),
                std::make_shared<const model::Model>(made), batched, old_dim, batch, limits));
  return made;
}

}  // namespace sdx::cli
