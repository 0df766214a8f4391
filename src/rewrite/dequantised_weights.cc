// Quantised weights that nothing reads as integers are dequantised once, not in every run.
//
//   DequantizeLinear(w, scale, zero)   ->   a constant        all of them constant
//
// Rules that compute with the integers come before; what is left feeds products of floats, whose
// kernels pack it as they pack other weights.
#include "base/budget.h"
#include "base/pages.h"
#include "ops/list.h"
#include "rewrite/rules.h"
#include "typed/eval.h"

namespace sdx::rewrite {
namespace {

using typed::Node;
using typed::Outlet;
using Wires = std::optional<std::vector<Outlet>>;

Result<Wires> dequantised_weights_at(Rewriting& r, uint32_t id) {
  const Node& node = r.old.node(id);
  if (!node.is(ops::dequantize_linear)) return Wires();
  std::vector<Value> inputs;
  for (const Outlet input : node.inputs) {
    const Fact& fact = r.old.fact(input);
    if (fact.present() && fact.value == nullptr) return Wires();
    inputs.push_back(fact.value ? Value(*fact.value) : Value());
  }
  if (!node.outputs[0].is_concrete()) return Wires();
  SDX_ASSIGN(const size_t count, element_count(node.outputs[0].dims()));
  Budget* budget = Budget::open();
  const size_t bytes = bytes_for(node.outputs[0].type, count);
  if (budget != nullptr && !budget->take_bytes(bytes)) return Wires();
  SDX_ASSIGN(std::vector<Value> made,
             typed::eval(node.use, inputs, {.reference = false, .isa = r.isa}));
  release_pages(inputs[0].tensor().raw(), inputs[0].tensor().bytes());
  return Wires({r.made.constant(made[0].tensor(), node.use.name)});
}

}  // namespace

const Rule dequantised_weights{"dequantised_weights", dequantised_weights_at};

}  // namespace sdx::rewrite
