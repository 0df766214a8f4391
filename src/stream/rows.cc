#include "stream/rows.h"

#include "typed/eval.h"

namespace sdx::stream {
namespace {

constexpr int64_t kRows = 3;

// Noise that differs from element to element; integers stay small, so that indices are valid.
Tensor sample(DType type, Dims dims, uint64_t seed, bool zeros) {
  Tensor tensor = Tensor::make(type, std::move(dims));
  if (zeros || type == DType::string) return tensor;
  uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;
  for (size_t i = 0; i < tensor.count(); ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const uint64_t bits = state >> 33;
    const double value = is_float(type) ? double(bits % 20001) / 10000.0 - 1.0 : double(bits % 2);
    set_f64(type, tensor.raw(), i, value);
  }
  return tensor;
}

struct Asked {
  std::vector<Value> inputs;
  std::vector<std::optional<size_t>> axes;
};

// The node on some of the rows.
Result<std::vector<Value>> run(const sdx::Node& use, const Asked& asked, int64_t first,
                               int64_t last) {
  std::vector<Value> inputs = asked.inputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (asked.axes[i]) inputs[i] = rows_of(asked.inputs[i].tensor(), *asked.axes[i], first, last);
  }
  return typed::eval(use, inputs, {.reference = false});
}

// "" if every piece gives the rows of the whole.
std::string compare(const sdx::Node& use, const Asked& asked,
                    const std::vector<std::optional<size_t>>& to) {
  const auto whole = run(use, asked, 0, kRows);
  if (!whole) return "it could not be asked whether it works row by row: " + whole.error().what;
  constexpr std::pair<int64_t, int64_t> kPieces[] = {{0, 1}, {1, 2}, {2, 3}, {0, 2}, {1, 3}};
  for (const auto& [first, last] : kPieces) {
    const auto piece = run(use, asked, first, last);
    if (!piece) return "it needs the whole axis: " + piece.error().what;
    for (size_t slot = 0; slot < to.size(); ++slot) {
      if (!to[slot]) continue;
      const Value &all = (*whole)[slot], &some = (*piece)[slot];
      if (!all.is_tensor() || !some.is_tensor()) return "its outputs are not tensors";
      if (all.tensor().dims()[*to[slot]] != kRows)
        return "its output has another number of rows than its input";
      if (!(rows_of(all.tensor(), *to[slot], first, last) == some.tensor()))
        return "a row of its output depends on other rows of its input: it needs the whole axis "
               "before its end";
    }
  }
  return "";
}

}  // namespace

Tensor joined(const std::vector<Tensor>& parts, size_t axis) {
  Dims dims = parts[0].dims();
  dims[axis] = 0;
  size_t outer = 1, inner = 1;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (i != axis) (i < axis ? outer : inner) *= size_t(dims[i]);
  }
  for (const Tensor& part : parts) dims[axis] += part.dims()[axis];
  Tensor all = Tensor::make(parts[0].type(), dims);
  const size_t whole = size_t(dims[axis]) * inner;
  const bool text = all.type() == DType::string;
  const size_t bytes = text ? 0 : bits(all.type()) / 8;
  size_t start = 0;
  for (const Tensor& part : parts) {
    const size_t run = size_t(part.dims()[axis]) * inner;
    for (size_t o = 0; o < outer && run > 0; ++o) {
      if (text) {
        std::copy_n(part.data<std::string>() + o * run, run,
                    all.data<std::string>() + o * whole + start);
      } else {
        std::memcpy(all.data<std::byte>() + (o * whole + start) * bytes,
                    part.data<std::byte>() + o * run * bytes, run * bytes);
      }
    }
    start += run;
  }
  return all;
}

Tensor rows_of(const Tensor& tensor, size_t axis, int64_t first, int64_t last) {
  Dims dims = tensor.dims();
  size_t outer = 1, inner = 1;
  for (size_t i = 0; i < dims.size(); ++i)
    (i < axis ? outer : inner) *= i == axis ? 1 : size_t(dims[i]);
  const auto size = size_t(dims[axis]), count = size_t(last - first);
  dims[axis] = last - first;
  Tensor out = Tensor::make(tensor.type(), dims);
  if (tensor.type() == DType::string) {
    for (size_t o = 0; o < outer; ++o) {
      std::copy_n(tensor.data<std::string>() + (o * size + size_t(first)) * inner, count * inner,
                  out.data<std::string>() + o * count * inner);
    }
    return out;
  }
  const size_t bytes = bits(tensor.type()) / 8;
  for (size_t o = 0; o < outer && count > 0; ++o) {
    std::memcpy(out.data<std::byte>() + o * count * inner * bytes,
                tensor.data<std::byte>() + (o * size + size_t(first)) * inner * bytes,
                count * inner * bytes);
  }
  return out;
}

std::string asked_by_rows(const typed::Graph& graph, uint32_t id,
                          const std::vector<std::optional<size_t>>& axes,
                          const std::vector<std::optional<size_t>>& to) {
  const typed::Node& node = graph.node(id);
  for (const bool zeros : {false, true}) {
    Asked asked;
    asked.axes = axes;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const Fact& fact = graph.fact(node.inputs[i]);
      if (!fact.present()) {
        asked.inputs.emplace_back();
        continue;
      }
      if (!fact.is_tensor() || !fact.has_rank() || is_packed(fact.type))
        return "its inputs are not tensors of a known shape";
      if (fact.value) {
        asked.inputs.emplace_back(*fact.value);
        continue;
      }
      Dims dims;
      for (size_t axis = 0; axis < fact.rank(); ++axis) {
        const bool along = axes[i] && axis == *axes[i];
        if (!along && !fact.dim(axis).is_const()) return "a size of its inputs is not known";
        dims.push_back(along ? kRows : fact.dim(axis).value());
      }
      // Integers may be indices: if small ones are not valid, zeros are.
      asked.inputs.emplace_back(
          sample(fact.type, dims, id * 16 + i + 1, zeros && !is_float(fact.type)));
    }
    std::string answer = compare(node.use, asked, to);
    if (answer.empty() || zeros || !answer.starts_with("it could not")) return answer;
  }
  return "";
}

}  // namespace sdx::stream
