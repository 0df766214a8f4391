// A large constant matrix that is transposed before a product is read transposed by the product
// instead.
//
//   MatMul(A, Transpose[1, 0](W))   ->   MatMulTransposed(A, W)        W constant
#include "ops/list.h"
#include "ops/tensor/transpose.h"
#include "rewrite/matching.h"
#include "rewrite/rules.h"

namespace sdx::rewrite {
namespace {

using typed::Outlet;

const typed::Pattern& product() {
  static const typed::Pattern kPattern =
      pattern(R"(%a = input : f32
                 %w = constant : f32[N,K]
                 %t = Transpose (%w)
                 %y = MatMul (%a, %t)
                 output %y)")
          .where("a", [](const Fact& a) { return a.has_rank() && a.rank() >= 2; });
  return kPattern;
}

Result<std::optional<std::vector<Outlet>>> transposed_weights_at(Rewriting& r, uint32_t id) {
  const auto match = matched(product(), r, id);
  if (!match) return std::optional<std::vector<Outlet>>();
  const typed::Node& transpose = r.old.node((*match)["t"].node);
  if (transpose.as<ops::Transpose>().axis(0, 2) != 1) return std::optional<std::vector<Outlet>>();
  const typed::Node* stands_for[] = {&transpose, &r.old.node(id)};
  SDX_ASSIGN(std::vector<Outlet> wires,
             r.add(ops::matmul_transposed, {}, {r.now((*match)["a"]), r.now((*match)["w"])}, 1,
                   stands_for));
  return std::optional(std::move(wires));
}

}  // namespace

const Rule transposed_weights{"transposed_weights", transposed_weights_at};

}  // namespace sdx::rewrite
