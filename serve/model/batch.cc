// Several requests in one run: their rows are put one below the other, and each gets its rows of
// the outputs. Only done where the graph is proved row-wise, so no answer can change.
#include <cstring>

#include "serve/model/served_model.h"

namespace sardonyx::serve {
namespace {

size_t row_bytes(const Tensor& tensor) {
  const int64_t rows = tensor.dims()[0];
  return rows == 0 ? 0 : tensor.bytes() / static_cast<size_t>(rows);
}

Tensor stacked(const std::vector<const Tensor*>& parts) {
  Dims dims = parts[0]->dims();
  dims[0] = 0;
  for (const Tensor* part : parts) dims[0] += part->dims()[0];
  Tensor all(parts[0]->type(), dims);
  if (all.type() == Type::string) {
    size_t at = 0;
    for (const Tensor* part : parts) {
      for (const std::string& value : part->values<std::string>())
        all.values<std::string>()[at++] = value;
    }
    return all;
  }
  auto* to = static_cast<char*>(all.data());
  for (const Tensor* part : parts) {
    if (part->bytes() > 0) std::memcpy(to, part->data(), part->bytes());
    to += part->bytes();
  }
  return all;
}

// Rows [first, first + count), in place.
Tensor rows_of(const Tensor& tensor, size_t first, size_t count) {
  Dims dims = tensor.dims();
  dims[0] = static_cast<int64_t>(count);
  const size_t size =
      tensor.type() == Type::string
          ? sizeof(std::string) * (tensor.count() / static_cast<size_t>(tensor.dims()[0]))
          : row_bytes(tensor);
  return Tensor(tensor.type(), dims,
                const_cast<char*>(static_cast<const char*>(tensor.data())) + first * size);
}

bool same_values(const Tensor& a, const Tensor& b) {
  if (a.type() != b.type() || a.dims() != b.dims()) return false;
  if (a.type() == Type::string) {
    const auto x = a.values<std::string>(), y = b.values<std::string>();
    return std::equal(x.begin(), x.end(), y.begin());
  }
  return a.bytes() == 0 || std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

}  // namespace

size_t ServedModel::rows(const InferRequest& request) const {
  for (const InputTensor& input : request.inputs) {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (inputs_[i].name != input.name) continue;
      if ((!batching_.possible || batching_.inputs_by_row[i]) && !input.tensor.dims().empty()) {
        return static_cast<size_t>(input.tensor.dims()[0]);
      }
    }
  }
  return 1;
}

bool ServedModel::may_share(const InferRequest& a, const InferRequest& b) const {
  if (a.inputs.size() != b.inputs.size() || a.outputs.size() != b.outputs.size()) return false;
  if (!a.sequence.empty() || !b.sequence.empty()) return false;
  for (size_t i = 0; i < a.outputs.size(); ++i) {
    if (a.outputs[i].name != b.outputs[i].name) return false;
  }
  for (size_t i = 0; i < a.inputs.size(); ++i) {
    const Tensor &x = a.inputs[i].tensor, &y = b.inputs[i].tensor;
    if (a.inputs[i].name != b.inputs[i].name || x.type() != y.type()) return false;
    const Port* port = input(a.inputs[i].name);
    if (port == nullptr) return false;
    const bool by_row = batching_.inputs_by_row[static_cast<size_t>(port - inputs_.data())];
    if (!by_row) {
      if (!same_values(x, y)) return false;
      continue;
    }
    if (x.dims().size() != y.dims().size() || x.dims().empty()) return false;
    if (!std::equal(x.dims().begin() + 1, x.dims().end(), y.dims().begin() + 1)) return false;
    // Rows of one request agree among its inputs; an empty one has no place in a batch.
    if (static_cast<size_t>(x.dims()[0]) != rows(a) || static_cast<size_t>(y.dims()[0]) != rows(b))
      return false;
    if (x.dims()[0] == 0 || y.dims()[0] == 0) return false;
    if (element_bytes(x.type()) == 0 && x.type() != Type::string) return false;  // packed bits
  }
  return true;
}

Outcome<std::vector<InferResult>> ServedModel::run(Seat& seat,
                                                   const std::vector<const InferRequest*>& requests,
                                                   Clock::time_point memory_by) {
  const InferRequest& first = *requests[0];
  if (auto failure = complain(first)) return *std::move(failure);
  std::vector<NamedValue> inputs;
  for (size_t i = 0; i < first.inputs.size(); ++i) {
    const Port* port = input(first.inputs[i].name);
    std::vector<const Tensor*> parts;
    for (const InferRequest* request : requests) parts.push_back(&request->inputs[i].tensor);
    const bool by_row = batching_.inputs_by_row[static_cast<size_t>(port - inputs_.data())];
    inputs.emplace_back(first.inputs[i].name, by_row ? stacked(parts) : *parts[0]);
  }
  auto ran = run_named(seat, inputs, first, nullptr, Clock::time_point::max(), memory_by);
  if (!ran) return ran.failure();
  const auto outputs = std::make_shared<Outputs>(*std::move(ran));
  std::vector<InferResult> results;
  size_t at = 0;
  for (const InferRequest* request : requests) {
    InferResult result{name_, version_, request->id, {}, {}, outputs};
    const size_t count = rows(*request);
    const size_t wanted = request->outputs.empty() ? outputs->size() : request->outputs.size();
    for (size_t i = 0; i < wanted; ++i) {
      result.outputs.push_back({outputs->name(i), rows_of((*outputs)[i], at, count)});
      if (request->digest) result.digests.push_back(result.outputs.back().tensor.digest());
    }
    at += count;
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace sardonyx::serve
