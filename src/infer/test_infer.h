// Small models for tests of inference: declarations that leave things out, and the way to Inferred.
#pragma once

#include "check/test_models.h"
#include "infer/inferred.h"

namespace sdx::infer::test {

using namespace check::test;

// A declared tensor: "N" is a symbol, "3" a number, "" left open. No dims: no shape at all.
inline model::ValueInfo declared(const std::string& name, DType type,
                                 const std::optional<std::vector<std::string>>& dims = {}) {
  model::TensorType tensor;
  if (type != DType::undefined)
    set(tensor, &model::TensorType::elem_type, static_cast<int32_t>(type));
  if (dims) {
    tensor.shape.emplace();
    for (const std::string& dim : *dims) {
      model::Dimension& made = tensor.shape->dim.emplace_back();
      if (dim.empty()) continue;
      if (std::isdigit(static_cast<unsigned char>(dim[0]))) {
        made.value = int64_t(std::stoll(dim));
      } else {
        made.value = dim;
      }
    }
  }
  model::ValueInfo info;
  set(info, &model::ValueInfo::name, name);
  info.type.emplace().value = std::move(tensor);
  return info;
}

inline model::TensorData shape_weight(const std::string& name, const std::vector<int64_t>& values) {
  return model::from_tensor(Tensor::of<int64_t>({int64_t(values.size())}, values), name);
}

// The road as far as Inferred.
inline Result<Inferred> infer_model(std::shared_ptr<const model::Model> model,
                                    const Options& options = {}) {
  SDX_ASSIGN(const check::Checked checked, check::checked(std::move(model), {.open_types = true}));
  return infer(checked, options);
}
inline Result<Inferred> infer_model(model::Model model, const Options& options = {}) {
  return infer_model(std::make_shared<const model::Model>(std::move(model)), options);
}

inline Result<typed::Graph> type_model(std::shared_ptr<const model::Model> model,
                                       const Options& options = {}) {
  SDX_ASSIGN(Inferred known, infer_model(std::move(model), options));
  return std::move(known).typed();
}

// The fact of a value, or the error, as text.
inline std::string fact_in(const Result<Inferred>& inferred, const std::string& name) {
  if (!inferred) return inferred.error().text();
  const auto at = inferred->wires().find(name);
  return at == inferred->wires().end() ? "no such value"
                                       : inferred->graph().fact(at->second).text();
}

}  // namespace sdx::infer::test
