#include "ops/tensor/track.h"

namespace sdx::detail {

std::optional<Numbered> number_elements(const Facts& in, DataInputs data) {
  Numbered result;
  result.elements.emplace_back(0);
  result.inputs.reserve(in.size());  // views point into the tensors' dimensions
  for (size_t i = 0; i < in.size(); ++i) {
    Tensor numbers;
    if (!in[i].present()) {
      result.views.push_back({});
      continue;
    }
    if (!in[i].is_concrete()) return std::nullopt;
    if (data >> i & 1) {
      if (!is_integer(in[i].type) && in[i].type != DType::boolean) return std::nullopt;
      const auto values = in[i].integers();
      if (!values || values->size() > kMostTracked) return std::nullopt;
      numbers = Tensor::make(DType::i64, in[i].dims());
      if (numbers.count() != values->size()) return std::nullopt;
      for (size_t k = 0; k < values->size(); ++k) {
        numbers.data<int64_t>()[k] = int64_t(result.elements.size());
        result.elements.push_back((*values)[k]);
      }
    } else if (in[i].value) {
      numbers = *in[i].value;
    } else {
      const auto values = in[i].constant_integers();
      if (!values) return std::nullopt;
      numbers = Tensor::make(in[i].type, in[i].dims());
      if (numbers.count() != values->size()) return std::nullopt;
      for (size_t k = 0; k < values->size(); ++k)
        set_i64(in[i].type, numbers.raw(), k, (*values)[k]);
    }
    result.views.push_back(view_of(result.inputs.emplace_back(std::move(numbers))));
  }
  return result;
}

std::optional<std::vector<Tensor>> number_outputs(const Facts& out) {
  std::vector<Tensor> result;
  for (const Fact& fact : out) {
    if (!fact.is_concrete()) return std::nullopt;
    const auto count = element_count(fact.dims());
    if (!count || *count > kMostTracked) return std::nullopt;
    result.push_back(Tensor::make(DType::i64, fact.dims()));
  }
  return result;
}

void take_symbolic(const Numbered& numbered, std::span<const Tensor> numbers, Facts& out) {
  for (size_t i = 0; i < out.size(); ++i) {
    std::vector<Dim> values;
    for (const int64_t number : numbers[i].values<int64_t>())
      values.push_back(numbered.elements[size_t(number)]);
    out[i].symbolic = std::move(values);
  }
}

}  // namespace sdx::detail
