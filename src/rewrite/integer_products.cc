// Sums of bytes that are floats next are made so by the product, which can then take the scaling
// and what else follows into its blocks.
//
//   Cast[to float](MatMulInteger(A, B, ...))   ->   MatMulIntegerToFloat(A, B, ...)
#include "ops/list.h"
#include "rewrite/rules.h"

namespace sdx::rewrite {
namespace {

using typed::Node;
using typed::Outlet;

Result<std::optional<std::vector<Outlet>>> integer_products_at(Rewriting& r, uint32_t id) {
  const Node& cast = r.old.node(id);
  const Node* product = cast.use.op == &ops::cast && cast.outputs[0].type == DType::f32
                            ? r.only_from(cast.inputs[0], ops::matmul_integer)
                            : nullptr;
  if (product == nullptr) return std::optional<std::vector<Outlet>>();
  std::vector<Outlet> inputs;
  for (const Outlet input : product->inputs) inputs.push_back(r.now(input));
  const Node* stands_for[] = {product, &cast};
  SDX_ASSIGN(std::vector<Outlet> wires,
             r.add(ops::matmul_integer_to_float, {}, std::move(inputs), 1, stands_for));
  return std::optional(std::move(wires));
}

}  // namespace

const Rule integer_products{"integer_products", integer_products_at};

}  // namespace sdx::rewrite
