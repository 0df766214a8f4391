// A large constant matrix that is transposed before a product is read transposed by the product
// instead.
//
//   MatMul(A, Transpose[1, 0](W))   ->   MatMulTransposed(A, W)        W constant
#include "ops/list.h"
#include "rewrite/rules.h"

namespace sdx::rewrite {
namespace {

using typed::Outlet;

Result<std::optional<std::vector<Outlet>>> at(Rewriting& r, uint32_t id) {
  const typed::Node& node = r.old.node(id);
  if (node.use.op != &ops::matmul || node.outputs[0].type != DType::f32)
    return std::optional<std::vector<Outlet>>();
  const Fact& a = r.old.fact(node.inputs[0]);
  const typed::Node& transpose = r.old.node(node.inputs[1].node);
  if (transpose.use.op != &ops::transpose || !a.has_rank() || a.rank() < 2)
    return std::optional<std::vector<Outlet>>();
  const Fact& weights = r.old.fact(transpose.inputs[0]);
  const std::vector<int64_t> perm = transpose.use.ints_or_empty("perm");
  if (!weights.value || weights.rank() != 2 || (!perm.empty() && perm[0] != 1)) {
    return std::optional<std::vector<Outlet>>();
  }
  const typed::Node* stands_for[] = {&transpose, &node};
  SDX_ASSIGN(std::vector<Outlet> wires,
             r.add(ops::matmul_transposed, {}, {r.now(node.inputs[0]), r.now(transpose.inputs[0])},
                   1, stands_for));
  return std::optional(std::move(wires));
}

}  // namespace

const Rule transposed_weights{"transposed_weights", at};

}  // namespace sdx::rewrite
