// Exporters guard softmax against rows without any key by Where(IsNaN(x), c, x): one instruction
// instead of a mask.
//
//   Where(IsNaN(x), c, x)   ->   Elementwise[replace_nan 0 c](x)        c a constant scalar
#include "ops/list.h"
#include "rewrite/rules.h"

namespace sdx::rewrite {
namespace {

using typed::Outlet;

Result<std::optional<std::vector<Outlet>>> at(Rewriting& r, uint32_t id) {
  const typed::Node& node = r.old.node(id);
  const DType type = node.outputs[0].type;
  if (node.use.op != &ops::where || !runs_in_float(type))
    return std::optional<std::vector<Outlet>>();
  const typed::Node* is_nan = r.only_from(node.inputs[0], ops::is_nan);
  const Fact& fallback = r.old.fact(node.inputs[1]);
  if (is_nan == nullptr || is_nan->inputs[0] != node.inputs[2] || !fallback.value ||
      fallback.value->count() != 1) {
    return std::optional<std::vector<Outlet>>();
  }
  // The constant must not broadcast the result to a higher rank.
  if (!node.outputs[0].has_rank() || fallback.rank() > r.old.fact(node.inputs[2]).rank()) {
    return std::optional<std::vector<Outlet>>();
  }
  const auto* bits = static_cast<const uint16_t*>(fallback.value->raw());
  const float value = type == DType::f32   ? *fallback.value->data<float>()
                      : type == DType::f16 ? f16_to_f32(*bits)
                                           : bf16_to_f32(*bits);
  const std::string code = fmt::format("replace_nan 0 {} 0", value);
  const typed::Node* stands_for[] = {is_nan, &node};
  SDX_ASSIGN(std::vector<Outlet> wires,
             r.add(ops::elementwise, {{"code", std::vector<std::string>{code}}},
                   {r.now(node.inputs[2])}, 1, stands_for));
  return std::optional(std::move(wires));
}

}  // namespace

const Rule replace_nan{"replace_nan", at};

}  // namespace sdx::rewrite
