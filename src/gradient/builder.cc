#include "gradient/builder.h"

#include "ops/list.h"

namespace sdx::gradient {
Outlet Builder::refuse(Error error) {
  if (status_) status_ = std::move(error);
  return {};
}

size_t Builder::rank(Outlet wire) {
  if (fact(wire).has_rank()) return fact(wire).rank();
  refuse(fail("SDX-D0002", "the rank of a wire must be known to differentiate it: {}",
              fact(wire).text()));
  return 0;
}

Outlets Builder::made(sdx::Node use, Outlets in) {
  const size_t outputs = use.wanted.size();
  if (!status_) return Outlets(outputs);
  use.formal_inputs = in.size();
  Result<Outlets> wires = graph_.add(std::move(use), std::move(in));
  if (wires) return *std::move(wires);
  refuse(std::move(wires).error());
  return Outlets(outputs);
}

Outlets Builder::again(const typed::Node& node, Outlets in) {
  return made(node.use, std::move(in));
}

Outlets Builder::again(const typed::Node& node, Outlets in, AttrMap changed, size_t outputs) {
  changed.merge(attributes_for(node.op(), node.use));
  return made(use_of(node.op(), std::move(changed), outputs), std::move(in));
}

Outlets Builder::ops(std::string_view name, Outlets in, AttrMap attrs, size_t outputs) {
  return made(use_of(*find_op("", name), std::move(attrs), outputs), std::move(in));
}

Outlet Builder::op(std::string_view name, Outlets in, AttrMap attrs) {
  return ops(name, std::move(in), std::move(attrs), 1)[0];
}

Outlet Builder::number(double value, DType type) {
  if (!status_) return {};
  Tensor scalar = Tensor::make(type, {});
  set_f64(type, scalar.raw(), 0, value);
  return graph_.constant(std::move(scalar));
}

Outlet Builder::ints(const std::vector<int64_t>& values) {
  return graph_.constant(Tensor::of<int64_t>({int64_t(values.size())}, std::span(values)));
}

Outlet Builder::reshape(Outlet x, Outlet like) {
  return op("Reshape", {x, shape(like)}, {{"allowzero", int64_t{1}}});
}

Outlet Builder::cast(Outlet x, DType to) {
  return type(x) == to ? x : op("Cast", {x}, {{"to", int64_t(to)}});
}

Outlet Builder::transpose(Outlet x, const std::vector<int64_t>& perm) {
  return op("Transpose", {x}, {{"perm", perm}});
}

Outlet Builder::sum(Outlet x, const std::vector<int64_t>& axes, bool keepdims) {
  return op("ReduceSum", {x, ints(axes)},
            {{"keepdims", int64_t{keepdims}}, {"noop_with_empty_axes", int64_t{1}}});
}

Outlet Builder::mean(Outlet x, const std::vector<int64_t>& axes) {
  return op("ReduceMean", {x, ints(axes)}, {{"noop_with_empty_axes", int64_t{1}}});
}

Outlet Builder::unbroadcast(Outlet g, Outlet x) {
  const size_t wide = rank(g), narrow = rank(x);
  if (!status_) return {};
  // Axes that x lacks or has with size 1 are summed; where a symbol hides whether it is 1, the run
  // finds out.
  std::vector<int64_t> axes;
  bool open = false, stretched = false;
  for (size_t axis = 0; axis < wide; ++axis) {
    if (axis + narrow < wide) {
      axes.push_back(int64_t(axis));
      continue;
    }
    const Dim &from = fact(x).dim(axis + narrow - wide), &to = fact(g).dim(axis);
    if (from == to) continue;
    if (from.is_const(1)) {
      axes.push_back(int64_t(axis));
      stretched = true;
    } else if (!from.is_const()) {
      open = true;
    }
  }
  if (open) {
    const Outlet padded = op("Concat", {ints(std::vector<int64_t>(wide - narrow, 1)), shape(x)},
                             {{"axis", int64_t{0}}});
    const Outlet differs = op("Not", {op("Equal", {padded, shape(g)})});
    const Outlet where = op("Squeeze", {op("NonZero", {differs}), ints({0})});
    const Outlet summed = op("ReduceSum", {g, where},
                             {{"keepdims", int64_t{1}}, {"noop_with_empty_axes", int64_t{1}}});
    return reshape(summed, x);
  }
  if (axes.empty()) return g;
  const Outlet summed = sum(g, axes, stretched);
  return stretched && wide != narrow ? reshape(summed, x) : summed;
}

}  // namespace sdx::gradient
