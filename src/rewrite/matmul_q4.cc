// A product with dequantised 4-bit weights reads the 4-bit weights themselves.
//
//   w = DequantizeLinear(q, scales, zeros); y = MatMul(x, w)   ->   y = MatMulQ4(x, q, scales,
//   zeros)
//
// for a constant matrix q in blocks along its rows. The fused product dequantises with the same
// rounding and adds in the same order.
#include "ops/list.h"
#include "ops/quant/dequantize_linear.h"
#include "rewrite/matching.h"
#include "rewrite/rules.h"

namespace sdx::rewrite {
namespace {

using typed::Node;
using typed::Outlet;

const typed::Pattern& product() {
  static const typed::Pattern kPattern =
      pattern(R"(%x = input
                 %q = constant
                 %s = constant : f32[?,?]
                 %w = DequantizeLinear (%q, %s, ...) once : f32
                 %y = MatMul (%x, %w)
                 output %y)")
          .where("q", [](const Fact& q) { return q.type == DType::i4 || q.type == DType::u4; });
  return kPattern;
}

Result<std::optional<std::vector<Outlet>>> matmul_q4_at(Rewriting& r, uint32_t id) {
  const std::optional<std::vector<Outlet>> not_here;
  const auto match = matched(product(), r, id);
  if (!match) return not_here;
  const Node& node = r.old.node(id);
  const Node& dequantize = r.old.node((*match)["w"].node);
  const auto& [type, axis, block] = dequantize.as<ops::Dequantize>();
  if (block < 1 || (axis != 0 && axis != -2)) return not_here;
  std::vector<Outlet> inputs{r.now((*match)["x"])};
  for (const Outlet input : dequantize.inputs) {
    const Fact& fact = r.old.fact(input);
    // A scale for all has another shape.
    if (fact.present() && (fact.value == nullptr || fact.rank() != 2)) return not_here;
    inputs.push_back(r.now(input));
  }
  const Node* const stands_for[] = {&node, &dequantize};
  SDX_ASSIGN(std::vector<Outlet> outlets,
             r.add(ops::matmul_q4, {{"block_size", block}}, std::move(inputs), 1, stands_for));
  return std::optional(std::move(outlets));
}

}  // namespace

const Rule matmul_q4{"matmul_q4", matmul_q4_at};

}  // namespace sdx::rewrite
