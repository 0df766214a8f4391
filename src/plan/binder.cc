#include "plan/binder.h"

#include <algorithm>

#include "plan/specialize.h"

namespace sdx::plan {
namespace {

// Where each symbol got its size: an input's name and axis.
using BoundBy = std::map<std::string, std::pair<const std::string*, size_t>>;

// Binds the symbols of one declared shape to the sizes that came in.
Status bind(const std::string& name, const Fact& fact, const Tensor& tensor, Bindings& bindings,
            BoundBy& bound_by) {
  const auto mismatch = [&](std::string_view why) {
    return fail("SDX-R0011", "input \"{}\" is {}{}, expected {}: {}", name,
                short_name(tensor.type()), to_string(tensor.dims()), fact.text(), why);
  };
  if (fact.type != DType::undefined && tensor.type() != fact.type)
    return mismatch("the element type differs");
  if (!fact.shape) return ok();
  if (tensor.rank() != fact.rank()) return mismatch("the rank differs");
  for (size_t axis = 0; axis < fact.rank(); ++axis) {
    const int64_t size = tensor.dims()[axis];
    if (fact.dim(axis).is_const(size)) continue;
    // Most open sizes are one symbol: it gets its size here, or has it already.
    if (const auto one = fact.dim(axis).solve(size)) {
      const auto at = bindings.find(one->first);
      if (at != bindings.end() && at->second == one->second) continue;
      if (at == bindings.end()) {
        bindings.insert(*one);
        bound_by[one->first] = {&name, axis};
        continue;
      }
    }
    const Dim dim = fact.dim(axis).bind(bindings);
    if (dim.is_const()) {
      if (dim.value() == size) continue;
      std::vector<std::string> names;
      fact.dim(axis).symbols(names);
      std::string also;
      if (const auto by = names.empty() ? bound_by.end() : bound_by.find(names[0]);
          by != bound_by.end()) {
        also = fmt::format(" ({} = {} by input \"{}\" dimension {})", names[0], bindings[names[0]],
                           *by->second.first, by->second.second);
      }
      return mismatch(fmt::format("dimension {} is {}, not {}{}", axis, size, dim.value(), also));
    }
    // A subgraph may know an outer size only as an expression: then the expression is bound.
    const auto solved = dim.solve(size);
    const std::string symbol = solved ? solved->first : expression_symbol(fact.dim(axis));
    bindings[symbol] = solved ? solved->second : size;
    bound_by[symbol] = {&name, axis};
  }
  return ok();
}

// By the facts themselves.
Result<Bindings> bound_by_facts(const typed::Graph& graph, std::span<const Value> inputs) {
  const auto& sources = graph.inputs();
  Bindings bindings;
  BoundBy bound_by;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Fact& fact = graph.fact(sources[i]);
    const std::string& name = graph.node(sources[i].node).use.name;
    if (fact.is_tensor() && inputs[i].is_tensor()) {
      const Tensor& tensor = inputs[i].tensor();
      SDX_TRY(bind(name, fact, tensor, bindings, bound_by));
      if (fact.type == DType::undefined) bindings[type_symbol(i)] = int64_t(tensor.type());
      if (fact.shape) continue;
      bindings[rank_symbol(i)] = int64_t(tensor.rank());
      for (size_t axis = 0; axis < tensor.rank(); ++axis)
        bindings[size_symbol(i, axis)] = tensor.dims()[axis];
    } else if (!admits(fact, inputs[i])) {
      return fail("SDX-R0011", "input \"{}\" is {}, expected {}", name, fact_of(inputs[i]).text(),
                  fact.text());
    }
  }
  return bindings;
}

}  // namespace

Binder::Binder(const typed::Graph& graph) {
  for (uint32_t i = 0; i < graph.inputs().size(); ++i) {
    const Fact& fact = graph.fact(graph.inputs()[i]);
    if (!fact.is_concrete() || fact.type == DType::undefined || fact.symbolic) open_.push_back(i);
    plain_ = plain_ && add(fact);
  }
}

// False: the fact says more than there is a place for.
bool Binder::add(const Fact& fact) {
  if (!fact.is_tensor() || fact.type == DType::undefined || !fact.shape || fact.symbolic)
    return false;
  inputs_.push_back({fact.type, uint32_t(axes_.size()), uint32_t(fact.rank())});
  for (const Dim& dim : *fact.shape) {
    const std::optional<Axis> axis = axis_of(dim);
    if (!axis || (axis->symbol != kNone && fact.value != nullptr)) return false;
    axes_.push_back(*axis);
  }
  return true;
}

std::optional<Binder::Axis> Binder::axis_of(const Dim& dim) {
  if (dim.is_const()) return Axis{0, dim.value(), kNone};
  std::vector<std::string> names;
  dim.symbols(names);
  if (names.size() != 1) return std::nullopt;
  const auto at_0 = dim.eval({{names[0], 0}}), at_1 = dim.eval({{names[0], 1}});
  constexpr int64_t kMost = int64_t{1} << 40;
  if (!at_0 || !at_1 || std::max(std::abs(*at_0), std::abs(*at_1)) > kMost) return std::nullopt;
  const auto solved = dim.solve(*at_1);  // none unless it is linear
  if (!solved || solved->second != 1) return std::nullopt;
  const auto known = std::find(symbols_.begin(), symbols_.end(), names[0]);
  const auto symbol = uint32_t(known - symbols_.begin());
  if (known == symbols_.end()) symbols_.push_back(names[0]);
  return Axis{*at_1 - *at_0, *at_0, symbol};
}

// check(axis, size) for all axes of all inputs; false once it is, or an input does not fit.
template <class Check>
bool Binder::all_sizes(std::span<const Value> inputs, Check&& check) const {
  if (!plain_ || inputs.size() != inputs_.size()) return false;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].is_tensor()) return false;
    const Tensor& tensor = inputs[i].tensor();
    const Input& input = inputs_[i];
    if (tensor.type() != input.type || tensor.rank() != input.rank) return false;
    for (size_t a = 0; a < input.rank; ++a) {
      if (!check(axes_[input.first_axis + a], tensor.dims()[a])) return false;
    }
  }
  return true;
}

bool Binder::Axis::is(int64_t size, int64_t value) const {
  int64_t all = 0;
  return !__builtin_mul_overflow(factor, value, &all) && !__builtin_add_overflow(all, rest, &all) &&
         all == size;
}

std::optional<Binder::Sizes> Binder::sizes(std::span<const Value> inputs) const {
  constexpr int64_t kUnbound = INT64_MIN;
  Sizes values(symbols_.size(), kUnbound);
  const bool fit = all_sizes(inputs, [&](const Axis& axis, int64_t size) {
    if (axis.symbol == kNone) return size == axis.rest;
    int64_t& value = values[axis.symbol];
    if (value == kUnbound) value = (size - axis.rest) / axis.factor;
    return axis.is(size, value);
  });
  return fit ? std::optional(std::move(values)) : std::nullopt;
}

bool Binder::are(const Sizes& sizes, std::span<const Value> inputs) const {
  return all_sizes(inputs, [&](const Axis& axis, int64_t size) {
    return axis.symbol == kNone ? size == axis.rest : axis.is(size, sizes[axis.symbol]);
  });
}

Result<Bindings> Binder::bind(const typed::Graph& graph, std::span<const Value> inputs) const {
  if (inputs.size() != graph.inputs().size()) {
    return fail("SDX-R0010", "{} inputs given, the model takes {}", inputs.size(),
                graph.inputs().size());
  }
  const auto values = sizes(inputs);
  return values ? named(*values) : bound_by_facts(graph, inputs);
}

Bindings Binder::named(const Sizes& sizes) const {
  Bindings bindings;
  for (size_t s = 0; s < symbols_.size(); ++s) bindings.emplace(symbols_[s], sizes[s]);
  return bindings;
}

// None if one is missing, or a size is bound as an expression.
std::optional<Binder::Sizes> Binder::sizes_in(const Bindings& bindings) const {
  if (!plain_ || bindings.size() != symbols_.size()) return std::nullopt;
  Sizes values;
  for (const std::string& symbol : symbols_) {
    const auto at = bindings.find(symbol);
    constexpr int64_t kMost = int64_t{1} << 20;
    if (at == bindings.end() || at->second < 0 || at->second > kMost) return std::nullopt;
    values.push_back(at->second);
  }
  return values;
}

OpenInputs Binder::open_inputs(const typed::Graph& graph, const Bindings& bindings) const {
  OpenInputs open;
  open.reserve(open_.size());
  const auto values = sizes_in(bindings);
  for (const uint32_t i : open_) {
    if (!values) {
      open.emplace_back(i, bound_input(graph.fact(graph.inputs()[i]), i, bindings));
      continue;
    }
    Shape shape;
    shape.reserve(inputs_[i].rank);
    for (size_t a = 0; a < inputs_[i].rank; ++a) {
      const Axis& axis = axes_[inputs_[i].first_axis + a];
      shape.emplace_back(axis.rest +
                         (axis.symbol == kNone ? 0 : axis.factor * (*values)[axis.symbol]));
    }
    open.emplace_back(i, Fact::tensor(inputs_[i].type, std::move(shape)));
  }
  return open;
}

}  // namespace sdx::plan
