// Transposes that follow each other become one, and an operation on each element of a tensor (and
// scalars) comes before that turns, where the product that made it can do both.
//
//   Transpose[q](Transpose[p](x))             ->   Transpose[p q](x)
//   Reshape(Transpose[0, 2, 1](Reshape(x)))   ->   Transpose[.., last two exchanged](Reshape(x))
//       where both Reshapes join and part leading axes only; the new one goes if it changes nothing
//   f(Transpose(Reshape(y)), scalars)         ->   Transpose(Reshape(f(y, scalars)))
//       where y is a product, or an element-wise operation, that nobody else reads
#include <algorithm>
#include <numeric>

#include "ops/list.h"
#include "rewrite/rules.h"

namespace sdx::rewrite {
namespace {

using typed::Node;
using typed::Outlet;
using Wires = std::optional<std::vector<Outlet>>;
using Perm = std::vector<int64_t>;

bool is(const Node& node, const Op& op) {
  return node.kind == Node::Kind::op && node.use.op == &op;
}

Perm perm_of(const Node& transpose) {
  Perm perm = transpose.use.ints_or_empty("perm");
  if (perm.empty()) {
    perm.resize(transpose.outputs[0].rank());
    std::iota(perm.rbegin(), perm.rend(), 0);
  }
  for (int64_t& axis : perm) axis += axis < 0 ? int64_t(perm.size()) : 0;
  return perm;
}

// The wire turned, in one step with a Transpose that it may come from.
Result<Outlet> turn(Rewriting& r, Outlet wire, Perm perm, const Node& stands_for) {
  std::vector<const Node*> nodes = {&stands_for};
  const Node from = r.made.node(wire.node);
  if (is(from, ops::transpose)) {
    const Perm first = perm_of(from);
    for (int64_t& axis : perm) axis = first[size_t(axis)];
    nodes.insert(nodes.begin(), &from);
    wire = from.inputs[0];
  }
  if (std::is_sorted(perm.begin(), perm.end())) return wire;
  SDX_ASSIGN(std::vector<Outlet> wires, r.add(ops::transpose, {{"perm", perm}}, {wire}, 1, nodes));
  return wires[0];
}

// What is left of a Reshape to `result`, of this (new) wire, if it only parts the leading axes that
// another one had joined for a Transpose of the last two: x with its last two axes exchanged is the
// result, once it has the shape given here.
struct Exchange {
  Outlet x;
  std::optional<Dims> shape;
};

std::optional<Exchange> exchanged(const Rewriting& r, Outlet wire, const Fact& result) {
  const Node& turned = r.made.node(wire.node);
  if (!is(turned, ops::transpose) || perm_of(turned) != Perm{0, 2, 1}) return std::nullopt;
  const Node& joined = r.made.node(turned.inputs[0].node);
  if (!is(joined, ops::reshape)) return std::nullopt;
  const Fact &x = r.made.fact(joined.inputs[0]), &matrices = joined.outputs[0];
  if (!x.has_rank() || !result.has_rank() || x.rank() < 2 || result.rank() < 2) return std::nullopt;
  const size_t rank = result.rank();
  if (matrices.dim(1) != x.dim(x.rank() - 2) || matrices.dim(2) != x.dim(x.rank() - 1) ||
      matrices.dim(2) != result.dim(rank - 2) || matrices.dim(1) != result.dim(rank - 1)) {
    return std::nullopt;
  }
  Shape shape = *result.shape;
  std::swap(shape[rank - 2], shape[rank - 1]);
  if (shape == *x.shape) return Exchange{joined.inputs[0], std::nullopt};
  if (!result.is_concrete() || product(shape).is_const(0)) return std::nullopt;
  Dims dims = result.dims();
  std::swap(dims[rank - 2], dims[rank - 1]);
  return Exchange{joined.inputs[0], std::move(dims)};
}

// The old Transpose or Reshape `move`, on a new wire.
Result<Outlet> moved(Rewriting& r, const Node& move, Outlet wire) {
  if (move.use.op == &ops::transpose) return turn(r, wire, perm_of(move), move);
  if (const auto exchange = exchanged(r, wire, move.outputs[0])) {
    Outlet x = exchange->x;
    if (exchange->shape) {
      const Outlet shape = r.made.constant(
          Tensor::of<int64_t>({int64_t(exchange->shape->size())}, *exchange->shape));
      const Node* stands_for[] = {&move};
      SDX_ASSIGN(const std::vector<Outlet> reshaped,
                 r.add(ops::reshape, {}, {x, shape}, 1, stands_for));
      x = reshaped[0];
    }
    Perm perm(move.outputs[0].rank());
    std::iota(perm.begin(), perm.end(), 0);
    std::swap(perm[perm.size() - 2], perm[perm.size() - 1]);
    return turn(r, x, perm, move);
  }
  SDX_ASSIGN(std::vector<Outlet> wires,
             r.made.add(move.use, {wire, r.now(move.inputs[1])}, move.origin));
  return wires[0];
}

// A product that can run programs on its blocks, or an operation that goes into a program.
bool takes_more(const Node& node) {
  return node.kind == Node::Kind::op && runs_in_float(node.outputs[0].type) &&
         (node.op().pointwise != nullptr ||
          std::any_of(node.op().kernels.begin(), node.op().kernels.end(),
                      [](const Op::AnyKernel& k) { return k.epilogue != nullptr; }));
}

// Whether all inputs but `i` are constant scalars of no higher rank than `y`.
bool others_are_scalars(const Rewriting& r, const Node& node, size_t i, const Fact& y) {
  for (size_t k = 0; k < node.inputs.size(); ++k) {
    if (k == i || !node.inputs[k].present()) continue;
    const Fact& scalar = r.old.fact(node.inputs[k]);
    if (!scalar.value || scalar.value->count() != 1 || scalar.rank() > y.rank()) return false;
  }
  return true;
}

Result<Wires> each_element(Rewriting& r, const Node& node) {
  if (node.op().pointwise == nullptr || !runs_in_float(node.outputs[0].type)) return Wires();
  for (size_t i = 0; i < std::min<size_t>(2, node.inputs.size()); ++i) {
    std::vector<const Node*> moves;
    Outlet from = node.inputs[i];
    while (true) {
      const Node* move = r.only_from(from, ops::transpose);
      if (move == nullptr) move = r.only_from(from, ops::reshape);
      if (move == nullptr) break;
      moves.push_back(move);
      from = move->inputs[0];
    }
    if (moves.empty() || r.uses(from) != 1 || !takes_more(r.old.node(from.node))) continue;
    const Fact &x = r.old.fact(node.inputs[i]), &y = r.old.fact(from);
    if (!x.has_rank() || !y.has_rank() || !node.outputs[0].has_rank() ||
        *x.shape != *node.outputs[0].shape || !others_are_scalars(r, node, i, y)) {
      continue;
    }
    std::vector<Outlet> inputs;
    for (const Outlet input : node.inputs) inputs.push_back(r.now(input));
    inputs[i] = r.now(from);
    SDX_ASSIGN(std::vector<Outlet> wires, r.made.add(node.use, std::move(inputs), node.origin));
    while (!moves.empty()) {
      SDX_ASSIGN(wires[0], moved(r, *moves.back(), wires[0]));
      moves.pop_back();
    }
    return Wires(std::move(wires));
  }
  return Wires();
}

Result<Wires> at(Rewriting& r, uint32_t id) {
  const Node& node = r.old.node(id);
  const bool is_transpose = node.use.op == &ops::transpose;
  if (!is_transpose && node.use.op != &ops::reshape) return each_element(r, node);
  const Outlet wire = r.now(node.inputs[0]);
  const bool joins = is_transpose ? is(r.made.node(wire.node), ops::transpose)
                                  : exchanged(r, wire, node.outputs[0]).has_value();
  if (!joins || !node.outputs[0].has_rank()) return Wires();
  SDX_ASSIGN(const Outlet turned, moved(r, node, wire));
  return Wires({turned});
}

}  // namespace

const Rule turned_axes{"turned_axes", at};

}  // namespace sdx::rewrite
