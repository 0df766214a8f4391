// Element-wise operations between dequantisation and quantisation run in one pass over bytes.
//
//   QuantizeLinear(f(DequantizeLinear(a), DequantizeLinear(b)))   ->   QuantisedElementwise[f](a,
//   b)
//
// where an input may also be one number.
// The same rounded operations on the same floats: every bit is kept. And a MaxPool there needs no
// floats at all, for dequantising is monotone and exact to undo:
//
//   QuantizeLinear(MaxPool(DequantizeLinear(x)))   ->   MaxPool(x)        same scale and zero point
#include <cmath>

#include "ops/elementwise/elementwise.h"
#include "ops/list.h"
#include "rewrite/quantised.h"
#include "rewrite/rules.h"

namespace sdx::rewrite {
namespace {

using typed::Node;
using typed::Outlet;
using Wires = std::optional<std::vector<Outlet>>;

// The code of an element-wise node on its own inputs; nothing for other nodes.
std::vector<std::string> code_of(const Rewriting& r, const Node& node) {
  if (node.is(ops::elementwise)) return node.as<ops::Elementwise>().program.text();
  if (node.op().pointwise == nullptr) return {};
  Facts in;
  for (const Outlet input : node.inputs) in.push_back(r.old.fact(input));
  const auto op = node.op().pointwise(node.resolved.get(), in);
  if (!op) return {};
  const bool binary = op->kind == Pointwise::Kind::binary;
  if (node.inputs.size() != (binary ? 2 : 1)) return {};
  const Program::Instruction i{binary,        uint8_t(op->code), 0, uint16_t(binary ? 1 : 0),
                               float(op->p0), float(op->p1)};
  return Program(node.inputs.size(), {i}).text();
}

// A number c is (1 - 0) * c.
Tensor one(DType type, const Dims& dims) {
  Tensor tensor = Tensor::make(type, dims);
  *static_cast<uint8_t*>(tensor.raw()) = 1;
  return tensor;
}

Result<Wires> pooled(Rewriting& r, const Node& quantise, const Quantised& y) {
  const Node* pool = r.only_from(quantise.inputs[0], ops::max_pool);
  if (pool == nullptr || pool->outputs.size() != 1) return Wires();
  const auto x = dequantised(r, pool->inputs[0]);
  if (!x || r.old.fact(x->tensor).type != quantise.outputs[0].type ||
      *x->scale->data<float>() != *y.scale->data<float>() || zero_of(*x) != zero_of(y) ||
      !std::isnormal(*y.scale->data<float>()) || *y.scale->data<float>() < 0) {
    return Wires();
  }
  const Node* stands_for[] = {pool, &quantise};
  SDX_ASSIGN(std::vector<Outlet> wires,
             r.add_like(*pool, ops::max_pool, {}, {r.now(x->tensor)}, stands_for));
  return Wires(std::move(wires));
}

Result<Wires> quantised_elementwise_at(Rewriting& r, uint32_t id) {
  const Node& node = r.old.node(id);
  if (node.use.op != &ops::quantize_linear) return Wires();
  const DType type = node.outputs[0].type;
  const auto y = quantised(r, node, type);
  const Outlet wire = node.inputs[0];
  const Node& made_by = r.old.node(wire.node);
  if (!y || made_by.kind != Node::Kind::op || r.uses(wire) != 1 ||
      r.old.fact(wire).type != DType::f32 || !r.old.fact(wire).has_rank()) {
    return Wires();
  }
  if (made_by.use.op == &ops::max_pool) return pooled(r, node, *y);
  const std::vector<std::string> code = code_of(r, made_by);
  if (code.empty()) return Wires();
  std::vector<Outlet> inputs;
  std::vector<float> scales;
  std::vector<int64_t> zeros;
  bool any = false;
  for (const Outlet input : made_by.inputs) {
    const auto x = dequantised(r, input);
    if (x && r.old.fact(x->tensor).type == type && r.old.fact(input).has_rank()) {
      inputs.push_back(r.now(x->tensor));
      scales.push_back(*x->scale->data<float>());
      zeros.push_back(zero_of(*x));
      any = true;
    } else if (const Fact& fact = r.old.fact(input); fact.value && fact.value->count() == 1) {
      inputs.push_back(r.made.constant(one(type, fact.value->dims())));
      scales.push_back(*fact.value->data<float>());
      zeros.push_back(0);
    } else {
      return Wires();
    }
  }
  if (!any) return Wires();
  scales.push_back(*y->scale->data<float>());
  zeros.push_back(zero_of(*y));
  const Node* stands_for[] = {&made_by, &node};
  SDX_ASSIGN(
      std::vector<Outlet> wires,
      r.add(ops::quantised_elementwise, {{"code", code}, {"scales", scales}, {"zeros", zeros}},
            std::move(inputs), 1, stands_for));
  return Wires(std::move(wires));
}

}  // namespace

const Rule quantised_elementwise{"quantised_elementwise", quantised_elementwise_at};

}  // namespace sdx::rewrite
